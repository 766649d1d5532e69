import type { Evaluator } from '../../evaluate/evaluator.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { rowCountOf } from './row-count.ts';
import { rowsPerTurn } from '../hold/work-share.ts';

/** Drops the first rows; their number is evaluated once, when the operator is opened. */
export class SkipOperator implements PhysicalOperator {
  readonly name = 'Skip';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #input: PhysicalOperator;
  readonly #count: Evaluator;
  #left = 0;

  constructor(input: PhysicalOperator, count: Evaluator, description: string) {
    this.inputs = [input];
    this.description = description;
    this.#input = input;
    this.#count = count;
  }

  open(context: ExecutionContext): void {
    this.#left = rowCountOf(this.#count(context), 'SKIP');
    this.#input.open(context);
  }

  next(): Pulled {
    for (let count = 0; this.#left > 0; count += 1) {
      if (count === rowsPerTurn) return PAUSE;
      const pulled = this.#input.next();
      if (pulled !== ROW) return pulled;
      this.#left -= 1;
    }
    return this.#input.next();
  }

  close(): void {
    this.#input.close();
  }
}
