import type { Slot } from '../algebra/expression.ts';
import type { Evaluator } from '../evaluate/evaluator.ts';
import { ROW, type ExecutionContext, type PhysicalOperator, type Pulled } from './operator.ts';

export interface CompiledColumn {
  readonly slot: Slot;
  readonly value: Evaluator;
}

/** Computes columns into slots, left to right; later ones may read earlier ones. */
export class ProjectOperator implements PhysicalOperator {
  readonly name = 'Project';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #input: PhysicalOperator;
  readonly #slots: readonly Slot[];
  readonly #evaluators: readonly Evaluator[];
  #context: ExecutionContext | undefined;

  constructor(input: PhysicalOperator, columns: readonly CompiledColumn[], description: string) {
    this.inputs = [input];
    this.description = description;
    this.#input = input;
    this.#slots = columns.map((column) => column.slot);
    this.#evaluators = columns.map((column) => column.value);
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#input.open(context);
  }

  next(): Pulled {
    const pulled = this.#input.next();
    if (pulled !== ROW) return pulled;
    const context = this.#context as ExecutionContext;
    const { frame } = context;
    const slots = this.#slots;
    const evaluators = this.#evaluators;
    for (let at = 0; at < slots.length; at += 1)
      frame[slots[at] as Slot] = (evaluators[at] as Evaluator)(context);
    return ROW;
  }

  close(): void {
    this.#context = undefined;
    this.#input.close();
  }
}
