import type { ApplyMode } from '../../algebra/plan.ts';
import type { Output, Slot } from '../../algebra/expression.ts';
import type { Frame } from '../../evaluate/context.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { approximateBytes } from '../../evaluate/turns/held-bytes.ts';
import type { Value } from '#core/value/value.ts';
import { HeldMemory } from '../hold/held-memory.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { JoinTable } from './join-table.ts';
import { detach } from '../record-reference.ts';
import { RowStore } from '../hold/row-store.ts';
import { rowsPerLook, rowsPerTurn, WorkShare } from '../hold/work-share.ts';

export interface ApplyOptions {
  readonly outer: PhysicalOperator;
  readonly inner: PhysicalOperator;
  readonly mode: ApplyMode;
  /**
   * How often the inner plan gives new rows: for each outer row, once per `open` (it reads no slot of the outer plan), or
   * once per statement (it reads none at all).
   */
  readonly innerRuns: 'per-row' | 'per-open' | 'per-statement';
  /** Of kept inner rows only those that can be equal are given; the plan compares them above. */
  readonly equality: { readonly outer: Evaluator; readonly inner: Evaluator } | undefined;
  /** The inner plan gives the same rows when it runs again, so rows that take too much memory need not be kept. */
  readonly mayRunAgain: boolean;
  /** Inner slots that somebody above reads; kept when the inner rows are kept. */
  readonly innerSlots: readonly Slot[];
  readonly description: string;
}

type Phase = 'outer' | 'inner' | 'kept';

/** What the inner plan gave. */
interface Kept {
  readonly rows: RowStore;
  readonly table: JoinTable | undefined;
  value: Value;
}

/** Inner rows of a join above this are not kept when the inner plan may run again. */
const keptBytesMax = 16 * 1024 * 1024;
/** With an equality each pass over the inner rows that is saved is worth more. */
const joinedBytesMax = 192 * 1024 * 1024;

/**
 * For each outer row the rows of the inner plan: joined (cross, optional), tested (semi, anti, exists, count) or gathered in a
 * list (collect). An inner plan without a tie to the outer row runs once and its result is kept.
 */
export class ApplyOperator implements PhysicalOperator {
  readonly name: string;
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: ApplyOptions;
  #kept: Kept;
  /** What is kept until the end of a statement, told by its regex budget: operators and contexts are used again by later ones. */
  readonly #keptOf = new WeakMap<ExecutionContext['regexBudget'], Kept>();
  /** Kept rows that the outer row at hand may meet; undefined: all. */
  #candidates: readonly number[] | undefined;
  #context: ExecutionContext | undefined;
  #memory: HeldMemory | undefined;
  #phase: Phase = 'outer';
  #isKept = false;
  /** Inner rows are being kept while they are given for the first time. */
  #isKeeping = false;
  #keptBytes = 0;
  #keptPosition = 0;
  #innerIsOpen = false;
  #innerRowCount = 0;
  #collected: Value[] = [];
  readonly #share = new WorkShare(rowsPerTurn, rowsPerLook);

  constructor(options: ApplyOptions) {
    this.name = `Apply ${options.mode.kind}`;
    this.inputs = [options.outer, options.inner];
    this.description = options.description;
    this.#options = options;
    this.#kept = this.#nothingKept();
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#phase = 'outer';
    this.#share.open();
    const kept = this.#isOncePerStatement ? this.#keptOf.get(context.regexBudget) : undefined;
    this.#isKept = kept !== undefined;
    if (kept === undefined) {
      this.#forget();
      this.#memory = new HeldMemory(context, 'a sub-query');
    } else this.#kept = kept;
    this.#isKeeping = this.#options.innerRuns !== 'per-row' && !this.#isKept;
    this.#options.outer.open(context);
  }

  next(): Pulled {
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      const pulled =
        this.#phase === 'outer'
          ? this.#advanceOuter()
          : this.#phase === 'kept'
            ? this.#giveKept()
            : this.#advanceInner();
      if (pulled !== undefined) return pulled;
    }
  }

  /** Takes the next outer row and starts on the inner side. @returns undefined to go on in the next phase */
  #advanceOuter(): Pulled | undefined {
    const pulled = this.#options.outer.next();
    if (pulled !== ROW) return pulled;
    if (this.#isKept) return this.#startKept();
    this.#options.inner.open(this.#context as ExecutionContext);
    this.#innerIsOpen = true;
    this.#innerRowCount = 0;
    this.#collected = [];
    this.#keptBytes = 0;
    this.#phase = 'inner';
    return undefined;
  }

  #advanceInner(): Pulled | undefined {
    const pulled = this.#options.inner.next();
    if (pulled === PAUSE) return PAUSE;
    return pulled === ROW ? this.#takeInnerRow() : this.#endInner();
  }

  #takeInnerRow(): Pulled | undefined {
    const { frame } = this.#context as ExecutionContext;
    const { mode } = this.#options;
    this.#innerRowCount += 1;
    switch (mode.kind) {
      case 'cross':
      case 'optional':
        if (this.#isKeeping) this.#keepRow(frame);
        return ROW;
      case 'collect': {
        const value = detach(rowValue(mode.output, frame));
        this.#memory?.addElement(approximateBytes(value));
        this.#collected.push(value);
        return undefined;
      }
      case 'count':
      case 'unit':
        return undefined;
      default:
        // One row decides semi, anti and exists.
        return this.#endInner();
    }
  }

  #keepRow(frame: Frame): void {
    const { equality, mayRunAgain } = this.#options;
    const { rows, table } = this.#kept;
    const row = rows.rowCount;
    let bytes = rows.append(frame);
    if (equality !== undefined)
      bytes += table?.add(row, equality.inner(this.#context as ExecutionContext)) ?? 0;
    this.#keptBytes += bytes;
    this.#memory?.addBytes(bytes);
    const bytesMax = equality === undefined ? keptBytesMax : joinedBytesMax;
    if (this.#keptBytes <= bytesMax || !mayRunAgain) return;
    this.#isKeeping = false;
    this.#forget();
  }

  #endInner(): Pulled | undefined {
    const { mode } = this.#options;
    this.#options.inner.close();
    this.#innerIsOpen = false;
    this.#phase = 'outer';
    const rowCount = this.#innerRowCount;
    const value =
      mode.kind === 'collect' ? this.#collected : mode.kind === 'count' ? rowCount : rowCount > 0;
    this.#collected = [];
    if (this.#isKeeping) {
      this.#isKept = true;
      this.#kept.value = value;
    } else if (mode.kind === 'collect') this.#memory?.release();
    if (mode.kind === 'cross') return undefined;
    if (mode.kind === 'unit') return ROW;
    if (mode.kind === 'optional') return rowCount > 0 ? undefined : this.#giveNulls(mode.slots);
    return this.#giveTested(value);
  }

  #startKept(): Pulled | undefined {
    const { mode } = this.#options;
    if (mode.kind !== 'cross' && mode.kind !== 'optional')
      return this.#giveTested(this.#kept.value);
    if (this.#kept.rows.rowCount === 0)
      return mode.kind === 'cross' ? undefined : this.#giveNulls(mode.slots);
    const { equality } = this.#options;
    this.#candidates =
      equality && this.#kept.table?.candidates(equality.outer(this.#context as ExecutionContext));
    this.#keptPosition = 0;
    this.#phase = 'kept';
    return undefined;
  }

  #giveKept(): Pulled | undefined {
    const candidates = this.#candidates;
    if (
      this.#keptPosition ===
      (candidates === undefined ? this.#kept.rows.rowCount : candidates.length)
    ) {
      this.#phase = 'outer';
      return undefined;
    }
    const row =
      candidates === undefined ? this.#keptPosition : (candidates[this.#keptPosition] as number);
    this.#kept.rows.restore(row, (this.#context as ExecutionContext).frame);
    this.#keptPosition += 1;
    return ROW;
  }

  #giveNulls(slots: readonly Slot[]): Pulled {
    const { frame } = this.#context as ExecutionContext;
    for (let at = 0; at < slots.length; at += 1) frame[slots[at] as Slot] = null;
    return ROW;
  }

  #giveTested(value: Value): Pulled | undefined {
    const { mode } = this.#options;
    if (mode.kind === 'semi') return value === true ? ROW : undefined;
    if (mode.kind === 'anti') return value === true ? undefined : ROW;
    if ('as' in mode) (this.#context as ExecutionContext).frame[mode.as] = value;
    return ROW;
  }

  get #isOncePerStatement(): boolean {
    return this.#options.innerRuns === 'per-statement';
  }

  #nothingKept(): Kept {
    const { innerSlots, equality } = this.#options;
    return { rows: new RowStore(innerSlots), table: equality && new JoinTable(), value: null };
  }

  #forget(): void {
    this.#memory?.release();
    this.#kept.rows.clear();
    this.#kept.table?.clear();
    this.#kept.value = null;
    this.#isKept = false;
    this.#collected = [];
  }

  close(): void {
    if (this.#innerIsOpen) this.#options.inner.close();
    this.#innerIsOpen = false;
    this.#options.outer.close();
    const context = this.#context;
    if (this.#isOncePerStatement && this.#isKept && context !== undefined) {
      // It stays accounted to the statement.
      this.#keptOf.set(context.regexBudget, this.#kept);
      this.#kept = this.#nothingKept();
      this.#isKept = false;
    } else this.#forget();
    this.#memory = undefined;
    this.#context = undefined;
  }
}

/** The row of a plan as one value: the value itself, or a map of its columns. */
export function rowValue(output: Output, frame: Frame): Value {
  if (output.kind === 'value') return frame[output.slot] as Value;
  const row = new Map<string, Value>();
  for (const column of output.columns) row.set(column.name, frame[column.slot] as Value);
  return row;
}
