import type { Evaluator } from '../../evaluate/evaluator.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { WorkShare } from '../hold/work-share.ts';
import { rowCountOf } from './row-count.ts';

/** Ends after a number of rows; the number is evaluated once, when the operator is opened. */
export class LimitOperator implements PhysicalOperator {
  readonly name = 'Limit';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #input: PhysicalOperator;
  readonly #count: Evaluator;
  readonly #drains: boolean;
  #left = 0;
  readonly #share = new WorkShare();

  /** @param drains its input writes, and is read to its end whatever the limit */
  constructor(input: PhysicalOperator, count: Evaluator, description: string, drains = false) {
    this.#drains = drains;
    this.inputs = [input];
    this.description = description;
    this.#input = input;
    this.#count = count;
  }

  open(context: ExecutionContext): void {
    this.#left = rowCountOf(this.#count(context), 'LIMIT');
    this.#input.open(context);
  }

  next(): Pulled {
    if (this.#left <= 0) return this.#drains ? this.#drain() : END;
    const pulled = this.#input.next();
    if (pulled === ROW) this.#left -= 1;
    return pulled;
  }

  #drain(): Pulled {
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      const pulled = this.#input.next();
      if (pulled !== ROW) return pulled;
    }
  }

  close(): void {
    this.#input.close();
  }
}
