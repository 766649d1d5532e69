import type { Value } from '#core/value.ts';
import type { Slot } from '../algebra/expression.ts';
import type { Evaluator } from '../evaluate/evaluator.ts';
import { ExpandOperator } from './expand.ts';
import { ROW, type ExecutionContext, type PhysicalOperator, type Pulled } from './operator.ts';

export interface CompiledColumn {
  readonly slot: Slot;
  readonly value: Evaluator;
}

export interface ProjectOptions {
  readonly input: PhysicalOperator;
  readonly columns: readonly CompiledColumn[];
  /** They are the columns of the statement, in their order, and none reads another one: rows need not stand in the frame. */
  readonly areOutput: boolean;
  /** Each column is the id of the element in this slot, and nothing else reads the slot. */
  readonly idsOf: Slot | undefined;
  readonly description: string;
}

/** Computes columns into slots, left to right; later ones may read earlier ones. */
export class ProjectOperator implements PhysicalOperator {
  readonly name = 'Project';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly fill: PhysicalOperator['fill'];
  readonly #input: PhysicalOperator;
  readonly #slots: readonly Slot[];
  readonly #evaluators: readonly Evaluator[];
  #context: ExecutionContext | undefined;

  constructor({ input, columns, areOutput, idsOf, description }: ProjectOptions) {
    this.inputs = [input];
    this.description = description;
    this.#input = input;
    this.#slots = columns.map((column) => column.slot);
    this.#evaluators = columns.map((column) => column.value);
    if (!areOutput) this.fill = undefined;
    else if (input instanceof ExpandOperator && idsOf !== undefined && input.givesIdsIn(idsOf))
      this.fill = (values, rowCountMax) => input.fillIds(values, columns.length, rowCountMax);
    else this.fill = (values, rowCountMax) => this.#fill(values, rowCountMax);
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

  #fill(values: Value[], rowCountMax: number): Pulled {
    const context = this.#context as ExecutionContext;
    const input = this.#input;
    const evaluators = this.#evaluators;
    for (let row = 0; row < rowCountMax; row += 1) {
      const pulled = input.next();
      if (pulled !== ROW) return pulled;
      for (let at = 0; at < evaluators.length; at += 1)
        values.push((evaluators[at] as Evaluator)(context) ?? null);
    }
    return ROW;
  }

  close(): void {
    this.#context = undefined;
    this.#input.close();
  }
}
