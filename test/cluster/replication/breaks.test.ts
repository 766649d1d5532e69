import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { DatabaseError } from '#core/errors.ts';
import type { Database } from '#database/database.ts';
import type { LogIndex } from '#core/value/rid.ts';
import { root } from '#test/database/support/open-test-database.ts';
import { ReplicatedServers } from '../support/replicated-servers.ts';

// What breaks when a server leads, loses the lead, applies the entries of another one and leads again: the list of nine.

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

const code = (wanted: string) => (error: DatabaseError) => {
  assert.equal(error.code, wanted, error.message);
  return true;
};

test('1: what a rolled back transaction taught the old leader is not in the way of the new one', async () => {
  const servers = await three();
  const a = servers.of('a');
  await a.run('CREATE DOCUMENT TYPE D');
  await a.run('INSERT INTO D SET first = 1');
  await assert.rejects(
    a.run("BEGIN; INSERT INTO D SET x = 'a', y = 1; THROW 'no'; COMMIT", {}, {}, 'sqlscript'),
  );
  const b = await servers.lead('b');
  await b.run("INSERT INTO D SET p = 'b', q = 2");
  await b.run("INSERT INTO D SET q = 'c'");
  await requireEqual(servers);
  for (const server of servers.servers.values()) {
    assert.deepEqual(await server.run('SELECT p, q FROM D WHERE p IS NOT NULL'), [
      { p: 'b', q: 2 },
    ]);
    const names = [...server.database.engine.shapes.propertyNames()].sort();
    const expected = [...b.database.engine.shapes.propertyNames()].sort();
    assert.deepEqual(names, expected, server.id);
  }
  await servers.lead('a');
  await a.run("INSERT INTO D SET x = 'late', y = 9");
  await requireEqual(servers);
  const found = await servers.of('c').run("SELECT x, y FROM D WHERE x = 'late'");
  assert.deepEqual(found, [{ x: 'late', y: 9 }]);
});

test('1: a transaction that was begun under an earlier leadership cannot be committed', async () => {
  const servers = await three();
  const a = servers.of('a');
  await a.run('CREATE DOCUMENT TYPE D BUCKETS 1');
  const sessionId = a.database.begin(root, 'READ_COMMITTED');
  await a.run("INSERT INTO D SET fresh = 'old leadership'", {}, { sessionId });
  const b = await servers.lead('b');
  await b.run('INSERT INTO D SET other = 1');
  await servers.lead('a');
  await assert.rejects(a.database.commit(root, sessionId), code('ConcurrentModification'));
  assert.deepEqual(await a.run('SELECT other FROM D'), [{ other: 1 }]);
  await requireEqual(servers);
});

test('2: positions of an earlier leadership are not given again', async () => {
  const servers = await three();
  const a = servers.of('a');
  await a.run('CREATE DOCUMENT TYPE D BUCKETS 1');
  for (let n = 0; n < 3; n++) await a.run(`INSERT INTO D SET n = ${n}`);
  const b = await servers.lead('b');
  for (let n = 3; n < 9; n++) await b.run(`INSERT INTO D SET n = ${n}`);
  await servers.lead('a');
  // More than its first lease of positions had.
  const more = Array.from({ length: 591 }, (_, i) => `{n: ${i + 9}}`);
  await a.run(`INSERT INTO D CONTENT [${more.slice(0, 300).join(', ')}]`);
  await a.run(`INSERT INTO D CONTENT [${more.slice(300).join(', ')}]`);
  await servers.settled();
  assert.deepEqual(
    await servers.of('c').run('SELECT n FROM D ORDER BY n'),
    Array.from({ length: 600 }, (_, n) => ({ n })),
  );
  await requireEqual(servers);
});

test('2: an entry that meets another state than it was made from stops that copy, and no other', async () => {
  const servers = await three();
  const [a, c] = [servers.of('a'), servers.of('c')];
  await a.run('CREATE DOCUMENT TYPE D BUCKETS 1');
  await a.run('INSERT INTO D SET n = 1');
  await servers.settled();
  // Something writes to the files of one server behind the back of the log.
  const { engine } = c.database;
  const { index, term, txId } = engine.applied();
  using view = c.database.state.view();
  const bucket = view.catalog.buckets()[0];
  assert.ok(bucket);
  const rid = (bucket.id * 2 ** 37) as never;
  const row = engine.rows.encode(view.catalog.types()[0]?.id ?? (0 as never), new Map([['n', 5]]));
  const shapes = engine.shapes.definitionsFor([{ op: 'put-row', rid, row: row.slice() }]);
  const place = { index: (index + 0.5) as LogIndex, term, txId };
  await engine.apply([
    { position: place, operations: [...shapes, { op: 'put-row', rid, row: row.slice() }] },
  ]);
  await a.run('UPDATE D SET n = 2');
  await servers.settled();
  await assert.rejects(async () => c.run('SELECT FROM D'), code('DatabaseInstalling'));
  assert.deepEqual(await servers.of('b').run('SELECT n FROM D'), [{ n: 2 }]);
  await a.run('INSERT INTO D SET n = 3');
  await servers.settled();
  assert.equal((await servers.of('b').run('SELECT n FROM D')).length, 2);
});

test('6: a leader that cannot apply says that it is committed, and gives up the lead', async () => {
  const servers = await three();
  const a = servers.of('a');
  await a.run('CREATE DOCUMENT TYPE D BUCKETS 1');
  await a.run('INSERT INTO D SET n = 1');
  await servers.settled();
  const { engine } = a.database;
  const { index, term, txId } = engine.applied();
  // One transaction is missing in the log of this copy alone.
  const skipped = { index: (index + 0.5) as LogIndex, term, txId: txId + 1 };
  await engine.apply([{ position: skipped, operations: [] }]);
  await assert.rejects(a.run('INSERT INTO D SET n = 2'), code('CommittedRemotely'));
  await servers.settled();
  assert.notEqual(servers.consensus.leader, 'a');
  const leader = servers.of(servers.consensus.leader ?? '');
  await leader.run('INSERT INTO D SET n = 3');
  assert.deepEqual(await leader.run('SELECT n FROM D ORDER BY n'), [{ n: 1 }, { n: 2 }, { n: 3 }]);
});

test('an entry that does not fit into the log is refused before it, and nothing of it is stored', async () => {
  const servers = await three();
  const a = servers.of('a');
  await a.run('CREATE DOCUMENT TYPE D');
  const part = 'x'.repeat(9 * 1024 * 1024);
  const parts = { a: part, b: part, c: part, d: part };
  const text = 'INSERT INTO D SET a = :a, b = :b, c = :c, d = :d';
  await assert.rejects(a.run(text, parts), code('EntryTooLarge'));
  await a.run('INSERT INTO D SET a = 1');
  assert.equal((await a.run('SELECT FROM D')).length, 1);
  await requireEqual(servers);
});

test('3: schema, settings, global variables and request ids are those of the log on every server', async () => {
  const servers = await three();
  const a = servers.of('a');
  await a.run('CREATE DOCUMENT TYPE D');
  await a.run('ALTER DATABASE `service.dateFormat` "dd.MM.yyyy"');
  await a.run("SET GLOBAL who = 'a'", {}, {}, 'sqlscript');
  await a.run('INSERT INTO D SET n = 1', {}, { replayKey: 'root POST /command id-1' });
  await servers.settled();
  for (const { database, id } of servers.servers.values()) {
    assert.equal(database.formats().dateFormat, 'dd.MM.yyyy', id);
    assert.ok(database.committedUnder('root POST /command id-1'), id);
    assert.ok(database.state.catalog.typeNamed('D'), id);
  }
  const b = await servers.lead('b');
  assert.deepEqual(await b.run('RETURN $who', {}, {}, 'sqlscript'), [{ value: 'a' }]);
  await b.run('ALTER DATABASE `service.dateFormat` "yyyy"');
  await b.run("SET GLOBAL who = 'b'", {}, {}, 'sqlscript');
  await requireEqual(servers);
  assert.equal(a.database.formats().dateFormat, 'yyyy');
  assert.deepEqual(await a.run('RETURN $who', {}, {}, 'sqlscript'), [{ value: 'b' }]);
});

test('4: a database whose LSNs are ahead of the log has an offset, and skips nothing', async () => {
  const servers = await three();
  const uuid = '11111111-2222-4333-8444-555555555555';
  await servers.of('a').create('older', uuid, 5000);
  await servers.settled();
  const run = (id: string, text: string) => {
    const options = {
      principal: { name: 'root', isRoot: true, via: 'password' } as const,
      mustBeIdempotent: false,
      signal: new AbortController().signal,
    };
    const statement = { language: 'sql', text, parameters: new Map() };
    return servers.of(id).databases.open('older').run(statement, options);
  };
  (await run('a', 'CREATE DOCUMENT TYPE D')).close();
  await servers.settled();
  const indexes = [...servers.servers.values()].map(({ databases }) => {
    const { engine } = databases.open('older') as Database;
    return engine.applied().index;
  });
  assert.ok(
    indexes.every((index) => index > 5000 && index === indexes[0]),
    String(indexes),
  );
});

test('6: a row that some layout of blocks would refuse is refused before the log', async () => {
  const servers = await three();
  const a = servers.of('a');
  await a.run('CREATE DOCUMENT TYPE D');
  const properties = Array.from({ length: 250 }, (_, n) => `p${n}: '${'x'.repeat(31)}'`).join(', ');
  await assert.rejects(a.run(`INSERT INTO D CONTENT {${properties}}`), code('IllegalArgument'));
  await a.run(`INSERT INTO D SET t = '${'x'.repeat(100_000)}'`);
  await requireEqual(servers);
});

test('7: what one copy has lost is not taken from the others through the log', async () => {
  const servers = await three();
  const a = servers.of('a');
  await a.run('CREATE DOCUMENT TYPE D BUCKETS 1');
  await a.run('INSERT INTO D SET n = 1');
  await servers.settled();
  const before = servers.consensus.log.length;
  const bucket = a.database.state.catalog.buckets()[0]?.id;
  assert.ok(bucket !== undefined);
  await assert.rejects(
    a.database.state.repair(() => [{ op: 'drop-bucket', bucket }]),
    /not supported in a cluster/,
  );
  assert.equal(servers.consensus.log.length, before);
  assert.deepEqual(await servers.of('b').run('SELECT n FROM D'), [{ n: 1 }]);
});

test('8: what a leader left unfinished is finished by the next one, and followers write nothing', async () => {
  const servers = await three();
  const a = servers.of('a');
  await a.run('CREATE DOCUMENT TYPE S');
  await a.run('CREATE MATERIALIZED VIEW V AS SELECT n FROM S REFRESH INCREMENTAL');
  await a.run('INSERT INTO S SET n = 1');
  const length = () => servers.consensus.log.length;
  assert.equal((await a.run('SELECT FROM V')).length, 1);
  await servers.settled();
  await servers.of('c').restart();
  await servers.settled();
  const before = length();
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(length(), before, 'an opened follower refreshes nothing');
  const b = await servers.lead('b');
  await b.run('INSERT INTO S SET n = 2');
  assert.equal((await b.run('SELECT FROM V')).length, 2);
  await requireEqual(servers);
  assert.equal((await servers.of('c').run('SELECT FROM V')).length, 2);
});

test('8: an index that a leader began is taken back by the next one', async () => {
  const servers = await three();
  const [a, b] = [servers.of('a'), servers.of('b')];
  await a.run('CREATE DOCUMENT TYPE D');
  await a.run('CREATE PROPERTY D.n LONG');
  await a.run('INSERT INTO D SET n = 1');
  await servers.settled();
  // It sees nothing of what it writes from here on, so it comes no further than the first step.
  servers.consensus.port('a').hold();
  const built = a.run('CREATE INDEX ON D (n) NOTUNIQUE').catch(() => {});
  const stateAt = (server: typeof a) => server.database.state.catalog.indexes()[0]?.state;
  await until(() => stateAt(b) !== undefined);
  assert.equal(stateAt(b), 'BUILDING');
  servers.consensus.elect('b', 'keeps');
  servers.consensus.port('a').release();
  await until(() => stateAt(a) === undefined && stateAt(b) === undefined);
  await built;
  await requireEqual(servers);
});

async function until(isSo: () => boolean): Promise<void> {
  for (let i = 0; i < 1000 && !isSo(); i++) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(isSo());
}

test('a server that was down catches up, and one that crashes while it applies begins where its data are', async () => {
  const servers = await three();
  const [a, c] = [servers.of('a'), servers.of('c')];
  await a.run('CREATE DOCUMENT TYPE D');
  servers.consensus.port('c').hold();
  for (let n = 0; n < 50; n++) await a.run(`INSERT INTO D SET n = ${n}`);
  await a.run('CREATE INDEX ON D (n) NOTUNIQUE').catch(() => {});
  await c.restart();
  await requireEqual(servers);
  assert.equal((await c.run('SELECT FROM D')).length, 50);
});
