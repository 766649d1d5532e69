import { hash } from 'node:crypto';
import { DatabaseError } from '#core/errors.ts';
import type { DatabaseRight, RecordRight } from './group-document.ts';
import {
  asObject,
  field,
  parseDatabaseRights,
  parseTypeRights,
  typeRightsToJson,
} from './group-document.ts';

/** What every API token begins with. */
export const apiTokenPrefix = 'at-';

/** What an API token may do: the vocabulary of groups, without their limits. */
export interface TokenPermissions {
  readonly types: ReadonlyMap<string, readonly RecordRight[]>;
  readonly database: readonly DatabaseRight[];
}

/** An API token as the file holds it (security.md 2.3); the token itself is known to its owner only. */
export interface StoredApiToken {
  readonly name: string;
  /** The one database it opens; `*` for all. */
  readonly database: string;
  /** Epoch milliseconds; 0 means never. */
  readonly expiresAt: number;
  readonly createdAt: number;
  readonly permissions: TokenPermissions;
  /** SHA-256 of the token in lower-case hexadecimal digits. */
  readonly tokenHash: string;
  /** The last four characters of the token, for people who look for it. */
  readonly tokenSuffix: string;
}

/**
 * What is stored in place of a token. No salt and no iterations: the token holds 256 random bits, which nobody can guess.
 */
export function digestOfApiToken(token: string): string {
  return hash('sha256', token, 'hex');
}

/** The JSON form of http-api.md 17. */
export function apiTokenToJson(token: StoredApiToken) {
  const { name, database, expiresAt, createdAt, tokenHash, tokenSuffix } = token;
  const permissions = {
    types: typeRightsToJson(token.permissions.types),
    database: token.permissions.database,
  };
  return { name, database, expiresAt, createdAt, permissions, tokenHash, tokenSuffix };
}

/** The file's text. */
export function formatApiTokens(tokens: Iterable<StoredApiToken>): string {
  const document = { version: 1, tokens: [...tokens].map(apiTokenToJson) };
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** @throws DatabaseError `IllegalArgument` naming what is wrong */
export function parsePermissions(value: unknown, tokenName: string): TokenPermissions {
  const owner = `permissions of API token '${tokenName}'`;
  const entries = asObject(value ?? {}, owner);
  return {
    types: parseTypeRights(field(entries, 'types'), owner),
    database: parseDatabaseRights(field(entries, 'database'), owner),
  };
}

/**
 * Reads the file's text. An entry with a plain token, as older servers wrote it, is read as its hash.
 * @returns also whether there was such an entry, so that the file must be written anew
 * @throws DatabaseError `IllegalArgument` naming what is wrong, never with a token
 */
export function parseApiTokens(text: string): {
  readonly tokens: readonly StoredApiToken[];
  readonly heldPlainTokens: boolean;
} {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    // The parser's message would quote a piece of the file.
    throw new DatabaseError('IllegalArgument', 'the API tokens are not JSON');
  }
  const list = field(asObject(parsed, 'the API tokens'), 'tokens');
  if (!Array.isArray(list))
    throw new DatabaseError('IllegalArgument', "the API tokens have no list 'tokens'");
  let heldPlainTokens = false;
  const tokens = list.map((value: unknown, index) => {
    const entries = asObject(value, `API token ${index}`);
    if (field(entries, 'tokenHash') === undefined) heldPlainTokens = true;
    return parseApiToken(entries, index);
  });
  return { tokens, heldPlainTokens };
}

function parseApiToken(entries: readonly (readonly [string, unknown])[], index: number) {
  const textOf = (name: string, otherwise?: string): string => {
    const value = field(entries, name) ?? otherwise;
    if (typeof value === 'string' && value !== '') return value;
    throw new DatabaseError('IllegalArgument', `API token ${index} has no text '${name}'`);
  };
  const momentOf = (name: string): number => {
    const value = field(entries, name) ?? 0;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
    throw new DatabaseError('IllegalArgument', `API token ${index}: '${name}' is no moment`);
  };
  const name = textOf('name');
  const token = {
    name,
    database: textOf('database', '*'),
    expiresAt: momentOf('expiresAt'),
    createdAt: momentOf('createdAt'),
    permissions: parsePermissions(field(entries, 'permissions'), name),
  };
  if (field(entries, 'tokenHash') === undefined) {
    const plain = textOf('token');
    return { ...token, tokenHash: digestOfApiToken(plain), tokenSuffix: plain.slice(-4) };
  }
  const tokenHash = textOf('tokenHash').toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(tokenHash))
    throw new DatabaseError('IllegalArgument', `API token '${name}': 'tokenHash' is no SHA-256`);
  return { ...token, tokenHash, tokenSuffix: textOf('tokenSuffix', '****') };
}
