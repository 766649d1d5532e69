import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { digestOf } from '#cluster/verify/database-digest.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { decodeEdgeRuns, edgeRunsName } from '#storage/format/edge-runs.ts';
import { ReplicatedServers } from '../support/replicated-servers.ts';

let servers: ReplicatedServers;
after(() => servers.close());

/** Row runs that a server has built from the bytes of the log. */
function countRuns({ database: { engine } }: Server): () => number {
  let count = 0;
  const bulk = engine.bulk.bind(engine);
  engine.bulk = () => {
    const writer = bulk();
    const addRun = writer.addRun.bind(writer);
    writer.addRun = (bytes) => {
      count += 1;
      return addRun(bytes);
    };
    return writer;
  };
  return () => count;
}

type Server = ReturnType<ReplicatedServers['of']>;

async function filesOf({ database }: Server) {
  const { engine, state } = database;
  using view = state.view();
  const { snapshot, catalog } = view;
  return await digestOf({ snapshot, catalog, shapes: engine.shapes }, systemRuntime);
}

function runsOf({ database }: Server) {
  using snapshot = database.engine.snapshot();
  return decodeEdgeRuns(snapshot.meta(edgeRunsName));
}

test('large loads leave equal lists on every server, whenever each of them merges its runs', async () => {
  servers = await ReplicatedServers.start(['a', 'b'], {
    bounds: { quorumTimeoutMs: () => 60_000 },
  });
  const [a, b] = [servers.of('a'), servers.of('b')];
  await a.run('CREATE VERTEX TYPE V');
  await a.run('CREATE EDGE TYPE E');
  const loader = a.database.bulkLoader();
  const ids = Array.from({ length: 500 }, (_, n) => n);
  await loader.addRecords({ type: 'V', columns: ['k'], values: ids, rowCount: 500, ids });
  const rowCount = 11_000;
  for (let round = 0; round < 9; round += 1) {
    const edges = Array.from({ length: rowCount }, (_, n) => n * 7 + round);
    await loader.addEdges({
      type: 'E',
      columns: ['w'],
      values: edges,
      rowCount,
      from: edges.map((n) => (n * 31) % 500),
      to: edges.map((n) => (n % 3 === 0 ? 4 : n % 500)),
    });
    if (round % 3 === 2) await loader.commit();
  }
  await servers.settled();
  // A load knows that more comes; where it is followed the first commit goes into lists at once.
  assert.deepEqual([runsOf(a).lastNumber, runsOf(b).lastNumber], [3, 2]);
  await a.run('DELETE FROM E WHERE w = 21');
  await a.run('CREATE EDGE E FROM (SELECT FROM V WHERE k = 1) TO (SELECT FROM V WHERE k = 4)');
  await loader.finish();
  await servers.settled();
  assert.equal(runsOf(a).waiting.length, 0);
  assert.deepEqual(await filesOf(b), await filesOf(a));
  await b.database.engine.mergeEdgeRuns();
  assert.equal(runsOf(b).waiting.length, 0);
  assert.deepEqual(await filesOf(b), await filesOf(a));
});

test('who leads writes the rows that it holds, and builds them from the log when nobody waits for them any more', async (context) => {
  const pair = await ReplicatedServers.start(['a', 'b'], {
    bounds: { quorumTimeoutMs: () => 1000 },
  });
  context.after(() => pair.close());
  const [a, b] = [pair.of('a'), pair.of('b')];
  await a.run('CREATE VERTEX TYPE V');
  await a.run('CREATE EDGE TYPE E');
  const [builtByA, builtByB] = [countRuns(a), countRuns(b)];
  const load = async (first: number) => {
    const ids = Array.from({ length: 300 }, (_, n) => first + n);
    const loader = a.database.bulkLoader();
    await loader.addRecords({ type: 'V', columns: ['k'], values: ids, rowCount: 300, ids });
    const [from, to] = [ids, ids.toReversed()];
    await loader.addEdges({ type: 'E', columns: ['w'], values: ids, rowCount: 300, from, to });
    await loader.finish();
  };
  await load(0);
  await pair.settled();
  assert.deepEqual([builtByA(), builtByB()], [0, 1]);
  assert.deepEqual(await filesOf(b), await filesOf(a));

  // The load is told that its fate is not known, and gives up what it holds; the entry is committed later.
  pair.consensus.holdCommits();
  await assert.rejects(load(300), /not known whether/);
  pair.consensus.commitAll();
  await pair.settled();
  assert.deepEqual([builtByA(), builtByB()], [1, 2]);
  assert.deepEqual(await filesOf(b), await filesOf(a));
  const [row] = await b.run('SELECT count(*) AS n FROM V');
  assert.equal(row?.['n'], 600);
});
