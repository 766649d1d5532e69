import { DatabaseError } from '#core/errors.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { describeValue } from '../record-identity.ts';
import { transactionOf } from './writing.ts';

/**
 * Passes rows of a write on and commits after each n of them (`BATCH n`); the executor awaits the commit between two pulls. While
 * records have been given unique keys whose holders are still to be changed, the commit waits for more of them.
 */
export class CommitEveryOperator implements PhysicalOperator {
  readonly name = 'Commit every';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #input: PhysicalOperator;
  readonly #size: Evaluator;
  #context: ExecutionContext | undefined;
  #batchSize = 0;
  #count = 0;
  /** So many rows make the next commit. */
  #countWanted = 0;
  /** A row stands in the frame and is given when its commit is done. */
  #isHeld = false;

  constructor(input: PhysicalOperator, size: Evaluator, description: string) {
    this.inputs = [input];
    this.#input = input;
    this.#size = size;
    this.description = description;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    const size = this.#size(context);
    if (typeof size !== 'number' || !Number.isInteger(size) || size < 1)
      throw new DatabaseError(
        'IllegalArgument',
        `Invalid value for BATCH: ${describeValue(size)}; it must be a whole number of at least 1`,
      );
    this.#batchSize = size;
    this.#count = 0;
    this.#countWanted = size;
    this.#isHeld = false;
    this.#input.open(context);
  }

  next(): Pulled {
    if (this.#isHeld) {
      this.#isHeld = false;
      return ROW;
    }
    const pulled = this.#input.next();
    if (pulled !== ROW) return pulled;
    this.#count += 1;
    if (this.#count < this.#countWanted) return ROW;
    const context = this.#context as ExecutionContext;
    const transaction = transactionOf(context);
    if (!transaction.settleFreeKeys()) {
      // Twice as many each time, so that looking at the keys does not take the square of the rows.
      this.#countWanted = this.#count * 2;
      return ROW;
    }
    this.#count = 0;
    this.#countWanted = this.#batchSize;
    context.pending.work = () => transaction.flush();
    this.#isHeld = true;
    return PAUSE;
  }

  close(): void {
    this.#context = undefined;
    this.#input.close();
  }
}
