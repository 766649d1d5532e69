import type { Rid } from '#core/value/rid.ts';
import type { Timers } from '#core/runtime.ts';
import type { RowOperation } from '../format/row-operations.ts';

/** Operations looked at in one go: a millisecond. */
const operationsPerLook = 65_536;

/**
 * The records that the log entry being applied has changed so far. Entries mostly list each record once, in the order of the
 * ids: then nothing needs to be remembered, which takes a third of the time of applying an update.
 */
export class TouchedRecords {
  readonly #touched = new Set<Rid>();
  #areDistinct = false;

  /** An entry with these operations comes. */
  begin(operations: readonly RowOperation[]): void {
    this.#areDistinct = lastOfDistinct(operations, 0, operations.length, -1) !== undefined;
  }

  /** As `begin` for many operations. */
  async beginInSlices(
    operations: readonly RowOperation[],
    timers: Pick<Timers, 'yield'>,
  ): Promise<void> {
    this.#areDistinct = false;
    let last: number | undefined = -1;
    for (let from = 0; from < operations.length; from += operationsPerLook) {
      if (from > 0) await timers.yield();
      const to = Math.min(from + operationsPerLook, operations.length);
      last = lastOfDistinct(operations, from, to, last);
      if (last === undefined) return;
    }
    this.#areDistinct = true;
  }

  /** The entry changes each record once. */
  get areDistinct(): boolean {
    return this.#areDistinct;
  }

  /** Whether the record may have been changed before. */
  has(rid: Rid): boolean {
    return !this.#areDistinct && this.#touched.has(rid);
  }

  add(rid: Rid): void {
    if (!this.#areDistinct) this.#touched.add(rid);
  }

  /** What was changed so far is written; an entry that goes on is the same one. */
  forget(): void {
    this.#touched.clear();
  }

  /** The entry is over. */
  end(): void {
    this.#touched.clear();
    this.#areDistinct = false;
  }
}

/**
 * The last record id among the operations from `from` to before `to` when rows come in strictly ascending order after `after`;
 * undefined when a record may come twice.
 */
function lastOfDistinct(
  operations: readonly RowOperation[],
  from: number,
  to: number,
  after: number,
): number | undefined {
  let last = after;
  for (let i = from; i < to; i += 1) {
    const operation = operations[i] as RowOperation;
    switch (operation.op) {
      case 'put-row':
      case 'delete-row':
      case 'patch-cells':
        if (operation.rid <= last) return undefined;
        last = operation.rid;
        break;
      case 'whole-block':
        return undefined;
      default:
    }
  }
  return last;
}
