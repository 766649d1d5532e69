import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import { type SocketFixture, startSockets } from '../websocket/socket-fixture.ts';
import { type Answer, type Asked, basic, startDoor } from './door-fixture.ts';

/*
 * Section Errors of contract document 1, row by row: each status code with its body, provoked through a real socket over a
 * real database. The rows are named as the table of the contract names them.
 */

interface Row {
  /** Endpoint, status code and condition of the contract. */
  readonly row: string;
  readonly status: number;
  readonly ask: (fixture: SocketFixture) => Promise<Answer>;
}

const sql = (command: string, more: object = {}) => ({ language: 'sql', command, ...more });
const session = 'service-session-id';

function asking(method: string, path: string, asked: Asked = {}) {
  return ({ door }: SocketFixture) => door.ask(method, path, asked);
}

let guesses = 0;

/** By somebody whose password is wrong, whoever it is. */
function wrongly(method: string, path: string, body?: object) {
  // Another name each time: guesses at one name would lock it.
  guesses += 1;
  const headers = { authorization: basic(`somebody${guesses}`, 'wrong-password') };
  return asking(method, path, { user: null, headers, ...(body && { body }) });
}

async function logIn({ door }: SocketFixture, user: string): Promise<Asked> {
  const { body } = await door.ask('POST', 'login', { user });
  return { user: null, headers: { authorization: `Bearer ${body['token']}` } };
}

async function begin({ door }: SocketFixture): Promise<Record<string, string>> {
  const begun = await door.ask('POST', 'begin/school');
  return { [session]: String(begun.headers[session]) };
}

const rows: readonly Row[] = [
  { row: 'GET /server 403 invalid credentials', status: 403, ask: wrongly('GET', 'server') },
  {
    row: 'POST /server 400 invalid command',
    status: 400,
    ask: asking('POST', 'server', { body: { command: 'make tea' } }),
  },
  {
    row: 'POST /server 400 no command',
    status: 400,
    ask: asking('POST', 'server', { body: {} }),
  },
  {
    row: 'POST /server 403 invalid credentials',
    status: 403,
    ask: wrongly('POST', 'server', { command: 'list databases' }),
  },
  {
    row: 'POST /server 403 not root',
    status: 403,
    ask: asking('POST', 'server', { user: 'jay', body: { command: 'create database x' } }),
  },
  {
    row: 'POST /server 500 invalid JSON request body',
    status: 500,
    ask: asking('POST', 'server', { body: '{"command":' }),
  },
  {
    row: 'POST /server 500 a body that is no object',
    status: 500,
    ask: asking('POST', 'server', { body: '["list databases"]' }),
  },
  { row: 'GET /databases 403 invalid credentials', status: 403, ask: wrongly('GET', 'databases') },
  { row: 'GET /sessions 403 invalid credentials', status: 403, ask: wrongly('GET', 'sessions') },
  {
    row: 'GET /sessions 403 non-root user',
    status: 403,
    ask: asking('GET', 'sessions', { user: 'jay' }),
  },
  { row: 'GET /exists 400 no database passed', status: 400, ask: asking('GET', 'exists') },
  { row: 'GET /exists/ 400 no database passed', status: 400, ask: asking('GET', 'exists/') },
  { row: 'GET /progress 400 no database passed', status: 400, ask: asking('GET', 'progress/') },
  {
    row: 'GET /progress 403 user not authorized on the database',
    status: 403,
    ask: asking('GET', 'progress/other', { user: 'jay' }),
  },
  { row: 'POST /login 403 invalid credentials', status: 403, ask: wrongly('POST', 'login') },
  {
    row: 'POST /login 503 token maximum reached and none reclaimable',
    status: 503,
    ask: async ({ door }) => {
      let answer = await door.ask('POST', 'login');
      for (let count = 0; count < 3; count++) answer = await door.ask('POST', 'login');
      for (const { session } of door.tokens.list()) door.tokens.logout(session.token);
      return answer;
    },
  },
  {
    row: 'any request 401 logged-out token',
    status: 401,
    ask: async (fixture) => {
      const bearer = await logIn(fixture, 'root');
      await fixture.door.ask('POST', 'logout', bearer);
      return await fixture.door.ask('GET', 'databases', bearer);
    },
  },
  {
    row: 'any request 401 revoked token',
    status: 401,
    ask: async (fixture) => {
      const bearer = await logIn(fixture, 'jay');
      await fixture.door.users.update('jay', { password: 'password' });
      return await fixture.door.ask('GET', 'databases', bearer);
    },
  },
  {
    row: 'query 400 invalid language',
    status: 400,
    ask: asking('POST', 'query/school', { body: { language: 'cobol', command: 'SELECT 1' } }),
  },
  {
    row: 'GET query 400 invalid language',
    status: 400,
    ask: asking('GET', 'query/school/cobol/SELECT%201'),
  },
  {
    row: 'query 400 invalid query',
    status: 400,
    ask: asking('POST', 'query/school', { body: sql('SELEC 1') }),
  },
  {
    row: 'query 400 a statement that writes',
    status: 400,
    ask: asking('POST', 'query/school', { body: sql('INSERT INTO Book SET n = 1') }),
  },
  {
    row: 'query 500 database does not exist',
    status: 500,
    ask: asking('POST', 'query/nowhere', { body: sql('SELECT 1') }),
  },
  {
    row: 'GET query 500 database does not exist',
    status: 500,
    ask: asking('GET', 'query/nowhere/sql/SELECT%201'),
  },
  {
    row: 'query 500 cannot execute query',
    status: 500,
    ask: asking('POST', 'query/school', { body: sql('SELECT FROM Missing') }),
  },
  {
    row: 'command 400 invalid language',
    status: 400,
    ask: asking('POST', 'command/school', { body: { language: 'cobol', command: 'x' } }),
  },
  {
    row: 'command 400 invalid command',
    status: 400,
    ask: asking('POST', 'command/school', { body: sql('INSERT Book INTO') }),
  },
  {
    row: 'begin 400 invalid value',
    status: 400,
    ask: asking('POST', 'begin/school', { body: { isolationLevel: 'SERIALIZABLE' } }),
  },
  {
    row: 'begin 401 transaction already started',
    status: 401,
    ask: async (fixture) =>
      await fixture.door.ask('POST', 'begin/school', { headers: await begin(fixture) }),
  },
  {
    row: 'begin 403 invalid credentials',
    status: 403,
    ask: wrongly('POST', 'begin/school'),
  },
  {
    row: 'begin 500 invalid database',
    status: 500,
    ask: asking('POST', 'begin/nowhere'),
  },
  {
    row: 'begin 500 invalid JSON',
    status: 500,
    ask: asking('POST', 'begin/school', { body: '{"isolationLevel":' }),
  },
  {
    row: 'begin 500 invalid body',
    status: 500,
    ask: asking('POST', 'begin/school', { body: '[1]' }),
  },
  ...['commit', 'rollback'].flatMap((path): Row[] => [
    {
      row: `${path} 500 transaction not begun`,
      status: 500,
      ask: asking('POST', `${path}/school`),
    },
    {
      row: `${path} 500 transaction not found`,
      status: 500,
      ask: asking('POST', `${path}/school`, {
        headers: { [session]: 'AS-00000000-0000-4000-8000-000000000000' },
      }),
    },
    {
      row: `${path} 500 transaction ended`,
      status: 500,
      ask: async (fixture) => {
        const headers = await begin(fixture);
        await fixture.door.ask('POST', `${path}/school`, { headers });
        return await fixture.door.ask('POST', `${path}/school`, { headers });
      },
    },
    {
      row: `${path} 500 transaction expired`,
      status: 500,
      ask: async (fixture) => {
        const headers = await begin(fixture);
        await noSessionIsOpen(fixture);
        return await fixture.door.ask('POST', `${path}/school`, { headers });
      },
    },
    {
      row: `${path} 403 invalid credentials`,
      status: 403,
      ask: wrongly('POST', `${path}/school`),
    },
  ]),
  ...['query', 'command'].flatMap((path): Row[] => [
    {
      row: `${path} 400 malformed typed parameter marker`,
      status: 400,
      ask: asking('POST', `${path}/school`, {
        body: sql('SELECT :a', { params: { a: { $int8: [200] } } }),
      }),
    },
    {
      row: `${path} 403 invalid credentials`,
      status: 403,
      ask: wrongly('POST', `${path}/school`, sql('SELECT 1')),
    },
  ]),
];

/** Resolves when the server has rolled back every idle session. */
async function noSessionIsOpen({ databases }: SocketFixture): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (databases.counters().openSessions > 0) {
    assert.ok(performance.now() < deadline, 'a session does not expire');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Rule 1 of the section: 4xx has `error`; 5xx has `error`, `detail` and `exception`. */
function assertBody({ status, headers, body, text }: Answer, row: string): void {
  assert.equal(headers['content-type'], 'application/json', row);
  const wanted = status >= 500 ? ['error', 'detail', 'exception'] : ['error'];
  for (const field of wanted) {
    const value = body[field];
    assert.ok(typeof value === 'string' && value !== '', `${row}: no ${field} in ${text}`);
  }
  assert.equal(body['requestId'], headers['x-request-id'], row);
}

test('every row of the contract: its status and its body', async (context) => {
  const fixture = await startSockets(context, { 'server.httpTxExpireTimeout': '1' });
  await fixture.sql('CREATE DOCUMENT TYPE Book');
  for (const { row, status, ask } of rows) {
    const answer = await ask(fixture);
    assert.equal(answer.status, status, `${row}: ${answer.status} ${answer.text}`);
    assertBody(answer, row);
  }
});

test('command in cluster 409: committed remotely, not to be repeated', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('x', {
    isWrite: true,
    before: () => {
      throw new DatabaseError('CommittedRemotely', 'committed at index 7');
    },
  });
  const answer = await door.ask('POST', 'command/school', { body: sql('x') });
  assert.equal(answer.status, 409);
  assert.equal(answer.body['exception'], 'TransactionCommittedRemotelyException');
  assert.equal(answer.headers['retry-after'], undefined);
  assertBody(answer, 'command in cluster 409');
});

test('GET /ready 503 while databases are recovered and while the server stops, without a body', async (context) => {
  const door = await startDoor(context);
  const ready = (context: Answer) => [context.status, context.text];
  assert.deepEqual(ready(await door.ask('GET', 'ready', { user: null })), [204, '']);
  door.databases.isRecovered = () => false;
  assert.deepEqual(ready(await door.ask('GET', 'ready', { user: null })), [503, '']);
  assert.deepEqual(ready(await door.ask('GET', 'health', { user: null })), [204, '']);
  door.databases.isRecovered = () => true;
  void door.control.stop('test');
  assert.deepEqual(ready(await door.ask('GET', 'ready', { user: null })), [503, '']);
  assert.deepEqual(ready(await door.ask('GET', 'health', { user: null })), [204, '']);
});
