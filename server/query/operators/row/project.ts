import { madeBytes } from '#core/value/made-bytes.ts';
import type { Value } from '#core/value/value.ts';
import type { Slot } from '../../algebra/expression.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { doneWork, unitsAtOnce } from '../../evaluate/turns/done-work.ts';
import { suspended } from '../../evaluate/turns/long-calls.ts';
import { Patience } from '../../evaluate/turns/patience.ts';
import { ExpandOperator } from '../graph/expand.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { RowMemory, unweighedBytesMax } from '../hold/row-memory.ts';

const fewColumns = 64;
/** Of one row, where it has more of them. */
const columnsPerTurn = 512;

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
  readonly #patience = new Patience();
  readonly #memory = new RowMemory();
  /** Not only after the last column is looked at what the row has made. */
  readonly #isWide: boolean;
  #context: ExecutionContext | undefined;
  /** Of so many columns that a row takes several turns. */
  readonly #isVeryWide: boolean;
  /** Rows are computed with patience: the one at hand was suspended, the one before was large, or they are very wide. */
  #isSlow = false;
  /** With patience: the column of the row at hand that is computed next; none when the next row is wanted. */
  #column: number | undefined;
  readonly #compute = (): void => {
    const context = this.#context as ExecutionContext;
    const at = this.#column as number;
    context.frame[this.#slots[at] as Slot] = (this.#evaluators[at] as Evaluator)(context);
  };

  constructor({ input, columns, areOutput, idsOf, description }: ProjectOptions) {
    this.inputs = [input];
    this.description = description;
    this.#input = input;
    this.#isWide = columns.length > fewColumns;
    this.#isVeryWide = columns.length > columnsPerTurn;
    this.#slots = columns.map((column) => column.slot);
    this.#evaluators = columns.map((column) => column.value);
    if (!areOutput) this.fill = undefined;
    else if (input instanceof ExpandOperator && idsOf !== undefined && input.givesIdsIn(idsOf))
      this.fill = (values, rowCountMax) => input.fillIds(values, columns.length, rowCountMax);
    else this.fill = (values, rowCountMax) => this.#fill(values, rowCountMax);
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#column = undefined;
    this.#isSlow = this.#isVeryWide;
    this.#patience.reset();
    this.#input.open(context);
  }

  next(): Pulled {
    if (this.#isSlow) return this.#nextPatiently();
    const pulled = this.#input.next();
    if (pulled !== ROW) return pulled;
    const context = this.#context as ExecutionContext;
    const { frame } = context;
    const slots = this.#slots;
    const evaluators = this.#evaluators;
    const isWide = this.#isWide;
    const madeMax = madeBytes.total + unweighedBytesMax;
    madeBytes.rowStart = madeBytes.total;
    context.mayBeSuspended = true;
    try {
      for (let at = 0; at < slots.length; at += 1) {
        frame[slots[at] as Slot] = (evaluators[at] as Evaluator)(context);
        if (isWide && madeBytes.total > madeMax) throw suspended;
      }
      if (madeBytes.total > madeMax) throw suspended;
    } catch (error) {
      if (!this.#patience.isSuspension(error, context)) throw error;
      this.#isSlow = true;
      this.#column = 0;
      return this.#nextPatiently();
    }
    context.mayBeSuspended = false;
    return ROW;
  }

  #nextPatiently(): Pulled {
    const context = this.#context as ExecutionContext;
    const memory = this.#memory;
    memory.newTurn();
    if (this.#column === undefined) {
      memory.release();
      const pulled = this.#input.next();
      if (pulled !== ROW) return pulled;
      this.#column = 0;
    }
    for (let at = this.#column; at < this.#slots.length; at += 1) {
      this.#column = at;
      memory.beginColumn();
      if (!this.#patience.attempt(context, this.#compute)) return PAUSE;
      const isTurnOver = memory.endColumn(context.frame[this.#slots[at] as Slot] as Value, context);
      const isShareOver = this.#isVeryWide && at % columnsPerTurn === columnsPerTurn - 1;
      if (!isTurnOver && !isShareOver) continue;
      this.#column = at + 1;
      return PAUSE;
    }
    this.#column = undefined;
    this.#isSlow = this.#patience.isNeeded || memory.isHeld || this.#isVeryWide;
    return ROW;
  }

  #fill(values: Value[], rowCountMax: number): Pulled {
    const context = this.#context as ExecutionContext;
    const input = this.#input;
    const evaluators = this.#evaluators;
    const isWide = this.#isWide;
    const unitsMax = doneWork.units + unitsAtOnce;
    for (let row = 0; row < rowCountMax; row += 1) {
      if (doneWork.units > unitsMax) return PAUSE;
      if (this.#isSlow) {
        const pulled = this.#fillPatiently(values);
        if (pulled !== ROW) return pulled;
        continue;
      }
      const pulled = input.next();
      if (pulled !== ROW) return pulled;
      const filled = values.length;
      const madeMax = madeBytes.total + unweighedBytesMax;
      madeBytes.rowStart = madeBytes.total;
      context.mayBeSuspended = true;
      try {
        for (let at = 0; at < evaluators.length; at += 1) {
          values.push((evaluators[at] as Evaluator)(context) ?? null);
          if (isWide && madeBytes.total > madeMax) throw suspended;
        }
        if (madeBytes.total > madeMax) throw suspended;
      } catch (error) {
        values.length = filled;
        if (!this.#patience.isSuspension(error, context)) throw error;
        this.#isSlow = true;
        this.#column = 0;
        return PAUSE;
      }
      context.mayBeSuspended = false;
    }
    return ROW;
  }

  #fillPatiently(values: Value[]): Pulled {
    const pulled = this.#nextPatiently();
    if (pulled !== ROW) return pulled;
    const { frame } = this.#context as ExecutionContext;
    for (let at = 0; at < this.#slots.length; at += 1)
      values.push(frame[this.#slots[at] as Slot] ?? null);
    return ROW;
  }

  close(): void {
    this.#patience.reset();
    this.#memory.release();
    this.#column = undefined;
    this.#context = undefined;
    this.#input.close();
  }
}
