import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Value } from '#core/value/value.ts';
import { double } from '#core/value/value.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';

// Goal: a scan that is told by the sort above what is still wanted gives the rows that one gives that is told nothing. Method: some
// thousand records whose key is of one kind, of few values or of every kind, asked often enough that code is generated, with the rule
// and without it.

/** Numbers from 0 to 1. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const withoutBound = { disabled: new Set(['bounded-sort']) };
const recordCount = 3_000;

type MakeKey = (random: () => number, at: number) => Value;

const pick = (random: () => number, count: number): number => Math.floor(random() * count);
const word = (random: () => number): string =>
  Array.from({ length: 1 + pick(random, 4) }, () => 'aéz\u{1F600}\uFFFD0-'[pick(random, 7)]).join(
    '',
  );

const keys: Readonly<Record<string, MakeKey>> = {
  numbers: (random) => pick(random, 1e9) - 5e8,
  'few numbers': (random) => pick(random, 7),
  'numbers that fall': (_, at) => recordCount - at,
  texts: (random) => word(random),
  'numbers and nulls': (random) => (random() < 0.3 ? null : pick(random, 1e6)),
  'floats, NaN and infinities': (random) =>
    double([NaN, Infinity, -Infinity, -0, random(), -random()][pick(random, 6)] as number),
  'whole numbers beyond 2^53': (random) =>
    random() < 0.5 ? 2n ** 60n + BigInt(pick(random, 1e9)) : pick(random, 1e6),
  'every kind': (random) =>
    [null, pick(random, 9), word(random), true, [1, 'a'], new Map([['a', 1]]), double(0.5)][
      pick(random, 7)
    ] as Value,
};

for (const [name, keyOf] of Object.entries(keys))
  test(`the best rows are those of a whole sort: ${name}`, async () => {
    await using database = await SqlDatabase.open();
    await database.run('CREATE DOCUMENT TYPE T');
    const random = seededRandom(name.length);
    for (let from = 0; from < recordCount; from += 500) {
      const rows = Array.from({ length: 500 }, (_, i) => {
        const row = new Map<string, Value>([['n', from + i]]);
        const key = keyOf(random, from + i);
        // Some have no such property at all.
        if (key !== null || random() < 0.5) row.set('k', key);
        return row;
      });
      await database.run('INSERT INTO T CONTENT :rows', { parameters: new Map([['rows', rows]]) });
    }
    for (const order of ['k', 'k DESC', 'k, n DESC', 'k DESC, n DESC'])
      for (const what of ['n', '*', 'k, n'])
        for (const limit of [3, 100]) {
          const list = what === '*' ? '' : `${what} `;
          const text = `SELECT ${list}FROM T WHERE n >= 5 ORDER BY ${order} SKIP 2 LIMIT ${limit}`;
          const wanted = await database.run(text, withoutBound);
          const found = await database.run(text);
          assert.deepEqual(found.rows.map(String), wanted.rows.map(String), text);
          assert.equal(found.rows.length, limit, text);
        }
  });

test('a row that fails fails, however many better ones there are', async () => {
  await using database = await SqlDatabase.open();
  await database.run('CREATE DOCUMENT TYPE T');
  const rows = Array.from({ length: 2_000 }, (_, n) => new Map<string, Value>([['n', n]]));
  await database.run('INSERT INTO T CONTENT :rows', { parameters: new Map([['rows', rows]]) });
  const text = 'SELECT n, 1 / (1999 - n) AS q FROM T WHERE n / (1999 - n) >= 0 ORDER BY n LIMIT 3';
  const told = await database.run(text).catch(String);
  const untold = await database.run(text, withoutBound).catch(String);
  assert.deepEqual(told, untold);
});
