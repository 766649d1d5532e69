import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Wait } from '#core/pausing-work.ts';
import type { Expression } from '#query/algebra/expression.ts';
import { isList, isMap, type Value } from '#core/value/value.ts';
import type { EvaluationContext } from '#query/evaluate/context.ts';
import { compileExpression } from '#query/evaluate/compile.ts';
import type { Evaluator } from '#query/evaluate/evaluator.ts';
import { LongCalls } from '#query/evaluate/turns/long-calls.ts';
import { Patience } from '#query/evaluate/turns/patience.ts';
import { functionRegistry } from '#query/functions/registry.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';
import { sampleContext } from './sample-context.ts';

// Goal: what a call gives in turns is what it gives at once, and it does take turns. Method: the same text is evaluated twice over
// large parameters, where nothing can pause and as operators do it.

let db: SqlDatabase;

before(async () => {
  db = await SqlDatabase.open();
});

after(async () => {
  await db[Symbol.asyncDispose]();
});

function evaluator(expression: string): Evaluator {
  const view = db.state.begin('READ_COMMITTED');
  const { plan } = db.program(`SELECT ${expression} AS r`, view);
  view.rollback();
  const [column] = plan.op === 'Project' ? plan.columns : [];
  assert.ok(column, expression);
  return compiled(column.value);
}

function compiled(expression: Expression): Evaluator {
  return compileExpression(expression, {
    functions: functionRegistry,
    compileSubPlan: () => assert.fail('no sub-plans'),
  });
}

const count = 10_000;
const order = Array.from({ length: count }, (_, n) => (n * 7_919 + 13) % count);
const words = 'The quick bröwn-fox jumps_over 3 lázy dogs,😀 ΣΑΣ Ǆ ﬁ\n';
const text = words.repeat(3_000);

const parameters: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['k', 5],
  ['word', 'abc'],
  ['n', order],
  ['f', order.map((n) => n + 0.25)],
  ['s', order.map((n) => `text ${n}`)],
  ['o', order.map((n) => `text ${n + 5_000}`)],
  ['mixed', order.map((n) => [null, n % 100, `t${n % 100}`][n % 3] ?? null)],
  ['l', order.map((n) => [n % 500, [n, null]])],
  [
    'ms',
    order.map(
      (n) =>
        new Map<string, Value>([
          ['k', n % 50],
          ['v', `v ${n}`],
        ]),
    ),
  ],
  ['m', new Map(order.map((n) => [`key ${n}`, n]))],
  ['few', [order, [text, 'a "b" \u0001'], new Map<string, Value>([['x', order]])]],
  ['t', text],
  ['aaa', 'a'.repeat(200_000)],
  ['t2', `${text.toUpperCase()}!`],
  ['j', JSON.stringify(order.map((n) => ({ n, s: `a ${n}` })))],
  ['jm', JSON.stringify(Object.fromEntries(order.map((n) => [`k${n}`, [n]])))],
]);

const texts = [
  ...['n', 'f', 's', 'l', 'mixed', 'ms'].flatMap((name) => [
    `:${name}.asSet()`,
    `coll.distinct(:${name})`,
    `set(:${name}, :${name})`,
    `list(:${name}, [1])`,
    `intersect(:${name}, :${name})`,
    `difference(:${name}, [5, 'text 6'])`,
    `symmetricDifference(:${name}, [5, 'text 6'])`,
    `:${name}.asString()`,
    `:${name}.join('; ')`,
    `convert.toJson(:${name})`,
    `convert.toString(:${name})`,
    `:${name}.toJSON()`,
  ]),
  ...['n', 'f', 's', 'l', 'ms'].flatMap((name) => [`:${name}.sort()`, `:${name}.sort(false)`]),
  ...['m', 'few'].flatMap((name) => [`convert.toJson(:${name})`, `:${name}.asString()`]),
  ...['toUpperCase', 'toLowerCase', 'capitalize', 'normalize', 'hash'].map(
    (name) => `:t.${name}()`,
  ),
  ...['camelCase', 'upperCamelCase', 'snakeCase', 'slug', 'capitalizeAll', 'decapitalizeAll'].map(
    (name) => `text.${name}(:t)`,
  ),
  "text.slug(:t, '_X')",
  ":t.normalize('NFC')",
  ":t.hash('MD5')",
  'strcmpci(:t, :t2)',
  'util.compress(:t).length()',
  "util.decompress(util.compress(:t, 'deflate'), 'deflate')",
  'util.sha1(:t)',
  'util.md5(:s)',
  ":t.replace('o', 'öö')",
  ":t.replace('ox ju', '')",
  ":t.replace('zzz', 'y')",
  "text.replace(:aaa, 'aaa', 'b')",
  ":t.split(' ')",
  "text.split(:t, 'fox')",
  ":t.split('zzz')",
  ":s.split(',')",
  ':s.toUpperCase()',
  "text.join(:s, ' and ')",
  "decode(encode(:t, 'base64'), 'base64').hash()",
  ...['median', 'percentiles', 'product', 'statistics'].map((name) => `agg.${name}(:f)`),
  'map.fromLists(:s, :n)',
  ':n.asMap()',
  ":s.transform('toUpperCase', 'length')",
  'coll.union(:s, :o)',
  'intersect(:s, :o)',
  'difference(:s, :o)',
  ':s - :o',
  ':n - :n',
  ...["'text 77'", "'zz'", 'null', '5'].map((value) => `[(${value} IN :s)]`),
  '[(:s CONTAINSALL :o)]',
  '[(:s CONTAINSANY :o)]',
  '[(:s CONTAINSALL :s)]',
  "[(:aaa MATCHES '(a+)+b')]",
  ':j.asJSON()',
  'convert.fromJsonList(:j)',
  'convert.fromJsonMap(:jm)',
  'convert.fromJsonMap(:t)',
  ':f.asVector()',
  ':n.asSparse()',
  'vector.add(:f, :f)',
  'vector.subtract(1, :f)',
  'vector.multiply(:f, :n)',
  'vector.scale(:f, 0.1)',
  'vector.normalize(:f)',
  'vector.clip(:f, 5, 100)',
  'vector.toString(:f)',
  "vector.toString(:f, 'PRETTY')",
  'vector.sparseCreate(:n, :f)',
  'vector.sparseToDense(vector.denseToSparse(:f))',
  'vector.dequantizeInt8(vector.quantizeInt8(:f))',
  'vector.dequantizeBinary(vector.quantizeBinary(:f))',
  'vector.normalizeScores(:f)',
];

test('a call in turns gives what it gives at once', () => {
  const oneTurn: string[] = [];
  for (const expression of texts) {
    const atOnce = printed(evaluator(expression)(sampleContext({ parameters })));
    const { value, turnCount } = inTurns(expression, sampleContext({ parameters }));
    assert.equal(printed(value), atOnce, expression);
    if (turnCount === 1) oneTurn.push(expression);
  }
  // Some are over within a turn with as many elements.
  assert.ok(oneTurn.length < texts.length / 2, oneTurn.join('\n'));
});

test('what stands around a long call is not done again in each turn', () => {
  const context = sampleContext({ parameters });
  const { turnCount } = inTurns(
    'vector.add(vector.dequantizeInt8(vector.quantizeInt8(:f)), :f).asString().length()',
    context,
  );
  assert.ok(turnCount > 3, `${turnCount} turns`);
});

test('a list of many expressions is made in turns, once', () => {
  const context = sampleContext({ parameters });
  const items = Array.from({ length: 9_000 }, (_, n) => `:k + ${n}`).join(', ');
  const { value, turnCount } = inTurns(`[(9004 IN [${items}]), (3 IN [${items}])]`, context);
  assert.deepEqual(value, [true, false]);
  assert.ok(turnCount > 3, `${turnCount} turns`);
});

/** Chains of 20,000 operands of which those at the end decide. */
const chains: Readonly<Record<string, readonly [text: string, value: Value]>> = {
  AND: [`[(${joined(' AND ', (n) => `:k <> ${n + 10}`)} AND :k = 5)]`, [true]],
  'AND that is false at its end': [
    `[(${joined(' AND ', (n) => `:k <> ${n + 10}`)} AND :k = 6)]`,
    [false],
  ],
  OR: [`[(${joined(' OR ', (n) => `:k = ${n + 10}`)} OR :k = 5)]`, [true]],
  'OR that is unknown': [`[(${joined(' OR ', (n) => `:k = ${n + 10}`)} OR null > 5)]`, [null]],
  '+': [`[${joined(' + ', () => ':k')}]`, [100_000]],
  'texts by +': [`[(${joined(' + ', () => ':word')}).length()]`, [60_000]],
  '- and +': [`[${joined(' - :k + ', () => ':k')}]`, [5]],
  CASE: [`[CASE ${joined(' ', (n) => `WHEN :k = -${n + 1} THEN ${n}`)} ELSE 'none' END]`, ['none']],
};

function joined(operator: string, operand: (n: number) => string): string {
  return Array.from({ length: 20_000 }, (_, n) => operand(n)).join(operator);
}

for (const [name, [text, expected]] of Object.entries(chains))
  test(`a long chain takes turns: ${name}`, () => {
    const evaluate = evaluator(text);
    assert.deepEqual(evaluate(sampleContext({ parameters })), expected);
    const { value, turnCount } = turnsOf(evaluate, sampleContext({ parameters }), name);
    assert.deepEqual(value, expected);
    assert.ok(turnCount >= 8 && turnCount < 30, `${turnCount} turns`);
  });

test('a long chain that its first operands settle takes one turn, and what stands behind them is not evaluated', () => {
  const context = sampleContext({ parameters });
  for (const text of [
    `[(:k = 5 OR ${joined(' OR ', (n) => `1 / (:k - 5) = ${n}`)})]`,
    `[(:k <> 5 AND ${joined(' AND ', (n) => `1 / (:k - 5) = ${n}`)})]`,
  ]) {
    const evaluate = evaluator(text);
    assert.deepEqual(turnsOf(evaluate, context, text).turnCount, 1);
  }
});

for (const name of ['keys', 'properties'])
  test(`${name}() of a map of many entries takes turns`, () => {
    const call: Expression = {
      op: 'Call',
      function: `#cypher.${name}`,
      arguments: [{ op: 'Parameter', name: 'm' }],
    };
    const context = sampleContext({ parameters });
    const { value, turnCount } = turnsOf(compiled(call), context, name);
    assert.equal(printed(value), printed(compiled(call)(context)));
    assert.ok(turnCount > 20, `${turnCount} turns`);
  });

test('an error in a later turn is the error of the call', () => {
  const context = sampleContext({ parameters });
  assert.throws(() => inTurns(':mixed.sort()', context), /sort\(\) cannot compare/);
  assert.throws(() => inTurns('convert.toJson(:n).asJSON().sort(5)', context), /boolean/);
});

test('an operator goes over to turns when a value asks for it, and only then', () => {
  const context = Object.assign(sampleContext({ parameters }), { pending: { wait: undefined } });
  const patience = new Patience();
  context.mayBeSuspended = true;
  assert.equal(evaluator('[3, 1, 2].sort().join()')(context), '1,2,3');
  assert.equal(patience.isNeeded, false);
  try {
    evaluator(':s.sort()')(context);
    assert.fail('it was not suspended');
  } catch (error) {
    assert.equal(patience.isSuspension(error, context), true);
  }
  assert.equal(context.mayBeSuspended, false);
  assert.equal(patience.isNeeded, true);
  assert.equal(patience.isSuspension(new Error('another'), context), false);
});

function inTurns(
  expression: string,
  context: EvaluationContext,
): { readonly value: Value; readonly turnCount: number } {
  return turnsOf(evaluator(expression), context, expression);
}

function turnsOf(
  evaluate: Evaluator,
  context: EvaluationContext,
  expression: string,
): { readonly value: Value; readonly turnCount: number } {
  const place = Object.assign(context, { pending: { wait: undefined as Wait | undefined } });
  const calls = new LongCalls();
  let value: Value = null;
  let turnCount = 1;
  const job = (): void => {
    value = evaluate(place);
  };
  while (!calls.attempt(place, job)) {
    turnCount += 1;
    place.pending.wait?.standStill(1);
    assert.ok(turnCount < 100_000, `${expression} does not end`);
  }
  return { value, turnCount };
}

/** Kinds of numbers and orders of keys count. */
function printed(value: Value): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    if (isMap(item as Value)) return { map: [...(item as ReadonlyMap<string, Value>)] };
    return typeof item === 'bigint' ? `${item}n` : isList(item as Value) ? item : item;
  });
}
