import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { TestDatabase } from '../database/support/open-test-database.ts';
import { startDatabaseDoor } from './database-door.ts';
import type { Answer } from './door-fixture.ts';

// Scripts over HTTP, alone and in transaction sessions (http-api.md 6.6, 8; sql.md 17).

interface ScriptDoor {
  readonly data: TestDatabase;
  command(text: string, session?: string, more?: object): Promise<Answer>;
  query(text: string): Promise<Answer>;
  begin(): Promise<string>;
  end(how: 'commit' | 'rollback', session: string): Promise<number>;
}

async function scriptDoor(context: TestContext): Promise<ScriptDoor> {
  const { door, data: opened } = await startDatabaseDoor(context);
  await opened.run('CREATE DOCUMENT TYPE T');
  const headers = (session?: string) =>
    session === undefined ? {} : { headers: { 'service-session-id': session } };
  const ask = (path: string, command: string, session?: string, more = {}) =>
    door.ask('POST', `${path}/test`, {
      body: { language: 'sqlscript', command, ...more },
      ...headers(session),
    });
  return {
    data: opened,
    command: (text, session, more) => ask('command', text, session, more),
    query: (text) => ask('query', text),
    begin: async () => {
      const { headers: got } = await door.ask('POST', 'begin/test');
      return String(got['service-session-id']);
    },
    end: async (how, session) => (await door.ask('POST', `${how}/test`, headers(session))).status,
  };
}

const count = 'SELECT count(*) AS n FROM T';

test('a script answers rows, takes parameters and commits as one', async (context) => {
  const { command, data } = await scriptDoor(context);
  const made = await command('INSERT INTO T SET a = :a; RETURN (SELECT a FROM T)', undefined, {
    params: { a: 5 },
  });
  assert.equal(made.status, 200);
  assert.deepEqual(made.body['result'], [{ a: 5 }]);
  assert.equal((await command('INSERT INTO T SET a = 6; RETURN 1/0')).status, 400);
  assert.deepEqual(await data.run(count), [{ n: 1 }]);
});

test('/query takes scripts that read only', async (context) => {
  const { query } = await scriptDoor(context);
  const read = await query('LET x = SELECT FROM T; IF ($x.size() = 0) { RETURN 1 }');
  assert.deepEqual(read.body['result'], [{ value: 1 }]);
  for (const text of ['BEGIN', 'LOCK TYPE T', 'SET GLOBAL x = 1', 'IF (false) { DELETE FROM T }']) {
    const refused = await query(text);
    assert.equal(refused.status, 400, text);
    assert.equal(refused.body['exception'], 'QueryNotIdempotentException', text);
  }
});

test('a script in a session joins its transaction', async (context) => {
  const { command, begin, end, data } = await scriptDoor(context);
  const session = await begin();
  await command('INSERT INTO T SET a = 1', session);
  assert.deepEqual(await data.run(count), [{ n: 0 }]);
  assert.equal(await end('commit', session), 204);
  assert.deepEqual(await data.run(count), [{ n: 1 }]);
});

test('COMMIT and ROLLBACK in a session end its transaction and keep its id', async (context) => {
  const { command, begin, end, data } = await scriptDoor(context);
  const session = await begin();
  await command('BEGIN; INSERT INTO T SET a = 1; COMMIT', session);
  assert.deepEqual(await data.run(count), [{ n: 1 }]);
  assert.equal((await command('INSERT INTO T SET a = 2; ROLLBACK', session)).status, 200);
  assert.equal((await command('INSERT INTO T SET a = 3', session)).status, 200);
  assert.equal(await end('commit', session), 204);
  assert.deepEqual(await data.run('SELECT a FROM T ORDER BY a'), [{ a: 1 }, { a: 3 }]);
});

test('an error while a script runs ends its session, a refusal does not', async (context) => {
  const { command, begin, end } = await scriptDoor(context);
  const session = await begin();
  assert.equal((await command('LET x = ; RETURN', session)).status, 400);
  assert.equal((await command('INSERT INTO T SET a = 1', session)).status, 200);
  assert.equal((await command('INSERT INTO T SET a = 1; RETURN 1/0', session)).status, 400);
  assert.equal((await command('RETURN 1', session)).status, 404);
  assert.equal(await end('commit', session), 500);
});

test('names that are not there end a session like other errors of execution', async (context) => {
  const { command, begin } = await scriptDoor(context);
  const sql = { language: 'sql' };
  const after = async (text: string): Promise<number> => {
    const session = await begin();
    assert.notEqual((await command(text, session, sql)).status, 200, text);
    return (await command('SELECT 1', session, sql)).status;
  };
  for (const text of ['SELEC', 'SELECT sqrt()', 'CREATE VERTEX T'])
    assert.equal(await after(text), 200, text);
  for (const text of ['SELECT FROM Missing', 'SELECT missing(1)', 'DROP TYPE Missing'])
    assert.equal(await after(text), 404, text);
});
