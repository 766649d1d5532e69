import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase, root, rowsOf, type TestDatabase } from './support/open-test-database.ts';

// Statements that overlap: what one may see of another, and what is never lost.

async function withDatabase(
  setUp: readonly string[],
  run: (test: TestDatabase) => Promise<void>,
  settings: Readonly<Record<string, string>> = {},
): Promise<void> {
  const database = await openTestDatabase({ settings });
  try {
    for (const statement of setUp) await database.run(statement);
    await run(database);
  } finally {
    await database.close();
  }
}

/** Reads alone never give up the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function outcomes(promises: readonly Promise<unknown>[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const outcome of await Promise.allSettled(promises)) {
    const key = outcome.status === 'fulfilled' ? 'ok' : String(outcome.reason.code);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

test('64 increments of one record at the same time all count', () =>
  withDatabase(
    [
      'CREATE DOCUMENT TYPE C',
      'INSERT INTO C SET id = 1, n = 0',
      'INSERT INTO C SET id = 2, n = 0',
    ],
    async ({ run }) => {
      const increments = Array.from({ length: 64 }, (_, at) =>
        run(at % 4 === 0 ? 'UPDATE C SET n += 1' : 'UPDATE C SET n = n + 1'),
      );
      assert.deepEqual(await outcomes(increments), new Map([['ok', 64]]));
      assert.deepEqual(await run('SELECT n FROM C ORDER BY id'), [{ n: 64 }, { n: 64 }]);
    },
  ));

test('many CREATE EDGE IF NOT EXISTS of one pair at the same time make one edge', () =>
  withDatabase(
    [
      'CREATE VERTEX TYPE V',
      'CREATE EDGE TYPE E',
      "INSERT INTO V SET k = 'a'",
      "INSERT INTO V SET k = 'b'",
    ],
    async ({ run }) => {
      const creations = Array.from({ length: 50 }, () =>
        run(
          "CREATE EDGE E FROM (SELECT FROM V WHERE k = 'a') TO (SELECT FROM V WHERE k = 'b') IF NOT EXISTS",
        ),
      );
      const rows = (await Promise.all(creations)).flat() as readonly Record<string, unknown>[];
      assert.equal(new Set(rows.map((row) => row['@rid'])).size, 1, 'all give the same edge');
      assert.deepEqual(await run('SELECT count(*) AS n FROM E'), [{ n: 1 }]);
    },
  ));

test('of many inserts of one unique key at the same time one succeeds, the others are duplicates', () =>
  withDatabase(
    ['CREATE DOCUMENT TYPE U', 'CREATE PROPERTY U.k STRING', 'CREATE INDEX ON U (k) UNIQUE'],
    async ({ run }) => {
      const inserts = Array.from({ length: 32 }, () => run("INSERT INTO U SET k = 'same'"));
      assert.deepEqual(
        await outcomes(inserts),
        new Map([
          ['ok', 1],
          ['DuplicatedKey', 31],
        ]),
      );
      assert.deepEqual(await run('SELECT count(*) AS n FROM U'), [{ n: 1 }]);
    },
  ));

test('an upsert on a unique index makes one record, however many call at once', () =>
  withDatabase(
    ['CREATE DOCUMENT TYPE U', 'CREATE PROPERTY U.k STRING', 'CREATE INDEX ON U (k) UNIQUE'],
    async ({ run }) => {
      const upserts = Array.from({ length: 32 }, () =>
        run("UPDATE U SET k = 'same', n = ifnull(n, 0) + 1 UPSERT WHERE k = 'same'"),
      );
      assert.deepEqual(await outcomes(upserts), new Map([['ok', 32]]));
      assert.deepEqual(await run('SELECT k, n FROM U'), [{ k: 'same', n: 32 }]);
    },
  ));

test('with a single attempt a conflict is told instead of tried again', () =>
  withDatabase(['CREATE DOCUMENT TYPE C', 'INSERT INTO C SET n = 0'], async ({ run }) => {
    const increments = Array.from({ length: 8 }, () =>
      run('UPDATE C SET n += 1', {}, { retries: 1 }),
    );
    const counts = await outcomes(increments);
    assert.equal((counts.get('ok') ?? 0) + (counts.get('ConcurrentModification') ?? 0), 8);
    assert.ok((counts.get('ConcurrentModification') ?? 0) > 0);
    assert.deepEqual(await run('SELECT n FROM C'), [{ n: counts.get('ok') }]);
  }));

test('a stream that is read slowly sees the state of its start, whatever is written meanwhile', () =>
  withDatabase(['CREATE DOCUMENT TYPE R'], async ({ run, stream }) => {
    await run(`INSERT INTO R (n) VALUES ${Array.from({ length: 5_000 }, () => '(1)').join()}`);
    const result = await stream('SELECT n FROM R');
    const first = await result.nextBatch();
    await run('UPDATE R SET n = 2');
    await run('INSERT INTO R SET n = 3');
    const seen = (first?.values ?? []).concat(await rowsOf(result, ([value]) => value ?? null));
    assert.equal(seen.length, 5_000);
    assert.ok(seen.every((value) => value === 1));
    assert.deepEqual(await run('SELECT sum(n) AS s FROM R'), [{ s: 10_003 }]);
  }));

test('transfers keep the total, whoever looks while they happen', () =>
  withDatabase(['CREATE DOCUMENT TYPE A'], async (database) => {
    const { run } = database;
    for (let id = 0; id < 8; id += 1) await run(`INSERT INTO A SET id = ${id}, amount = 100`);
    let isDone = false;
    const totals = new Set<unknown>();
    const look = (async () => {
      while (!isDone) {
        for (const { s } of await run('SELECT sum(amount) AS s FROM A')) totals.add(s);
        await turn();
      }
    })();
    const transfer = async (from: number, to: number): Promise<void> => {
      const sessionId = database.database.begin(root, 'REPEATABLE_READ');
      await run('UPDATE A SET amount -= 7 WHERE id = :from', { from }, { sessionId });
      await run('UPDATE A SET amount += 7 WHERE id = :to', { to }, { sessionId });
      await database.database.commit(root, sessionId);
    };
    const transfers = Array.from({ length: 64 }, (_, n) => transfer(n % 8, (n * 3 + 1) % 8));
    const counts = await outcomes(transfers);
    isDone = true;
    await look;
    assert.ok((counts.get('ok') ?? 0) > 0);
    assert.deepEqual([...totals], [800]);
    assert.deepEqual(
      [...counts.keys()].sort(),
      ['ConcurrentModification', 'ok'].slice(-counts.size),
    );
  }));

test('an edge to a vertex that is deleted at the same time: one of the two is refused', () =>
  withDatabase(['CREATE VERTEX TYPE V', 'CREATE EDGE TYPE E'], async (database) => {
    const { run } = database;
    for (let round = 0; round < 10; round += 1) {
      await run('INSERT INTO V SET n = 1');
      await run('INSERT INTO V SET n = 2');
      await Promise.allSettled([
        run('CREATE EDGE E FROM (SELECT FROM V WHERE n = 1) TO (SELECT FROM V WHERE n = 2)'),
        run('DELETE FROM V WHERE n = 2'),
      ]);
      for (const { a, b } of await run('SELECT @out.n AS a, @in.n AS b FROM E')) {
        assert.deepEqual([a, b], [1, 2]);
      }
      const [one] = await run("SELECT out('E').size() AS n FROM V WHERE n = 1");
      assert.deepEqual(await run('SELECT count(*) AS n FROM E'), [one]);
      await run('DELETE FROM V');
    }
  }));

test('statements that run while a type is created, changed and dropped end well or with a clear error', () =>
  withDatabase(['CREATE DOCUMENT TYPE Base'], async ({ run }) => {
    const work: Promise<unknown>[] = [];
    for (let n = 0; n < 20; n += 1) {
      work.push(run(`CREATE DOCUMENT TYPE T${n % 4} IF NOT EXISTS`));
      work.push(run(`INSERT INTO T${n % 4} SET n = ${n}`));
      work.push(run(`CREATE PROPERTY T${n % 4}.n IF NOT EXISTS LONG`));
      work.push(run(`SELECT FROM T${n % 4}`));
      if (n % 5 === 4) work.push(run(`DROP TYPE T${n % 4} IF EXISTS`));
    }
    const counts = await outcomes(work);
    for (const code of counts.keys())
      assert.ok(['ok', 'Schema', 'ConcurrentModification'].includes(code), code);
    await run('INSERT INTO Base SET still = true');
  }));
