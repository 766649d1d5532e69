import type { Slot } from '../../algebra/expression.ts';
import type { BucketId } from '#core/value/rid.ts';
import {
  END,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';

/** One row with the number of live records of some buckets, this transaction's changes included. Cost: one counter each. */
export class RecordCountOperator implements PhysicalOperator {
  readonly name = 'Count records';
  readonly inputs: readonly PhysicalOperator[] = [];
  readonly description: string;
  readonly #buckets: readonly BucketId[];
  readonly #as: Slot;
  #context: ExecutionContext | undefined;
  #isGiven = false;

  constructor(buckets: readonly BucketId[], as: Slot, description: string) {
    this.#buckets = buckets;
    this.#as = as;
    this.description = description;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#isGiven = false;
  }

  next(): Pulled {
    if (this.#isGiven) return END;
    this.#isGiven = true;
    const { frame, view } = this.#context as ExecutionContext;
    let count = 0;
    for (const bucket of this.#buckets) {
      view.requireRead?.(bucket);
      count += view.recordCount(bucket);
    }
    frame[this.#as] = count;
    return ROW;
  }

  close(): void {
    this.#context = undefined;
  }
}
