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
  const databases = Object.fromEntries(
    [...document].map(([database, groups]) => {
      const named = [...groups].map(([name, group]) => [name, groupToJson(group)]);
      return [database, { groups: Object.fromEntries(named) }];
    }),
  );
  return { version: 2, databases };
}

function groupToJson(group: Group): unknown {
  return {
    resultSetLimit: group.resultSetLimit,
    readTimeout: group.readTimeout,
    access: group.access,
    types: typeRightsToJson(group.types),
  };
}

/** The JSON form of record rights by type. */
export function typeRightsToJson(types: ReadonlyMap<string, readonly RecordRight[]>): unknown {
  return Object.fromEntries([...types].map(([type, access]) => [type, { access }]));
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
  const owner = `group '${name}'`;
  const entries = asObject(value, owner);
  return {
    resultSetLimit: limitOf(field(entries, 'resultSetLimit'), 'resultSetLimit'),
    readTimeout: limitOf(field(entries, 'readTimeout'), 'readTimeout'),
    access: parseDatabaseRights(field(entries, 'access'), owner),
    types: parseTypeRights(field(entries, 'types'), owner),
  };
}

/** Record rights by type; absent means none. @throws DatabaseError `IllegalArgument` naming `owner` */
export function parseTypeRights(
  value: unknown,
  owner: string,
): ReadonlyMap<string, readonly RecordRight[]> {
  const types = new Map<string, readonly RecordRight[]>();
  for (const [type, rights] of asObject(value ?? {}, `types of ${owner}`)) {
    const access = field(asObject(rights, `type '${type}' of ${owner}`), 'access') ?? [];
    types.set(type, rightsOf(access, recordRights, owner));
  }
  return types;
}

/** A list of rights on a database; absent means none. @throws DatabaseError `IllegalArgument` naming `owner` */
export function parseDatabaseRights(value: unknown, owner: string): readonly DatabaseRight[] {
  return rightsOf(value ?? [], databaseRights, owner);
}

/** The fields of a parsed JSON object. */
export type Entries = readonly (readonly [string, unknown])[];

/** The fields of a plain object or a Map. @throws DatabaseError `IllegalArgument` for anything else, naming `what` */
export function asObject(value: unknown, what: string): Entries {
  if (value instanceof Map) return [...value] as Entries;
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.entries(value);
  throw new DatabaseError('IllegalArgument', `${what} must be an object`);
}

/** The value of a field; undefined when there is none. */
export function field(entries: Entries, name: string): unknown {
  return entries.find(([key]) => key === name)?.[1];
}

function limitOf(value: unknown, what: string): number {
  if (value === undefined || value === null) return -1;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= -1) return value;
  throw new DatabaseError('IllegalArgument', `${what} must be a whole number of at least -1`);
}

function rightsOf<T extends string>(value: unknown, known: readonly T[], owner: string): T[] {
  if (!Array.isArray(value))
    throw new DatabaseError('IllegalArgument', `access of ${owner} must be a list`);
  return value.map((right) => {
    const found = known.find((name) => name === right);
    if (found !== undefined) return found;
    throw new DatabaseError(
      'IllegalArgument',
      `unknown permission '${String(right)}' in ${owner}; known are ${known.join(', ')}`,
    );
  });
}
