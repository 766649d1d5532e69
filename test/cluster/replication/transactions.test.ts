import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { DatabaseError } from '#core/errors.ts';
import { root } from '#test/database/support/open-test-database.ts';
import { ReplicatedServers } from '../support/replicated-servers.ts';

const started: ReplicatedServers[] = [];
after(async () => {
  for (const servers of started) await servers.close();
});

async function three(options?: Parameters<typeof ReplicatedServers.start>[1]) {
  const servers = await ReplicatedServers.start(['a', 'b', 'c'], options);
  started.push(servers);
  return servers;
}

async function requireEqual(servers: ReplicatedServers): Promise<void> {
  await servers.settled();
  const [first, ...rest] = [...servers.servers.values()];
  for (const other of rest) assert.deepEqual(other.digest(), first?.digest(), other.id);
}

/** A statement takes as many turns of the event loop as it is paused. */
async function appendedBehind({ consensus }: ReplicatedServers, count: number): Promise<void> {
  for (let n = 0; consensus.log.length === count; n++) {
    assert.ok(n < 10_000, 'the write reaches the log');
    await new Promise(setImmediate);
  }
}

const code = (wanted: string) => (error: DatabaseError) => {
  assert.equal(error.code, wanted, error.message);
  return true;
};

test('what the leader commits is on every server, with equal hashes, counters and chains', async () => {
  const servers = await three();
  const [a, b] = [servers.of('a'), servers.of('b')];
  await a.run('CREATE VERTEX TYPE Person');
  await a.run('CREATE EDGE TYPE Knows');
  await a.run('CREATE PROPERTY Person.name STRING');
  await a.run('CREATE INDEX ON Person (name) UNIQUE');
  await Promise.all(
    Array.from({ length: 40 }, (_, n) =>
      a.run('INSERT INTO Person SET name = :name, age = :age', { name: `p${n}`, age: n }),
    ),
  );
  await a.run(
    "CREATE EDGE Knows FROM (SELECT FROM Person WHERE name = 'p1') TO (SELECT FROM Person WHERE name = 'p2') SET since = 3",
  );
  await a.run("UPDATE Person SET age = 100 WHERE name = 'p3'");
  await a.run("DELETE VERTEX FROM Person WHERE name = 'p4'");
  await requireEqual(servers);
  assert.deepEqual(await b.run("SELECT age FROM Person WHERE name = 'p3'"), [{ age: 100 }]);
  assert.deepEqual(
    await b.run("SELECT expand(out('Knows').name) FROM Person WHERE name = 'p1'"),
    await a.run("SELECT expand(out('Knows').name) FROM Person WHERE name = 'p1'"),
  );
  await assert.rejects(a.run("INSERT INTO Person SET name = 'p1'"), code('DuplicatedKey'));
});

test('a follower refuses every kind of write and names the leader; it reads', async () => {
  const servers = await three();
  await servers.of('a').run('CREATE DOCUMENT TYPE D');
  await servers.of('a').run('INSERT INTO D SET k = 1');
  await servers.settled();
  const b = servers.of('b');
  for (const text of [
    'INSERT INTO D SET k = 2',
    'UPDATE D SET k = 3',
    'DELETE FROM D',
    'CREATE DOCUMENT TYPE E',
    'DROP TYPE D UNSAFE',
    'CREATE INDEX ON D (k) NOTUNIQUE',
    'ALTER DATABASE `service.dateFormat` "yyyy"',
    'TRUNCATE TYPE D UNSAFE',
  ]) {
    await assert.rejects(b.run(text), (error: DatabaseError) => {
      assert.equal(error.code, 'NotLeader', `${text}: ${error.message}`);
      assert.match(error.message, /\ba\b/);
      return true;
    });
  }
  assert.deepEqual(await b.run('SELECT k FROM D'), [{ k: 1 }]);
  await requireEqual(servers);
});

test('leadership goes round, and every server writes with the numbers and positions of the log', async () => {
  const servers = await three();
  await servers.of('a').run('CREATE DOCUMENT TYPE D BUCKETS 1');
  for (const [round, id] of ['a', 'b', 'c', 'a', 'b', 'a'].entries()) {
    const leader = await servers.lead(id);
    // A rolled back transaction learns shapes and property numbers, and takes positions.
    await assert.rejects(
      leader.run(
        `BEGIN; INSERT INTO D SET lost${round}_${id} = 1, x = 2; THROW 'no'; COMMIT`,
        {},
        {},
        'sqlscript',
      ),
    );
    for (let n = 0; n < 3; n++)
      await leader.run(`INSERT INTO D SET round = ${round}, f${round}_${n} = ${n}`);
    await requireEqual(servers);
  }
  for (const server of servers.servers.values()) {
    const rows = await server.run('SELECT FROM D ORDER BY @rid');
    assert.equal(rows.length, 18);
    rows.forEach((row, at) => {
      const round = Math.floor(at / 3);
      assert.equal((row as Record<string, unknown>)[`f${round}_${at % 3}`], at % 3);
    });
  }
});

test('a refused batch is rolled back and leaves no gap; the next one goes on', async () => {
  const servers = await three();
  const a = servers.of('a');
  await a.run('CREATE DOCUMENT TYPE D');
  servers.consensus.refuseNext('too-many-uncommitted');
  await assert.rejects(a.run('INSERT INTO D SET k = 1'), code('QuorumNotReached'));
  servers.consensus.refuseNext('transfer-pending');
  const outcomes = await Promise.allSettled(
    Array.from({ length: 20 }, (_, n) => a.run(`INSERT INTO D SET n = ${n}`)),
  );
  const stored = outcomes.filter(({ status }) => status === 'fulfilled').length;
  await a.run('INSERT INTO D SET k = 2');
  assert.deepEqual(await a.run('SELECT count(*) AS c FROM D'), [{ c: stored + 1 }]);
  await requireEqual(servers);
});

test('what a new leader does not have is not committed, and what it has is', async () => {
  const servers = await three();
  const a = servers.of('a');
  await a.run('CREATE DOCUMENT TYPE D');
  servers.consensus.holdCommits();
  const beforeLost = servers.consensus.log.length;
  const lost = a.run('INSERT INTO D SET k = 1');
  lost.catch(() => {});
  await appendedBehind(servers, beforeLost);
  await servers.lead('b', 'loses');
  await assert.rejects(lost, code('QuorumNotReached'));
  await servers.lead('a');
  servers.consensus.holdCommits();
  const beforeKept = servers.consensus.log.length;
  const kept = a.run('INSERT INTO D SET k = 2');
  await appendedBehind(servers, beforeKept);
  await servers.lead('b');
  await kept;
  await requireEqual(servers);
  assert.deepEqual(await a.run('SELECT k FROM D'), [{ k: 2 }]);
});

test('after the deadline nobody knows; what the commit holds stays held until its fate is known', async () => {
  let timeoutMs = 2000;
  const servers = await three({ bounds: { quorumTimeoutMs: () => timeoutMs } });
  const a = servers.of('a');
  await a.run('CREATE DOCUMENT TYPE D');
  await a.run('CREATE PROPERTY D.k LONG');
  await a.run('CREATE INDEX ON D (k) UNIQUE');
  servers.consensus.holdCommits();
  // Only what is certain to be held has a short deadline: no step depends on how busy the machine is.
  timeoutMs = 30;
  await assert.rejects(a.run('INSERT INTO D SET k = 7'), code('OutcomeUnknown'));
  const second = a.run('INSERT INTO D SET k = 7');
  second.catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 20));
  servers.consensus.commitAll();
  await assert.rejects(second, code('DuplicatedKey'));
  await requireEqual(servers);
  assert.deepEqual(await servers.of('c').run('SELECT count(*) AS c FROM D'), [{ c: 1 }]);
});

test('indexes are filled on every server, whichever of them builds them, and schema is in step with data', async () => {
  const servers = await three();
  const a = servers.of('a');
  await a.run('CREATE DOCUMENT TYPE D');
  for (let n = 0; n < 30; n++) await a.run(`INSERT INTO D SET k = ${n}, t = 'word${n} all'`);
  await a.run('CREATE PROPERTY D.k LONG');
  await a.run('CREATE INDEX ON D (k) UNIQUE');
  await requireEqual(servers);
  const b = await servers.lead('b');
  await b.run('CREATE PROPERTY D.t STRING');
  await b.run('CREATE INDEX ON D (t) NOTUNIQUE');
  await b.run('REBUILD INDEX `D[k]`');
  await assert.rejects(b.run('INSERT INTO D SET k = 5'), code('DuplicatedKey'));
  await requireEqual(servers);
  for (const server of servers.servers.values()) {
    assert.equal((await server.run("SELECT FROM D WHERE t = 'word3 all'")).length, 1, server.id);
  }
  await b.run('DROP INDEX `D[t]`');
  await b.run('DROP TYPE D UNSAFE');
  await requireEqual(servers);
});

test('a bulk load travels as rows and is built on every server', async () => {
  const servers = await three();
  const a = servers.of('a');
  await a.run('CREATE VERTEX TYPE V');
  await a.run('CREATE EDGE TYPE E');
  await a.run('CREATE PROPERTY V.k LONG');
  await a.run('CREATE INDEX ON V (k) UNIQUE');
  for (const from of [0, 700]) {
    const loader = a.database.bulkLoader();
    const ids = Array.from({ length: 700 }, (_, n) => from + n);
    const values = ids.flatMap((n) => [n, n % 50 === 0 ? 'x'.repeat(3000) : `t${n}`]);
    await loader.addRecords({ type: 'V', columns: ['k', 'text'], values, rowCount: 700, ids });
    await loader.addEdges({
      type: 'E',
      columns: ['w'],
      values: ids.slice(1),
      rowCount: 699,
      from: ids.slice(0, -1),
      to: ids.slice(1),
    });
    await loader.finish();
  }
  await requireEqual(servers);
  for (const server of servers.servers.values()) {
    assert.deepEqual(await server.run('SELECT count(*) AS c FROM V'), [{ c: 1400 }]);
    assert.deepEqual(await server.run('SELECT count(*) AS c FROM E'), [{ c: 1398 }]);
    const [row] = await server.run('SELECT text, out().k AS next FROM V WHERE k = 750');
    assert.deepEqual(row, { text: 'x'.repeat(3000), next: [751] });
  }
});

test('a database that is no member of the log can be read and not changed', async () => {
  const servers = await three();
  const b = servers.of('b');
  const before = servers.consensus.log.length;
  await b.databases.createHere('alone');
  const run = async (text: string) => {
    const statement = { language: 'sql', text, parameters: new Map() };
    const signal = new AbortController().signal;
    const options = { principal: root, mustBeIdempotent: false, signal };
    (await b.databases.open('alone').run(statement, options)).close();
  };
  await run('SELECT FROM schema:types');
  await assert.rejects(run('CREATE DOCUMENT TYPE D'), code('DatabaseReadOnly'));
  assert.equal(servers.consensus.log.length, before);
});
