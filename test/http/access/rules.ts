import type { DatabaseRight, RecordRight } from '#security/group-document.ts';

/*
 * Who may do what, said once (security.md 4; http-api.md 2, 12, 16, 17). The table test derives the expected answer of
 * every request by every principal from these rules.
 */

export type Right = RecordRight | DatabaseRight;

const records: readonly Right[] = ['createRecord', 'readRecord', 'updateRecord', 'deleteRecord'];

/** A caller: how it proves who it is, and what it may do. */
export interface Caller {
  readonly name: string;
  /** What a wrong proof answers everywhere but on public routes. */
  readonly refused?: 401 | 403;
  readonly isRoot?: boolean;
  /** The databases it may use; `*` for all. */
  readonly database?: string;
  readonly rights: readonly Right[];
  readonly via: 'nothing' | 'basic' | 'token' | 'api-token' | 'text';
  /** The header of `via: 'text'`. */
  readonly header?: string;
}

const basic = (name: string, password: string) =>
  `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;

/** Everybody who may come to a door. Users are made under their name, with it as their access level. */
export const callers: readonly Caller[] = [
  { name: 'nobody', refused: 401, rights: [], via: 'nothing' },
  ...(
    [
      ['an unknown user', 403, basic('someone', 'password')],
      ['a wrong password', 403, basic('reader', 'wrong-password')],
      ['credentials without a colon', 403, 'Basic cm9vdA=='],
      ['another scheme', 403, 'Digest username="root"'],
      ['a dead token', 401, 'Bearer AU-Service_0-00000000-0000-4000-8000-000000000000'],
      ['an invented API token', 401, `Bearer at-${'0'.repeat(64)}`],
      ['an empty bearer', 401, 'Bearer'],
    ] as const
  ).map(([name, refused, header]) => ({
    name,
    refused,
    header,
    rights: [],
    via: 'text' as const,
  })),
  { name: 'reader', database: 'school', rights: ['readRecord'], via: 'basic' },
  { name: 'reader with a token', database: 'school', rights: ['readRecord'], via: 'token' },
  { name: 'undefinedLevel', database: 'school', rights: [], via: 'basic' },
  { name: 'stranger', database: 'other', rights: [...records, 'updateSchema'], via: 'basic' },
  { name: 'token of a stranger', database: 'other', rights: records, via: 'api-token' },
  { name: 'token that reads', database: 'school', rights: ['readRecord'], via: 'api-token' },
  { name: 'token without rights', database: '*', rights: [], via: 'api-token' },
  {
    name: 'token that creates',
    database: 'school',
    rights: ['createRecord', 'readRecord'],
    via: 'api-token',
  },
  { name: 'writer', database: 'school', rights: records, via: 'basic' },
  { name: 'schema', database: 'school', rights: [...records, 'updateSchema'], via: 'basic' },
  {
    name: 'admin',
    database: 'school',
    rights: [...records, 'updateSchema', 'updateSecurity', 'updateDatabaseSettings'],
    via: 'basic',
  },
  { name: 'root', isRoot: true, rights: [], via: 'basic' },
  { name: 'root with a token', isRoot: true, rights: [], via: 'token' },
];

/** What a request needs. */
export type Need =
  /** No credentials. */
  | 'public'
  /** Credentials, or a token that may be dead. */
  | 'logout'
  /** Any valid credentials. */
  | 'user'
  /** A user who logged in by password. */
  | 'password'
  | 'root'
  /** Another server of the cluster; with 401 or 403 for users. */
  | { readonly peer: 401 | 403 }
  /** Access to database `school`, and these rights in it. */
  | readonly Right[];

/** `allowed` is anything but a refusal for who asks. */
export type Outcome = 401 | 403 | 'allowed';

export function outcomeOf(caller: Caller, need: Need): Outcome {
  if (need === 'public') return 'allowed';
  if (need === 'logout' && /^Bearer a[tu]-/i.test(caller.header ?? '')) return 'allowed';
  if (caller.refused !== undefined) return caller.refused;
  if (need === 'user' || need === 'logout') return 'allowed';
  if (need === 'password') return caller.via === 'basic' ? 'allowed' : 403;
  if (typeof need === 'object' && 'peer' in need) return need.peer;
  if (caller.isRoot) return 'allowed';
  if (need === 'root' || !mayUse(caller)) return 403;
  return need.every((right) => caller.rights.includes(right)) ? 'allowed' : 403;
}

/** Whether a caller may use database `school` at all. */
export function mayUse(caller: Caller): boolean {
  return caller.isRoot === true || caller.database === 'school' || caller.database === '*';
}

/** One request for each route, harmless when it is allowed. */
export interface RouteRequest {
  readonly need: Need;
  readonly path: string;
  /** Not below `/api/v1`. */
  readonly isAtRoot?: boolean;
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

const read = { language: 'sql', command: 'SELECT FROM P' };
const jsonl = { 'content-type': 'application/x-ndjson' };
const database: Need = [];

/** By method and path of the route. A route that is missing here fails the test. */
export const routeRequests: Readonly<Record<string, RouteRequest>> = {
  'GET /ready': { need: 'public', path: '/ready' },
  'HEAD /ready': { need: 'public', path: '/ready' },
  'GET /health': { need: 'public', path: '/health' },
  'GET /': { need: 'public', path: '/', isAtRoot: true },
  'HEAD /health': { need: 'public', path: '/health' },
  'GET /openapi.json': { need: 'user', path: '/openapi.json' },
  'GET /server': { need: 'user', path: '/server' },
  'POST /server': { need: 'user', path: '/server', body: { command: 'list databases' } },
  'GET /databases': { need: 'user', path: '/databases' },
  'GET /exists': { need: 'user', path: '/exists' },
  'GET /exists/:database': { need: 'user', path: '/exists/school' },
  'GET /progress': { need: 'user', path: '/progress' },
  'GET /progress/:database': { need: database, path: '/progress/school' },
  'POST /login': { need: 'password', path: '/login' },
  'POST /logout': { need: 'logout', path: '/logout' },
  'GET /sessions': { need: 'root', path: '/sessions' },
  'GET /query/:database/:language': { need: 'user', path: '/query/school/sql' },
  'GET /query/:database/:language/*': {
    need: ['readRecord'],
    path: '/query/school/sql/SELECT%20FROM%20P',
  },
  'GET /query': { need: 'user', path: '/query' },
  'POST /query': { need: 'user', path: '/query', body: read },
  'POST /query/:database': { need: ['readRecord'], path: '/query/school', body: read },
  'POST /command': { need: 'user', path: '/command', body: read },
  'POST /command/:database': { need: ['readRecord'], path: '/command/school', body: read },
  'POST /begin': { need: 'user', path: '/begin' },
  'POST /begin/:database': { need: database, path: '/begin/school' },
  'POST /commit': { need: 'user', path: '/commit' },
  'POST /commit/:database': { need: database, path: '/commit/school' },
  'POST /rollback': { need: 'user', path: '/rollback' },
  'POST /rollback/:database': { need: database, path: '/rollback/school' },
  'POST /batch': { need: 'user', path: '/batch', headers: jsonl, body: '' },
  'POST /batch/:database': { need: database, path: '/batch/school', headers: jsonl, body: '' },
  'GET /server/users': { need: 'root', path: '/server/users' },
  'POST /server/users': { need: 'root', path: '/server/users', body: {} },
  'PUT /server/users': {
    need: 'root',
    path: '/server/users?name=nosuch',
    body: { password: 'password' },
  },
  'PUT /server/users/:name': {
    need: 'root',
    path: '/server/users/nosuch',
    body: { password: 'password' },
  },
  'DELETE /server/users': { need: 'root', path: '/server/users?name=nosuch' },
  'DELETE /server/users/:name': { need: 'root', path: '/server/users/nosuch' },
  'GET /server/groups': { need: 'root', path: '/server/groups' },
  'POST /server/groups': { need: 'root', path: '/server/groups', body: {} },
  'DELETE /server/groups': { need: 'root', path: '/server/groups?database=*&name=nosuch' },
  'GET /server/api-tokens': { need: 'root', path: '/server/api-tokens' },
  'POST /server/api-tokens': { need: 'root', path: '/server/api-tokens', body: {} },
  'DELETE /server/api-tokens': { need: 'root', path: '/server/api-tokens?name=nosuch' },
  // Everybody sees and cancels what is their own; `test/http/running.test.ts` has the rest.
  'GET /server/statements': { need: 'user', path: '/server/statements' },
  'DELETE /server/statements/:id': { need: 'user', path: '/server/statements/999999' },
  'GET /server/operations': { need: 'user', path: '/server/operations' },
  'DELETE /server/operations/:id': { need: 'user', path: '/server/operations/999999' },
  'GET /cluster': { need: 'root', path: '/cluster' },
  'POST /cluster/peer': { need: 'root', path: '/cluster/peer', body: {} },
  'DELETE /cluster/peer/:peerId': { need: 'root', path: '/cluster/peer/node1_2434' },
  'POST /cluster/peer/:peerId/promote': { need: 'root', path: '/cluster/peer/node1_2434/promote' },
  'POST /cluster/leader': { need: 'root', path: '/cluster/leader', body: {} },
  'POST /cluster/stepdown': { need: 'root', path: '/cluster/stepdown' },
  'POST /cluster/leave': { need: 'root', path: '/cluster/leave' },
  'POST /cluster/prepare-stop': { need: 'root', path: '/cluster/prepare-stop' },
  'POST /cluster/verify/:database': { need: 'root', path: '/cluster/verify/school' },
  'POST /cluster/resync/:database': { need: 'root', path: '/cluster/resync/school' },
  'POST /cluster/capabilities': { need: { peer: 403 }, path: '/cluster/capabilities', body: {} },
  'POST /cluster/bootstrap-state': {
    need: { peer: 403 },
    path: '/cluster/bootstrap-state',
    body: {},
  },
  'POST /cluster/stage/:uuid': { need: { peer: 403 }, path: '/cluster/stage/u1', body: {} },
  'POST /cluster/auth-session': { need: { peer: 403 }, path: '/cluster/auth-session', body: {} },
  'GET /ha/snapshot/:database': { need: { peer: 401 }, path: '/ha/snapshot/school' },
  'GET /ha/snapshot/:database/checksums': {
    need: { peer: 401 },
    path: '/ha/snapshot/school/checksums',
  },
  // Plugin `prometheus`; who sees which database is tested with it.
  'GET /metrics': { need: 'user', path: '/metrics', isAtRoot: true },
  'GET /prometheus': { need: 'user', path: '/prometheus', isAtRoot: true },
};

/** A statement with side effects and what it needs. */
export interface WritingStatement {
  readonly text: string;
  readonly need: readonly Right[];
}

/** Statements with side effects by language; a language of the server that is missing here fails the test. */
export const writingStatements: Readonly<Record<string, readonly WritingStatement[]>> = {
  sql: [
    { text: "INSERT INTO D SET n = 2, name = 'new'", need: ['createRecord'] },
    { text: 'INSERT INTO D CONTENT {"n": 3}', need: ['createRecord'] },
    { text: 'INSERT INTO D FROM SELECT n FROM P', need: ['createRecord', 'readRecord'] },
    { text: 'UPDATE D SET n = 100', need: ['updateRecord'] },
    { text: 'UPDATE D REMOVE n', need: ['updateRecord'] },
    {
      text: "UPDATE D SET n = 5 UPSERT WHERE id = 'unknown'",
      need: ['createRecord', 'updateRecord'],
    },
    { text: 'DELETE FROM D WHERE n = 1', need: ['deleteRecord'] },
    { text: 'CREATE VERTEX P SET n = 3', need: ['createRecord'] },
    {
      text: 'CREATE EDGE E FROM (SELECT FROM P LIMIT 1) TO (SELECT FROM P LIMIT 1)',
      need: ['createRecord', 'readRecord'],
    },
    { text: 'DELETE VERTEX FROM P WHERE n = 3', need: ['deleteRecord'] },
    { text: 'PROFILE INSERT INTO D SET n = 4', need: ['createRecord'] },
    { text: 'TRUNCATE TYPE D', need: ['deleteRecord'] },
    { text: 'CREATE DOCUMENT TYPE Made', need: ['updateSchema'] },
    { text: 'ALTER TYPE D CUSTOM colour = 1', need: ['updateSchema'] },
    { text: 'CREATE PROPERTY D.made STRING', need: ['updateSchema'] },
    { text: 'ALTER PROPERTY D.name MANDATORY true', need: ['updateSchema'] },
    { text: 'CREATE INDEX ON D (name) NOTUNIQUE', need: ['updateSchema'] },
    { text: 'REBUILD INDEX *', need: ['updateSchema'] },
    { text: 'DROP INDEX `D[name]`', need: ['updateSchema'] },
    { text: 'DROP PROPERTY D.made', need: ['updateSchema'] },
    { text: 'CREATE BUCKET loose', need: ['updateSchema'] },
    { text: 'DROP BUCKET loose', need: ['updateSchema'] },
    { text: 'DROP TYPE Made', need: ['updateSchema'] },
    { text: 'CHECK DATABASE FIX', need: ['updateSchema'] },
    { text: 'ALTER DATABASE `service.txRetries` 3', need: ['updateDatabaseSettings'] },
    { text: 'DEFINE FUNCTION made.f "SELECT 1" LANGUAGE sql', need: ['updateSchema'] },
    {
      text: 'CREATE TRIGGER made BEFORE CREATE ON TYPE D EXECUTE SQL "SELECT 1"',
      need: ['updateSchema'],
    },
    { text: 'SELECT `known.adds`()', need: ['createRecord'] },
    { text: 'SELECT FROM P WHERE `known.adds`() IS NOT NULL', need: ['createRecord'] },
    { text: 'BACKUP DATABASE', need: ['updateSecurity'] },
    { text: 'EXPORT DATABASE file://made.jsonl.tgz', need: ['updateSecurity'] },
    { text: 'IMPORT DATABASE file:///nowhere.json', need: ['updateSecurity'] },
  ],
  cypher: [
    { text: 'CREATE (:P {n: 3})', need: ['createRecord'] },
    { text: 'MERGE (:P {n: 99})', need: ['createRecord', 'readRecord'] },
    { text: 'MATCH (p:P) SET p.n = 5', need: ['readRecord', 'updateRecord'] },
    { text: 'MATCH (p:P) DETACH DELETE p', need: ['readRecord', 'deleteRecord'] },
    { text: 'CREATE INDEX made FOR (p:P) ON (p.made)', need: ['updateSchema'] },
  ],
  redis: [
    { text: 'SET k 1', need: ['createRecord', 'updateRecord'] },
    { text: 'SET k 1 NX GET', need: ['createRecord', 'updateRecord'] },
    { text: 'INCR n', need: ['createRecord', 'updateRecord'] },
    { text: 'DECRBY n 2', need: ['createRecord', 'updateRecord'] },
    { text: 'INCRBYFLOAT f 2.5', need: ['createRecord', 'updateRecord'] },
    { text: 'GETDEL k', need: ['deleteRecord'] },
    { text: 'GET k\nINCR n', need: ['createRecord', 'updateRecord'] },
    { text: 'MULTI\nGET k\nSET k 2\nEXEC', need: ['createRecord', 'updateRecord'] },
    { text: 'HSET D {"n": 20}', need: ['createRecord', 'updateRecord'] },
    { text: 'HSET school.D {"n": 20} {"n": 21}', need: ['createRecord', 'updateRecord'] },
    { text: 'GET k\nHMSET P {"n": 20}', need: ['createRecord', 'updateRecord'] },
    { text: 'MULTI\nHSET D {"n": 20}\nSET k 1\nEXEC', need: ['createRecord', 'updateRecord'] },
    { text: 'HDEL D[id] known', need: ['deleteRecord', 'readRecord'] },
  ],
  sqlscript: [
    { text: 'INSERT INTO D SET n = 10', need: ['createRecord'] },
    { text: 'BEGIN; INSERT INTO D SET n = 10; COMMIT', need: ['createRecord'] },
    { text: 'LET a = INSERT INTO D SET n = 11; RETURN $a', need: ['createRecord'] },
    { text: 'IF (1 = 1) { UPDATE D SET n = 12; }', need: ['updateRecord'] },
    { text: 'FOREACH ($i IN [1, 2]) { DELETE FROM D WHERE n = $i; }', need: ['deleteRecord'] },
    {
      text: 'LET $n = 0; WHILE ($n < 2) { LET $n = $n + 1; CREATE VERTEX P SET n = $n; }',
      need: ['createRecord'],
    },
    { text: 'SELECT 1; CREATE DOCUMENT TYPE Scripted', need: ['updateSchema'] },
    { text: 'DROP TYPE Scripted', need: ['updateSchema'] },
  ],
};
