import type { Slot } from '../algebra/expression.ts';

/** Hands out the slots of one program. */
export class SlotAllocator {
  #count = 0;

  next(): Slot {
    this.#count += 1;
    return this.#count - 1;
  }

  /** Size of the frame. */
  get count(): number {
    return this.#count;
  }
}
