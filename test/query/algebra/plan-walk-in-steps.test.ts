import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Expression } from '#query/algebra/expression.ts';
import { walkPlanInSteps } from '#query/algebra/plan-walk-in-steps.ts';
import { type PlanVisitor, walkPlan } from '#query/algebra/plan-walk.ts';
import type { LogicalPlan } from '#query/algebra/plan.ts';

const slot = (at: number): Expression => ({ op: 'Slot', slot: at });
const scan: LogicalPlan = {
  op: 'Unwind',
  input: { op: 'Argument' },
  list: slot(1),
  as: 2,
  keepEmpty: false,
};
const inside: Expression = {
  op: 'SubPlan',
  plan: { op: 'Filter', input: scan, predicate: slot(7) },
  output: { kind: 'columns', columns: [] },
  mode: 'exists',
};
const longCondition: Expression = {
  op: 'And',
  operands: Array.from({ length: 5_000 }, (_, at) =>
    at === 3_000 ? inside : ({ op: 'Not', operand: slot(at) } as const),
  ),
};
/** Nothing of it is long but what stands deep inside. */
const deepList: Expression = {
  op: 'Not',
  operand: {
    op: 'IsNull',
    operand: { op: 'List', items: Array.from({ length: 20_000 }, (_, at) => slot(at)) },
  },
};
const plan: LogicalPlan = {
  op: 'Union',
  as: [],
  inputs: Array.from({ length: 3_000 }, (_, at) => ({
    plan: {
      op: 'Filter',
      input: scan,
      predicate: at === 5 ? longCondition : at === 9 ? deepList : slot(at),
    },
    slots: [],
  })),
};

test('a walk in steps visits what a walk visits, in its order, and pauses', () => {
  const seen = (list: unknown[]): PlanVisitor => ({
    plan: (node) => list.push(node),
    expression: (part) => list.push(part),
    subPlan: () => list.push('sub-plan'),
  });
  const atOnce: unknown[] = [];
  walkPlan(plan, seen(atOnce));
  const inSteps: unknown[] = [];
  let longest = 0;
  let before = 0;
  let pauses = 0;
  let first = 0;
  for (const _ of walkPlanInSteps(plan, seen(inSteps))) {
    longest = Math.max(longest, inSteps.length - before);
    before = inSteps.length;
    if (pauses === 0) first = before;
    pauses += 1;
  }
  const visits = (list: readonly unknown[]) => list.filter((item) => item !== 'sub-plan');
  assert.deepEqual(visits(inSteps), visits(atOnce));
  assert.ok(pauses > 10, `${pauses} pauses`);
  assert.ok(first < 1_000, `${first} visits before the first pause`);
  assert.ok(longest < 2_500, `${longest} visits without a pause`);
  assert.ok(inSteps.includes('sub-plan'));
});
