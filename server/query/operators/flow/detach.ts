import type { Value } from '#core/value/value.ts';
import type { Slot } from '../../algebra/expression.ts';
import { ROW, type ExecutionContext, type PhysicalOperator, type Pulled } from '../operator.ts';
import { detach } from '../record-reference.ts';

/** On top of plans that walk the graph: loads the records that rows only refer to, while the view is open. */
export class DetachOperator implements PhysicalOperator {
  readonly name = 'Load records';
  readonly inputs: readonly PhysicalOperator[];
  readonly description = '';
  readonly #input: PhysicalOperator;
  readonly #slots: readonly Slot[];
  #context: ExecutionContext | undefined;

  constructor(input: PhysicalOperator, slots: readonly Slot[]) {
    this.inputs = [input];
    this.#input = input;
    this.#slots = slots;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#input.open(context);
  }

  next(): Pulled {
    const pulled = this.#input.next();
    if (pulled !== ROW) return pulled;
    const { frame } = this.#context as ExecutionContext;
    for (let at = 0; at < this.#slots.length; at += 1) {
      const slot = this.#slots[at] as Slot;
      const value = frame[slot] as Value | undefined;
      if (typeof value === 'object' && value !== null) frame[slot] = detach(value);
    }
    return ROW;
  }

  close(): void {
    this.#context = undefined;
    this.#input.close();
  }
}
