import type { PasswordRecord } from './password-record.ts';
import { formatPasswordRecord, parsePasswordRecord } from './password-record.ts';

/** A user as the file holds it (security.md 2.1). */
export interface StoredUser {
  readonly name: string;
  readonly password: PasswordRecord;
  /** Names of groups (access levels) by database; `*` stands for every database without an entry. */
  readonly databases: ReadonlyMap<string, readonly string[]>;
}

/** One JSON object per line, in the given order. */
export function formatUsers(users: Iterable<StoredUser>): string {
  let text = '';
  for (const user of users) {
    const databases = Object.fromEntries(user.databases);
    const password = formatPasswordRecord(user.password);
    text += `${JSON.stringify({ name: user.name, password, databases })}\n`;
  }
  return text;
}

/** @returns the users, and the numbers of the lines that hold none */
export function parseUsers(text: string): {
  readonly users: readonly StoredUser[];
  readonly brokenLines: readonly number[];
} {
  const users: StoredUser[] = [];
  const brokenLines: number[] = [];
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .entries()) {
    if (line.trim() === '') continue;
    const user = parseUser(line);
    if (user) users.push(user);
    else brokenLines.push(index + 1);
  }
  return { users, brokenLines };
}

function parseUser(line: string): StoredUser | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  const { name, password, databases } = parsed as Readonly<Record<string, unknown>>;
  if (typeof name !== 'string' || name === '' || typeof password !== 'string') return undefined;
  const record = parsePasswordRecord(password);
  const grants = parseGrants(databases ?? {});
  return record && grants && { name, password: record, databases: grants };
}

/** A map of database to one level or a list of levels; undefined for anything else. */
export function parseGrants(value: unknown): ReadonlyMap<string, readonly string[]> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const entries = value instanceof Map ? value.entries() : Object.entries(value);
  const grants = new Map<string, readonly string[]>();
  for (const [database, levels] of entries) {
    const list: readonly unknown[] = Array.isArray(levels) ? levels : [levels];
    if (!list.every((level) => typeof level === 'string' && level !== '')) return undefined;
    grants.set(String(database), list as readonly string[]);
  }
  return grants;
}
