import type { Predicate } from '../evaluate/evaluator.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from './operator.ts';
import { rowsPerTurn } from './work-share.ts';

/** Passes the rows for which the predicate is true. */
export class FilterOperator implements PhysicalOperator {
  readonly name = 'Filter';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #input: PhysicalOperator;
  readonly #predicate: Predicate;
  #context: ExecutionContext | undefined;

  constructor(input: PhysicalOperator, predicate: Predicate, description: string) {
    this.inputs = [input];
    this.description = description;
    this.#input = input;
    this.#predicate = predicate;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#input.open(context);
  }

  next(): Pulled {
    const context = this.#context as ExecutionContext;
    for (let count = 0; count < rowsPerTurn; count += 1) {
      const pulled = this.#input.next();
      if (pulled !== ROW) return pulled;
      if (this.#predicate(context)) return ROW;
    }
    return PAUSE;
  }

  close(): void {
    this.#context = undefined;
    this.#input.close();
  }
}
