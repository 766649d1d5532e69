// Every row of the table in sql.md 5.3, and 5.4.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Decimal } from '#core/value/decimal.ts';
import { DateTime, Duration, LocalDate } from '#core/temporal/temporal.ts';
import { Float, int64Max, int64Min, type Value } from '#core/value/value.ts';
import type { ArithmeticOperator, Expression } from '#query/algebra/expression.ts';
import { arithmetic, c, evaluate } from './fixtures.ts';

type Case = readonly [Value, ArithmeticOperator, Value, Value];

function check(cases: readonly Case[]): void {
  for (const [left, operator, right, expected] of cases)
    assert.deepEqual(
      evaluate(arithmetic(operator, left, right)),
      expected,
      `${String(left)} ${operator} ${String(right)}`,
    );
}

const decimal = (unscaled: bigint, scale: number) => new Decimal(unscaled, scale);
const second = new Duration(1);

test('integers are int64', () => {
  check([
    [2_147_483_647, '+', 1, 2_147_483_648],
    [Number.MAX_SAFE_INTEGER, '+', 1, 9_007_199_254_740_992n],
    [9_007_199_254_740_992n, '-', 1, Number.MAX_SAFE_INTEGER],
    [3_037_000_500, '*', 3_037_000_499, 9_223_372_033_963_249_500n],
    [7, '/', 2, 3.5],
    [8, '/', 2, 4],
    [0, '/', -5, 0],
    [7, '%', 3, 1],
    [-7, '%', 3, -1],
    [-6, '%', 3, 0],
    [0, '*', -3, 0],
    [int64Max, '/', int64Max, 1],
    [int64Max, '%', 10, 7],
  ]);
});

test('integer overflow and integer division by zero are errors', () => {
  const failing: readonly (readonly [Value, ArithmeticOperator, Value, string])[] = [
    [int64Max, '+', 1, 'long overflow'],
    [int64Min, '-', 1, 'long overflow'],
    [int64Max, '*', 2, 'long overflow'],
    [int64Min, '/', -1, 'long overflow'],
    [1, '/', 0, '/ by zero'],
    [1, '%', 0, '% by zero'],
    [decimal(1n, 0), '/', 0, '/ by zero'],
    [1, '<<', 64, 'shift count 64 is outside 0..63'],
    [1, '>>', -1, 'shift count -1 is outside 0..63'],
  ];
  for (const [left, operator, right, message] of failing)
    assert.throws(() => evaluate(arithmetic(operator, left, right)), {
      code: 'Arithmetic',
      message,
    });
});

test('doubles and decimals', () => {
  check([
    [1.5, '+', 1, 2.5],
    [1.5, '+', 0.5, new Float(2)],
    [new Float(4), '-', 1, new Float(3)],
    [1, '/', new Float(0), Number.POSITIVE_INFINITY],
    [new Float(0), '/', 0, Number.NaN],
    [new Float(0), '/', new Float(0), Number.NaN],
    [5.5, '%', 2, 1.5],
    [decimal(1050n, 2), '+', 1, decimal(1150n, 2)],
    [decimal(1n, 1), '+', 0.2, decimal(3n, 1)],
    [decimal(1000n, 2), '/', 3, decimal(333n, 2)],
    [10, '/', decimal(3n, 0), decimal(3n, 0)],
    [decimal(15n, 1), '*', decimal(15n, 1), decimal(225n, 2)],
    [decimal(75n, 1), '%', 2, decimal(15n, 1)],
    [decimal(1n, 0), '+', Number.NaN, Number.NaN],
  ]);
});

test('any arithmetic with null is null', () => {
  const operators: readonly ArithmeticOperator[] = [
    '+',
    '-',
    '*',
    '/',
    '%',
    '<<',
    '>>',
    '>>>',
    '&',
    '^',
    '|',
  ];
  for (const operator of operators)
    for (const other of [1, 'a', [1], new Map(), second, null] as const)
      check([
        [null, operator, other, null],
        [other, operator, null, null],
      ]);
});

test('bits are those of 64-bit integers', () => {
  check([
    [1, '<<', 40, 1_099_511_627_776],
    [1, '<<', 63, int64Min],
    [3, '<<', 63, int64Min],
    [-1, '>>>', 60, 15],
    [-8, '>>', 1, -4],
    [6, '&', 3, 2],
    [6, '^', 3, 5],
    [6, '|', 3, 7],
    [-1, '&', int64Max, int64Max],
    [1.5, '<<', 1, null],
    [new Float(2), '&', 1, null],
    ['1', '|', 1, null],
  ]);
});

test('+ concatenates what is no number', () => {
  check([
    ['a', '+', 1, 'a1'],
    [3, '+', 'a', '3a'],
    ['a', '+', new Float(2), 'a2.0'],
    ['a', '+', true, 'atrue'],
    [true, '+', true, 'truetrue'],
    ['on ', '+', new LocalDate(0), 'on 1970-01-01'],
  ]);
  const chain: Expression = {
    op: 'Arithmetic',
    operator: '+',
    left: arithmetic('+', 'a', 1),
    right: c(2),
    dialect: 'sql',
  };
  assert.equal(evaluate(chain), 'a12');
});

test('* and / of what is no number are null', () => {
  check([
    ['a', '*', 2, null],
    [2, '/', 'a', null],
    [[1], '%', 2, null],
    ['a', '-', 'b', null],
    [true, '-', 1, null],
  ]);
});

test('lists and maps', () => {
  const map = (entries: readonly (readonly [string, Value])[]) => new Map(entries);
  check([
    [[1], '+', [2], [1, 2]],
    [[1], '+', 2, [1, 2]],
    [[1, 2, 1], '-', 1, [2, 1]],
    [[1, 2, 3], '-', [1, 3], [2]],
    [[[1], 1], '-', [1], [1]],
    [
      map([['a', 1]]),
      '+',
      map([
        ['a', 2],
        ['b', 3],
      ]),
      map([
        ['a', 2],
        ['b', 3],
      ]),
    ],
    [
      map([['a', 1]]),
      '+',
      ['b', 2],
      map([
        ['a', 1],
        ['b', 2],
      ]),
    ],
    [
      map([
        ['a', 1],
        ['b', 2],
      ]),
      '-',
      map([
        ['a', 1],
        ['b', 9],
      ]),
      map([['b', 2]]),
    ],
    [
      map([
        ['a', 1],
        ['b', 2],
      ]),
      '-',
      ['a'],
      map([['b', 2]]),
    ],
  ]);
});

test('dates and durations', () => {
  check([
    [new DateTime(5_000), '+', second, new DateTime(6_000)],
    [second, '+', new DateTime(5_000), new DateTime(6_000)],
    [new DateTime(5_000), '-', second, new DateTime(4_000)],
    [new DateTime(5_000), '-', new DateTime(3_500), new Duration(1, 500_000_000)],
    [new LocalDate(2), '-', new LocalDate(1), new Duration(86_400)],
    [new LocalDate(1), '+', second, new DateTime(86_401_000)],
    [new DateTime(86_400_000), '-', new LocalDate(1), new Duration(0)],
    [second, '+', second, new Duration(2)],
    [second, '-', new Duration(3), new Duration(-2)],
    [new DateTime(5_000), '+', 1_000, new Duration(6)],
    [new DateTime(5_000), '-', 1_000, null],
    [new DateTime(0), '-', 'x', null],
  ]);
});

test('unary minus', () => {
  const negate = (value: Value) => evaluate({ op: 'Negate', operand: c(value) });
  assert.equal(negate(5), -5);
  assert.ok(Object.is(negate(0), 0));
  assert.equal(negate(null), null);
  assert.equal(negate('a'), null);
  assert.deepEqual(negate(new Float(2)), new Float(-2));
  assert.deepEqual(negate(decimal(15n, 1)), decimal(-15n, 1));
  assert.equal(negate(9_223_372_036_854_775_807n), -9_223_372_036_854_775_807n);
  assert.throws(() => negate(int64Min), { message: 'long overflow' });
});

test('a chain of 100,000 operators needs no stack', () => {
  let sum: Expression = c(0);
  for (let i = 0; i < 100_000; i++)
    sum = { op: 'Arithmetic', operator: '+', left: sum, right: c(1), dialect: 'sql' };
  assert.equal(evaluate(sum), 100_000);
});

test('a variable that holds one row of one column is that value', () => {
  const expression: Expression = {
    op: 'Arithmetic',
    operator: '*',
    left: { op: 'Variable', name: 'v' },
    right: c(2),
    dialect: 'sql',
  };
  assert.equal(evaluate(expression, { variables: { v: [new Map([['n', 21]])] } }), 42);
  assert.equal(evaluate(expression, { variables: { v: [new Map([['n', null]])] } }), null);
});

test('|| concatenates texts and lists, null makes null', () => {
  const join = (...values: Value[]) => evaluate({ op: 'Concatenate', operands: values.map(c) });
  assert.equal(join('a', 'b'), 'ab');
  assert.equal(join('a', 1), 'a1');
  assert.equal(join(1, 2, 'x'), '12x');
  assert.deepEqual(join([1], [2]), [1, 2]);
  assert.deepEqual(join([1], 2), [1, 2]);
  assert.deepEqual(join(2, [1]), [2, 1]);
  assert.equal(join('a', null), null);
  assert.equal(join(null, 'a', 'b'), null);
});

test('?? gives the first operand that is not null, and leaves the rest alone', () => {
  const failing: Expression = arithmetic('/', 1, 0);
  assert.equal(evaluate({ op: 'Coalesce', operands: [c(null), c(2), failing] }), 2);
  assert.equal(evaluate({ op: 'Coalesce', operands: [c(null), c(null)] }), null);
});

test('values cannot grow beyond their limit', () => {
  const text = 'x'.repeat(600);
  const grow: Expression = { op: 'Concatenate', operands: [c(text), c(text)] };
  assert.throws(() => evaluate(grow, { valueBytesMax: 1_000 }), /queryMaxValueSize/);
  assert.throws(
    () => evaluate(arithmetic('+', text, text), { valueBytesMax: 1_000 }),
    /queryMaxValueSize/,
  );
  const list: Expression = { op: 'List', items: [c([text]), c([text])] };
  assert.throws(() => evaluate(list, { valueBytesMax: 1_000 }), /queryMaxValueSize/);
  assert.throws(
    () => evaluate(arithmetic('+', [1, 2], [3, 4]), { elementCountMax: 3 }),
    /queryMaxHeapElementsAllowedPerOp/,
  );
  let bomb: Value = ['x'];
  assert.throws(() => {
    for (let i = 0; i < 64; i++) bomb = evaluate({ op: 'List', items: [c(bomb), c(bomb)] });
  }, /queryMaxValueSize/);
  let deep: Value = [];
  assert.throws(() => {
    for (let i = 0; i < 1_000; i++) deep = evaluate({ op: 'List', items: [c(deep)] });
  }, /nested deeper than 512/);
});
