import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemRuntime } from '#platform/system-runtime.ts';
import { openTestDatabase } from './support/open-test-database.ts';

// The limits of triggers and functions (sql.md 14): at the bound and one beyond it.

test('triggers and functions nest as deep as service.sql.maxBodyDepth says', async () => {
  const db = await openTestDatabase({ settings: { 'sql.maxBodyDepth': '4' } });
  await db.run('CREATE DOCUMENT TYPE Log');
  await db.run(
    'DEFINE FUNCTION f.down "SELECT CASE WHEN :n <= 1 THEN 1 ELSE 1 + `f.down`(:n - 1) END" PARAMETERS [n]',
  );
  assert.deepEqual(await db.run('SELECT `f.down`(4) AS n'), [{ n: 4 }]);
  const tooDeep = { code: 'IllegalArgument', message: /service\.sql\.maxBodyDepth \(4\)/ };
  await assert.rejects(db.run('SELECT `f.down`(5) AS n'), tooDeep);
  for (const [from, to] of ['AB', 'BC', 'CD', 'DE'].map((pair) => [...pair])) {
    await db.run(`CREATE DOCUMENT TYPE ${from}`);
    await db.run(
      `CREATE TRIGGER t${from} AFTER CREATE ON ${from} EXECUTE SQL "INSERT INTO ${to} SET n = $record.n"`,
    );
  }
  await db.run('CREATE DOCUMENT TYPE E');
  await db.run('INSERT INTO A SET n = 1');
  assert.deepEqual(await db.run('SELECT n FROM E'), [{ n: 1 }], 'four triggers in a row');
  await db.run('CREATE TRIGGER tE AFTER CREATE ON E EXECUTE SQL "SELECT 1"');
  await assert.rejects(db.run('INSERT INTO A SET n = 2'), tooDeep);
  assert.deepEqual(await db.run('SELECT count(*) AS n FROM A'), [{ n: 1 }]);
  assert.deepEqual(await db.run('SELECT `f.down`(4) AS n'), [{ n: 4 }], 'nothing is left over');
  await db.close();
});

test('a body with all that it sets off ends at service.sql.maxBodyTime', async () => {
  // Time passes with every look at the clock, so that none passes by itself.
  let nowMs = 0;
  let perLookMs = 0;
  const clock = {
    now: () => systemRuntime.clock.now(),
    monotonicMs: () => {
      nowMs += perLookMs;
      return nowMs;
    },
  };
  const runtime = { ...systemRuntime, clock };
  const db = await openTestDatabase({ runtime, settings: { 'sql.maxBodyTime': '100' } });
  await db.run('CREATE DOCUMENT TYPE T');
  await db.run('CREATE DOCUMENT TYPE U');
  for (let at = 0; at < 8; at += 1)
    await db.run(
      `INSERT INTO T (n) VALUES ${Array.from({ length: 500 }, (_, n) => `(${n})`).join()}`,
    );
  await db.run('DEFINE FUNCTION f.names "SELECT n FROM T WHERE n >= :n" PARAMETERS [n]');
  await db.run('DEFINE FUNCTION f.outer "SELECT `f.names`(0)"');
  await db.run('CREATE TRIGGER t AFTER CREATE ON U EXECUTE SQL "SELECT n FROM T"');
  perLookMs = 0.2;
  assert.deepEqual(await db.run('SELECT `f.names`(0) AS n'), [{ n: 0 }]);
  perLookMs = 60;
  const tooLong = { code: 'Timeout', message: /service\.sql\.maxBodyTime \(100 ms\)/ };
  await assert.rejects(db.run('SELECT `f.names`(0) AS n'), tooLong);
  await assert.rejects(db.run('SELECT `f.outer`() AS n'), tooLong);
  await assert.rejects(db.run('INSERT INTO U SET n = 1'), tooLong);
  perLookMs = 0;
  assert.deepEqual(await db.run('SELECT count(*) AS n FROM U'), [{ n: 0 }]);
  await db.run('INSERT INTO U SET n = 1');
  await db.close();
});
