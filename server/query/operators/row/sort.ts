import type { Slot } from '../../algebra/expression.ts';
import type { Value } from '#core/value/value.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { approximateBytes } from '../../evaluate/turns/held-bytes.ts';
import { HeldMemory } from '../hold/held-memory.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { rowCountOf } from './row-count.ts';
import { RowStore } from '../hold/row-store.ts';
import { SortKeys } from './sort-keys.ts';
import { type RunMerger, SortedRuns } from './sorted-runs.ts';
import { TopRows } from './top-rows.ts';
import { doneWork, unitsAtOnce } from '../../evaluate/turns/done-work.ts';
import { rowsPerTurn } from '../hold/work-share.ts';

export interface CompiledSortKey {
  readonly value: Evaluator;
  /** Evaluated once per open. */
  readonly descending: (context: ExecutionContext) => boolean;
}

export interface SortOptions {
  readonly input: PhysicalOperator;
  readonly keys: readonly CompiledSortKey[];
  /** Slots that must stand in the frame again when a row is given. */
  readonly slots: readonly Slot[];
  /** Only this many rows are wanted. */
  readonly limit: Evaluator | undefined;
  /** Where the scan below looks for the first key of the worst row that is still wanted. */
  readonly bound: Slot | undefined;
  readonly compare: (a: Value, b: Value) => number;
  readonly description: string;
}

/** Largest limit for which a heap of the best rows is kept instead of all rows. */
const topRowsMax = 100_000;

/** A bound costs the scan some tens of microseconds, a row that comes in vain some hundred nanoseconds. */
const refusedPerBound = 256;

/**
 * Stable sort. All rows: runs of some thousand rows are sorted as they fill, then merged while rows are given, so that no turn
 * sorts everything at once. With a limit: a bounded heap of the best rows.
 */
export class SortOperator implements PhysicalOperator {
  readonly name: string;
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: SortOptions;
  #context: ExecutionContext | undefined;
  #memory: HeldMemory | undefined;
  #rows: RowStore;
  #keys: SortKeys | undefined;
  #runs: SortedRuns | undefined;
  #top: TopRows | undefined;
  #merger: RunMerger | undefined;
  #isFull = false;
  /** Rows that came in vain since the scan was told a bound. */
  #refusedCount = 0;

  constructor(options: SortOptions) {
    this.name = options.limit ? 'Top rows' : 'Sort';
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
    this.#rows = new RowStore(options.slots);
  }

  open(context: ExecutionContext): void {
    const { keys, limit, compare } = this.#options;
    this.#context = context;
    this.#memory = new HeldMemory(context, 'ORDER BY');
    this.#isFull = false;
    this.#rows = new RowStore(this.#options.slots);
    const descending = keys.map((key) => key.descending(context));
    this.#keys = new SortKeys(descending, compare);
    const { compareRows } = this.#keys;
    const rowCountMax = limit ? rowCountOf(limit(context), 'LIMIT') : Number.POSITIVE_INFINITY;
    this.#top = rowCountMax <= topRowsMax ? new TopRows(rowCountMax, compareRows) : undefined;
    this.#runs = this.#top ? undefined : new SortedRuns(compareRows);
    this.#merger = undefined;
    this.#refusedCount = 0;
    const { bound } = this.#options;
    if (bound !== undefined) context.frame[bound] = null;
    this.#options.input.open(context);
  }

  next(): Pulled {
    if (!this.#isFull) {
      const pulled = this.#fill();
      if (pulled !== END) return PAUSE;
      this.#isFull = true;
    }
    if (this.#merger === undefined && !this.#order()) return PAUSE;
    const row = this.#merger?.next() ?? -1;
    if (row < 0) return END;
    this.#rows.restore(row, (this.#context as ExecutionContext).frame);
    return ROW;
  }

  /** Brings what is kept in order. @returns false when the share of work is done before that */
  #order(): boolean {
    if (this.#top !== undefined) {
      const runs = this.#runs ?? new SortedRuns((a, b) => this.#top?.order(a, b) ?? 0);
      this.#runs = runs;
      if (!this.#top.moveTo(runs)) return false;
    }
    this.#merger = this.#runs?.merger();
    return true;
  }

  #fill(): Pulled {
    const { input } = this.#options;
    const unitsMax = doneWork.units + unitsAtOnce;
    for (let count = 0; count < rowsPerTurn && doneWork.units < unitsMax; count += 1) {
      const pulled = input.next();
      if (pulled !== ROW) return pulled;
      if (this.#top) this.#offer(this.#top);
      else this.#append();
    }
    return PAUSE;
  }

  #append(): void {
    const context = this.#context as ExecutionContext;
    const row = this.#rows.rowCount;
    const keyBytes = this.#setKeys(row);
    this.#memory?.addElement(this.#rows.append(context.frame) + keyBytes);
    this.#runs?.add(row);
  }

  /** @returns bytes that keeping the keys costs, about: texts are decoded for them */
  #setKeys(row: number): number {
    const context = this.#context as ExecutionContext;
    const { keys } = this.#options;
    const sortKeys = this.#keys as SortKeys;
    let bytes = 0;
    for (let at = 0; at < keys.length; at += 1) {
      const key = (keys[at] as CompiledSortKey).value(context);
      sortKeys.set(row, at, key);
      bytes += 16 + (typeof key === 'number' ? 0 : approximateBytes(key));
    }
    return bytes;
  }

  /** Keeps the row when it is among the best so far, in the place of the one that drops out. */
  #offer(top: TopRows): void {
    const context = this.#context as ExecutionContext;
    // The candidate's keys stand behind those of all kept rows while it is compared.
    const candidate = this.#rows.rowCount;
    const keyBytes = this.#setKeys(candidate);
    const place = top.place(candidate);
    if (place < 0) {
      this.#refusedCount += 1;
      if (this.#refusedCount >= refusedPerBound) this.#tighten(top, context);
      return;
    }
    if (place === candidate) {
      this.#memory?.addElement(this.#rows.append(context.frame) + keyBytes);
    } else {
      this.#keys?.copy(candidate, place);
      this.#rows.replace(place, context.frame);
    }
    top.settle(place);
  }

  /** Tells the scan what is wanted by now. Null sorts first, where nothing is left to be passed over. */
  #tighten(top: TopRows, { frame }: ExecutionContext): void {
    this.#refusedCount = 0;
    const { bound } = this.#options;
    const { worst } = top;
    if (bound === undefined || worst === undefined) return;
    const key = this.#keys?.first(worst) ?? null;
    if (key !== null) frame[bound] = key;
  }

  close(): void {
    this.#memory?.release();
    this.#memory = undefined;
    this.#context = undefined;
    this.#rows.clear();
    this.#keys = undefined;
    this.#runs = undefined;
    this.#top = undefined;
    this.#merger = undefined;
    this.#options.input.close();
  }
}
