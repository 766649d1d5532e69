import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DivergenceWatch } from '#cluster/verify/divergence-watch.ts';
import { digestOf } from '#cluster/verify/database-digest.ts';
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
function watches(servers: ReplicatedServers) {
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
        view: () => sourceOf(server),
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
