import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  END,
  type ExecutionContext,
  PAUSE,
  type PhysicalOperator,
  type Pulled,
  ROW,
} from '#query/operators/operator.ts';
import { InsertAllOperator } from '#query/operators/write/insert-all.ts';

const context = {} as ExecutionContext;

/** Gives so many rows each time that it is opened. */
function rowsOf(count: number, opened: () => void = () => {}): PhysicalOperator {
  let left = 0;
  return {
    name: 'Rows',
    description: '',
    inputs: [],
    open() {
      left = count;
      opened();
    },
    next: () => (left-- > 0 ? ROW : END),
    close() {},
  };
}

test('the steps of many inserts are made when the first row comes to them, and once', () => {
  const stepCount = 1_000;
  const made: number[] = [];
  let openCount = 0;
  const makers = Array.from({ length: stepCount }, (_, at) => () => {
    made.push(at);
    return rowsOf(1, () => {
      openCount += 1;
    });
  });
  const all = new InsertAllOperator(rowsOf(2), makers, '');
  all.open(context);
  assert.deepEqual(made, []);
  const answers: Pulled[] = [];
  let madeBefore = 0;
  for (let pulled = all.next(); ; pulled = all.next()) {
    assert.ok(made.length - madeBefore <= 256);
    madeBefore = made.length;
    if (pulled !== PAUSE) answers.push(pulled);
    if (pulled === END) break;
  }
  all.close();
  assert.deepEqual(answers, [ROW, ROW, END]);
  assert.deepEqual(
    made,
    makers.map((_, at) => at),
  );
  assert.equal(openCount, 2 * stepCount);
  assert.equal(all.inputs.length, stepCount + 1);
  assert.equal(made.length, stepCount);
});
