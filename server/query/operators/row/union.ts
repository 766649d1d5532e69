import type { Slot } from '../../algebra/expression.ts';
import type { Value } from '#core/value/value.ts';
import {
  END,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';

/** All rows of the first input, then of the next; each input's slots are copied into the common ones. */
export class UnionOperator implements PhysicalOperator {
  readonly name = 'Union';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #slots: readonly (readonly Slot[])[];
  readonly #as: readonly Slot[];
  #context: ExecutionContext | undefined;
  #current = 0;

  constructor(
    inputs: readonly { readonly operator: PhysicalOperator; readonly slots: readonly Slot[] }[],
    as: readonly Slot[],
  ) {
    this.inputs = inputs.map((input) => input.operator);
    this.description = `${inputs.length} inputs`;
    this.#slots = inputs.map((input) => input.slots);
    this.#as = as;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#current = 0;
    this.inputs[0]?.open(context);
  }

  next(): Pulled {
    for (;;) {
      const input = this.inputs[this.#current];
      if (input === undefined) return END;
      const pulled = input.next();
      if (pulled === ROW) this.#copy();
      if (pulled !== END) return pulled;
      input.close();
      this.#current += 1;
      this.inputs[this.#current]?.open(this.#context as ExecutionContext);
    }
  }

  #copy(): void {
    const { frame } = this.#context as ExecutionContext;
    const from = this.#slots[this.#current] as readonly Slot[];
    for (let at = 0; at < this.#as.length; at += 1)
      frame[this.#as[at] as Slot] = frame[from[at] as Slot] as Value;
  }

  close(): void {
    this.inputs[this.#current]?.close();
    this.#context = undefined;
  }
}
