import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Authorizer } from '#core/principal.ts';
import { openTestDatabase, root, type TestDatabase } from '../support/open-test-database.ts';
import { askedRows } from './asked-rows.ts';

// Goal: a statement in a reader thread sees what was acknowledged before it, ends when it is to end, and leaves nothing behind.
// Method: statements that take any time, moved however short they are; `COUNT=1000` cancels more of them.

const cancelCount = Number(process.env['COUNT'] ?? 45);
const settings = { 'server.readThreads': '1', 'server.readThreadMinWork': '0' };
const cypher = { language: 'cypher' } as const;
/** Some seconds of work, in slices. */
const endless =
  'MATCH (p:P) UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN count(*)';
const countOfP = 'SELECT count(*) AS c, sum(n) AS s FROM P WHERE n >= 0';

let db: TestDatabase;

async function open(options: Parameters<typeof openTestDatabase>[0] = {}): Promise<TestDatabase> {
  const opened = await openTestDatabase({ settings, ...options });
  await opened.run('CREATE VERTEX TYPE P');
  await opened.run('INSERT INTO P SET n = 0, t = "x"');
  await opened.threads?.started();
  return opened;
}

before(async () => {
  db = await open();
});

after(async () => {
  await db.close();
});

function takenCount(from: TestDatabase): number {
  return from.threads?.takenCount ?? 0;
}

/** Resolves when the thread has begun the statement. */
async function untilTaken(from: TestDatabase, count: number): Promise<void> {
  while (takenCount(from) < count) await new Promise((resolve) => setImmediate(resolve));
}

test('a commit that was acknowledged before a statement is seen by it', async () => {
  // Tests of other files may have taken longer than a thread idles.
  await db.threads?.started();
  const before = takenCount(db);
  for (let n = 1; n <= 20; n += 1) {
    await db.run('INSERT INTO P SET n = :n', { n });
    const { json } = await askedRows(db, countOfP);
    assert.equal(json, `{"record":{"c":${n + 1},"s":${(n * (n + 1)) / 2}}}\n`);
  }
  assert.equal(takenCount(db) - before, 20, 'each ran in the thread');
});

test('writers at once see their own commits, in rows, lists of edges and unique keys', async () => {
  await db.run('CREATE VERTEX TYPE W');
  await db.run('CREATE PROPERTY W.k INTEGER');
  await db.run('CREATE INDEX ON W (k) UNIQUE');
  await db.run('CREATE EDGE TYPE E');
  await db.run('INSERT INTO W SET k = -1');
  const writer = async (base: number): Promise<void> => {
    for (let n = 0; n < 6; n += 1) {
      const k = base + n;
      await db.run('INSERT INTO W SET k = :k', { k });
      await db.run(
        'CREATE EDGE E FROM (SELECT FROM W WHERE k = -1) TO (SELECT FROM W WHERE k = :k)',
        { k },
      );
      const found = await askedRows(db, "SELECT k, in('E').size() AS i FROM W WHERE k = :k", {
        parameters: { k },
      });
      assert.equal(found.json, `{"record":{"k":${k},"i":1}}\n`);
      const met = await askedRows(db, 'MATCH (a:W {k: -1})-[:E]->(b {k: $k}) RETURN b.k AS k', {
        ...cypher,
        parameters: { k },
      });
      assert.equal(met.json, `{"record":{"k":${k}}}\n`);
      await db.run('UPDATE W SET k = :to WHERE k = :k', { k, to: k + 1000 });
      const gone = await askedRows(db, 'SELECT k FROM W WHERE k IN [:k, :to]', {
        parameters: { k, to: k + 1000 },
      });
      assert.equal(gone.json, `{"record":{"k":${k + 1000}}}\n`);
    }
  };
  await Promise.all([0, 100, 200].map(writer));
});

test('a change of the schema is seen by the next statement', async () => {
  await db.run('CREATE DOCUMENT TYPE Later');
  await db.run("INSERT INTO Later SET a = 1, b = 'x'");
  assert.equal(
    (await askedRows(db, 'SELECT a, b FROM Later')).json,
    '{"record":{"a":1,"b":"x"}}\n',
  );
  await db.run('CREATE DOCUMENT TYPE Later2 EXTENDS Later');
  await db.run('INSERT INTO Later2 SET a = 2');
  const both = await askedRows(db, 'SELECT a FROM Later ORDER BY a');
  assert.equal(both.json, '{"record":{"a":1}}\n{"record":{"a":2}}\n');
});

test('the index of a result is that of the state it saw', async () => {
  await db.run('INSERT INTO P SET n = 0');
  const { index } = await askedRows(db, countOfP);
  assert.equal(index, db.database.engine.applied().index);
});

test('limits of rows cut as they do in the main thread', async () => {
  const text = 'UNWIND range(1, 9000) AS n RETURN n';
  for (const options of [{ rowCountMax: 100 }, {}, { rowCountMax: 8999 }, { rowCountMax: 9000 }])
    for (const rowCountMax of [1, 100, 5000, 9000]) {
      const asked = { ...cypher, options, rowCountMax };
      const here = await askedRows(db, text, { ...asked, isHere: true });
      const there = await askedRows(db, text, asked);
      assert.deepEqual(there, here);
    }
});

test('long rows come whole', async () => {
  await db.run('CREATE DOCUMENT TYPE Long');
  for (const size of [3_000_000, 10, 1_500_000])
    await db.run('INSERT INTO Long SET t = :t', { t: 'é'.repeat(size / 2) });
  for (const layout of ['list', 'lines'] as const) {
    const here = await askedRows(db, 'SELECT t FROM Long', { form: { layout }, isHere: true });
    const there = await askedRows(db, 'SELECT t FROM Long', { form: { layout } });
    assert.equal(there.rowCount, 3);
    assert.equal(there.json === here.json, true);
  }
});

test('memory of statements is refused as in the main thread', async () => {
  const small = await open({ settings: { ...settings, queryMaxMemory: '2000000' } });
  try {
    const text = 'UNWIND range(1, 300000) AS n RETURN collect(toString(n)) AS all';
    const message = async (isHere: boolean) =>
      askedRows(small, text, { ...cypher, isHere }).then(
        () => 'none',
        ({ code, message: told }) => `${code} ${told}`.replaceAll(/\d+/g, 'n'),
      );
    const here = await message(true);
    assert.match(here, /TooLarge/);
    assert.equal(await message(false), here);
    assert.equal(small.threads?.movedCount, 0);
  } finally {
    await small.close();
  }
});

test('cancelled statements leave no thread, statement or pinned state behind', async () => {
  const before = takenCount(db);
  for (let n = 0; n < cancelCount; n += 1) {
    const controller = new AbortController();
    const taken = takenCount(db);
    const asked = askedRows(db, endless, { ...cypher, options: { signal: controller.signal } });
    if (n % 3 > 0) await untilTaken(db, taken + 1);
    if (n % 3 > 1) await new Promise((resolve) => setTimeout(resolve, 3));
    controller.abort();
    await assert.rejects(asked, { code: 'Cancelled' });
  }
  assert(takenCount(db) - before >= cancelCount / 3);
  // It ran after them, in the same thread.
  await askedRows(db, countOfP);
  assert.equal(db.threads?.movedCount, 0);
  assert.equal(db.threads?.count, 1);
  assert.equal(db.active.count, 0);
  await requireNoPinnedState(db);
});

/** Pages of states that nobody reads are used again: a file that grows with each change has one pinned. */
async function requireNoPinnedState(of: TestDatabase): Promise<void> {
  const { engine } = of.database;
  const sizeBefore = engine.sizeBytes();
  for (let n = 0; n < 40; n += 1) {
    await of.run('UPDATE P SET t = :t WHERE n = 0', { t: 'x'.repeat(200_000) + n });
    await engine.checkpoint();
  }
  const grown = engine.sizeBytes() - sizeBefore;
  assert(grown < 4 * 1024 * 1024, `the file has grown by ${grown} bytes`);
}

test('a statement that fails after its beginning counts as failed, wherever it runs', async () => {
  const text = 'UNWIND range(1, 200000) AS n WITH n WHERE n > 199999 RETURN n / 0 AS x';
  const failureCount = () => {
    let sum = 0;
    for (const [, count] of db.meter.failures.entries()) sum += count;
    return sum;
  };
  for (const isHere of [true, false]) {
    const before = failureCount();
    await assert.rejects(askedRows(db, text, { ...cypher, isHere }), /zero/);
    assert.equal(failureCount(), before + 1);
  }
});

test('a time limit ends a statement in a thread', async () => {
  const asked = askedRows(db, endless, { ...cypher, options: { readTimeoutMs: 60 } });
  await assert.rejects(asked, { code: 'Timeout' });
  await askedRows(db, countOfP);
  assert.equal(db.threads?.movedCount, 0);
});

test('a thread that dies ends its statements with an error, and another one takes its place', async () => {
  const dying = await open({ readerScript: new URL('./dying-thread.ts', import.meta.url) });
  try {
    const fatal = endless.replace('MATCH', '/* die */ MATCH');
    const first = askedRows(dying, fatal, cypher);
    await assert.rejects(first, {
      code: 'Busy',
      message: /the thread that ran the statement has died/,
    });
    assert.equal(dying.threads?.count, 0);
    assert.equal((await askedRows(dying, countOfP)).rowCount, 1);
    await dying.threads?.started();
    const before = takenCount(dying);
    assert.equal((await askedRows(dying, countOfP)).rowCount, 1);
    assert.equal(takenCount(dying), before + 1, 'it ran in the new thread');
    await requireNoPinnedState(dying);
  } finally {
    await dying.close();
  }
});

test('a database is closed, dropped and made again while a thread reads it', async () => {
  const own = await open();
  try {
    const running = askedRows(own, endless, cypher);
    await untilTaken(own, 1);
    await Promise.all([
      own.databases.drop('test'),
      assert.rejects(running, { code: 'DatabaseNotFound' }),
    ]);
    await own.databases.create('test');
    await own.run('CREATE VERTEX TYPE P');
    await own.run('INSERT INTO P SET n = 7');
    assert.equal((await askedRows(own, countOfP)).json, '{"record":{"c":1,"s":7}}\n');
    assert.equal(takenCount(own), 2);
    const again = askedRows(own, endless, cypher);
    await untilTaken(own, 3);
    await Promise.all([own.databases.close('test'), assert.rejects(again)]);
    await own.databases.openClosed('test');
    assert.equal((await askedRows(own, countOfP)).json, '{"record":{"c":1,"s":7}}\n');
  } finally {
    await own.close();
  }
});

test('a thread that has nothing to do takes up another database', async () => {
  const own = await open();
  try {
    await own.databases.create('other');
    await own.runOn('other', 'CREATE VERTEX TYPE P');
    const other = { ...own, database: own.databases.open('other') } as TestDatabase;
    other.stream = (text) => {
      const signal = new AbortController().signal;
      const statement = { language: 'sql', text, parameters: new Map() };
      return other.database.run(statement, { principal: root, mustBeIdempotent: true, signal });
    };
    for (let n = 0; n < 3; n += 1) {
      assert.equal((await askedRows(own, countOfP)).json, '{"record":{"c":1,"s":0}}\n');
      assert.equal((await askedRows(other, countOfP)).json, '{"record":{"c":0,"s":null}}\n');
    }
    assert.equal(takenCount(own), 6);
    const running = askedRows(own, endless, cypher);
    await untilTaken(own, 7);
    assert.equal((await askedRows(other, countOfP)).rowCount, 1);
    assert.equal(takenCount(own), 7, 'the thread is busy with the first database');
    await Promise.all([own.databases.drop('test'), assert.rejects(running)]);
  } finally {
    await own.close();
  }
});

test('who may not read everything, or wants to see the plan, is served in the main thread', async () => {
  const narrow: Authorizer = {
    require() {},
    canAccess: () => true,
    canRead: (_who, _database, type) => type === 'P',
  };
  const own = await open({ authorizer: narrow });
  try {
    const options = { principal: { name: 'kim', isRoot: false, via: 'password' } as const };
    assert.equal((await askedRows(own, countOfP, { options })).rowCount, 1);
    assert.equal(takenCount(own), 0);
    await askedRows(own, countOfP, { options: { profile: 'basic' } });
    await askedRows(own, 'SELECT FROM schema:types');
    await askedRows(own, 'CALL db.labels()', cypher);
    assert.equal(takenCount(own), 0);
    const sessionId = own.database.begin(
      { name: 'root', isRoot: true, via: 'password' },
      'REPEATABLE_READ',
    );
    await own.run('INSERT INTO P SET n = 1', {}, { sessionId });
    assert.equal(
      (await askedRows(own, countOfP, { options: { sessionId } })).json,
      '{"record":{"c":2,"s":1}}\n',
    );
    assert.equal(takenCount(own), 0);
    assert.equal((await askedRows(own, countOfP)).json, '{"record":{"c":1,"s":0}}\n');
    assert.equal(takenCount(own), 1);
  } finally {
    await own.close();
  }
});
