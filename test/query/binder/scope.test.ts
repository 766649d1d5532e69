import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dependencies, levelBeforeRows } from '#query/binder/dependencies.ts';
import { type ElementScope, liftRows, QueryScope } from '#query/binder/scope.ts';
import { noRow } from '#query/binder/row.ts';
import type { LogicalPlan } from '#query/algebra/plan.ts';

const source: LogicalPlan = { op: 'TypeScan', types: [], as: 0 };
const row = { kind: 'value', slot: 0 } as const;
const subPlan = {
  plan: { op: 'Argument' },
  output: { kind: 'columns', columns: [] },
  as: 9,
} as const;

function elementOf(parent: QueryScope): ElementScope {
  const level = parent.level + 1;
  return { kind: 'element', parent, level, row: noRow, isCurrent: false, bindings: new Map() };
}

test('what depends on no row is computed before the rows of the outermost query', () => {
  const outer = new QueryScope(undefined);
  outer.source(source, row);
  const inner = new QueryScope(outer);
  inner.source(source, row);
  assert.deepEqual(liftRows(inner, 0, subPlan), { op: 'Slot', slot: 9 });
  assert.equal(inner.close().op, 'TypeScan');
  const plan = outer.close();
  assert.ok(plan.op === 'Apply' && plan.mode.kind === 'cross' && plan.outer.op === 'Apply');
});

test('what depends on the row is computed for each row, of the query that it belongs to', () => {
  const outer = new QueryScope(undefined);
  outer.source(source, row);
  const inner = new QueryScope(outer);
  inner.source(source, row);
  liftRows(inner, 1, subPlan);
  // Once for each run of the inner query, that is for each row of the outer one.
  const plan = inner.close();
  assert.ok(plan.op === 'Apply' && plan.mode.kind === 'cross');
  liftRows(outer, 1, subPlan);
  assert.ok(outer.body.op === 'Apply' && outer.body.mode.kind === 'collect');
});

test('what depends on an element stays where it is', () => {
  const query = new QueryScope(undefined);
  query.source(source, row);
  const element = elementOf(query);
  assert.equal(liftRows(element, 2, subPlan), undefined);
  liftRows(element, 1, subPlan);
  assert.equal(query.body.op, 'Apply');
});

test('dependencies on several rows all count for the parts around', () => {
  const dependencies = new Dependencies();
  const outer = dependencies.measure(2, () => {
    const inner = dependencies.measure(4, () => {
      dependencies.note(1);
      dependencies.note(3);
      dependencies.note(4);
    });
    assert.equal(inner.level, 3);
  });
  assert.equal(outer.level, 1);
});

test('values from before the rows of a query are internal to it', () => {
  const dependencies = new Dependencies();
  const around = dependencies.measure(2, () => {
    const inside = dependencies.measure(3, () => dependencies.note(levelBeforeRows(2)));
    assert.equal(inside.level, 1.5);
  });
  assert.equal(around.level, 0);
});
