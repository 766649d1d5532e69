import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseDecimal } from '#core/value/decimal.ts';
import type { Value } from '#core/value/value.ts';
import { openTestDatabase, root } from './support/open-test-database.ts';

// Goal: an index gives the order and the extremes of values that its keys do not hold completely: decimals between two doubles, texts
// that begin alike for 480 bytes. Method: every value stands twice in a record, once with an index and once without; both must
// answer alike, also for few rows out of many equal ones, in subtypes and with uncommitted records.

const nines = '9'.repeat(28);
const beginnings = ['a'.repeat(600), `${'ß'.repeat(250)}x`, 'a'.repeat(470), ''];

const decimals = fc
  .tuple(
    fc.constantFrom('0.1000000000000000000', '1', `${nines}.`, `-${nines}.`, '123.45', '-0.3'),
    fc.integer({ min: 0, max: 30 }),
  )
  .map(([head, tail]) => {
    const isWhole = !head.includes('.');
    return parseDecimal(isWhole ? `${head}${tail}` : `${head}${tail}`) as Value;
  });
const texts = fc
  .tuple(fc.constantFrom(...beginnings), fc.string({ unit: 'grapheme-ascii', maxLength: 3 }))
  .map(([head, tail]) => `${head}${tail}`);
const record = fc.record({
  type: fc.constantFrom('T', 'S'),
  d: fc.option(decimals),
  s: fc.option(texts),
});

/** With the indexed property and with its twin. */
const questions = [
  'SELECT i, # AS v FROM T ORDER BY # LIMIT 4',
  'SELECT i, # AS v FROM T ORDER BY # DESC LIMIT 4',
  'SELECT i, # AS v FROM T WHERE # IS NOT NULL ORDER BY # DESC LIMIT 1000',
  'SELECT min(#) AS lo, max(#) AS hi FROM T',
  'SELECT max(#) AS hi FROM S',
].flatMap((text) =>
  ['d', 's'].map((name) => ({
    indexed: text.replaceAll('#', name),
    plain: text.replaceAll('#', `${name}2`),
  })),
);

test('an index orders what its keys do not tell apart', async (context) => {
  const data = await openTestDatabase();
  context.after(() => data.close());
  for (const text of [
    'CREATE DOCUMENT TYPE T BUCKETS 2',
    'CREATE DOCUMENT TYPE S EXTENDS T',
    ...['d DECIMAL', 'd2 DECIMAL', 's STRING', 's2 STRING'].map((p) => `CREATE PROPERTY T.${p}`),
    'CREATE INDEX ON T (d) NOTUNIQUE',
    'CREATE INDEX ON T (s) NOTUNIQUE',
  ])
    await data.run(text);
  await fc.assert(
    fc.asyncProperty(fc.array(record, { maxLength: 60 }), async (records) => {
      await data.run('DELETE FROM T');
      const half = Math.floor(records.length / 2);
      const insert = async (from: number, to: number, sessionId?: string) => {
        for (let i = from; i < to; i += 1) {
          const { type, d, s } = records[i] as (typeof records)[number];
          const text = `INSERT INTO ${type} SET i = :i, d = :d, d2 = :d, s = :s, s2 = :s`;
          await data.run(text, { i, d, s }, sessionId === undefined ? {} : { sessionId });
        }
      };
      await insert(0, half);
      const sessionId = data.database.begin(root, 'READ_COMMITTED');
      await insert(half, records.length, sessionId);
      for (const { indexed, plain } of questions)
        assert.deepEqual(
          await data.run(indexed, {}, { sessionId }),
          await data.run(plain, {}, { sessionId }),
          indexed,
        );
      await data.database.rollback(root, sessionId);
    }),
    { numRuns: 25 },
  );
});

test('many neighbours that keys do not tell apart are sorted by a scan, behind what was given', async (context) => {
  const data = await openTestDatabase();
  context.after(() => data.close());
  await data.run('CREATE DOCUMENT TYPE T');
  await data.run('CREATE PROPERTY T.s STRING');
  await data.run('CREATE INDEX ON T (s) NOTUNIQUE');
  const head = 'm'.repeat(500);
  for (const s of ['a', 'b', 'x', 'y']) await data.run('INSERT INTO T SET n = :s, s = :s', { s });
  const count = 1_500;
  await data.run(
    'FOREACH ($i IN :numbers) { INSERT INTO T SET n = $i, s = :head || format("%05d", $i * 7 % 1501) }',
    { head, numbers: Array.from({ length: count }, (_, i) => i) },
    {},
    'sqlscript',
  );
  for (const direction of ['', 'DESC']) {
    const text = `SELECT n FROM T ORDER BY s ${direction} LIMIT 4`;
    const plan = await data.stream(`EXPLAIN ${text}`);
    plan.close();
    assert.match(plan.summary().explain?.text ?? '', /INDEX SEARCH T\[s\]/);
    const rows = await data.run(text);
    const expected = await data.run(`SELECT n FROM T ORDER BY s.append('') ${direction} LIMIT 4`);
    assert.deepEqual(rows, expected, direction);
  }
});
