// Every row of the tables in sql.md 6.2 to 6.4.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Decimal } from '#core/value/decimal.ts';
import { Link } from '#core/value/record.ts';
import { makeRid } from '#core/value/rid.ts';
import { DateTime, Duration, LocalDate } from '#core/temporal/temporal.ts';
import { Float, type Value } from '#core/value/value.ts';
import type { CompareOperator, Expression } from '#query/algebra/expression.ts';
import { ada, bob, c, compare, contains, evaluate, property, record, slot } from './fixtures.ts';

const operators: readonly CompareOperator[] = ['=', '<>', '<', '<=', '>', '>='];
const link = new Link(ada.rid);
const row = (entries: Readonly<Record<string, Value>>) => new Map(Object.entries(entries));

test('comparisons with null are unknown, <=> never is', () => {
  for (const operator of operators)
    for (const [a, b] of [
      [null, null],
      [null, 1],
      ['a', null],
    ] as const)
      assert.equal(evaluate(compare(operator, a, b)), null, `${a} ${operator} ${b}`);
  assert.equal(evaluate(compare('<=>', null, null)), true);
  assert.equal(evaluate(compare('<=>', null, 1)), false);
  assert.equal(evaluate(compare('<=>', 1, null)), false);
  assert.equal(evaluate(compare('<=>', 1, 1)), true);
  assert.equal(evaluate(compare('<=>', [1, 2], 2)), true);
  assert.equal(evaluate(compare('<=>', [1, 2], 3)), false);
});

test('equality by type, by width, by record id and after conversion', () => {
  const equal: readonly (readonly [Value, Value])[] = [
    [1, 1],
    [1, new Float(1)],
    [0.1, new Decimal(1n, 1)],
    [16_777_217, new Float(16_777_217)],
    [9_007_199_254_740_993n, new Float(2 ** 53)],
    ['a', 'a'],
    ['5', 5],
    [5, '5'],
    [0, ''],
    [true, 'TRUE'],
    [true, 7],
    ['true', true],
    [new LocalDate(1), '1970-01-02'],
    [new LocalDate(1), 1],
    [new LocalDate(1), new DateTime(86_400_001)],
    [new DateTime(86_400_000), new LocalDate(1)],
    [new DateTime(0), '1970-01-01 00:00:00'],
    [new DateTime(5), 5],
    [ada, link],
    [link, ada],
    [link, '#1:0'],
    ['#1:0', ada],
    [row({ '@rid': link, name: 'Ada' }), link],
    [row({ n: 5 }), 5],
    [5, row({ n: 5 })],
    [
      [1, 2],
      [new Float(1), '2'],
    ],
    [['x'], 'x'],
    [row({ a: 1, b: 2 }), row({ b: 2, a: 1 })],
    [[null], [null]],
    [new Duration(90), 90],
    [1.5, new Duration(1, 500_000_000)],
    ['90', new Duration(90)],
  ];
  for (const [a, b] of equal) {
    assert.equal(evaluate(compare('=', a, b)), true, `${String(a)} = ${String(b)}`);
    assert.equal(evaluate(compare('<>', a, b)), false);
  }
  const different: readonly (readonly [Value, Value])[] = [
    [1, 2],
    ['a', 'A'],
    [5, 'five'],
    [5, '5.5'],
    [1, true],
    [true, 'yes'],
    [link, '#1:1'],
    [link, 'Ada'],
    [[1, 2], 'x'],
    [[1], [1, 2]],
    [row({ a: 1, b: 2 }), 1],
    [row({ a: 1 }), row({ a: 2 })],
    [Number.NaN, Number.NaN],
    [new LocalDate(1), 'soon'],
    ['x', null as unknown as Value],
  ];
  for (const [a, b] of different.slice(0, -1)) {
    assert.equal(evaluate(compare('=', a, b)), false, `${String(a)} = ${String(b)}`);
    assert.equal(evaluate(compare('<>', a, b)), true);
  }
});

test('order converts the right operand; what has no order is false', () => {
  const holds: readonly (readonly [Value, CompareOperator, Value])[] = [
    [1, '<', 1.5],
    [2, '>', '1'],
    ['10', '<', 9],
    ['Z', '<', 'a'],
    ['\uffff', '<', '\u{10000}'],
    [false, '<', true],
    [new LocalDate(1), '>', '1970-01-01'],
    [new DateTime(5), '<=', new DateTime(5)],
    [new Link(makeRid(1, 5)), '>', '#1:4'],
    [ada, '<', new Link(makeRid(2, 0))],
    [new Decimal(15n, 1), '<', 2],
    [row({ n: 5 }), '>', 4],
    [new Duration(90), '>', 89.5],
    [60, '<', new Duration(61)],
    [new Duration(1), '<', new Duration(2)],
    [[1, 9], '<', [2]],
    [[2], '>', 1],
  ];
  for (const [a, operator, b] of holds)
    assert.equal(evaluate(compare(operator, a, b)), true, `${String(a)} ${operator} ${String(b)}`);
  for (const operator of ['<', '<=', '>', '>='] as const)
    for (const [a, b] of [
      [1, 'x'],
      [[1], ['x']],
      [row({ a: 1, b: 1 }), 1],
      [Number.NaN, 1],
      [1, Number.NaN],
      [link, 5],
    ] as const)
      assert.equal(
        evaluate(compare(operator, a as Value, b as Value)),
        false,
        `${String(a)} ${operator} ${String(b)}`,
      );
});

const inList = (element: Value, list: Value): Value =>
  evaluate({ op: 'In', element: c(element), list: c(list), dialect: 'sql' });

test('IN: unknown with null, false for the empty list, conversion per element', () => {
  assert.equal(inList(1, [1, 2]), true);
  assert.equal(inList(3, [1, 2]), false);
  assert.equal(inList(3, [1, null]), null);
  assert.equal(inList(1, [1, null]), true);
  assert.equal(inList(null, [1]), null);
  assert.equal(inList(1, null), null);
  assert.equal(inList(1, []), false);
  assert.equal(inList('5', [5]), true);
  assert.equal(inList(link, ['#1:0']), true);
  assert.equal(inList(ada, [new Link(makeRid(9, 9)), link]), true);
  assert.equal(inList(5, [row({ n: 5 })]), true);
  assert.equal(inList('a', 'a'), true);
  assert.equal(inList('5', 5), false);
});

test('IN over a long list gives what a short one gives', () => {
  const numbers = Array.from({ length: 100 }, (_, i) => i);
  const texts = numbers.map(String);
  for (const list of [numbers, texts, [...numbers, null], [...numbers, 'x']]) {
    assert.equal(inList(7, list), true);
    assert.equal(inList(new Float(7), list), true);
    assert.equal(inList('7', list), true);
    const missing = (list as readonly Value[]).includes(null) ? null : false;
    assert.equal(inList(700, list), missing);
    assert.equal(inList('700', list), missing);
  }
});

test('BETWEEN is inclusive; any null is unknown', () => {
  const between = (operand: Value, low: Value, high: Value) =>
    evaluate({ op: 'Between', operand: c(operand), low: c(low), high: c(high), dialect: 'sql' });
  assert.equal(between(1, 1, 2), true);
  assert.equal(between(2, 1, 2), true);
  assert.equal(between(3, 1, 2), false);
  assert.equal(between('b', 'a', 'c'), true);
  assert.equal(between(5, '1', '9'), true);
  assert.equal(between(null, 1, 2), null);
  assert.equal(between(1, null, 2), null);
  assert.equal(between(5, 1, null), null);
});

test('AND, OR, NOT are three-valued', () => {
  const values = [true, false, null];
  for (const a of values) {
    const not = a === null ? null : !a;
    assert.equal(evaluate({ op: 'Not', operand: c(a) }), not);
    for (const b of values) {
      const and = a === false || b === false ? false : a === null || b === null ? null : true;
      const or = a === true || b === true ? true : a === null || b === null ? null : false;
      assert.equal(evaluate({ op: 'And', operands: [c(a), c(b)] }), and);
      assert.equal(evaluate({ op: 'And', operands: [c(a), c(b), c(true)] }), and);
      assert.equal(evaluate({ op: 'Or', operands: [c(a), c(b)] }), or);
    }
  }
  const operands = Array.from({ length: 50_000 }, () => compare('=', 1, 1));
  assert.equal(evaluate({ op: 'And', operands }), true);
});

test('what is no boolean is not true', () => {
  assert.equal(evaluate({ op: 'And', operands: [c(1), c(true)] }), false);
  assert.equal(evaluate({ op: 'Not', operand: c('x') }), true);
});

test('IS NULL and IS DEFINED', () => {
  assert.equal(evaluate({ op: 'IsNull', operand: c(null) }), true);
  assert.equal(evaluate({ op: 'IsNull', operand: c(0) }), false);
  const isDefined = (of: Value, name: string) => evaluate({ op: 'IsDefined', of: c(of), name });
  assert.equal(isDefined(ada, 'nothing'), true);
  assert.equal(isDefined(ada, 'missing'), false);
  assert.equal(isDefined(link, 'name'), true);
  assert.equal(isDefined(row({ a: null }), 'a'), true);
});

test('LIKE and ILIKE: null unknown, any element of a list, text form of the rest', () => {
  const like = (text: Value, pattern: Value, ignoreCase = false) =>
    evaluate({ op: 'Like', text: c(text), pattern: c(pattern), ignoreCase });
  assert.equal(like('Ada', 'A_a'), true);
  assert.equal(like('Ada', 'A?a'), true);
  assert.equal(like('Ada', 'ada'), false);
  assert.equal(like('Ada', 'aDA', true), true);
  assert.equal(like(null, 'x'), null);
  assert.equal(like('x', null), null);
  assert.equal(like(['a', null, 'b'], 'b%'), true);
  assert.equal(like(12, '1%'), true);
  assert.equal(like('', '%'), false);
  assert.equal(
    evaluate({
      op: 'Not',
      operand: { op: 'Like', text: c(null), pattern: c('x'), ignoreCase: false },
    }),
    null,
  );
});

test('MATCHES: the whole text, any element of a list, nothing that is no text', () => {
  const matches = (text: Value, pattern: Value) =>
    evaluate({ op: 'Matches', text: c(text), pattern: c(pattern) });
  assert.equal(matches('abc', 'a.*'), true);
  assert.equal(matches('xabc', 'a.*'), false);
  assert.equal(matches(['x', 'abc'], '(?i)ABC'), true);
  assert.equal(matches(5, '.*'), false);
  assert.equal(matches(null, '.*'), null);
  assert.equal(matches('a', null), null);
});

test('CONTAINS and its kin', () => {
  const cases: readonly (readonly [Parameters<typeof contains>, Value])[] = [
    [['element', ['x', 'y'], 'x'], true],
    [['element', ['x', 'y'], 'z'], false],
    [['element', [1, 2, 3], [1, 2]], false],
    [['element', [1, 2, 3], [1]], true],
    [['element', [[1, 2], 3], [1, 2]], true],
    [['element', [5], '5'], true],
    [['element', 'xy', 'x'], false],
    [['element', null, 'x'], null],
    [['element', ['x'], null], null],
    [['element', [link], '#1:0'], true],
    [['all', [1, 2, 3], [1, 2]], true],
    [['all', [1, 2, 3], [1, 4]], false],
    [['all', [1, 2], 2], true],
    [['all', [1, 2], []], true],
    [['any', [1, 2], [9, 2]], true],
    [['any', [1, 2], [9]], false],
    [['any', [1, 2], null], null],
    [['key', row({ a: 1 }), 'a'], true],
    [['key', row({ a: 1 }), 'b'], false],
    [['key', 'a', 'a'], false],
    [['key', bob.get('address') as Value, 'city'], true],
    [['value', row({ a: 1 }), 1], true],
    [['value', row({ a: null }), 1], false],
    [['value', [1], 1], false],
    [['text', 'hello', 'ell'], true],
    [['text', 'hello', 'x'], false],
    [['text', ['hello'], 'ell'], false],
    [['text', null, 'x'], null],
  ];
  for (const [args, expected] of cases)
    assert.equal(
      evaluate(contains(...args)),
      expected,
      `${args[0]} ${String(args[1])} ${String(args[2])}`,
    );
});

test('CONTAINS (condition): some element, CONTAINSALL (condition): every element', () => {
  const quantify = (
    kind: 'any' | 'all' | 'none' | 'single',
    list: Value,
    dialect: 'sql' | 'cypher' = 'sql',
  ) =>
    evaluate({
      op: 'Quantifier',
      kind,
      list: c(list),
      element: 0,
      predicate: { op: 'Compare', operator: '>', left: slot(0), right: c(2), dialect },
      dialect,
    });
  assert.equal(quantify('any', [1, 3]), true);
  assert.equal(quantify('any', [1, null]), false);
  assert.equal(quantify('any', [1, null], 'cypher'), null);
  assert.equal(quantify('all', []), true);
  assert.equal(quantify('all', [3, 4]), true);
  assert.equal(quantify('all', [3, 1]), false);
  assert.equal(quantify('all', [3, null], 'cypher'), null);
  assert.equal(quantify('none', [1]), true);
  assert.equal(quantify('single', [1, 3]), true);
  assert.equal(quantify('single', [3, 3]), false);
  assert.equal(quantify('any', null), null);
  assert.equal(quantify('any', 5), false);
  const byName: Expression = {
    op: 'Quantifier',
    kind: 'any',
    list: c([link, row({ name: 'Cy' })]),
    element: 0,
    predicate: {
      op: 'Compare',
      operator: '=',
      left: property(slot(0), 'name'),
      right: c('Ada'),
      dialect: 'sql',
    },
    dialect: 'sql',
  };
  assert.equal(evaluate(byName), true);
});

test('INSTANCEOF and strict equality', () => {
  const isOfType = (operand: Value) =>
    evaluate({ op: 'IsOfType', operand: c(operand), types: ['Person', 'Student'] });
  assert.equal(isOfType(ada), true);
  assert.equal(isOfType(link), true);
  assert.equal(isOfType(record(makeRid(3, 3), {}, { typeName: 'Car' })), false);
  assert.equal(isOfType(5), false);
  const strict = (left: Value, right: Value) =>
    evaluate({ op: 'StrictEquals', left: c(left), right: c(right) });
  assert.equal(strict(1, 1), true);
  assert.equal(strict(1, new Float(1)), false);
  assert.equal(strict(ada, link), true);
  assert.equal(strict('5', 5), false);
  assert.equal(strict(null, null), false);
});
