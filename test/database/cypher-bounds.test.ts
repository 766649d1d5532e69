import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Value } from '#core/value/value.ts';
import type { RunOptions } from '#database/session.ts';
import { turnsUntil } from '../support/turns.ts';
import { openTestDatabase, root, type TestDatabase } from './support/open-test-database.ts';

// Goal: each row of limits.md 6 to 13 and 33 holds in Cypher: at its bound a statement is answered, one beyond it is refused and the
// refusal names the bound. Texts, names and kinds of parameters are tried by hostile-cypher.test.ts.

let database: TestDatabase;

before(async () => {
  database = await openTestDatabase();
  await database.run('UNWIND range(1, 100) AS i CREATE (:P {k: i})', {}, {}, 'cypher');
});

after(() => database.close());

const run = (
  text: string,
  parameters: Readonly<Record<string, Value>> = {},
  options: Partial<RunOptions> = {},
) => database.run(text, parameters, options, 'cypher');
const nested = (count: number, open: string, inner: string, close: string) =>
  `${open.repeat(count)}${inner}${close.repeat(count)}`;
const pathOf = (steps: number) => `MATCH (a)${'-[:T]->()'.repeat(steps)} RETURN count(*) AS x`;
const clauses = (count: number) => `${'WITH 1 AS x '.repeat(count - 1)}RETURN x`;
const sized = (list: string) => `RETURN size(${list}) AS x`;
const distinct = (count: number) =>
  `UNWIND range(1, ${count}) AS i WITH DISTINCT toString(i) + ' is a text of some length' AS t RETURN count(t) AS x`;

interface Bound {
  readonly at: string;
  readonly x: unknown;
  readonly beyond: string;
  readonly reason: RegExp;
}

const bounds: Readonly<Record<string, Bound>> = {
  '8: parentheses': {
    at: `RETURN ${nested(199, '(', '1', ')')} AS x`,
    x: 1,
    beyond: `RETURN ${nested(200, '(', '1', ')')} AS x`,
    reason: /nested more than 200 deep \(service\.sql\.maxExpressionDepth\)/,
  },
  '8: lists': {
    at: sized(nested(198, '[', '1', ']')),
    x: 1,
    beyond: sized(nested(199, '[', '1', ']')),
    reason: /maxExpressionDepth/,
  },
  '8: NOT': {
    at: `RETURN ${'NOT '.repeat(198)}true AS x`,
    x: true,
    beyond: `RETURN ${'NOT '.repeat(199)}true AS x`,
    reason: /maxExpressionDepth/,
  },
  '8: CASE': {
    at: `RETURN ${nested(198, 'CASE WHEN true THEN ', '1', ' END')} AS x`,
    x: 1,
    beyond: `RETURN ${nested(199, 'CASE WHEN true THEN ', '1', ' END')} AS x`,
    reason: /maxExpressionDepth/,
  },
  '8: nodes of a pattern': {
    at: pathOf(199),
    x: 0,
    beyond: pathOf(200),
    reason: /201 nodes, more than 200 \(service\.sql\.maxExpressionDepth\)/,
  },
  '8: nodes of a pattern predicate': {
    at: `MATCH (a:P {k: 1}) WHERE NOT (a)${'-[:T]->()'.repeat(199)} RETURN a.k AS x`,
    x: 1,
    beyond: `MATCH (a:P {k: 1}) WHERE NOT (a)${'-[:T]->()'.repeat(200)} RETURN a.k AS x`,
    reason: /201 nodes, more than 200 \(service\.sql\.maxExpressionDepth\)/,
  },
  '8: nodes of a pattern comprehension': {
    at: `MATCH (a:P {k: 1}) RETURN size([(a)${'-[:T]->()'.repeat(199)} | 1]) AS x`,
    x: 0,
    beyond: `MATCH (a:P {k: 1}) RETURN size([(a)${'-[:T]->()'.repeat(200)} | 1]) AS x`,
    reason: /201 nodes, more than 200/,
  },
  '8: nodes of a bare pattern': {
    at: `RETURN COUNT { (a)${'-[:T]->()'.repeat(199)} } AS x`,
    x: 0,
    beyond: `RETURN COUNT { (a)${'-[:T]->()'.repeat(200)} } AS x`,
    reason: /201 nodes, more than 200/,
  },
  '8: nodes of a MERGE': {
    at: `MERGE p = (a:Long)${'-[:T]->(:Long)'.repeat(199)} RETURN length(p) AS x`,
    x: 199,
    beyond: `MERGE p = (a:Long)${'-[:T]->(:Long)'.repeat(200)} RETURN length(p) AS x`,
    reason: /201 nodes, more than 200/,
  },
  '8: nodes of a quantified part': {
    at: `MATCH (a:Q)(()${'-[:T]->()'.repeat(196)}){1,2}(b) RETURN count(*) AS x`,
    x: 0,
    beyond: `MATCH (a:Q)(()${'-[:T]->()'.repeat(198)}){1,2}(b) RETURN count(*) AS x`,
    reason: /201 nodes, more than 200/,
  },
  '8: clauses': {
    at: clauses(800),
    x: 1,
    beyond: clauses(801),
    reason: /more than 800 clauses.*maxExpressionDepth/,
  },
  '9: range()': {
    at: 'UNWIND range(1, 10000000) AS i WITH i SKIP 9999999 RETURN i AS x',
    x: 10_000_000,
    beyond: 'UNWIND range(0, 10000000) AS i RETURN i AS x',
    reason: /10000001 elements, more than the limit of 10000000 \(service\.queryMaxRangeSize\)/,
  },
  '9: collect()': {
    at: 'UNWIND range(1, 500000) AS i RETURN size(collect(i)) AS x',
    x: 500_000,
    beyond: 'UNWIND range(1, 500001) AS i RETURN size(collect(i)) AS x',
    reason: /more than 500000 elements.*queryMaxHeapElementsAllowedPerOp/,
  },
  '9: a list that grows': {
    at: sized('range(1, 499999) + [1]'),
    x: 500_000,
    beyond: sized('range(1, 500000) + [1]'),
    reason: /more than 500000 elements.*queryMaxHeapElementsAllowedPerOp/,
  },
  '9: a text that doubles': {
    at: sized("reduce(s = 'x', i IN range(1, 26) | s + s)"),
    x: 67_108_864,
    beyond: sized("reduce(s = 'x', i IN range(1, 26) | s + s) + 'x'"),
    reason: /67108865 bytes is larger than 67108864 bytes.*queryMaxValueSize/,
  },
  '10: a pattern': {
    at: `RETURN 'a' =~ '${'a'.repeat(65_536)}' AS x`,
    x: false,
    beyond: `RETURN 'a' =~ '${'a'.repeat(65_537)}' AS x`,
    reason: /65537 characters, more than the limit of 65536 \(service\.command\.regexMaxSize\)/,
  },
  '11: digits': {
    at: `RETURN 0.${'1'.repeat(9_998)} > 0.1 AS x`,
    x: true,
    beyond: `RETURN 0.${'1'.repeat(10_000)} > 0.1 AS x`,
    reason: /more than the limit of 10000 \(service\.queryMaxNumberDigits\)/,
  },
  '11: an exponent': {
    at: 'RETURN 1e-6144 AS x',
    x: 0,
    beyond: 'RETURN 1e-6145 AS x',
    reason: /-6145 is beyond the limit of 6144 \(service\.queryMaxNumberExponent\)/,
  },
  '11: the range of a float': {
    at: 'RETURN 1e308 AS x',
    x: 1e308,
    beyond: 'RETURN 1e309 AS x',
    reason: /'1e309' is out of range/,
  },
  '12: NUL': {
    at: "RETURN size('a\u0000b') AS x",
    x: 3,
    beyond: 'CREATE (n:P) SET n.`a\u0000b` = 1 RETURN 1 AS x',
    reason: /control character in a name/,
  },
};

for (const [name, { at, x, beyond, reason }] of Object.entries(bounds))
  test(`${name}: answered at the bound, refused beyond it`, async () => {
    const [row] = await run(at);
    assert.deepEqual(row?.['x'], x);
    await assert.rejects(run(beyond), reason);
  });

const product = 'MATCH (a:P), (b:P), (c:P), (d:P), (e:P) CREATE (:R) RETURN count(*) AS n';

test('6: a statement ends when the client leaves, and what it wrote is rolled back', async () => {
  const leaving = new AbortController();
  const ended = run(product, {}, { signal: leaving.signal });
  setImmediate(() => leaving.abort());
  await assert.rejects(ended, { code: 'Cancelled' });
  assert.deepEqual(await run('MATCH (r:R) RETURN r'), []);
});

const types = (prefix: string) =>
  `CREATE ${Array.from({ length: 400 }, (_, at) => `(:${prefix}${at})`).join()}`;

test('6: a statement that makes many types is seen, and ends with its client', async () => {
  const sessionId = database.database.begin(root, 'READ_COMMITTED');
  for (const [prefix, options] of [
    ['Alone', {}],
    ['InSession', { sessionId }],
  ] as const) {
    const leaving = new AbortController();
    const ended = run(types(prefix), {}, { ...options, signal: leaving.signal });
    await Promise.race([ended, turnsUntil(() => database.active.count > 0)]);
    leaving.abort();
    await assert.rejects(ended, { code: 'Cancelled' });
    assert.equal(database.active.count, 0);
    const made = await database.run('SELECT FROM schema:types WHERE name LIKE :p', {
      p: `${prefix}%`,
    });
    assert(made.length < 400, `${made.length} types`);
  }
});

const loops = 'range(1, 4000)';
const nestedLoops: Readonly<Record<string, string>> = {
  quantifiers: `UNWIND [1] AS z RETURN size([i IN ${loops} WHERE any(j IN ${loops} WHERE any(k IN ${loops} WHERE k = -z))]) AS x`,
  folds: `UNWIND [1] AS z RETURN reduce(a = z, i IN ${loops} | reduce(b = a, j IN ${loops} | reduce(c = b, k IN ${loops} | c + 1))) AS x`,
  'long folds':
    'UNWIND [1] AS z RETURN reduce(a = z, i IN range(1, 10000000) | reduce(b = a, j IN range(1, 10000000) | b + 1)) AS x',
  'an aggregate': `UNWIND [1] AS z RETURN sum(reduce(a = z, i IN ${loops} | reduce(b = a, j IN ${loops} | reduce(c = b, k IN ${loops} | c + 1)))) AS x`,
  'a condition': `UNWIND [1] AS z WITH z WHERE any(i IN ${loops} WHERE any(j IN ${loops} WHERE any(k IN ${loops} WHERE k = -z))) RETURN z AS x`,
};

for (const [name, text] of Object.entries(nestedLoops))
  test(`6: loops in loops pause, so they can be ended: ${name}`, async () => {
    const leaving = new AbortController();
    const ended = run(text, {}, { signal: leaving.signal });
    await turnsUntil(() => database.active.count > 0);
    leaving.abort();
    await assert.rejects(ended, { code: 'Cancelled' });
  });

test('6: loops in loops give the same in turns and at once, what they call included', async () => {
  const value = async (text: string) =>
    (await run(`UNWIND [0] AS z RETURN ${text} AS x`))[0]?.['x'];
  const counts = 'reduce(c = b, k IN range(1, 7) | c + 1)';
  for (const [outer, inner] of [
    [3, 5],
    [300, 400],
    [5_000, 40],
    [40, 5_000],
  ] as const) {
    assert.equal(
      await value(
        `reduce(a = z, i IN range(1, ${outer}) | reduce(b = a, j IN range(1, ${inner}) | ${counts}))`,
      ),
      outer * inner * 7,
    );
    assert.equal(
      await value(
        `size([i IN range(1, ${outer}) WHERE any(j IN range(1, ${inner}) WHERE i % 2 = z AND j = ${inner})])`,
      ),
      Math.floor(outer / 2),
    );
    assert.equal(
      await value(
        `reduce(s = 0, l IN [i IN range(1, ${outer}) | [j IN range(1, ${inner}) WHERE j <> i | i + z]] | s + size(l))`,
      ),
      outer * inner - Math.min(outer, inner),
    );
  }
  const matched = 'COUNT { MATCH (p:P) WHERE p.k <= j }';
  assert.equal(
    await value(
      `reduce(a = z, i IN range(1, 200) | reduce(b = a, j IN range(1, 10) | b + ${matched}))`,
    ),
    200 * 55,
  );
  assert.equal(
    (
      await run(
        `UNWIND [1, 2] AS z RETURN sum(size([i IN range(1, 200) | [j IN range(1, 200) | z]])) AS x`,
      )
    )[0]?.['x'],
    400,
  );
});

const large =
  'UNWIND range(1, 300) AS z UNWIND [$text] AS t UNWIND [$other] AS u UNWIND [$part] AS p UNWIND [$list] AS l';
const distance = 'text.levenshteinDistance(u, p)';
const numbers = Array.from({ length: 200_000 }, (_, n) => n);
const largeValues = {
  text: 'ab'.repeat(1_000_000),
  other: 'ab'.repeat(2_000),
  part: 'ba'.repeat(2_000),
  list: [...numbers, 'a'],
};
const longCalls: Readonly<Record<string, string>> = {
  'distances in a list': `size([i IN range(1, 300) | ${distance}])`,
  'distances in a condition of a list': `size([i IN range(1, 300) WHERE ${distance} = i])`,
  'distances in a fold': `reduce(a = 0, i IN range(1, 300) | a + ${distance})`,
  'distances in a quantifier': `any(i IN range(1, 300) WHERE ${distance} = -i)`,
  'distances in a sum': `sum(${distance} + z)`,
  'copies of lists': 'size([i IN range(1, 1000) | head(reverse(l))])',
  'tails of lists': 'size([i IN range(1, 1000) | head(tail(l))])',
  'members of mixed lists': 'size([i IN range(1, 300) WHERE toString(-i) IN l])',
  'parts of texts': "size([i IN range(1, 4000) WHERE t CONTAINS 'z' + toString(i)])",
  'lists that are compared': 'size([i IN range(1, 1000) WHERE tail(l) = l])',
};

for (const [name, value] of Object.entries(longCalls))
  test(`6: a loop over calls on large values pauses, so it can be ended: ${name}`, async () => {
    const leaving = new AbortController();
    const ended = run(`${large} RETURN ${value} AS x`, largeValues, { signal: leaving.signal });
    await turnsUntil(() => database.active.count > 0);
    leaving.abort();
    await assert.rejects(ended, { code: 'Cancelled' });
  });

test('7: a statement ends when its time is over', async () => {
  await assert.rejects(run(product, {}, { readTimeoutMs: 20 }), { code: 'Timeout' });
  assert.deepEqual(await run('MATCH (r:R) RETURN r'), []);
});

test('8: flat chains of 50,000 operators are answered', async () => {
  const chain = (term: string, operator: string) =>
    `RETURN ${Array(50_000).fill(term).join(operator)} AS x`;
  const [and] = await run(chain('true', ' AND '));
  const [sum] = await run(chain('$p', ' + '), { p: 1 });
  const [joined] = await run(chain('$p', ' || '), { p: 'a' });
  assert.deepEqual([and?.['x'], sum?.['x'], String(joined?.['x']).length], [true, 50_000, 50_000]);
});

test('8: a UNION has as many parts as its text', async () => {
  const parts = (operator: string) => Array(5_000).fill('RETURN 1 AS x').join(operator);
  assert.deepEqual(await run(parts(' UNION ')), [{ x: 1 }]);
  assert.equal((await run(parts(' UNION ALL '))).length, 5_000);
});

test('8: brackets without an end are refused where they nest too deep', async () => {
  for (const start of ['MATCH ', 'RETURN EXISTS { ', 'MERGE ', 'CREATE '])
    await assert.rejects(run(start + '('.repeat(1_000_000)), /maxExpressionDepth/);
});

test('33: what a statement may hold is bounded, and the refusal names the setting', async (context) => {
  const small = await openTestDatabase({ settings: { 'server.queryMaxMemory': '4194304' } });
  context.after(() => small.close());
  const held = (count: number) => small.run(distinct(count), {}, {}, 'cypher');
  assert.deepEqual(await held(5_000), [{ x: 5_000 }]);
  await assert.rejects(held(100_000), /queryMaxMemory/);
});

test('13: a statement sees the state in which it began', async () => {
  await run('CREATE (:S), (:S), (:S)');
  await run('MATCH (n:S) CREATE (:S)');
  assert.deepEqual(await run('MATCH (n:S) RETURN count(n) AS n'), [{ n: 6 }]);
});
