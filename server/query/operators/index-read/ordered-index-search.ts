import type { Slot } from '../../algebra/expression.ts';
import type { BucketId, IndexId, Rid } from '#core/value/rid.ts';
import { holdingBucket } from '#transaction/read/holding-bucket.ts';
import { valuesEqual } from '#core/value/equality.ts';
import type { Value } from '#core/value/value.ts';
import type { IndexCursor, IndexReader, KeyBounds } from '#transaction/read/read-view.ts';
import type { Predicate } from '../../evaluate/evaluator.ts';
import { bindBounds, type CompiledBounds } from './index-bounds.ts';
import { holdsEveryRecord } from './index-coverage.ts';
import { KeyRun, type KeyPrecision, keyPrecisionOf, misleadingKey } from './key-run.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { WorkShare } from '../hold/work-share.ts';

export interface OrderedIndexSearchOptions {
  readonly index: IndexId;
  readonly bounds: CompiledBounds;
  readonly buckets: readonly BucketId[];
  readonly as: Slot;
  readonly order: 'ascending' | 'descending';
  readonly covers: Predicate | undefined;
  /** `covers` says more than the bounds do, so it is asked for every record. */
  readonly coversMore: boolean;
  /**
   * Scans and sorts instead. Used when the bounds do not fit the index or the index does not hold every record that the
   * order must place (those with null in an indexed property).
   */
  readonly fallback: () => PhysicalOperator;
  /** The order must also place records without a key: it may be used only when every record has one entry. */
  readonly needsEveryRecord: boolean;
  /** Gives the records that the index skips, which come behind the others in this order; asked when the others are given. */
  readonly rest: (() => PhysicalOperator) | undefined;
  readonly description: string;
}

/**
 * Records in key order, without gathering: the first row costs one seek. Records of one key come in scan order also when the
 * keys descend, as a stable sort gives them. Neighbours whose keys do not tell their order are gathered and sorted; when they are
 * many, the scan that sorts stands in behind what was given.
 */
export class OrderedIndexSearchOperator implements PhysicalOperator {
  readonly name = 'Ordered index search';
  // The scan that may stand in is no step of the plan that EXPLAIN shows.
  readonly inputs: readonly PhysicalOperator[] = [];
  readonly description: string;
  readonly #options: OrderedIndexSearchOptions;
  readonly #isWanted: ReadonlySet<BucketId>;
  #context: ExecutionContext | undefined;
  #reader: IndexReader | undefined;
  #cursor: IndexCursor | undefined;
  /** Descending, not unique: entries of the current key, in scan order. */
  #sameKey: IndexCursor | undefined;
  #key: readonly Value[] | undefined;
  #exact = false;
  readonly #precision: KeyPrecision;
  readonly #run = new KeyRun();
  /** The cursor stands on an entry that was not given yet. */
  #isHeld = false;
  #givenCount = 0;
  /** Rows of the stand-in that were given already. */
  #skipCount = 0;
  #fallback: PhysicalOperator | undefined;
  #rest: PhysicalOperator | undefined;
  /** What gives the rows in place of the index. */
  #standIn: PhysicalOperator | undefined;
  #hasEnded = false;
  readonly #share = new WorkShare();

  constructor(options: OrderedIndexSearchOptions) {
    this.description = options.description;
    this.#options = options;
    this.#isWanted = new Set(options.buckets);
    this.#precision = keyPrecisionOf(options.bounds.components);
  }

  open(context: ExecutionContext): void {
    const { bounds, index, order } = this.#options;
    this.#context = context;
    this.#sameKey = undefined;
    this.#key = undefined;
    this.#run.clear();
    this.#isHeld = false;
    this.#givenCount = 0;
    this.#skipCount = 0;
    this.#hasEnded = false;
    const bound = bindBounds(bounds, context);
    const isFallback =
      bound.kind === 'scan' ||
      (bound.kind === 'search' && bound.ranges.length !== 1) ||
      (this.#options.needsEveryRecord && !holdsEveryRecord(context.view, index));
    if (isFallback) {
      this.#scanInstead();
      return;
    }
    if (bound.kind !== 'search') {
      this.#hasEnded = true;
      return;
    }
    this.#exact = bound.exact && !this.#options.coversMore;
    this.#reader = context.view.index(index);
    this.#cursor = this.#reader.range(bound.ranges[0] as KeyBounds, order);
  }

  next(): Pulled {
    for (;;) {
      if (this.#standIn !== undefined) return this.#nextOf(this.#standIn);
      if (this.#hasEnded) return END;
      if (this.#share.isSpent()) return PAUSE;
      const rid = this.#run.isSorted ? this.#run.take() : this.#nextRid();
      if (rid === undefined || !this.#give(rid)) continue;
      this.#givenCount += 1;
      return ROW;
    }
  }

  #nextOf(standIn: PhysicalOperator): Pulled {
    for (;;) {
      const pulled = standIn.next();
      if (pulled !== ROW || this.#skipCount === 0) return pulled;
      this.#skipCount -= 1;
      if (this.#share.isSpent()) return PAUSE;
    }
  }

  #nextRid(): Rid | undefined {
    const { order, bounds } = this.#options;
    if (this.#sameKey !== undefined) {
      if (this.#sameKey.next()) return this.#sameKey.rid;
      this.#sameKey = undefined;
    }
    const cursor = this.#cursor as IndexCursor;
    if (!this.#isHeld && !cursor.next()) {
      if (this.#run.isEmpty) this.#goOn();
      else this.#run.sort(order);
      return undefined;
    }
    this.#isHeld = false;
    if (this.#precision !== 'exact' && this.#isOfRun(cursor)) return undefined;
    if (order === 'ascending' || bounds.isUnique) return cursor.rid;
    const key = cursor.keyValues();
    // The rest of a key whose entries were given already.
    if (this.#key !== undefined && sameKey(this.#key, key)) return undefined;
    this.#key = key.slice();
    this.#sameKey = (this.#reader as IndexReader).lookup(this.#key);
    return undefined;
  }

  /** Whether the entry is kept until its neighbours are sorted, or until those before it are given. */
  #isOfRun(cursor: IndexCursor): boolean {
    const values = misleadingKey(cursor, this.#precision);
    if (values === undefined ? !this.#run.isEmpty : !this.#run.takes(values)) {
      this.#run.sort(this.#options.order);
      this.#isHeld = true;
      return true;
    }
    if (values === undefined) return false;
    const { rid } = cursor;
    const { created } = (this.#context as ExecutionContext).view;
    this.#run.add({ rid, place: created?.placeOf(rid) ?? rid, values });
    if (this.#run.isTooLarge) {
      this.#skipCount = this.#givenCount;
      this.#scanInstead();
    }
    return true;
  }

  #scanInstead(): void {
    this.#run.clear();
    this.#fallback ??= this.#options.fallback();
    this.#standIn = this.#fallback;
    this.#standIn.open(this.#context as ExecutionContext);
  }

  /** The index has given what it holds. */
  #goOn(): void {
    const { rest, index } = this.#options;
    const context = this.#context as ExecutionContext;
    this.#hasEnded = true;
    if (rest === undefined || holdsEveryRecord(context.view, index)) return;
    this.#rest ??= rest();
    this.#standIn = this.#rest;
    this.#standIn.open(context);
  }

  #give(rid: Rid): boolean {
    const context = this.#context as ExecutionContext;
    if (!this.#isWanted.has(holdingBucket(context.view, rid))) return false;
    const record = context.view.record(rid);
    if (record === undefined) return false;
    context.frame[this.#options.as] = record;
    return this.#exact || this.#options.covers === undefined || this.#options.covers(context);
  }

  close(): void {
    this.#standIn?.close();
    this.#standIn = undefined;
    this.#run.clear();
    this.#cursor = undefined;
    this.#sameKey = undefined;
    this.#reader = undefined;
    this.#context = undefined;
    this.#hasEnded = true;
  }
}

function sameKey(a: readonly Value[], b: readonly Value[]): boolean {
  for (let at = 0; at < a.length; at += 1)
    if (!valuesEqual(a[at] as Value, b[at] as Value)) return false;
  return true;
}
