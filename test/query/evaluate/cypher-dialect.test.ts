// Expressions in dialect cypher, by the tables of cypher.md 5 and 6; failures by the names of 16.2.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DatabaseError } from '#core/errors.ts';
import { compareForCypher } from '#core/value/cypher-order.ts';
import { valuesEqual } from '#core/value/equality.ts';
import { Float, type Value } from '#core/value/value.ts';
import { conditionOf } from '#query/algebra/cypher.ts';
import type { ArithmeticOperator, CompareOperator, Expression } from '#query/algebra/expression.ts';
import { ada, c, evaluate, record, slot } from './fixtures.ts';

const dialect = 'cypher';
const map = (entries: Readonly<Record<string, Value>>) => new Map(Object.entries(entries));
const f = (n: number) => new Float(n);

function compare(left: Value, operator: CompareOperator, right: Value): Value {
  return evaluate({ op: 'Compare', operator, left: c(left), right: c(right), dialect });
}

function compute(left: Value, operator: ArithmeticOperator, right: Value): Value {
  return evaluate({ op: 'Arithmetic', operator, left: c(left), right: c(right), dialect });
}

function fails(run: () => unknown, detail: string): void {
  assert.throws(
    run,
    (error) =>
      error instanceof DatabaseError &&
      error.failure?.detail === detail &&
      error.message.startsWith(`${detail}: `),
  );
}

test('equality: exact numbers, no conversion, null inside is unknown', () => {
  const rows: readonly (readonly [Value, Value, boolean | null])[] = [
    [1, f(1), true],
    [9_007_199_254_740_993n, f(2 ** 53), false],
    [9_007_199_254_740_992n, f(2 ** 53), true],
    [Number.NaN, Number.NaN, false],
    [0, f(-0), true],
    [1, '1', false],
    [1, true, false],
    [[map({ a: 1 })], 1, false],
    [[1], 1, false],
    [null, 1, null],
    [[1, null], [1, 2], null],
    [[1, null], [2, null], false],
    [[1], [1, null], false],
    [map({ a: null }), map({ a: null }), null],
    [map({ a: 1, b: null }), map({ a: 2, b: null }), false],
    [map({ a: 1 }), map({ b: 1 }), false],
    [map({ a: 1 }), map({ a: f(1) }), true],
    [ada, record(ada.rid, {}), true],
    ['a', 'A', false],
  ];
  for (const [a, b, expected] of rows) {
    assert.equal(compare(a, '=', b), expected, `${String(a)} = ${String(b)}`);
    assert.equal(compare(b, '=', a), expected, `${String(b)} = ${String(a)}`);
    assert.equal(compare(a, '<>', b), expected === null ? null : !expected);
  }
});

test('order: within a kind only, NaN in no order with numbers, lists by elements', () => {
  assert.equal(compare(9_007_199_254_740_993n, '>', f(2 ** 53)), true);
  assert.equal(compare(1, '<', Number.NaN), false);
  assert.equal(compare(Number.NaN, '>=', Number.NaN), false);
  assert.equal(compare('a', '<', 1), null);
  assert.equal(compare('a', '<', Number.NaN), null);
  assert.equal(compare([1, 2], '<', [1, 2, 0]), true);
  assert.equal(compare([1, null], '<', [1, 2]), null);
  assert.equal(compare([1, null], '<', [2]), true);
  assert.equal(compare(map({ a: 1 }), '<', map({ a: 2 })), null);
  assert.equal(compare('\u{1F600}', '>', '\uFF5E'), true);
});

test('arithmetic: integers truncate and overflow, power is a float, other kinds are refused', () => {
  assert.equal(compute(-7, '/', 2), -3);
  assert.equal(compute(-7, '%', 3), -1);
  assert.deepEqual(compute(2, '^', 3), f(8));
  assert.deepEqual(compute(7, '/', f(0)), Number.POSITIVE_INFINITY);
  assert.throws(() => compute(1, '/', 0), /\/ by zero/);
  assert.throws(() => compute(1, '%', 0), /% by zero/);
  assert.throws(() => compute(2n ** 63n - 1n, '+', 1), { code: 'Arithmetic' });
  assert.deepEqual(compute([1], '+', [[2]]), [1, [2]]);
  assert.deepEqual(compute(0, '+', [1]), [0, 1]);
  assert.equal(compute('a', '+', 1), 'a1');
  assert.equal(compute(null, '+', 1), null);
  fails(() => compute(1, '+', true), 'InvalidArgumentType');
  fails(() => compute(map({}), '-', 1), 'InvalidArgumentType');
  fails(() => evaluate({ op: 'Negate', operand: c('a'), dialect }), 'InvalidArgumentType');
  assert.equal(evaluate({ op: 'Negate', operand: c(null), dialect }), null);
});

test('rows of a sub-query are no values: a list of one map is a list', () => {
  const options = { frame: [[map({ a: 1 })]] };
  const equals: Expression = { op: 'Compare', operator: '=', left: slot(0), right: c(1), dialect };
  assert.equal(evaluate(equals, options), false);
});

test('conditions: three values, and nothing but booleans', () => {
  const logic = (op: 'And' | 'Or' | 'Xor', ...values: readonly Value[]): Value =>
    evaluate({ op, operands: values.map((value) => conditionOf(c(value))) });
  assert.equal(logic('And', false, null), false);
  assert.equal(logic('And', true, null), null);
  assert.equal(logic('Or', null, true), true);
  assert.equal(logic('Xor', true, true, true), true);
  assert.equal(logic('Xor', true, null), null);
  fails(() => logic('And', 1, true), 'InvalidArgumentType');
  fails(() => logic('Or', false, 'true'), 'InvalidArgumentType');
  fails(() => logic('Xor', true, []), 'InvalidArgumentType');
  fails(() => evaluate({ op: 'Not', operand: conditionOf(c(0)) }), 'InvalidArgumentType');
});

test('IN: a list, three-valued, short and long', () => {
  const isIn = (element: Value, list: Value): Value =>
    evaluate({ op: 'In', element: c(element), list: c(list), dialect });
  const long = Array.from({ length: 20 }, (_, at) => at);
  assert.equal(isIn(null, []), false);
  assert.equal(isIn(1, null), null);
  assert.equal(isIn(1, [f(1), null]), true);
  assert.equal(isIn(2, [1, null]), null);
  assert.equal(isIn(null, [1]), null);
  assert.equal(isIn(f(3), long), true);
  assert.equal(isIn(f(3.5), long), false);
  assert.equal(isIn('3', long), false);
  assert.equal(isIn(Number.NaN, long), false);
  assert.equal(isIn(33, [...long, null]), null);
  assert.equal(isIn([1], [[1, null]]), false);
  assert.equal(isIn([1, null], [[1, 2]]), null);
  fails(() => isIn(1, 'x'), 'InvalidArgumentType');
});

test('elements and slices: from the end, clipped, null of null', () => {
  const list = [1, 2, 3];
  const at = (of: Value, key: Value): Value =>
    evaluate({ op: 'Element', of: c(of), keys: [c(key)], dialect });
  const slice = (of: Value, low: Value | undefined, high: Value | undefined): Value =>
    evaluate({
      op: 'Slice',
      of: c(of),
      low: low === undefined ? undefined : c(low),
      high: high === undefined ? undefined : c(high),
      inclusive: false,
      dialect,
    });
  assert.equal(at(list, -1), 3);
  assert.equal(at(list, 3), null);
  assert.equal(at(list, null), null);
  assert.equal(at(map({ a: 5 }), 'a'), 5);
  fails(() => at(list, f(1)), 'ListElementAccessByNonInteger');
  fails(() => at(list, 'a'), 'ListElementAccessByNonInteger');
  fails(() => at(map({}), 1), 'MapElementAccessByNonString');
  fails(() => at(5, 0), 'InvalidArgumentType');
  assert.deepEqual(slice(list, -2, undefined), [2, 3]);
  assert.deepEqual(slice(list, undefined, -1), [1, 2]);
  assert.deepEqual(slice(list, 2, 1), []);
  assert.deepEqual(slice(list, -10, 10), list);
  assert.equal(slice(list, null, 1), null);
  assert.equal(slice(null, 0, 1), null);
  fails(() => slice(list, 'a', 1), 'ListElementAccessByNonInteger');
});

test('texts: parts, patterns and concatenation want texts', () => {
  const part = (kind: 'start' | 'end' | 'any', text: Value, wanted: Value): Value =>
    evaluate({ op: 'TextPart', kind, text: c(text), part: c(wanted) });
  assert.equal(part('start', 'abc', 'ab'), true);
  assert.equal(part('end', 'abc', 'ab'), false);
  assert.equal(part('any', 'abc', ''), true);
  assert.equal(part('any', 'a1', 1), null);
  assert.equal(part('start', null, 'a'), null);
  const matches = (text: Value, pattern: Value): Value =>
    evaluate({ op: 'Matches', text: c(text), pattern: c(pattern), dialect });
  assert.equal(matches('Abc', '(?i)a.c'), true);
  assert.equal(matches('abc', 'b'), false);
  assert.equal(matches(5, '5'), null);
  const join = (...values: readonly Value[]): Value =>
    evaluate({ op: 'Concatenate', operands: values.map(c), dialect });
  assert.equal(join('a', 'b'), 'ab');
  assert.deepEqual(join([1], [2]), [1, 2]);
  assert.equal(join('a', null), null);
  fails(() => join('a', 1), 'InvalidArgumentType');
});

test('lists: quantifiers, comprehensions and folds want lists and conditions', () => {
  const above: Expression = {
    op: 'Compare',
    operator: '>',
    left: slot(0),
    right: c(1),
    dialect,
  };
  const quantified = (kind: 'any' | 'all' | 'none' | 'single', list: Value): Value =>
    evaluate({ op: 'Quantifier', kind, list: c(list), element: 0, predicate: above, dialect });
  assert.equal(quantified('all', [2, null]), null);
  assert.equal(quantified('all', [1, null]), false);
  assert.equal(quantified('any', [2, null]), true);
  assert.equal(quantified('none', [null]), null);
  assert.equal(quantified('single', [2, 1]), true);
  assert.equal(quantified('single', [2, null]), null);
  assert.equal(quantified('single', [2, 2, null]), false);
  assert.equal(quantified('all', []), true);
  assert.equal(quantified('any', null), null);
  fails(() => quantified('any', 5), 'InvalidArgumentType');
  const sum: Expression = {
    op: 'Reduce',
    list: c([1, 2]),
    accumulator: 0,
    initial: c(0),
    element: 1,
    step: { op: 'Arithmetic', operator: '+', left: slot(0), right: slot(1), dialect },
    dialect,
  };
  assert.equal(evaluate(sum), 3);
  assert.equal(evaluate({ ...sum, list: c(null) }), null);
  fails(() => evaluate({ ...sum, list: c('ab') }), 'InvalidArgumentType');
  fails(
    () => evaluate({ op: 'Comprehension', list: c(1), element: 0, dialect }),
    'InvalidArgumentType',
  );
  fails(() => evaluate({ op: 'Property', of: c(5), name: 'x', dialect }), 'InvalidArgumentType');
});

test('ORDER BY: kinds in their order, null last, NaN behind numbers', () => {
  const node = record(ada.rid, {}, { kind: 'vertex' });
  const edge = record(ada.rid, {}, { kind: 'edge' });
  const ordered: readonly Value[] = [
    map({ a: 1 }),
    node,
    edge,
    [],
    ['z'],
    [1],
    [1, 1],
    [null],
    'a',
    'b',
    false,
    true,
    f(-1.5),
    1,
    9_007_199_254_740_993n,
    Number.POSITIVE_INFINITY,
    Number.NaN,
    null,
  ];
  for (const [at, a] of ordered.entries())
    for (const [other, b] of ordered.entries())
      assert.equal(
        Math.sign(compareForCypher(a, b)),
        Math.sign(at - other),
        `${String(a)} and ${String(b)}`,
      );
});

test('the order is total and agrees with equivalence', () => {
  const value = fc.letrec<{ value: Value }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 2 },
      fc.constantFrom<Value>(null, true, false, 0, f(-0), Number.NaN, 1, f(1), 1.5, 'a', '1'),
      fc.constantFrom<Value>(9_007_199_254_740_993n, f(2 ** 53), f(2 ** 54), '\u{1F600}', ada),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b'), tie('value')).map(map),
    ),
  })).value;
  fc.assert(
    fc.property(value, value, value, (x, y, z) => {
      const xy = Math.sign(compareForCypher(x, y));
      assert.equal(xy + Math.sign(compareForCypher(y, x)), 0);
      assert.equal(xy === 0, valuesEqual(x, y));
      if (xy <= 0 && compareForCypher(y, z) <= 0) assert.ok(compareForCypher(x, z) <= 0);
    }),
  );
});
