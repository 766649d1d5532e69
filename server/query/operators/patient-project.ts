import type { Slot } from '../algebra/expression.ts';
import type { Evaluator } from '../evaluate/evaluator.ts';
import { LongCalls, suspended } from '../evaluate/long-calls.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from './operator.ts';
import type { CompiledColumn } from './project.ts';

export interface PatientColumn extends CompiledColumn {
  /** Gives the same each time and changes nothing; others are evaluated once, whatever it takes. */
  readonly mayBeRepeated: boolean;
}

/**
 * As Project, for columns of which one evaluation may take seconds: it is done in slices (`evaluate/long-calls.ts`). Each
 * column is done before the next one begins.
 */
export class PatientProjectOperator implements PhysicalOperator {
  readonly name = 'Project in slices';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #input: PhysicalOperator;
  readonly #slots: readonly Slot[];
  readonly #evaluators: readonly Evaluator[];
  readonly #mayBeRepeated: readonly boolean[];
  readonly #calls = new LongCalls();
  #context: ExecutionContext | undefined;
  /** The column of the row at hand that is computed next; none: the next row is wanted. */
  #column: number | undefined;

  constructor(input: PhysicalOperator, columns: readonly PatientColumn[], description: string) {
    this.inputs = [input];
    this.description = description;
    this.#input = input;
    this.#slots = columns.map((column) => column.slot);
    this.#evaluators = columns.map((column) => column.value);
    this.#mayBeRepeated = columns.map((column) => column.mayBeRepeated);
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#column = undefined;
    this.#input.open(context);
  }

  next(): Pulled {
    const calls = this.#calls;
    if (calls.isExhausted) {
      // Rows count together: whoever takes many of them in one turn must not wait for all that they cost.
      calls.newTurn();
      return PAUSE;
    }
    if (this.#column === undefined) {
      const pulled = this.#input.next();
      if (pulled !== ROW) return pulled;
      this.#column = 0;
    }
    for (let at = this.#column; at < this.#slots.length; at += 1) {
      this.#column = at;
      if (!this.#compute(at)) {
        calls.newTurn();
        return PAUSE;
      }
      calls.reset();
    }
    this.#column = undefined;
    return ROW;
  }

  /** @returns false when the evaluation goes on in the next turn */
  #compute(at: number): boolean {
    const context = this.#context as ExecutionContext;
    const outer = context.longCalls;
    context.longCalls = this.#mayBeRepeated[at] === true ? this.#calls : undefined;
    this.#calls.rewind();
    try {
      context.frame[this.#slots[at] as Slot] = (this.#evaluators[at] as Evaluator)(context);
      return true;
    } catch (error) {
      if (error !== suspended) throw error;
      return false;
    } finally {
      context.longCalls = outer;
    }
  }

  close(): void {
    this.#calls.reset();
    this.#column = undefined;
    this.#context = undefined;
    this.#input.close();
  }
}
