import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import { checkProgram } from '#query/algebra/invariants.ts';
import { parseScript, parseStatement } from '#language/sql/parser/statement.ts';
import { analyzed, sampleCatalog } from '#test/language/support/sample-catalog.ts';

// Bounds of limits.md rows 7 to 12: nesting, chains, sizes; at the bound and one beyond.

const limits = { expressionDepthMax: 200, statementBytesMax: 4 * 1024 * 1024 };
const catalog = sampleCatalog();

function refusal(text: string, code: DatabaseError['code'], message: RegExp): void {
  assert.throws(
    () => parseStatement(text, limits),
    (error) => error instanceof DatabaseError && error.code === code && message.test(error.message),
  );
}

const nestings: Record<string, (depth: number) => string> = {
  parentheses: (depth) => `SELECT ${'('.repeat(depth)}1${')'.repeat(depth)}`,
  // The literal inside is a list of constants and nests no expression.
  lists: (depth) => `SELECT ${'['.repeat(depth)}a${']'.repeat(depth)}`,
  maps: (depth) => `SELECT ${'{a:'.repeat(depth)}a${'}'.repeat(depth)}`,
  arguments: (depth) => `SELECT ${'f('.repeat(depth)}a${')'.repeat(depth)}`,
  negations: (depth) => `SELECT FROM P WHERE ${'NOT '.repeat(depth)}a = 1`,
  signs: (depth) => `SELECT ${'- '.repeat(depth)}a`,
  methods: (depth) => `SELECT a${'.f()'.repeat(depth)}`,
  properties: (depth) => `SELECT a${'.b'.repeat(depth)}`,
  selectors: (depth) => `SELECT a${'[a'.repeat(depth)}${']'.repeat(depth)}`,
  cases: (depth) => `SELECT ${'CASE WHEN a = 1 THEN '.repeat(depth)}1${' END'.repeat(depth)}`,
  'sub-queries': (depth) => `SELECT ${'(SELECT '.repeat(depth)}1${')'.repeat(depth)}`,
  targets: (depth) => `SELECT FROM ${'(SELECT FROM '.repeat(depth)}P${')'.repeat(depth)}`,
  'nested projections': (depth) => `SELECT a${':{a'.repeat(depth)}${'}'.repeat(depth)}`,
};

for (const [what, made] of Object.entries(nestings)) {
  test(`nesting of ${what} is refused beyond the limit, naming the setting`, () => {
    parseStatement(made(190), limits);
    const named = /exceeds the maximum allowed depth of 200 \(service\.sql\.maxExpressionDepth\)/;
    refusal(made(201), 'Syntax', named);
    refusal(made(10_000), 'Syntax', named);
  });
}

test('parentheses may nest exactly as deep as the limit says', () => {
  parseStatement(`SELECT ${'('.repeat(200)}1${')'.repeat(200)}`, limits);
});

test('blocks of scripts count as nesting', () => {
  const made = (depth: number) => `${'IF (true) {'.repeat(depth)}SELECT 1${'}'.repeat(depth)}`;
  parseScript(made(190), limits);
  assert.throws(() => parseScript(made(201), limits), /depth of 200/);
});

const terms = 50_000;
const chains = {
  sums: `SELECT ${Array(terms).fill('age').join(' + ')} AS x FROM Person`,
  differences: `SELECT ${Array(terms).fill('1').join('-')} AS x`,
  products: `SELECT ${Array(terms).fill('age').join('*')} FROM Person`,
  concatenations: `SELECT ${Array(terms).fill("'a'").join('||')} AS x`,
  conjunctions: `SELECT FROM Person WHERE ${Array(terms).fill('age = 1').join(' AND ')}`,
  disjunctions: `SELECT FROM Person WHERE ${Array(terms).fill('age = 1').join(' OR ')}`,
};

for (const [what, text] of Object.entries(chains)) {
  test(`${what} of 50,000 terms are parsed and analyzed without depth`, () => {
    checkProgram(analyzed(text, catalog));
  });
}

test('a list of literals is one value, however long it is', () => {
  const list = Array.from({ length: 300_000 }, (_, at) => at).join(',');
  const { plan } = analyzed(`SELECT FROM Person WHERE age IN [${list}]`, catalog);
  assert.ok(plan.op === 'Filter' && plan.predicate.op === 'In');
  assert.ok(plan.predicate.list.op === 'Constant' && Array.isArray(plan.predicate.list.value));
  assert.equal(plan.predicate.list.value.length, 300_000);
});

test('documents written as literals are one value each', () => {
  const documents = Array.from({ length: 20_000 }, (_, at) => `{"a":${at},"b":["x",{"c":null}]}`);
  const { plan } = analyzed(`INSERT INTO Doc CONTENT [${documents.join(',')}]`, catalog);
  assert.equal(plan.op, 'Insert');
});

test('a statement of more bytes or more words than its limit is refused', () => {
  const small = { expressionDepthMax: 200, statementBytesMax: 200 };
  parseStatement(`SELECT '${'x'.repeat(180)}'`, small);
  // Each of these characters is three bytes.
  assert.throws(
    () => parseStatement(`SELECT '${'\u20ac'.repeat(100)}'`, small),
    (error) =>
      error instanceof DatabaseError &&
      error.code === 'TooLarge' &&
      error.message.includes('service.sql.maxStatementSize'),
  );
  refusal(
    `SELECT ${Array(400_000).fill('a').join('+')}`,
    'TooLarge',
    /words and signs .* service\.sql\.maxStatementSize/,
  );
});

test('numbers beyond the limits are refused', () => {
  refusal(`SELECT ${'9'.repeat(10_001)}`, 'Syntax', /more than the limit of 10000/);
  refusal('SELECT 1e6145', 'Syntax', /beyond the limit of 6144/);
  refusal('SELECT 1e-6145', 'Syntax', /beyond the limit of 6144/);
  refusal('SELECT 1e309', 'Syntax', /out of range/);
  parseStatement('SELECT 1e308, 1e-400', limits);
});

test('half a character is refused, NUL is data in strings and refused in names', () => {
  refusal("SELECT 'a\ud800'", 'Syntax', /line 1, column 10: half of a character/);
  refusal("SELECT '\\udc00'", 'Syntax', /half of a character/);
  parseStatement("SELECT 'a\u0000b', '\\u0000'", limits);
  refusal('SELECT `a\u0000b`', 'Syntax', /control character in a name/);
  refusal('SELECT a\u0000b', 'Syntax', /unexpected/);
});
