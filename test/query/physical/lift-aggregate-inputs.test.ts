import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TypeId } from '#core/value/rid.ts';
import type { Expression } from '#query/algebra/expression.ts';
import type { AggregateColumn, PlanNode } from '#query/algebra/plan.ts';
import { liftAggregateInputs } from '#query/physical/lift-aggregate-inputs.ts';

const record: Expression = { op: 'Slot', slot: 0 };
const property = (name: string): Expression => ({
  op: 'Property',
  of: record,
  name,
  dialect: 'sql',
});
const aggregate = (name: string, slot: number, ...args: Expression[]): AggregateColumn => ({
  slot,
  function: name,
  arguments: args,
  distinct: false,
});

function groupBy(changes: Partial<PlanNode<'Aggregate'>>): PlanNode<'Aggregate'> {
  return {
    op: 'Aggregate',
    input: { op: 'TypeScan', types: [1 as TypeId], as: 0 },
    keys: [{ slot: 1, value: property('city') }],
    first: [{ slot: 2, value: property('country') }],
    aggregates: [aggregate('avg', 3, property('salary')), aggregate('count', 4)],
    dialect: 'sql',
    ...changes,
  };
}

test('keys, first values and arguments become columns of the scan', () => {
  const lifted = liftAggregateInputs(groupBy({}));
  assert.deepEqual(lifted.input, {
    op: 'Project',
    input: { op: 'TypeScan', types: [1], as: 0 },
    columns: [
      { slot: 1, value: property('city') },
      { slot: 2, value: property('country') },
      { slot: 3, value: property('salary') },
    ],
  });
  assert.deepEqual(lifted.keys, [{ slot: 1, value: { op: 'Slot', slot: 1 } }]);
  assert.deepEqual(lifted.aggregates[0], aggregate('avg', 3, { op: 'Slot', slot: 3 }));
  assert.deepEqual(lifted.aggregates[1], aggregate('count', 4));
});

test('a plan stays as it is when the record is needed anyway, or when there is no plain scan', () => {
  const percentile = aggregate('percentile', 3, property('a'), property('b'));
  const costlyFirst: Expression = { op: 'Call', function: '.size', arguments: [record] };
  const plans = [
    groupBy({ aggregates: [percentile] }),
    groupBy({ first: [{ slot: 2, value: costlyFirst }] }),
    groupBy({ input: { op: 'Argument' } }),
    groupBy({ keys: [], first: [], aggregates: [aggregate('count', 4)] }),
  ];
  for (const plan of plans) assert.equal(liftAggregateInputs(plan), plan);
});
