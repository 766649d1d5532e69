import { hasExtendedValues } from '../format/row.ts';
import type { RowOperation } from '../format/row-operations.ts';

/** Whether the rows among the operations from `from` to before `to` come in ascending order of their ids. */
export function areInOrder(operations: readonly RowOperation[], from: number, to: number): boolean {
  let last = -1;
  for (let i = Math.max(0, from); i < to; i += 1) {
    const operation = operations[i] as RowOperation;
    if (operation.op !== 'put-row' && operation.op !== 'delete-row') continue;
    if (operation.rid < last) return false;
    last = operation.rid;
  }
  return true;
}

/**
 * Whether rows among the operations from `from` to before `to` need the feature `extendedValues`. It looks at them and does nothing else:
 * rows that lie anywhere in memory come into the processor's cache several at a time, before each of them is worked on.
 */
export function haveExtendedRows(
  operations: readonly RowOperation[],
  from: number,
  to: number,
): boolean {
  const end = Math.min(to, operations.length);
  let isFound = false;
  for (let i = from; i < end; i += 1) {
    const operation = operations[i] as RowOperation;
    if (operation.op === 'put-row' && hasExtendedValues(operation.row)) isFound = true;
  }
  return isFound;
}
