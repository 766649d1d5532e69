import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { digestOf } from '#cluster/verify/database-digest.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { decodeEdgeRuns, edgeRunsName } from '#storage/format/edge-runs.ts';
import { ReplicatedServers } from '../support/replicated-servers.ts';

let servers: ReplicatedServers;
after(() => servers.close());

type Server = ReturnType<ReplicatedServers['of']>;

async function filesOf({ database }: Server) {
  const { engine, state } = database;
  using view = state.view();
  const { snapshot, catalog } = view;
  return digestOf({ snapshot, catalog, shapes: engine.shapes }, systemRuntime);
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
  // The first load goes into lists at once.
  assert.deepEqual([runsOf(a).lastNumber, runsOf(b).lastNumber], [2, 2]);
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
