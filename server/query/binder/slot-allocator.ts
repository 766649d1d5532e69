import type { Slot } from '../algebra/expression.ts';

/** Hands out the slots of one program. */
export class SlotAllocator {
  /** Size of the frame. */
  count = 0;

  next(): Slot {
    this.count += 1;
    return this.count - 1;
  }
}
