import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IndexId, TypeId } from '#core/value/rid.ts';
import type { Expression } from '#query/algebra/expression.ts';
import { inStretches } from '#core/replayed-loops.ts';
import { someLookedThrough } from '#query/algebra/look-through.ts';
import { mapParts, rewritePlan, walkPlan } from '#query/algebra/plan-walk.ts';
import type { LogicalPlan } from '#query/algebra/plan.ts';
import { printExpression } from '#query/algebra/print-expression.ts';
import { freeSlots, slotsOf, slotsRead } from '#query/algebra/slots.ts';
import {
  conjunctsOf,
  mapExpression,
  operandsOf,
  rewriteExpression,
  walkExpression,
  withOperands,
} from '#query/algebra/walk.ts';

const slot = (n: number): Expression => ({ op: 'Slot', slot: n });
const constant = (value: number | boolean): Expression => ({ op: 'Constant', value });

function chain(length: number): Expression {
  let sum: Expression = slot(0);
  for (let at = 0; at < length; at += 1)
    sum = { op: 'Arithmetic', operator: '+', left: sum, right: constant(at), dialect: 'sql' };
  return sum;
}

/** One expression of every kind, with a distinct operand everywhere one can stand. */
const everyKind: readonly Expression[] = [
  { op: 'Property', of: slot(1), name: 'x', dialect: 'sql' },
  { op: 'Attribute', of: slot(1), attribute: 'rid' },
  { op: 'IsDefined', of: slot(1), name: 'x' },
  { op: 'Call', function: 'f', arguments: [slot(1), slot(2)] },
  { op: 'Negate', operand: slot(1) },
  { op: 'Arithmetic', operator: '*', left: slot(1), right: slot(2), dialect: 'sql' },
  { op: 'Concatenate', operands: [slot(1), slot(2)] },
  { op: 'Coalesce', operands: [slot(1), slot(2)] },
  { op: 'Compare', operator: '=', left: slot(1), right: slot(2), dialect: 'sql' },
  { op: 'And', operands: [slot(1), slot(2)] },
  { op: 'Or', operands: [slot(1), slot(2)] },
  { op: 'Not', operand: slot(1) },
  { op: 'IsNull', operand: slot(1) },
  { op: 'In', element: slot(1), list: slot(2), dialect: 'sql' },
  { op: 'Between', operand: slot(1), low: slot(2), high: slot(3), dialect: 'sql' },
  { op: 'Like', text: slot(1), pattern: slot(2), ignoreCase: false },
  { op: 'Matches', text: slot(1), pattern: slot(2) },
  { op: 'Contains', kind: 'element', collection: slot(1), value: slot(2) },
  { op: 'IsOfType', operand: slot(1), types: ['T'] },
  {
    op: 'Quantifier',
    kind: 'any',
    list: slot(1),
    element: 9,
    predicate: slot(2),
    dialect: 'sql',
  },
  {
    op: 'Comprehension',
    list: slot(1),
    element: 9,
    predicate: slot(2),
    result: slot(3),
    dialect: 'sql',
  },
  { op: 'Comprehension', list: slot(1), element: 9, dialect: 'sql' },
  { op: 'Reduce', list: slot(1), accumulator: 8, initial: slot(2), element: 9, step: slot(3) },
  // biome-ignore lint/suspicious/noThenProperty: a branch of CASE is never awaited
  { op: 'Case', branches: [{ when: slot(1), then: slot(2) }], otherwise: slot(3) },
  { op: 'StrictEquals', left: slot(1), right: slot(2) },
  { op: 'List', items: [slot(1), slot(2)] },
  {
    op: 'Map',
    entries: [
      { key: 'a', value: slot(1) },
      { key: 'b', value: slot(2) },
    ],
  },
  { op: 'Element', of: slot(1), keys: [slot(2), slot(3)], dialect: 'sql' },
  { op: 'Slice', of: slot(1), low: slot(2), high: undefined, inclusive: false },
  {
    op: 'NestedProjection',
    of: slot(1),
    element: 9,
    items: [
      { kind: 'all' },
      { kind: 'include', name: 'x', value: slot(2) },
      { kind: 'merge', value: slot(3) },
      { kind: 'exclude', name: 'y' },
    ],
  },
  { op: 'SingleValue', rows: slot(1) },
  { op: 'UnwrapRows', rows: slot(1) },
];

test('every expression is rebuilt from its own operands unchanged, and from other ones with those', () => {
  for (const expression of everyKind) {
    const operands = operandsOf(expression);
    assert.deepEqual(withOperands(expression, operands), expression, expression.op);
    const moved = operands.map((_, at) => slot(100 + at));
    assert.deepEqual(operandsOf(withOperands(expression, moved)), moved, expression.op);
  }
});

test('rewriting keeps the identity of what does not change', () => {
  for (const expression of everyKind)
    assert.equal(
      rewriteExpression(expression, (part) => part),
      expression,
      expression.op,
    );
});

test('a chain of 200,000 operators is walked, rewritten and printed without deep recursion', () => {
  const long = chain(200_000);
  let count = 0;
  walkExpression(long, () => {
    count += 1;
  });
  assert.equal(count, 400_001);
  const rewritten = rewriteExpression(long, (part) => (part.op === 'Slot' ? slot(7) : part));
  assert.deepEqual([...slotsRead(rewritten)], [7]);
  assert.match(printExpression(long), /^s0 … \+ \d+/);
});

test('conjuncts of nested conjunctions come in reading order', () => {
  const nested: Expression = {
    op: 'And',
    operands: [slot(1), { op: 'And', operands: [slot(2), slot(3)] }, slot(4)],
  };
  assert.deepEqual(conjunctsOf(nested), [slot(1), slot(2), slot(3), slot(4)]);
});

const scan: LogicalPlan = { op: 'TypeScan', types: [1 as TypeId], as: 0 };
const inner: LogicalPlan = {
  op: 'Filter',
  input: { op: 'TypeScan', types: [2 as TypeId], as: 1 },
  predicate: { op: 'Compare', operator: '=', left: slot(1), right: slot(0), dialect: 'sql' },
};

test('slots that a sub-plan reads from outside are free, those it writes are not', () => {
  assert.deepEqual([...freeSlots(inner)], [0]);
  const apply: LogicalPlan = { op: 'Apply', outer: scan, inner, mode: { kind: 'count', as: 2 } };
  assert.deepEqual([...freeSlots(apply)], []);
  assert.deepEqual([...slotsOf(apply)].sort(), [0, 1, 2]);
  const counted: Expression = {
    op: 'SubPlan',
    plan: inner,
    output: { kind: 'value', slot: 1 },
    mode: 'count',
  };
  assert.deepEqual([...slotsRead(counted)], [0]);
});

test('slots bound by an expression for its own parts are not read from outside', () => {
  const quantifier: Expression = {
    op: 'Quantifier',
    kind: 'any',
    list: slot(3),
    element: 9,
    predicate: { op: 'Compare', operator: '=', left: slot(9), right: slot(4), dialect: 'sql' },
    dialect: 'sql',
  };
  assert.deepEqual([...slotsRead(quantifier)].sort(), [3, 4]);
});

test('walking and rewriting a plan reach the sub-plans of its expressions', () => {
  const plan: LogicalPlan = {
    op: 'Filter',
    input: scan,
    predicate: { op: 'SubPlan', plan: inner, output: { kind: 'value', slot: 1 }, mode: 'exists' },
  };
  const seen: string[] = [];
  walkPlan(plan, { plan: (node) => seen.push(node.op) });
  assert.deepEqual(seen, ['Filter', 'Filter', 'TypeScan', 'TypeScan']);
  const rewritten = rewritePlan(plan, (node) =>
    node.op === 'TypeScan' ? { ...node, order: 'descending' } : node,
  );
  let descendingCount = 0;
  walkPlan(rewritten, {
    plan(node) {
      if (node.op === 'TypeScan' && node.order === 'descending') descendingCount += 1;
    },
  });
  assert.equal(descendingCount, 2);
  const untouched = mapParts(plan, { plan: (node) => node, expression: (part) => part });
  assert.equal(untouched, plan);
});

test('rebuilding a plan keeps everything about the bounds of a search', () => {
  const search: LogicalPlan = {
    op: 'IndexSearch',
    index: 1 as IndexId,
    types: [1 as TypeId],
    as: 0,
    bounds: {
      equals: [{ value: constant(1), kind: 'equals', isFlipped: true, findsMore: true }],
      prefix: { op: 'Parameter', name: 'p' },
      prefixIsPattern: 'like',
    },
  };
  const mapped = mapParts(search, {
    plan: (plan) => plan,
    expression: (expression) => (expression.op === 'Constant' ? constant(2) : expression),
  });
  assert.deepEqual(mapped, {
    ...search,
    bounds: { ...search.bounds, equals: [{ ...search.bounds.equals[0], value: constant(2) }] },
  });
});

/** Deep, with something wide deep inside. */
function deepAndWide(): Expression {
  const wide: Expression = {
    op: 'And',
    operands: Array.from({ length: 3_000 }, (_, at) => constant(at)),
  };
  let deep: Expression = wide;
  for (let at = 0; at < 20_000; at += 1)
    deep = { op: 'Arithmetic', operator: '+', left: deep, right: constant(at), dialect: 'cypher' };
  return deep;
}

function stepsOf<T>(work: () => T): { readonly result: T; readonly pauseCount: number } {
  const steps = inStretches(work);
  for (let pauseCount = 0; ; pauseCount += 1) {
    const { done, value } = steps.next();
    if (done === true) return { result: value, pauseCount };
  }
}

test('a deep expression is rewritten with pauses as it is at once', () => {
  const deep = deepAndWide();
  const halved = (part: Expression): Expression =>
    part.op === 'Constant' && typeof part.value === 'number' && part.value % 2 === 0
      ? constant(part.value / 2)
      : part;
  const { result, pauseCount } = stepsOf(() => mapExpression(deep, halved));
  assert.equal(printExpression(result), printExpression(rewriteExpression(deep, halved)));
  assert.ok(pauseCount >= 40, `${pauseCount} pauses`);
  assert.equal(stepsOf(() => mapExpression(deep, (part) => part)).result, deep);
});

test('a part is looked for with pauses, up to the first that is found', () => {
  const deep = deepAndWide();
  let looks = 0;
  const found = stepsOf(() =>
    someLookedThrough(deep, (part) => {
      looks += 1;
      return part.op === 'And';
    }),
  );
  assert.equal(found.result, true);
  assert.ok(found.pauseCount >= 18, `${found.pauseCount} pauses`);
  // Those on the way to it, and the first ones again at each beginning.
  assert.ok(looks < 22_000 + 256 * (found.pauseCount + 1), `${looks} looks`);
  assert.equal(stepsOf(() => someLookedThrough(deep, ({ op }) => op === 'Or')).result, false);
});
