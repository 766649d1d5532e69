import type { Evaluator } from '../../evaluate/evaluator.ts';
import {
  END,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { rowCountOf } from './row-count.ts';

/** Ends after a number of rows; the number is evaluated once, when the operator is opened. */
export class LimitOperator implements PhysicalOperator {
  readonly name = 'Limit';
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
    this.#left = rowCountOf(this.#count(context), 'LIMIT');
    this.#input.open(context);
  }

  next(): Pulled {
    if (this.#left <= 0) return END;
    const pulled = this.#input.next();
    if (pulled === ROW) this.#left -= 1;
    return pulled;
  }

  close(): void {
    this.#input.close();
  }
}
