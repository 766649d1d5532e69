// Goal: many conditions above many projected columns cost their sum, not their product.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Expression } from '#query/algebra/expression.ts';
import type { Column } from '#query/algebra/plan.ts';
import { belowProject } from '#query/optimizer/projected.ts';

const slot = (at: number): Expression => ({ op: 'Slot', slot: at });

test('the columns of a projection are looked at once for all conditions above it', () => {
  let readCount = 0;
  const columns: Column[] = Array.from({ length: 100 }, (_, at) => ({
    get slot() {
      readCount += 1;
      return at + 1;
    },
    value: slot(0),
  }));
  const lowered = belowProject(columns);
  for (let at = 1; at <= 100; at += 1)
    assert.deepEqual(lowered({ op: 'Not', operand: slot(at) }), { op: 'Not', operand: slot(0) });
  assert.equal(readCount, 100);
});

test('columns made of others are followed, dear ones are not', () => {
  const dear: Expression = { op: 'Call', function: 'f', arguments: [slot(0)] };
  const lowered = belowProject([
    { slot: 1, value: slot(0) },
    { slot: 2, value: slot(1) },
    { slot: 3, value: dear },
  ]);
  assert.deepEqual(lowered(slot(2)), slot(0));
  assert.deepEqual(lowered(slot(9)), slot(9));
  assert.equal(lowered(slot(3)), undefined);
});
