import { isTurnOver } from '#core/turn-end.ts';
import type { Value } from '#core/value/value.ts';
import type { Slot } from '../../algebra/expression.ts';
import { HeldMemory } from '../hold/held-memory.ts';
import { IndexSearchOperator } from '../index-read/index-search.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { liveValue } from '../../evaluate/live-record.ts';
import { detach, loaded } from '../record-reference.ts';
import { RowStore } from '../hold/row-store.ts';
import { doneWork, unitsAtOnce } from '../../evaluate/turns/done-work.ts';
import { rowsPerLook, rowsPerTurn, WorkShare } from '../hold/work-share.ts';

/**
 * Reads its input to the end before it gives the first row, so that a write above sees nothing of its own effects. The number of
 * rows is bounded by the memory of the statement only: an UPDATE may touch millions of records.
 */
export class EagerOperator implements PhysicalOperator {
  readonly name = 'Eager';
  readonly inputs: readonly PhysicalOperator[];
  readonly description = 'read everything before writing';
  readonly #input: PhysicalOperator;
  readonly #isLive: boolean;
  readonly #slots: readonly Slot[];
  readonly #rows: RowStore;
  #context: ExecutionContext | undefined;
  #memory: HeldMemory | undefined;
  #isFull = false;
  #position = 0;
  /** The input has one row at most: there is nothing to gather. */
  #isSingle = false;
  readonly #share = new WorkShare(rowsPerTurn, rowsPerLook);

  /**
   * @param identities slots of records of which the write above needs only the id: it reads them again
   * @param isLive records follow the writes of the statement from here on (openCypher)
   */
  constructor(
    input: PhysicalOperator,
    slots: readonly Slot[],
    identities: ReadonlySet<Slot> = new Set(),
    isLive = false,
  ) {
    this.#isLive = isLive;
    this.inputs = [input];
    this.#input = input;
    this.#slots = slots;
    this.#rows = new RowStore(slots, identities);
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#isFull = false;
    this.#position = 0;
    this.#share.open();
    const input = this.#input;
    input.open(context);
    this.#isSingle = input instanceof IndexSearchOperator && input.givesOneAtMost;
    if (!this.#isSingle) this.#memory = new HeldMemory(context, 'a write');
  }

  next(): Pulled {
    if (this.#isSingle) return this.#pass();
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

  #pass(): Pulled {
    const pulled = this.#input.next();
    if (pulled !== ROW) return pulled;
    const { frame } = this.#context as ExecutionContext;
    for (let at = 0; at < this.#slots.length; at += 1) {
      const slot = this.#slots[at] as Slot;
      frame[slot] = this.#kept(frame[slot] as Value);
    }
    return ROW;
  }

  #fill(): Pulled {
    const { frame } = this.#context as ExecutionContext;
    const firstRow = this.#rows.rowCount;
    let pulled: Pulled = PAUSE;
    const unitsMax = doneWork.units + unitsAtOnce;
    for (let count = 0; count < rowsPerTurn && doneWork.units < unitsMax; count += 1) {
      pulled = this.#input.next();
      if (pulled !== ROW) break;
      this.#memory?.addBytes(this.#rows.append(frame));
      if (count % rowsPerLook === rowsPerLook - 1 && isTurnOver()) break;
    }
    // What was only referred to must be read before the writes begin.
    this.#rows.mapValues(firstRow, this.#isLive ? (value) => this.#kept(value) : detach);
    return pulled === ROW ? PAUSE : pulled;
  }

  #kept(value: Value): Value {
    if (!this.#isLive) return detach(value);
    const { view, transaction } = this.#context as ExecutionContext;
    return liveValue(loaded(value), { view, transaction });
  }

  close(): void {
    this.#memory?.release();
    this.#memory = undefined;
    this.#context = undefined;
    if (!this.#isSingle) this.#rows.clear();
    this.#input.close();
  }
}
