import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DivergenceWatch } from '#cluster/verify/divergence-watch.ts';
import {
  type DigestSource,
  digestOf,
  type Place,
  sliceOf,
} from '#cluster/verify/database-digest.ts';
import type { ServerProposer } from '#cluster/replication/server-proposer.ts';
import { silentLog } from '#core/log.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { ReplicatedServers, type ReplicatedServer } from '../support/replicated-servers.ts';

// Copies that differ: found by what is compared all the time, and told apart by what verify compares.

function sourceOf(server: ReplicatedServer) {
  const { state, engine } = server.database;
  const view = state.view();
  const { snapshot, catalog } = view;
  const { shapes } = engine;
  return { snapshot, catalog, shapes, [Symbol.dispose]: () => view[Symbol.dispose]() };
}

/** One watch for each server, and marks that reach all of them at once. */
function watches(
  servers: ReplicatedServers,
  more: { firstWeight?: number; viewOf?: typeof sourceOf } = {},
) {
  let nowMs = 0;
  const proposer: Pick<ServerProposer, 'proposeFor'> = {
    proposeFor: async (_, __, body) => {
      for (const [id, watch] of made) {
        const [seat] = servers.of(id).replication.seats();
        assert.ok(seat && watch.marked(seat, body));
      }
      return 0;
    },
  };
  const made = new Map(
    [...servers.servers].map(([id, server]) => {
      const watch = new DivergenceWatch({
        leads: () => server.replication.isReadyLeader,
        seats: () => server.replication.seats(),
        proposer: () => proposer,
        view: () => (more.viewOf ?? sourceOf)(server),
        ...(more.firstWeight && { firstWeight: more.firstWeight }),
        runtime: {
          ...systemRuntime,
          clock: { ...systemRuntime.clock, monotonicMs: () => nowMs },
        },
        log: silentLog,
      });
      return [id, watch] as const;
    }),
  );
  const turn = async (ms: number) => {
    nowMs += ms;
    for (const watch of made.values()) await watch.turn();
    for (let turns = 0; turns < 20; turns += 1) await systemRuntime.timers.yield();
  };
  return { turn };
}

/** Of 64 records each; not among those of the first slice. */
const struckBlock = 40;

/** As a disk would give it back that has changed a byte of the records in one block. */
function damaged(server: ReplicatedServer): ReturnType<typeof sourceOf> {
  const source = sourceOf(server);
  const { snapshot, catalog } = source;
  const [bucket] = catalog.buckets();
  const changed = new Proxy(snapshot, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name === 'passingBlock')
        return (...given: Parameters<typeof snapshot.passingBlock>) => {
          const block = target.passingBlock(...given);
          if (given[0] !== bucket?.id || given[1] !== struckBlock || block === undefined)
            return block;
          const row = block.rowOffset(block.nextSlot(0));
          const at = row + block.view.getUint32(row, true) - 1;
          block.bytes[at] = (block.bytes[at] ?? 0) ^ 1;
          return block;
        };
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { ...source, snapshot: changed, [Symbol.dispose]: source[Symbol.dispose] };
}

async function fillWith(server: ReplicatedServer, count: number): Promise<void> {
  await server.run('CREATE VERTEX TYPE Person BUCKETS 1');
  await server.run('CREATE EDGE TYPE Knows');
  await server.run('CREATE PROPERTY Person.number INTEGER');
  await server.run('CREATE PROPERTY Person.text STRING');
  await server.run('CREATE INDEX ON Person (number) UNIQUE');
  await server.run('CREATE INDEX ON Person (text) FULL_TEXT');
  for (let at = 0; at < count; at += 500) {
    const values = Array.from({ length: 500 }, (_, i) => `(${at + i}, 'word${i} part${at}')`);
    await server.run(`INSERT INTO Person (number, text) VALUES ${values.join()}`);
  }
  await server.run(
    'CREATE EDGE Knows FROM (SELECT FROM Person WHERE number < 5) TO (SELECT FROM Person WHERE number < 200)',
  );
}

/** Slices of a whole pass. */
async function pass(source: DigestSource, weightMax: number) {
  const slices: Awaited<ReturnType<typeof sliceOf>>[] = [];
  let from: Place | undefined;
  do {
    const slice = await sliceOf(source, systemRuntime, { from, weightMax });
    slices.push(slice);
    from = slice.next;
  } while (from !== undefined);
  return slices;
}

test('a pass in slices reads everything once, and slices of equal copies are equal', async () => {
  const servers = await ReplicatedServers.start();
  try {
    await fillWith(servers.of('a'), 3000);
    await servers.settled();
    using own = sourceOf(servers.of('a'));
    using other = sourceOf(servers.of('c'));
    const [whole] = await pass(own, Number.POSITIVE_INFINITY);
    const slices = await pass(own, 1000);
    assert.ok(slices.length >= 15, String(slices.length));
    assert.deepEqual(
      new Set(slices.map(({ next }) => next?.area)),
      new Set(['rows', 'edges', 'entries', undefined]),
    );
    assert.equal(
      slices.reduce((sum, { weight }) => sum + weight, 0) - (whole?.weight ?? 0),
      // Each tells the columns of its rows.
      slices.filter(({ next }) => next?.area === 'rows').length,
    );
    // The largest: one entry of each record has the same key.
    for (const { weight } of slices) assert.ok(weight < 5000, String(weight));
    assert.deepEqual(await pass(other, 1000), slices);
    using struck = damaged(servers.of('c'));
    const found = (await pass(struck, 1000)).map(({ checksum }) => checksum);
    assert.equal(
      slices.filter(({ checksum }, at) => checksum !== found[at]).length,
      1,
      'one slice tells of it',
    );
  } finally {
    await servers.close();
  }
});

test('a byte that a disk has changed in a large database is found by a pass in slices, on the server that has it', async () => {
  const servers = await ReplicatedServers.start();
  try {
    await fillWith(servers.of('a'), 3000);
    await servers.settled();
    const viewOf = (server: ReplicatedServer) =>
      server === servers.of('c') ? damaged(server) : sourceOf(server);
    const { turn } = watches(servers, { firstWeight: 1000, viewOf });
    await turn(0);
    // A pass begins, and each turn goes on with it.
    await turn(31_000);
    assert.equal(damageOf(servers.of('c')), undefined, 'it is not in the first slice');
    for (let turns = 0; turns < 30; turns += 1) await turn(5000);
    assert.match(damageOf(servers.of('c')) ?? '', /it holds something else/);
    for (const id of ['a', 'b']) assert.equal(damageOf(servers.of(id)), undefined);
  } finally {
    await servers.close();
  }
});

const damageOf = (server: ReplicatedServer) => server.replication.seats()[0]?.damage;

test('equal copies stay; one that holds something else is closed alone, and only it', async () => {
  const servers = await ReplicatedServers.start();
  try {
    const leader = servers.of('a');
    await leader.run('CREATE VERTEX TYPE Person');
    await leader.run('CREATE EDGE TYPE Knows');
    for (const name of ['x', 'y', 'z'])
      await leader.run('INSERT INTO Person SET name = :name', { name });
    await leader.run('CREATE EDGE Knows FROM (SELECT FROM Person) TO (SELECT FROM Person)');
    await servers.settled();
    const { turn } = watches(servers);
    await turn(0);
    await turn(40_000);
    for (const server of servers.servers.values()) assert.equal(damageOf(server), undefined);

    // As an apply that went wrong would leave it: the same position, other content.
    const { engine } = servers.of('c').database;
    const position = engine.applied();
    using snapshot = engine.snapshot();
    const chain = snapshot.meta('chain') ?? new Uint8Array(0);
    await engine.apply([
      {
        position: { ...position, index: (position.index + 1) as typeof position.index },
        operations: [{ op: 'meta', name: 'settings', value: Buffer.from('{}') }],
      },
    ]);
    assert.ok(chain.length > 0);
    await leader.run("INSERT INTO Person SET name = 'w'");
    await servers.settled();
    await turn(11_000);
    assert.deepEqual(
      ['a', 'b'].map((id) => damageOf(servers.of(id))),
      [undefined, undefined],
    );
    assert.match(damageOf(servers.of('c')) ?? '', /./);
  } finally {
    await servers.close();
  }
});

test('each kind of content has a digest of its own', async () => {
  const servers = await ReplicatedServers.start(['a']);
  try {
    const server = servers.of('a');
    const digest = async () => {
      using source = sourceOf(server);
      const files = await digestOf(source, systemRuntime);
      return new Map(files.map(({ name, checksum }) => [name, checksum]));
    };
    await server.run('CREATE VERTEX TYPE Person BUCKETS 1');
    await server.run('CREATE PROPERTY Person.text STRING');
    await server.run('CREATE EDGE TYPE Knows BUCKETS 1');
    await server.run('CREATE INDEX ON Person (text) FULL_TEXT');
    await server.run("INSERT INTO Person SET text = 'one two', number = 1");
    await server.run("INSERT INTO Person SET text = 'three'");
    let before = await digest();
    const changedBy = async (text: string) => {
      await server.run(text);
      const after = await digest();
      const changed = [...after.keys()].filter((name) => after.get(name) !== before.get(name));
      before = after;
      return changed;
    };
    const names = [...before.keys()];
    for (const expected of ['dictionary.json', 'schema.json', 'settings.json', 'Knows.edges'])
      assert.ok(names.includes(expected), names.join(' '));
    const edge = await changedBy(
      'CREATE EDGE Knows FROM (SELECT FROM Person LIMIT 1) TO (SELECT FROM Person LIMIT 1)',
    );
    assert.ok(edge.includes('Knows.edges') && edge.some((name) => name.endsWith('.bucket')));
    const text = await changedBy("UPDATE Person SET text = 'four' WHERE number = 1");
    assert.ok(
      text.some((name) => name.endsWith('.idx')),
      text.join(' '),
    );
    const column = await changedBy('UPDATE Person SET fresh = true WHERE number = 1');
    assert.ok(column.includes('dictionary.json'), column.join(' '));
  } finally {
    await servers.close();
  }
});
