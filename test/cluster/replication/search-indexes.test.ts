import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digestOf } from '#cluster/verify/database-digest.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { ReplicatedServer, ReplicatedServers } from '../support/replicated-servers.ts';

// Servers that apply one log hold equal entries in every kind of index: built before or behind the records, by those that were
// there all the time, by one that was started again and by one that begins with nothing.

const indexes: readonly string[] = [
  "CREATE INDEX # ON V (t) FULL_TEXT METADATA {'analyzer': 'english'}",
  "CREATE INDEX # ON V (v) LSM_VECTOR METADATA {'dimensions': 3}",
  'CREATE INDEX # ON V (i, w) LSM_SPARSE_VECTOR',
  "CREATE INDEX # ON V (g) GEOSPATIAL METADATA {'precision': 6}",
];

const words = 'running horses and the old sea über 世界 stones'.split(' ');

/** A random change; the same for the same numbers. */
function changeOf(random: (below: number) => number): string {
  const n = random(60);
  const text = Array.from({ length: 1 + random(9) }, () => words[random(words.length)]).join(' ');
  const first = random(50);
  const indices = [first, first + 1 + random(50)];
  const x = random(360) - 180;
  const y = random(160) - 80;
  const place =
    random(2) === 0
      ? `POINT (${x} ${y})`
      : `POLYGON ((${x} ${y}, ${x + 3} ${y}, ${x + 3} ${y + 2}, ${x} ${y}))`;
  const values = `n = ${n}, t = '${text}', v = [${x}, ${y}, 1], i = [${indices.join(', ')}], w = [0.5, ${1 + random(9)}], g = '${place}'`;
  const kind = random(10);
  if (kind < 5) return `INSERT INTO V SET ${values}`;
  if (kind < 8) return `UPDATE V SET ${values} WHERE n = ${n}`;
  if (kind < 9) return `UPDATE V SET t = null, g = 'no place', i = null, w = null WHERE n = ${n}`;
  return `DELETE FROM V WHERE n = ${n}`;
}

function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Checksums of what the indexes of a server hold, when all are built. */
async function entriesOf(server: ReplicatedServer): Promise<ReadonlyMap<string, string>> {
  for (;;) {
    const { state, engine } = server.database;
    using view = state.view();
    const { snapshot, catalog } = view;
    if (catalog.indexes().every((index) => index.state !== 'BUILDING')) {
      const files = await digestOf({ snapshot, catalog, shapes: engine.shapes }, systemRuntime);
      const parts = files.filter(({ name }) => name.endsWith('.idx'));
      return new Map(parts.map(({ name, checksum }) => [name, checksum]));
    }
    await systemRuntime.timers.yield();
  }
}

test('copies hold equal entries in every kind of index, whenever they were built', async () => {
  const servers = await ReplicatedServers.start();
  try {
    const leader = servers.of('a');
    const random = randomFrom(7);
    const change = async (times: number) => {
      for (let i = 0; i < times; i += 1) await leader.run(changeOf(random));
    };
    for (const statement of [
      'CREATE VERTEX TYPE V BUCKETS 2',
      'CREATE PROPERTY V.n INTEGER',
      'CREATE PROPERTY V.t STRING',
      'CREATE PROPERTY V.v ARRAY_OF_FLOATS',
      'CREATE PROPERTY V.i ARRAY_OF_INTEGERS',
      'CREATE PROPERTY V.w ARRAY_OF_FLOATS',
      'CREATE PROPERTY V.g STRING',
      ...indexes.map((text, at) => text.replace('#', `early${at}`)),
    ])
      await leader.run(statement);
    await change(150);
    // Those behind the records are built while others write.
    for (const [at, text] of indexes.entries())
      await Promise.all([leader.run(text.replace('#', `late${at}`)), change(15)]);
    await leader.run('REBUILD INDEX early0');
    await change(30);
    await servers.settled();
    await servers.of('b').restart();
    await change(20);
    await servers.settled();

    await servers.of('c').close();
    servers.consensus.restart('c');
    servers.servers.set('c', await ReplicatedServer.start('c', servers.consensus, {}));
    await change(5);
    await servers.settled();

    const wanted = await entriesOf(leader);
    // Each kind holds something else.
    assert.equal(wanted.size, 8);
    assert.equal(new Set(wanted.values()).size, 4);
    for (const at of indexes.keys())
      assert.equal(wanted.get(`early${at}.idx`), wanted.get(`late${at}.idx`), indexes[at]);
    for (const id of ['b', 'c']) assert.deepEqual(await entriesOf(servers.of(id)), wanted, id);
    const [checked] = await servers.of('c').run('CHECK DATABASE');
    assert.equal(checked?.['totalErrors'], 0, JSON.stringify(checked));
  } finally {
    await servers.close();
  }
});
