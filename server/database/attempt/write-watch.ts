import type { Transaction } from '#transaction/transaction.ts';
import type { StatementMemory } from '../bounds/memory-accounts.ts';
import type { ExecutionWatch } from '../statement/plan-execution.ts';

/** Looks, between slices, at what the writes hold, too. */
export class WriteWatch implements ExecutionWatch {
  readonly startedMs: number;
  readonly #watch: ExecutionWatch;
  readonly #memory: StatementMemory;
  readonly #transaction: Transaction;

  constructor(watch: ExecutionWatch, memory: StatementMemory, transaction: Transaction) {
    this.startedMs = watch.startedMs;
    this.#watch = watch;
    this.#memory = memory;
    this.#transaction = transaction;
  }

  check(): void {
    this.#watch.check();
    this.#memory.holdWrites(this.#transaction.heldBytes);
  }
}
