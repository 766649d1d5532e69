import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import type { Value } from '#core/value/value.ts';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';

// Values and labels at their bounds and beyond: each is taken as the text says, or refused by name; nothing else changes, and the
// database goes on. label-changes.test.ts and labels.test.ts have two sessions at once and the unique index that refuses.

let db: TestDatabase;
const cypher = (text: string) => db.print(text, {}, {}, 'cypher');

before(async () => {
  db = await openTestDatabase();
});
after(() => db.close());

const taken: readonly (readonly [text: string, printed: string])[] = [
  // Years of nine digits.
  [
    "RETURN toString(localdatetime('+999999999-12-31T23:59:59')) AS x",
    '{x: "+999999999-12-31T23:59:59"}',
  ],
  ["RETURN toString(date('-999999999-01-01')) AS x", '{x: "-999999999-01-01"}'],
  [
    "RETURN localdatetime('-999999999-01-01T00:00:00') < localdatetime('+999999999-01-01T00:00:00') AS x",
    '{x: true}',
  ],
  // A zone that moved: Samoa skipped a day.
  [
    "RETURN toString(datetime('2011-12-31T12:00:00[Pacific/Apia]')) AS x",
    '{x: "2011-12-31T12:00+14:00[Pacific/Apia]"}',
  ],
  // NaN and infinity stand at their places.
  [
    'UNWIND [1, 0.0/0.0, 1.0/0.0, -1.0/0.0] AS x WITH x ORDER BY x RETURN collect(toString(x)) AS l',
    '{l: ["-Infinity", "1", "Infinity", "NaN"]}',
  ],
  [
    'RETURN 0.0/0.0 = 0.0/0.0 AS e, 0.0/0.0 < 1 AS l, 1.0/0.0 > 9223372036854775807 AS g',
    '{e: false, l: false, g: true}',
  ],
  ['UNWIND [0.0/0.0, 0.0/0.0] AS x RETURN count(DISTINCT x) AS n', '{n: 1}'],
];

for (const [text, printed] of taken)
  test(`taken: ${text}`, async () => assert.equal(await cypher(text), printed));

const refused: readonly string[] = [
  "RETURN date('+1000000000-01-01') AS x",
  "RETURN localdatetime('-1000000000-01-01T00:00:00') AS x",
  "RETURN datetime('2020-01-01T00:00:00[Mars/Olympus]') AS x",
  "RETURN datetime({year: 2020, timezone: '__proto__'}) AS x",
  "RETURN datetime({year: 2020, timezone: ''}) AS x",
  "RETURN time('12:00:00+19:00') AS x",
  // Leap seconds.
  "RETURN localtime('23:59:60') AS x",
  "RETURN datetime('2016-12-31T23:59:60Z') AS x",
  'RETURN localtime({hour: 23, minute: 59, second: 60}) AS x',
  "RETURN date('2023-02-29') AS x",
  // Durations that overflow.
  "RETURN duration('P9223372036854775808M') AS x",
  'RETURN duration({years: 9223372036854775807}) AS x',
  'RETURN duration({seconds: 9223372036854775807}) + duration({seconds: 1}) AS x',
  "RETURN date('+999999999-12-31') + duration({days: 1}) AS x",
  'RETURN duration({days: 0.0/0.0}) AS x',
  // Points outside the globe.
  'RETURN point({longitude: 0, latitude: 91}) AS x',
  'RETURN point({longitude: 0, latitude: -90.5}) AS x',
  'RETURN point({x: 0.0/0.0, y: 1}) AS x',
  'RETURN point({x: 1.0/0.0, y: 1}) AS x',
  "RETURN point({x: 1, y: 1, crs: '__proto__'}) AS x",
  'RETURN point({x: 1, y: 2, srid: 1}) AS x',
  // Labels.
  'CREATE (n:``) RETURN n',
  `CREATE (n:\`${'x'.repeat(257)}\`) RETURN n`,
  'CREATE (n:`~NO_LABEL~`) RETURN n',
];

for (const text of refused)
  test(`refused: ${text.slice(0, 80)}`, async () => {
    await assert.rejects(cypher(text), (error: unknown) => {
      assert(error instanceof DatabaseError, String(error));
      assert.notEqual(error.code, 'Internal', error.message);
      return true;
    });
    assert.equal(await cypher('MATCH (n) RETURN count(n) AS n'), '{n: 0}');
  });

const strangeLabels = [
  'a~b',
  '~',
  'q`t',
  '__proto__',
  'constructor',
  'x'.repeat(256),
  ' ',
  'é́',
  '\u0000',
];

test('labels of any characters are told apart, set, found and removed', async () => {
  const other = await openTestDatabase();
  const run = (text: string) => other.run(text, {}, {}, 'cypher');
  const quoted = (label: string) => `\`${label.replaceAll('`', '``')}\``;
  try {
    await run('CREATE (:Base {k: 1})');
    const set: string[] = [];
    for (const label of strangeLabels) {
      try {
        await run(`MATCH (n:Base) SET n:${quoted(label)}`);
      } catch (error) {
        assert(error instanceof DatabaseError && error.code !== 'Internal', String(error));
        continue;
      }
      set.push(label);
      assert.deepEqual(await run(`MATCH (n:${quoted(label)}) RETURN n.k AS k`), [{ k: 1 }], label);
    }
    assert(set.length >= 7, set.join());
    const [{ l } = { l: [] }] = await run('MATCH (n:Base) RETURN labels(n) AS l');
    assert.deepEqual(l, ['Base', ...set].sort());
    for (const label of set) await run(`MATCH (n:Base) REMOVE n:${quoted(label)}`);
    assert.deepEqual(await run('MATCH (n) RETURN labels(n) AS l'), [{ l: ['Base'] }]);
    const [report] = await other.run('CHECK DATABASE');
    assert.deepEqual(report?.['warnings'] ?? [], []);
  } finally {
    await other.close();
  }
});

test('no query can name the type of nodes without a label', async () => {
  const other = await openTestDatabase();
  const run = (text: string) => other.run(text, {}, {}, 'cypher');
  try {
    await run('CREATE ({k: 1})');
    assert.deepEqual(await run('MATCH (n:`~NO_LABEL~`) RETURN n'), []);
    assert.deepEqual(
      await run('MATCH (n:!`~NO_LABEL~`) RETURN n:`~NO_LABEL~` AS is, labels(n) AS l'),
      [{ is: false, l: [] }],
    );
  } finally {
    await other.close();
  }
});

test('lists nested 200 deep are keys of DISTINCT, of groups and of an index', async () => {
  const other = await openTestDatabase();
  let deep: Value = 1;
  for (let depth = 0; depth < 200; depth += 1) deep = [deep];
  try {
    const run = (text: string) => other.print(text, { deep }, {}, 'cypher');
    assert.equal(
      await run('UNWIND [$deep, $deep, 1] AS x RETURN count(DISTINCT x) AS n'),
      '{n: 2}',
    );
    assert.equal(
      await run('UNWIND [$deep, $deep, 1] AS x WITH x, count(*) AS n RETURN collect(n) AS l'),
      '{l: [2, 1]}',
    );
    await other.run('CREATE VERTEX TYPE D');
    await other.run('CREATE PROPERTY D.list LIST');
    await other.run('CREATE INDEX ON D (list BY ITEM) UNIQUE');
    await run('CREATE (:D {list: $deep})');
    await assert.rejects(run('CREATE (:D {list: $deep})'), { code: 'DuplicatedKey' });
    assert.equal(await run('MATCH (n:D) WHERE n.list = $deep RETURN count(*) AS n'), '{n: 1}');
    assert.equal(await run('MATCH (n:D) RETURN count(*) AS n'), '{n: 1}');
  } finally {
    await other.close();
  }
});
