import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Value } from '#core/value/value.ts';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';

// Goal: what is long, deep, wide or of the wrong kind in Cypher is answered right or refused by a documented error that names its
// limit (limits.md 8 to 12, 22), and the data stay what they were.

let database: TestDatabase;

before(async () => {
  database = await openTestDatabase();
  await database.run('UNWIND range(1, 100) AS i CREATE (:P {k: i})', {}, {}, 'cypher');
});

after(() => database.close());

const run = (text: string, parameters: Readonly<Record<string, Value>> = {}) =>
  database.run(text, parameters, {}, 'cypher');
const textBytesMax = 4 * 1024 * 1024;
const chain = (term: string, operator: string) =>
  `RETURN ${Array(50_000).fill(term).join(operator)} AS x`;
const nested = (count: number, open: string, inner: string, close: string) =>
  `${open.repeat(count)}${inner}${close.repeat(count)}`;
const items = (item: (at: number) => string) =>
  Array.from({ length: 20_000 }, (_, at) => item(at)).join(', ');
const textOf = (bytes: number) => {
  const frame = "RETURN size('') AS x".length;
  return `RETURN size('${'x'.repeat(bytes - frame)}') AS x`;
};

const answered: Readonly<Record<string, readonly [text: string, x: unknown]>> = {
  '190 parentheses': [`RETURN ${nested(190, '(', '1', ')')} AS x`, 1],
  '50,000 +': [chain('1', ' + '), 50_000],
  '50,000 OR': [chain('false', ' OR '), false],
  '20,000 items of SET': [
    `CREATE (n:Wide {a: 1}) WITH n SET ${items((at) => `n.p${at} = n.a + ${at}`)} RETURN n.p19999 AS x`,
    20_000,
  ],
  '20,000 items of REMOVE': [
    `MATCH (n:Wide) REMOVE ${items((at) => `n.p${at}`)} RETURN size(keys(n)) AS x`,
    1,
  ],
  'a text at the bound': [textOf(textBytesMax), textBytesMax - 20],
  'a regular expression that backtracks elsewhere': [
    `RETURN '${'a'.repeat(5000)}!' =~ '(a+)+$' AS x`,
    false,
  ],
  '__proto__ as a key': ['WITH {__proto__: 7} AS m RETURN m.__proto__ AS x', 7],
  '__proto__ as a label and property': [
    'CREATE (n:__proto__ {__proto__: 7}) RETURN labels(n)[0] + n.__proto__ AS x',
    '__proto__7',
  ],
  'a label with ~': ['CREATE (n:`A~B`:C) RETURN labels(n) AS x', ['A~B', 'C']],
  'a label with a back-tick': ['CREATE (n:`a``b`) RETURN labels(n) AS x', ['a`b']],
  'a label of 256 characters': [
    `CREATE (n:\`${'L'.repeat(256)}\`) RETURN size(labels(n)[0]) AS x`,
    256,
  ],
};

for (const [name, [text, x]] of Object.entries(answered))
  test(`${name} is answered`, async () => {
    const [row] = await run(text);
    assert.deepEqual(row?.['x'], x);
  });

const refused: Readonly<Record<string, readonly [text: string, reason: RegExp]>> = {
  '201 parentheses': [`RETURN ${nested(201, '(', '1', ')')} AS x`, /maxExpressionDepth/],
  '201 lists': [`RETURN ${nested(201, '[', '1', ']')} AS x`, /maxExpressionDepth/],
  '5,000 NOT': [`RETURN ${'NOT '.repeat(5000)}true AS x`, /maxExpressionDepth/],
  '5,000 minus': [`RETURN ${'- '.repeat(5000)}1 AS x`, /maxExpressionDepth/],
  '201 CASE': [
    `RETURN ${nested(201, 'CASE WHEN true THEN ', '1', ' END')} AS x`,
    /maxExpressionDepth/,
  ],
  '201 CALL': [
    `${nested(201, 'CALL { ', 'RETURN 1 AS x', ' RETURN x }')} RETURN x`,
    /maxExpressionDepth/,
  ],
  '201 FOREACH': [nested(201, 'FOREACH (x IN [1] | ', 'CREATE (:Q)', ')'), /maxExpressionDepth/],
  '50,000 properties': [`WITH {} AS m RETURN m${'.p'.repeat(50_000)} AS x`, /maxExpressionDepth/],
  '50,000 IS NULL': [`RETURN 1${' IS NULL'.repeat(50_000)} AS x`, /maxExpressionDepth/],
  '5,000 steps': [`MATCH (a)${'-[:T]->()'.repeat(5000)} RETURN 1 AS x`, /maxExpressionDepth/],
  'a text beyond the bound': [textOf(textBytesMax + 1), /sql\.maxStatementSize/],
  'range(0, 10^9)': ['UNWIND range(0, 1000000000) AS i RETURN i', /queryMaxRangeSize/],
  'a text that doubles': [
    "RETURN reduce(s = 'x', i IN range(1, 60) | s + s) AS x",
    /queryMaxValueSize/,
  ],
  'a list that doubles': [
    'RETURN reduce(s = [1], i IN range(1, 60) | s + s) AS x',
    /queryMaxHeapElementsAllowedPerOp/,
  ],
  'collect of 10^8': [
    'UNWIND range(1, 10000) AS a UNWIND range(1, 10000) AS b RETURN collect(a) AS x',
    /queryMaxHeapElementsAllowedPerOp/,
  ],
  'a long pattern': [`RETURN 'a' =~ '${'a'.repeat(70_000)}' AS x`, /regexMaxSize/],
  'a pattern of 10^9 states': ["RETURN 'a' =~ '((a{1,1000}){1,1000}){1,1000}' AS x", /too large/],
  '1e400': ['RETURN 1e400 AS x', /FloatingPointOverflow/],
  '10,001 digits': [`RETURN ${'9'.repeat(10_001)} AS x`, /queryMaxNumberDigits/],
  'a label of 257 characters': [`CREATE (n:\`${'L'.repeat(257)}\`)`, /maxNameLength/],
  'NUL in a name': ['CREATE (n:`a\u0000b`)', /control character/],
  'an empty name': ['CREATE (n:``)', /empty name/],
  'half of a character': ["RETURN '\ud800' AS x", /lone surrogate/],
  'half of a character, escaped': ["RETURN '\\uD800' AS x", /lone surrogate/],
};

for (const [name, [text, reason]] of Object.entries(refused))
  test(`${name} is refused`, () => assert.rejects(run(text), reason));

const wrong: readonly (readonly [text: string, p: Value, reason: RegExp])[] = [
  ['MATCH (n:P) RETURN n SKIP $p', 'x', /InvalidArgumentType/],
  ['MATCH (n:P) RETURN n LIMIT $p', new Map([['a', 1]]), /InvalidArgumentType/],
  ['MATCH (n:P {k: 1}) SET n = $p', 5, /InvalidArgumentType/],
  ['MATCH (n:P {k: 1}) SET n.x = $p', [new Map([['a', 1]])], /InvalidPropertyType/],
  ['CREATE (n:P $p)', [1], /InvalidArgumentType/],
  ['RETURN range($p, 1)', '1', /InvalidArgumentType/],
  ['RETURN [1][$p]', 'a', /ListElementAccessByNonInteger/],
  ['RETURN {a: 1}[$p]', 1, /MapElementAccessByNonString/],
  ['RETURN date($p)', new Map([['year', 'x']]), /year must be an integer/],
  ['RETURN duration($p)', new Map([['years', 1e300]]), /a duration cannot hold/],
  ['RETURN point($p)', new Map([['x', 'a']]), /must be a number/],
  ['RETURN $constructor, $p', 1, /MissingParameter: expected parameter\(s\): constructor/],
];

for (const [text, p, reason] of wrong)
  test(`${text} refuses a parameter of the wrong type`, () =>
    assert.rejects(run(text, { p }), reason));

test('what was refused has changed nothing', async () => {
  const [row] = await run('MATCH (n:P) RETURN count(n) AS n, sum(n.k) AS k, count(n.x) AS x');
  assert.deepEqual(row, { n: 100, k: 5050, x: 0 });
  assert.deepEqual(await run('MATCH (n:Q) RETURN n'), []);
});
