import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { currentRecordFunctions } from '#query/functions/graph/graph.ts';
import { documentedFunctions, functionRegistry } from '#query/functions/registry.ts';

const goldenText = readdirSync(new URL('.', import.meta.url))
  .filter((name) => name.endsWith('.txt'))
  .map((name) => readFileSync(new URL(name, import.meta.url), 'utf8'))
  .join('\n')
  .toLowerCase();

test('names are found in any letter case, with and without the apoc prefix', () => {
  for (const name of ['sqrt', 'SQRT', 'Sqrt', 'text.CamelCase', 'apoc.text.camelCase'])
    assert.ok(functionRegistry.scalar(name), name);
  assert.ok(functionRegistry.scalar('.TOUPPERCASE'));
  assert.ok(functionRegistry.aggregate('COUNT'));
  assert.equal(functionRegistry.scalar('count'), undefined);
  assert.equal(functionRegistry.scalar('__proto__'), undefined);
  assert.equal(functionRegistry.aggregate('constructor'), undefined);
});

test('functions that are aggregates with one argument only are found in both forms', () => {
  for (const name of [
    'sum avg min max bool_and bool_or list set map unionAll intersect difference',
    'symmetricDifference',
  ].flatMap((names) => names.split(' '))) {
    assert.equal(functionRegistry.aggregate(name)?.arity.max, 1, name);
    assert.equal(functionRegistry.scalar(name)?.arity.max, Number.POSITIVE_INFINITY, name);
  }
});

test('first and last are no aggregates', () => {
  assert.equal(functionRegistry.aggregate('first'), undefined);
  assert.equal(functionRegistry.aggregate('last'), undefined);
});

test('functions that get the current record are known to the analyzer and are not deterministic folds', () => {
  for (const name of ['out', 'in', 'both', 'oute', 'ine', 'bothe', 'outv', 'inv', 'bothv', 'eval'])
    assert.ok(currentRecordFunctions.has(name), name);
});

test('clocks and random numbers are never computed once for all rows', () => {
  for (const name of ['uuid', 'randomInt', 'sysdate', 'date', 'math_random', 'create.uuid'])
    assert.equal(functionRegistry.scalar(name)?.isDeterministic, false, name);
  for (const name of ['sqrt', '.toUpperCase', 'format', 'coalesce'])
    assert.equal(functionRegistry.scalar(name)?.isDeterministic, true, name);
});

test('every function has a syntax that starts with its name and is documented once', () => {
  const rows = documentedFunctions();
  assert.ok(rows.length > 300, `${rows.length}`);
  const seen = new Set<string>();
  for (const { name, syntax, kind } of rows) {
    assert.ok(syntax.startsWith(`${name}(`), `${name}: ${syntax}`);
    assert.ok(!seen.has(`${kind} ${name}`), name);
    seen.add(`${kind} ${name}`);
  }
});

// What is behind the other names is the same function, or one refusal for all of them.
const notShown =
  /^(vector[A-Z]|math_|search_|fulltext\.|promql|vector\.(neighbors|sparseN|fuse|rerank|mmr|boost|recommend|discover))/;

test('every function has an example in the golden files', () => {
  const missing = documentedFunctions()
    .filter(({ name }) => !notShown.test(name))
    .filter(({ name, kind }) => {
      const shown = name.toLowerCase();
      if (kind === 'aggregate') return !goldenText.includes(`${shown} <-`);
      return !goldenText.includes(kind === 'method' ? `.${shown}(` : `${shown}(`);
    })
    .map(({ name, kind }) => `${kind} ${name}`);
  assert.deepEqual(missing, []);
});

test('a misspelt name gets the closest one', () => {
  const cases: readonly (readonly [string, string | undefined])[] = [
    ['cuont', 'count'],
    ['sqr', 'sqrt'],
    ['colaesce', 'coalesce'],
    ['.toUper', '.toUpperCase'],
    ['.toLowerCas', '.toLowerCase'],
    ['upper', '.toUpperCase'],
    ['length', '.length'],
    ['now', 'sysdate'],
    ['zzzzzz', undefined],
    ['', undefined],
    ['x'.repeat(10_000), undefined],
  ];
  for (const [written, expected] of cases)
    assert.equal(functionRegistry.suggest(written), expected, written);
});
