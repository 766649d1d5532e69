import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../database/support/open-test-database.ts';
import { type Answer, type DoorFixture, startDoor } from './door-fixture.ts';

// The profiler over POST /server (http-api.md 12; the objects of mcp.md 4.12 to 4.14).

interface ProfilerFixture {
  readonly door: DoorFixture;
  readonly data: TestDatabase;
  server(command: string, user?: string): Promise<Answer>;
  sql(command: string, more?: object): Promise<Answer>;
}

async function fixture(context: TestContext): Promise<ProfilerFixture> {
  let data: TestDatabase | undefined;
  const door = await startDoor(
    context,
    {},
    async (authorizer) => {
      data = await openTestDatabase({ authorizer });
      return data.databases;
    },
    undefined,
    () => data?.meter,
  );
  assert(data);
  const opened = data;
  context.after(() => opened.close());
  await opened.run('CREATE DOCUMENT TYPE N');
  await opened.run('INSERT INTO N (n) VALUES (1), (2), (3)');
  return {
    door,
    data: opened,
    server: (command, user = 'root') => door.ask('POST', 'server', { body: { command }, user }),
    sql: (command, more = {}) =>
      door.ask('POST', 'command/test', { body: { language: 'sql', command, ...more } }),
  };
}

interface Query {
  readonly queryText: string;
  readonly executionCount: number;
  readonly steps: readonly Readonly<Record<string, unknown>>[];
}

test('the profiler tells what statements cost, by text, with the steps of their plans', async (context) => {
  const { server, sql } = await fixture(context);
  const started = await server('profiler start 30');
  assert.deepEqual(started.body['result'], {
    status: 'started',
    timeoutSeconds: 30,
    message: 'Profiler started, it stops by itself after 30 seconds',
  });
  assert.equal(started.body['status'], 'started');
  assert.equal((await server('profiler start')).body['status'], 'already_recording');
  const plain = await sql('SELECT n FROM N WHERE n = ?', { params: [1] });
  assert.equal(plain.body['explain'], undefined);
  await sql('SELECT n FROM N WHERE n = ?', { params: [2] });
  await sql('INSERT INTO N SET n = 4');
  await door404(sql);
  const stopped = await server('profiler stop');
  const { queries, totalQueries, profiledDatabases, recording, ...more } = stopped.body;
  assert.deepEqual([totalQueries, profiledDatabases, recording], [3, ['test'], false]);
  const select = (queries as Query[]).find(({ queryText }) => queryText.startsWith('SELECT'));
  assert.equal(select?.executionCount, 2);
  const [step] = select.steps;
  assert.deepEqual(Object.keys(step ?? {}), [
    'name',
    'executionCount',
    'totalCostMs',
    'minCostMs',
    'maxCostMs',
    'avgCostMs',
    'p99CostMs',
  ]);
  assert.deepEqual(Object.keys(select), [
    'database',
    'language',
    'queryText',
    'executionCount',
    'totalTimeMs',
    'minTimeMs',
    'maxTimeMs',
    'avgTimeMs',
    'p99TimeMs',
    'engineAvgMs',
    'deserializationAvgMs',
    'serializationAvgMs',
    'steps',
  ]);
  assert.match(String(more['savedFile']), /^profiler-run-\d{8}-\d{6}\.json$/);
  const { snapshotStart, snapshotStop } = more['summary'] as Record<string, object>;
  assert('profiler' in (snapshotStart ?? {}) && 'profiler' in (snapshotStop ?? {}));

  const listed = (await server('profiler list')).body['result'] as Record<string, unknown>[];
  assert.deepEqual(
    listed.map(({ fileName }) => fileName),
    [more['savedFile']],
  );
  const loaded = await server(`profiler load ${more['savedFile']}`);
  assert.deepEqual((loaded.body['result'] as Record<string, unknown>)['queries'], queries);
  const again = await server('profiler results');
  assert.deepEqual(again.body['queries'], queries);
  assert.equal((await server('profiler reset')).body['result'], 'ok');
  assert.equal((await server('profiler results')).body['totalQueries'], undefined);
});

/** A statement that is refused is not recorded. */
async function door404(sql: ProfilerFixture['sql']): Promise<void> {
  assert.equal((await sql('SELECT FROM')).status, 400);
}

test('a profiler that does not record says so; wrong arguments are refused', async (context) => {
  const { server } = await fixture(context);
  assert.equal((await server('profiler stop')).body['status'], 'not_recording');
  for (const [command, status] of [
    ['profiler start 0', 400],
    ['profiler start 3601', 400],
    ['profiler start soon', 400],
    ['profiler start 10 20', 400],
    ['profiler stop now', 400],
    ['profiler', 400],
    ['profiler dance', 400],
    ['profiler load', 400],
    ['profiler load profiler-run-20260131-102030.json', 400],
    ['profiler load ../config/server-users.jsonl', 403],
  ] as const)
    assert.equal((await server(command)).status, status, command);
  assert.equal((await server('profiler results', 'jay')).status, 403);
});
