// sql.md 1.6, 1.7, 5.5 to 5.7, 7.5.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Link } from '#core/value/record.ts';
import { makeRid } from '#core/value/rid.ts';
import { EmbeddedDocument, Float, type Value } from '#core/value/value.ts';
import type { Expression, NestedItem } from '#query/algebra/expression.ts';
import {
  ada,
  arithmetic,
  bob,
  branch,
  c,
  calls,
  compare,
  context,
  environment,
} from './fixtures.ts';
import { evaluate, property, record, slot } from './fixtures.ts';
import { compileCondition, compileExpression, compilePredicate } from '#query/evaluate/compile.ts';

const link = new Link(ada.rid);
const row = (entries: Readonly<Record<string, Value>>) => new Map(Object.entries(entries));

test('navigation walks records, maps, embedded documents, links and lists', () => {
  const get = (of: Value, ...names: string[]) =>
    evaluate(names.reduce<Expression>((inner, name) => property(inner, name), c(of)));
  assert.equal(get(ada, 'name'), 'Ada');
  assert.equal(get(ada, 'missing'), null);
  assert.equal(get(bob, 'friend', 'name'), 'Ada');
  assert.equal(get(bob, 'address', 'city'), 'Rome');
  assert.deepEqual(get(bob, 'friends', 'name'), ['Ada', null]);
  assert.equal(get(row({ a: row({ b: 1 }) }), 'a', 'b'), 1);
  assert.equal(get(5, 'x'), null);
  assert.equal(get(null, 'x'), null);
  assert.equal(get('text', 'length'), null);
  assert.equal(get(row({}), '__proto__'), null);
});

test('system attributes, by their own operation and as names', () => {
  const edge = record(
    makeRid(3, 4),
    {},
    { kind: 'edge', out: ada.rid, in: bob.rid, typeName: 'Knows' },
  );
  const attribute = (of: Value, name: 'rid' | 'type' | 'cat' | 'in' | 'out') =>
    evaluate({ op: 'Attribute', of: c(of), attribute: name });
  assert.deepEqual(attribute(edge, 'rid'), new Link(edge.rid));
  assert.equal(attribute(edge, 'type'), 'Knows');
  assert.equal(attribute(edge, 'cat'), 'e');
  assert.deepEqual(attribute(edge, 'out'), link);
  assert.equal(attribute(ada, 'in'), null);
  assert.deepEqual(attribute(link, 'rid'), link);
  assert.equal(attribute(link, 'type'), 'Person');
  assert.deepEqual(attribute([ada, bob], 'rid'), [link, new Link(bob.rid)]);
  assert.equal(attribute(row({ '@type': 'X' }), 'type'), 'X');
  assert.equal(attribute(new EmbeddedDocument('A', new Map()), 'rid'), null);
  assert.equal(attribute(5, 'rid'), null);
  assert.equal(evaluate(property(c(ada), '@cat')), 'd');
  assert.equal(evaluate(property(c(ada), '@TYPE')), 'Person');
});

const element = (of: Value, ...keys: Value[]) =>
  evaluate({ op: 'Element', of: c(of), keys: keys.map(c), dialect: 'sql' });

test('selectors by position, by key and by several', () => {
  assert.equal(element([10, 20], 1), 20);
  assert.equal(element([10, 20], 2), null);
  assert.equal(element([10, 20], -1), null);
  assert.equal(element([10, 20], new Float(1)), 20);
  assert.equal(element([10, 20], 0.5), null);
  assert.equal(element([10], null), null);
  assert.equal(element(null, 0), null);
  assert.equal(element(row({ a: 1, b: 2 }), 1), 2);
  assert.equal(element(row({ a: 1 }), 'a'), 1);
  assert.equal(element(ada, 'name'), 'Ada');
  assert.equal(element(link, 'name'), 'Ada');
  assert.deepEqual(element([row({ a: 1 }), row({ a: 2 })], 'a'), [1, 2]);
  assert.equal(element([row({ a: 1 })], 'a'), 1);
  assert.deepEqual(element([10, 20, 30], 0, 2), [10, 30]);
  assert.deepEqual(element(row({ a: 1, b: 2 }), 'b', 'a'), [2, 1]);
  assert.equal(element('abc', 0), null);
  assert.equal(element(new Uint8Array([255]), 0), -1);
});

test('ranges: clamped, exclusive or inclusive, open, null when reversed', () => {
  const slice = (of: Value, low: Value | undefined, high: Value | undefined, inclusive = false) =>
    evaluate({
      op: 'Slice',
      of: c(of),
      low: low === undefined ? undefined : c(low),
      high: high === undefined ? undefined : c(high),
      inclusive,
    });
  const list = [10, 20, 30, 40];
  assert.deepEqual(slice(list, 1, 3), [20, 30]);
  assert.deepEqual(slice([10, 20, 30], 1, 2, true), [20, 30]);
  assert.deepEqual(slice(list, -5, 2), [10, 20]);
  assert.deepEqual(slice(list, 2, 99), [30, 40]);
  assert.deepEqual(slice(list, undefined, 3), [10, 20, 30]);
  assert.deepEqual(slice(list, 2, undefined), [30, 40]);
  assert.deepEqual(slice(list, 2, undefined, true), [30, 40]);
  assert.deepEqual(slice(list, 2, 2), []);
  assert.equal(slice(list, 3, 1), null);
  assert.equal(slice(list, 2, 1, true), null);
  assert.deepEqual(slice(list, 2, 2, true), [30]);
  assert.equal(slice(list, 9, 12), null);
  assert.equal(slice(list, null, 2), null);
  assert.equal(slice('abc', 0, 1), null);
  assert.equal(slice(null, 0, 1), null);
  assert.throws(() => slice(list, 0.5, 2), /range bound '0.5' is not an integer/);
});

test('a condition selects elements; a single record is a collection of one', () => {
  const select = (list: Value, predicate: Expression) =>
    evaluate({ op: 'Comprehension', list: c(list), element: 0, predicate, dialect: 'sql' });
  const above3: Expression = {
    op: 'Compare',
    operator: '>',
    left: slot(0),
    right: c(3),
    dialect: 'sql',
  };
  assert.deepEqual(select([1, 5, 9], above3), [5, 9]);
  assert.deepEqual(select([1, null], above3), []);
  assert.equal(select(null, above3), null);
  assert.equal(select(5, above3), null);
  const isAda: Expression = {
    op: 'Compare',
    operator: '=',
    left: property(slot(0), 'name'),
    right: c('Ada'),
    dialect: 'sql',
  };
  assert.deepEqual(select(ada, isAda), [ada]);
  const doubled = evaluate({
    op: 'Comprehension',
    list: c([1, 2]),
    element: 0,
    result: { op: 'Arithmetic', operator: '*', left: slot(0), right: c(2), dialect: 'sql' },
    dialect: 'sql',
  });
  assert.deepEqual(doubled, [2, 4]);
});

test('reduce folds a list', () => {
  const sum: Expression = {
    op: 'Reduce',
    list: c([1, 2, 3]),
    accumulator: 0,
    initial: c(10),
    element: 1,
    step: { op: 'Arithmetic', operator: '+', left: slot(0), right: slot(1), dialect: 'cypher' },
  };
  assert.equal(evaluate(sum), 16);
});

test('sub-query rows as values', () => {
  const single = (rows: Value) => evaluate({ op: 'SingleValue', rows: c(rows) });
  assert.equal(single([]), null);
  assert.equal(single([row({ n: 5 })]), 5);
  assert.equal(single([row({ n: null })]), null);
  assert.equal(single([ada]), ada);
  assert.deepEqual(single([row({ a: 1, b: 2 })]), row({ a: 1, b: 2 }));
  assert.throws(() => single([row({ n: 1 }), row({ n: 2 })]), { code: 'TooManyRows' });
  const unwrap = (rows: Value) => evaluate({ op: 'UnwrapRows', rows: c(rows) });
  assert.deepEqual(unwrap([row({ n: 1 }), row({ n: null }), row({ a: 1, b: 2 }), ada]), [
    1,
    null,
    row({ a: 1, b: 2 }),
    ada,
  ]);
  assert.deepEqual(unwrap([]), []);
});

test('CASE takes the first true branch', () => {
  const choose = (
    otherwise: Expression | undefined,
    ...branches: { when: Expression; then: Expression }[]
  ) => evaluate({ op: 'Case', branches, otherwise });
  assert.equal(
    choose(undefined, branch(null, 1), branch(false, 2), branch(true, 3), branch(true, 4)),
    3,
  );
  assert.equal(choose(undefined, branch(false, 1)), null);
  assert.equal(choose(c(9), branch(null, 1)), 9);
});

const nested = (of: Value, ...items: NestedItem[]) =>
  evaluate({ op: 'NestedProjection', of: c(of), element: 0, items });
const include = (name: string, value = property(slot(0), name)): NestedItem => ({
  kind: 'include',
  name,
  value,
});

test('nested projections include, exclude, rename, match prefixes and recurse', () => {
  assert.deepEqual(nested(ada, include('name')), row({ name: 'Ada' }));
  assert.deepEqual(nested(link, include('n', property(slot(0), 'name'))), row({ n: 'Ada' }));
  assert.deepEqual(
    nested(ada, { kind: 'all' }),
    row({ '@rid': link, '@type': 'Person', name: 'Ada', age: 36, tags: ['x', 'y'], nothing: null }),
  );
  assert.deepEqual(
    nested(
      ada,
      { kind: 'all' },
      { kind: 'exclude', name: '@rid' },
      { kind: 'excludePrefix', prefix: 't' },
      { kind: 'exclude', name: '@type' },
    ),
    row({ name: 'Ada', age: 36, nothing: null }),
  );
  assert.deepEqual(
    nested(ada, { kind: 'includePrefix', prefix: 'n' }),
    row({ name: 'Ada', nothing: null }),
  );
  assert.deepEqual(nested([link, new Link(makeRid(9, 9))], include('name')), [
    row({ name: 'Ada' }),
    null,
  ]);
  assert.equal(nested(null, include('name')), null);
  assert.deepEqual(nested(row({ a: 1, b: 2 }), include('a')), row({ a: 1 }));
  assert.deepEqual(
    nested(ada, { kind: 'merge', value: c(row({ x: 1 })) }, include('y', c(2))),
    row({ x: 1, y: 2 }),
  );
});

test('calls resolve once: unknown names and wrong numbers of arguments are refused at compile time', () => {
  const call = (name: string, ...args: Expression[]): Expression => ({
    op: 'Call',
    function: name,
    arguments: args,
  });
  assert.equal(evaluate(call('UPPER', c('a'))), 'A');
  assert.equal(evaluate(call('.left', c('abc'), c(2))), 'ab');
  assert.throws(() => evaluate(call('uper', c('a'))), {
    code: 'CommandExecution',
    message: "Unknown function name 'uper'",
    help: "did you mean 'upper'?",
  });
  assert.throws(() => evaluate(call('.nope', c('a'))), { message: 'Unknown method name: nope' });
  assert.throws(() => evaluate(call('upper')), {
    code: 'IllegalArgument',
    message: "function 'upper' requires 1 argument, got 0. Syntax: upper(text)",
  });
  assert.throws(
    () => evaluate(call('.left', c('abc'))),
    /method 'left' requires 1 argument, got 0/,
  );
});

test('deterministic calls on constants are computed once per execution', () => {
  const expression: Expression = {
    op: 'Call',
    function: 'upper',
    arguments: [{ op: 'Parameter', name: 'p' }],
  };
  const run = compileExpression(expression, environment);
  calls.count = 0;
  const first = context({ parameters: { p: 'a' } });
  for (let i = 0; i < 5; i++) assert.equal(run(first), 'A');
  assert.equal(run(context({ parameters: { p: 'b' } })), 'B');
  assert.equal(calls.count, 2);
});

test('what is never needed is never computed', () => {
  const failing = arithmetic('/', 1, 0);
  assert.equal(evaluate({ op: 'And', operands: [c(false), failing] }), false);
  assert.equal(evaluate({ op: 'Case', branches: [branch(true, 1)], otherwise: failing }), 1);
});

test('lists, maps, parameters, variables, sub-plans', () => {
  assert.deepEqual(evaluate({ op: 'List', items: [c(1), { op: 'Parameter', name: 'x' }] }), [
    1,
    null,
  ]);
  assert.deepEqual(
    evaluate({
      op: 'Map',
      entries: [
        { key: '__proto__', value: c(1) },
        { key: 'a', value: c(2) },
        { key: 'a', value: c(3) },
      ],
    }),
    new Map([
      ['__proto__', 1],
      ['a', 3],
    ]),
  );
  assert.equal(evaluate({ op: 'Variable', name: 'v' }, { variables: { v: 5 } }), 5);
  assert.equal(evaluate(slot(7)), null);
  const plan = { op: 'Argument' } as const;
  assert.equal(
    evaluate({ op: 'SubPlan', plan, output: { kind: 'value', slot: 0 }, mode: 'count' }),
    2,
  );
});

test('filters keep only what is known to be true', () => {
  const unknown = compare('=', 1, null);
  assert.equal(compilePredicate(unknown, environment)(context()), false);
  assert.equal(compileCondition(unknown, environment)(context()), null);
  assert.equal(compilePredicate(compare('=', 1, 1), environment)(context()), true);
  const holds = (expression: Expression) => compilePredicate(expression, environment)(context());
  const both = (...operands: Expression[]): Expression => ({ op: 'And', operands });
  const either = (...operands: Expression[]): Expression => ({ op: 'Or', operands });
  const not = (operand: Expression): Expression => ({ op: 'Not', operand });
  for (const a of [c(true), c(false), unknown])
    for (const b of [c(true), c(false), unknown])
      for (const e of [
        both(a, b),
        either(a, b),
        not(both(a, b)),
        not(either(a, not(b))),
        both(a, b, a),
      ])
        assert.equal(holds(e), compileCondition(e, environment)(context()) === true);
});

test('cypher compares without conversion', () => {
  const equals = (left: Value, right: Value) =>
    evaluate({ op: 'Compare', operator: '=', left: c(left), right: c(right), dialect: 'cypher' });
  assert.equal(equals('5', 5), false);
  assert.equal(equals(1, new Float(1)), true);
  assert.equal(equals([1, null], [1, 2]), null);
  assert.equal(equals([1, null], [2, 2]), false);
  const less = (left: Value, right: Value) =>
    evaluate({ op: 'Compare', operator: '<', left: c(left), right: c(right), dialect: 'cypher' });
  assert.equal(less('a', 1), null);
  assert.equal(less([1], [2]), true);
  assert.throws(
    () => evaluate({ op: 'Compare', operator: '=', left: c(1), right: c(1), dialect: 'gremlin' }),
    { code: 'NotSupported' },
  );
});
