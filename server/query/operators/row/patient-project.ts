import type { Value } from '#core/value/value.ts';
import type { Slot } from '../../algebra/expression.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { LongCalls } from '../../evaluate/turns/long-calls.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import type { CompiledColumn } from './project.ts';
import { RowMemory } from '../hold/row-memory.ts';

/**
 * As Project, for columns of which one evaluation may take seconds: it is done in slices (`evaluate/turns/long-calls.ts`). Each
 * column is done before the next one begins.
 */
export class PatientProjectOperator implements PhysicalOperator {
  readonly name = 'Project in slices';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #input: PhysicalOperator;
  readonly #slots: readonly Slot[];
  readonly #evaluators: readonly Evaluator[];
  readonly #calls = new LongCalls();
  readonly #memory = new RowMemory();
  #context: ExecutionContext | undefined;
  /** The column of the row at hand that is computed next; none: the next row is wanted. */
  #column: number | undefined;
  readonly #compute = (): void => {
    const context = this.#context as ExecutionContext;
    const at = this.#column as number;
    context.frame[this.#slots[at] as Slot] = (this.#evaluators[at] as Evaluator)(context);
  };

  constructor(input: PhysicalOperator, columns: readonly CompiledColumn[], description: string) {
    this.inputs = [input];
    this.description = description;
    this.#input = input;
    this.#slots = columns.map((column) => column.slot);
    this.#evaluators = columns.map((column) => column.value);
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#column = undefined;
    this.#input.open(context);
  }

  next(): Pulled {
    const calls = this.#calls;
    const memory = this.#memory;
    const context = this.#context as ExecutionContext;
    memory.newTurn();
    if (calls.isExhausted) {
      // Rows count together: whoever takes many of them in one turn must not wait for all that they cost.
      calls.newTurn();
      return PAUSE;
    }
    if (this.#column === undefined) {
      memory.release();
      const pulled = this.#input.next();
      if (pulled !== ROW) return pulled;
      this.#column = 0;
    }
    for (let at = this.#column; at < this.#slots.length; at += 1) {
      this.#column = at;
      memory.beginColumn();
      if (!calls.attempt(context, this.#compute)) return PAUSE;
      if (!memory.endColumn(context.frame[this.#slots[at] as Slot] as Value, context)) continue;
      this.#column = at + 1;
      return PAUSE;
    }
    this.#column = undefined;
    return ROW;
  }

  close(): void {
    this.#calls.reset();
    this.#memory.release();
    this.#column = undefined;
    this.#context = undefined;
    this.#input.close();
  }
}
