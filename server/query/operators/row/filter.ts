import { madeBytes } from '#core/value/made-bytes.ts';
import type { Predicate } from '../../evaluate/evaluator.ts';
import { Patience } from '../../evaluate/turns/patience.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { doneWork, unitsAtOnce } from '../../evaluate/turns/done-work.ts';
import { rowsPerTurn } from '../hold/work-share.ts';

/** Passes the rows for which the predicate is true. */
export class FilterOperator implements PhysicalOperator {
  readonly name = 'Filter';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #input: PhysicalOperator;
  readonly #predicate: Predicate;
  readonly #patience = new Patience();
  #context: ExecutionContext | undefined;
  /** The row at hand is being looked at. */
  #hasRow = false;
  #passes = false;
  readonly #look = (): void => {
    this.#passes = this.#predicate(this.#context as ExecutionContext);
  };

  constructor(input: PhysicalOperator, predicate: Predicate, description: string) {
    this.inputs = [input];
    this.description = description;
    this.#input = input;
    this.#predicate = predicate;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#hasRow = false;
    this.#patience.reset();
    this.#input.open(context);
  }

  next(): Pulled {
    if (this.#patience.isNeeded) return this.#nextPatiently();
    const context = this.#context as ExecutionContext;
    const unitsMax = doneWork.units + unitsAtOnce;
    for (let count = 0; count < rowsPerTurn && doneWork.units < unitsMax; count += 1) {
      const pulled = this.#input.next();
      if (pulled !== ROW) return pulled;
      madeBytes.rowStart = madeBytes.total;
      context.mayBeSuspended = true;
      try {
        if (this.#predicate(context)) {
          context.mayBeSuspended = false;
          return ROW;
        }
      } catch (error) {
        if (!this.#patience.isSuspension(error, context)) throw error;
        this.#hasRow = true;
        return this.#nextPatiently();
      }
      context.mayBeSuspended = false;
    }
    return PAUSE;
  }

  #nextPatiently(): Pulled {
    const context = this.#context as ExecutionContext;
    const unitsMax = doneWork.units + unitsAtOnce;
    for (let count = 0; count < rowsPerTurn && doneWork.units < unitsMax; count += 1) {
      if (!this.#hasRow) {
        const pulled = this.#input.next();
        if (pulled !== ROW) return pulled;
        this.#hasRow = true;
      }
      if (!this.#patience.attempt(context, this.#look)) return PAUSE;
      this.#hasRow = false;
      if (this.#passes) return ROW;
    }
    return PAUSE;
  }

  close(): void {
    this.#patience.reset();
    this.#context = undefined;
    this.#input.close();
  }
}
