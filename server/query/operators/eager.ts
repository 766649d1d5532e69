import type { Slot } from '../algebra/expression.ts';
import { HeldMemory } from './held-memory.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from './operator.ts';
import { detach } from './record-reference.ts';
import { RowStore } from './row-store.ts';
import { rowsPerTurn, WorkShare } from './work-share.ts';

/**
 * Reads its input to the end before it gives the first row, so that a write above sees nothing of its own effects. The number of
 * rows is bounded by the memory of the statement only: an UPDATE may touch millions of records.
 */
export class EagerOperator implements PhysicalOperator {
  readonly name = 'Eager';
  readonly inputs: readonly PhysicalOperator[];
  readonly description = 'read everything before writing';
  readonly #input: PhysicalOperator;
  readonly #rows: RowStore;
  #context: ExecutionContext | undefined;
  #memory: HeldMemory | undefined;
  #isFull = false;
  #position = 0;
  readonly #share = new WorkShare();

  /** @param identities slots of records of which the write above needs only the id: it reads them again */
  constructor(
    input: PhysicalOperator,
    slots: readonly Slot[],
    identities: ReadonlySet<Slot> = new Set(),
  ) {
    this.inputs = [input];
    this.#input = input;
    this.#rows = new RowStore(slots, identities);
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#memory = new HeldMemory(context, 'a write');
    this.#isFull = false;
    this.#position = 0;
    this.#input.open(context);
  }

  next(): Pulled {
    const { frame } = this.#context as ExecutionContext;
    if (!this.#isFull) {
      if (this.#fill() !== END) return PAUSE;
      this.#isFull = true;
    }
    if (this.#position === this.#rows.rowCount) return END;
    if (this.#share.isSpent()) return PAUSE;
    this.#rows.restore(this.#position, frame);
    this.#position += 1;
    return ROW;
  }

  #fill(): Pulled {
    const { frame } = this.#context as ExecutionContext;
    const firstRow = this.#rows.rowCount;
    let pulled: Pulled = PAUSE;
    for (let count = 0; count < rowsPerTurn; count += 1) {
      pulled = this.#input.next();
      if (pulled !== ROW) break;
      this.#memory?.addBytes(this.#rows.append(frame));
    }
    // What was only referred to must be read before the writes begin.
    this.#rows.mapValues(firstRow, detach);
    return pulled === ROW ? PAUSE : pulled;
  }

  close(): void {
    this.#memory?.release();
    this.#memory = undefined;
    this.#context = undefined;
    this.#rows.clear();
    this.#input.close();
  }
}
