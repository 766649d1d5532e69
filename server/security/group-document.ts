import { DatabaseError } from '#core/errors.ts';

/** Rights on a database as a whole. */
export const databaseRights = ['updateSecurity', 'updateSchema', 'updateDatabaseSettings'] as const;
export type DatabaseRight = (typeof databaseRights)[number];

/** Rights on the records of a type. */
export const recordRights = ['createRecord', 'readRecord', 'updateRecord', 'deleteRecord'] as const;
export type RecordRight = (typeof recordRights)[number];

/** An access level (http-api.md 16.1). */
export interface Group {
  /** Largest number of rows of a statement; -1 means any. */
  readonly resultSetLimit: number;
  /** Time after which a read is aborted (ms); -1 means none. */
  readonly readTimeout: number;
  readonly access: readonly DatabaseRight[];
  /** By type name; `*` stands for types without an entry. */
  readonly types: ReadonlyMap<string, readonly RecordRight[]>;
}

/** Groups by database and name; `*` as a database stands for all, as a group for undefined names. */
export type GroupDocument = ReadonlyMap<string, ReadonlyMap<string, Group>>;

const unlimited = { resultSetLimit: -1, readTimeout: -1 };

function level(access: readonly DatabaseRight[], types: readonly RecordRight[]): Group {
  return { ...unlimited, access, types: new Map([['*', types]]) };
}

/** The levels of a new server. */
export const defaultGroups: GroupDocument = new Map([
  [
    '*',
    new Map([
      ['admin', level(databaseRights, recordRights)],
      ['writer', level([], recordRights)],
      ['reader', level([], ['readRecord'])],
      ['schema', level(['updateSchema'], recordRights)],
      ['*', level([], [])],
    ]),
  ],
]);

/** The JSON form of http-api.md 16.1. */
export function groupDocumentToJson(document: GroupDocument): unknown {
  const databases: Record<string, unknown> = {};
  for (const [database, groups] of document) {
    const named: Record<string, unknown> = {};
    for (const [name, group] of groups) named[name] = groupToJson(group);
    databases[database] = { groups: named };
  }
  return { version: 2, databases };
}

function groupToJson(group: Group): unknown {
  const types: Record<string, unknown> = {};
  for (const [type, access] of group.types) types[type] = { access };
  return {
    resultSetLimit: group.resultSetLimit,
    readTimeout: group.readTimeout,
    access: group.access,
    types,
  };
}

/** @throws DatabaseError `IllegalArgument` naming what is wrong */
export function parseGroupDocument(text: string): GroupDocument {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (cause) {
    throw new DatabaseError('IllegalArgument', `the groups are not JSON: ${String(cause)}`);
  }
  const document = new Map<string, ReadonlyMap<string, Group>>();
  const databases = field(asObject(parsed, 'the groups'), 'databases');
  for (const [database, value] of asObject(databases, 'databases')) {
    const groups = new Map<string, Group>();
    const named = field(asObject(value, `database '${database}'`), 'groups');
    for (const [name, group] of asObject(named, `groups of '${database}'`))
      groups.set(name, parseGroup(group, name));
    document.set(database, groups);
  }
  return document;
}

/** One group from parsed JSON (plain objects or Maps). @throws DatabaseError `IllegalArgument` */
export function parseGroup(value: unknown, name: string): Group {
  const entries = asObject(value, `group '${name}'`);
  const types = new Map<string, readonly RecordRight[]>();
  for (const [type, rights] of asObject(field(entries, 'types') ?? {}, `types of '${name}'`)) {
    const access = field(asObject(rights, `type '${type}' of group '${name}'`), 'access') ?? [];
    types.set(type, rightsOf(access, recordRights, name));
  }
  return {
    resultSetLimit: limitOf(field(entries, 'resultSetLimit'), 'resultSetLimit'),
    readTimeout: limitOf(field(entries, 'readTimeout'), 'readTimeout'),
    access: rightsOf(field(entries, 'access') ?? [], databaseRights, name),
    types,
  };
}

type Entries = readonly (readonly [string, unknown])[];

function asObject(value: unknown, what: string): Entries {
  if (value instanceof Map) return [...value] as Entries;
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.entries(value);
  throw new DatabaseError('IllegalArgument', `${what} must be an object`);
}

function field(entries: Entries, name: string): unknown {
  return entries.find(([key]) => key === name)?.[1];
}

function limitOf(value: unknown, what: string): number {
  if (value === undefined || value === null) return -1;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= -1) return value;
  throw new DatabaseError('IllegalArgument', `${what} must be a whole number of at least -1`);
}

function rightsOf<T extends string>(value: unknown, known: readonly T[], group: string): T[] {
  if (!Array.isArray(value))
    throw new DatabaseError('IllegalArgument', `access of group '${group}' must be a list`);
  return value.map((right) => {
    const found = known.find((name) => name === right);
    if (found !== undefined) return found;
    throw new DatabaseError(
      'IllegalArgument',
      `unknown permission '${String(right)}' in group '${group}'; known are ${known.join(', ')}`,
    );
  });
}
