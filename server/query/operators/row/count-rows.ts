import type { Slot } from '../../algebra/expression.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { rowsPerTurn } from '../hold/work-share.ts';

/** `count(*)` without groups: one row with the number of input rows. */
export class CountRowsOperator implements PhysicalOperator {
  readonly name = 'Count rows';
  readonly inputs: readonly PhysicalOperator[];
  readonly description = '';
  readonly #input: PhysicalOperator;
  readonly #slots: readonly Slot[];
  #context: ExecutionContext | undefined;
  #count = 0;
  #hasEnded = false;

  constructor(input: PhysicalOperator, slots: readonly Slot[]) {
    this.inputs = [input];
    this.#input = input;
    this.#slots = slots;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#count = 0;
    this.#hasEnded = false;
    this.#input.open(context);
  }

  next(): Pulled {
    if (this.#hasEnded) return END;
    const input = this.#input;
    for (let left = rowsPerTurn; left > 0; left -= 1) {
      const pulled = input.next();
      if (pulled === ROW) this.#count += 1;
      else if (pulled === PAUSE) return PAUSE;
      else return this.#give();
    }
    return PAUSE;
  }

  #give(): Pulled {
    const { frame } = this.#context as ExecutionContext;
    this.#hasEnded = true;
    for (let at = 0; at < this.#slots.length; at += 1) frame[this.#slots[at] as Slot] = this.#count;
    return ROW;
  }

  close(): void {
    this.#context = undefined;
    this.#input.close();
  }
}
