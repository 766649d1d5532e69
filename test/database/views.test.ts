import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualRuntime } from './support/manual-runtime.ts';
import { openTestDatabase } from './support/open-test-database.ts';

// Materialized views (sql.md 14.3) over time, beside writers, and with many rows.

test('EVERY n refreshes by the clock, after a restart too', async () => {
  const runtime = new ManualRuntime();
  const db = await openTestDatabase({ runtime });
  const rows = () => db.run('SELECT n FROM v');
  /** The disk takes its own time, whatever the clock says. */
  const become = async (wanted: readonly object[]) => {
    for (let turn = 0; turn < 50_000 && (await rows()).length < wanted.length; turn += 1)
      await runtime.advance(turn < 500 ? 1 : 0);
    assert.deepEqual(await rows(), wanted);
  };
  await db.run('CREATE DOCUMENT TYPE T');
  const making = db.run('CREATE MATERIALIZED VIEW v AS SELECT n FROM T REFRESH EVERY 10 SECOND');
  await runtime.advance(50);
  await making;
  await db.run('INSERT INTO T SET n = 1');
  await runtime.advance(5_000);
  assert.deepEqual(await rows(), []);
  await runtime.advance(6_000);
  await become([{ n: 1 }]);
  await db.run('INSERT INTO T SET n = 2');
  const stopping = db.reopen();
  await runtime.advance(1_000);
  await stopping;
  assert.deepEqual(await rows(), [{ n: 1 }]);
  await runtime.advance(11_000);
  await become([{ n: 1 }, { n: 2 }]);
  await db.run('DROP MATERIALIZED VIEW v');
  await db.close();
  assert.equal(runtime.timerCount, 0, 'a dropped view leaves no timer');
});

test('an INCREMENTAL view never lags behind an acknowledged commit, however many writers there are', async () => {
  const db = await openTestDatabase();
  await db.run('CREATE DOCUMENT TYPE T');
  await db.run(
    'CREATE MATERIALIZED VIEW v AS SELECT w, count(*) AS c FROM T GROUP BY w REFRESH INCREMENTAL',
  );
  await Promise.all(
    [0, 1, 2, 3].map(async (w) => {
      for (let count = 1; count <= 15; count += 1) {
        await db.run('INSERT INTO T SET w = :w', { w });
        const [row] = await db.run('SELECT c FROM v WHERE w = :w', { w });
        assert.equal(row?.['c'], count);
      }
    }),
  );
  await db.close();
});

test('loads, and changes of many rows, reach the views', async () => {
  const db = await openTestDatabase();
  await db.run('CREATE VERTEX TYPE P');
  await db.run('CREATE MATERIALIZED VIEW v AS SELECT n FROM P WHERE n % 2 = 0 REFRESH INCREMENTAL');
  const loader = db.database.bulkLoader();
  const values = Array.from({ length: 5_000 }, (_, n) => n);
  await loader.addRecords({ type: 'P', columns: ['n'], values, rowCount: 5_000 });
  await loader.finish();
  assert.deepEqual(await db.run('SELECT count(*) AS c, max(n) AS m FROM v'), [
    { c: 2_500, m: 4_998 },
  ]);
  await db.run('DELETE FROM P WHERE n < 4990');
  assert.deepEqual(
    (await db.run('SELECT n FROM v')).map((row) => row['n']),
    [4_990, 4_992, 4_994, 4_996, 4_998],
  );
  await db.run('UPDATE P SET n += 1');
  assert.deepEqual(
    (await db.run('SELECT n FROM v')).map((row) => row['n']),
    [4_992, 4_994, 4_996, 4_998, 5_000],
  );
  await db.close();
});

test('rows that change places keep a unique index of the view right', async () => {
  const db = await openTestDatabase();
  await db.run('CREATE DOCUMENT TYPE T');
  for (const n of [1, 2, 3]) await db.run('INSERT INTO T SET n = :n', { n });
  await db.run('CREATE MATERIALIZED VIEW v AS SELECT n FROM T ORDER BY n DESC REFRESH INCREMENTAL');
  await db.run('CREATE PROPERTY v.n INTEGER');
  await db.run('CREATE INDEX ON v (n) UNIQUE');
  await db.run('INSERT INTO T SET n = 4');
  assert.deepEqual(await db.run('SELECT n FROM v'), [{ n: 4 }, { n: 3 }, { n: 2 }, { n: 1 }]);
  assert.deepEqual(await db.run('SELECT n FROM v WHERE n = 2'), [{ n: 2 }]);
  await db.close();
});

test('a simple view that follows single records shows what its query gives, whatever was done', async () => {
  const db = await openTestDatabase();
  await db.run('CREATE VERTEX TYPE P');
  await db.run('CREATE VERTEX TYPE Q EXTENDS P');
  await db.run('CREATE PROPERTY P.n INTEGER');
  const query = 'SELECT n, tag, n * 2 AS twice FROM P WHERE n >= 10 AND n < 60';
  await db.run(`CREATE MATERIALIZED VIEW v AS ${query} REFRESH INCREMENTAL`);
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % below;
  };
  const steps: readonly (() => Promise<unknown>)[] = [
    () => db.run('INSERT INTO P SET n = :n', { n: random(70) }),
    () => db.run('INSERT INTO Q SET n = :n, tag = 1', { n: random(70) }),
    () => db.run('UPDATE P SET n = :m WHERE n = :n', { n: random(70), m: random(70) }),
    () => db.run('UPDATE P SET tag = :t WHERE n > :n LIMIT 3', { n: random(70), t: random(5) }),
    () => db.run('DELETE FROM P WHERE n = :n', { n: random(70) }),
    () => db.run('DELETE FROM P WHERE n > :n LIMIT 2', { n: random(70) }),
    () => db.run('UPDATE P SET n = n + 1 WHERE n < 3'),
  ];
  const text = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).sort();
  for (let at = 0; at < 300; at += 1) {
    await steps[at < 40 ? at % 2 : random(steps.length)]?.();
    if (at % 3 === 0)
      assert.deepEqual(
        text(await db.run('SELECT n, tag, twice FROM v')),
        text(await db.run(query)),
      );
  }
  await db.run('DROP TYPE Q UNSAFE');
  assert.deepEqual(text(await db.run('SELECT n, tag, twice FROM v')), text(await db.run(query)));
  await db.close();
});
