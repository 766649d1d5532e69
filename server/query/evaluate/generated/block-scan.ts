import { madeBytes } from '#core/value/made-bytes.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { compareForSort } from '#core/value/sort-order.ts';
import type { Value } from '#core/value/value.ts';
import type { Expression, Slot } from '../../algebra/expression.ts';
import type { Column } from '../../algebra/plan.ts';
import type { Block } from '#storage/format/block.ts';
import type { EvaluationContext, Frame } from '../context.ts';
import { compileExpression, compilePredicate } from '../compile.ts';
import type { CompileEnvironment, Condition, Evaluator, Predicate } from '../evaluator.ts';

/**
 * A scan with its filter and its projection as one loop over the rows of blocks (storage.md 6.2, house decision 33). The
 * fused operator fetches blocks and hands them in here one by one; how rows are looked at is this file's business: with
 * closures over records at first, with generated code over the bytes of the block once the plan is hot.
 *
 * A plan compiles its scan once (`compileScan` in compile-scan.ts), an execution binds it (`bind`, in the operator's `open`), and then asks
 * row by row:
 *
 *   let slot = rows.next(block, 0);          // -1: no more rows in this block
 *   ... the columns of the row stand in the frame ...
 *   slot = rows.next(block, slot + 1);
 *
 * Descending scans start at `block.slotCount - 1` and go on at `slot - 1`. Rows that do not stand in a block of the
 * snapshot (uncommitted changes of this transaction) go through `accept` instead.
 */
export interface ScanSpec {
  /** The slot by which `predicate` and `columns` name the scanned record. */
  readonly record: Slot;
  /** Only rows for which it is true are given. */
  readonly predicate: Expression | undefined;
  /** Computed for the rows given, in this order; later ones may read the slots of earlier ones. */
  readonly columns: readonly Column[];
  /** The record itself is put into its slot for rows given; false when nobody above reads it. */
  readonly keepsRecord: boolean;
  readonly order: 'ascending' | 'descending';
  /** Rows that sort behind what stands in a slot are passed over. */
  readonly bound?: ScanBound;
}

/** The worst sort key that is still wanted, read once for each `bind`. It is not null. */
export interface ScanBound {
  readonly slot: Slot;
  /** The key: a property of the scanned record. */
  readonly property: Expression;
  readonly descending: boolean;
  /** Rows with an equal key are not wanted either. */
  readonly isStrict: boolean;
}

/** A scan of one plan; kept with the plan, shared by its executions one after the other. */
export interface CompiledScan {
  /** What one execution uses. Reads parameters, variables and outer slots now, so an inner side binds anew per outer row. */
  bind(context: EvaluationContext): RowSource;
}

export interface RowSource {
  /**
   * The first slot from `slot` on, in the order of the scan, whose row passes; -1 when there is none. Its columns (and the
   * record) are in the frame. Cost: bounded by the rows of one block.
   */
  next(block: Block, slot: number): number;
  /** How many rows of the block pass. Writes no columns. */
  count(block: Block): number;
  /** As `next` for a record at hand: true when it passes, with its columns in the frame. */
  accept(record: StoredRecord): boolean;
}

/** The expressions of a scan as closures. */
export interface ScanClosures {
  readonly predicate: Predicate | undefined;
  readonly slots: readonly Slot[];
  readonly columns: readonly Evaluator[];
}

export function compileClosures(spec: ScanSpec, env: CompileEnvironment): ScanClosures {
  return {
    predicate: predicateOf(spec, env),
    slots: spec.columns.map((column) => column.slot),
    columns: spec.columns.map((column) => compileExpression(column.value, env)),
  };
}

function predicateOf(spec: ScanSpec, env: CompileEnvironment): Predicate | undefined {
  const predicate = spec.predicate && compilePredicate(spec.predicate, env);
  if (spec.bound === undefined) return predicate;
  const isWanted = compileBound(spec.bound, env);
  if (predicate === undefined) return (context) => isWanted(context) === true;
  return (context) => predicate(context) && isWanted(context) === true;
}

/** Whether the row at hand does not sort behind the bound; never unknown. */
export function compileBound(bound: ScanBound, env: CompileEnvironment): Condition {
  const { slot, descending, isStrict } = bound;
  const value = compileExpression(bound.property, env);
  return (context) => {
    const order = compareForSort(value(context), context.frame[slot] as Value);
    if (order === 0) return !isStrict;
    return descending ? order > 0 : order < 0;
  };
}

/** The plain twin of generated code: makes a record per row and asks the closures. */
export class ClosureRows implements RowSource {
  readonly #spec: ScanSpec;
  readonly #closures: ScanClosures;
  readonly #context: EvaluationContext;
  readonly #frame: Frame;

  constructor(spec: ScanSpec, closures: ScanClosures, context: EvaluationContext) {
    this.#spec = spec;
    this.#closures = closures;
    this.#context = context;
    this.#frame = context.frame;
  }

  get hasPredicate(): boolean {
    return this.#closures.predicate !== undefined;
  }

  next(block: Block, slot: number): number {
    const { snapshot } = this.#context.view;
    const isAscending = this.#spec.order === 'ascending';
    let at = isAscending ? block.nextSlot(slot) : block.previousSlot(slot);
    while (at >= 0) {
      if (this.accept(snapshot.recordAt(block, at))) return at;
      at = isAscending ? block.nextSlot(at + 1) : block.previousSlot(at - 1);
    }
    return -1;
  }

  count(block: Block): number {
    if (this.#closures.predicate === undefined) return block.rowCount;
    const { snapshot } = this.#context.view;
    let count = 0;
    for (let at = block.nextSlot(0); at >= 0; at = block.nextSlot(at + 1))
      if (this.test(snapshot.recordAt(block, at))) count++;
    return count;
  }

  /** Only the filter. */
  test(record: StoredRecord): boolean {
    madeBytes.rowStart = madeBytes.total;
    this.#frame[this.#spec.record] = record;
    const { predicate } = this.#closures;
    return predicate === undefined || predicate(this.#context);
  }

  accept(record: StoredRecord): boolean {
    const context = this.#context;
    const frame = this.#frame;
    const { predicate, slots, columns } = this.#closures;
    madeBytes.rowStart = madeBytes.total;
    frame[this.#spec.record] = record;
    if (predicate !== undefined && !predicate(context)) return false;
    for (let i = 0; i < columns.length; i++)
      frame[slots[i] as Slot] = (columns[i] as Evaluator)(context) as Value;
    return true;
  }
}
