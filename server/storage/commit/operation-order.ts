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
