import type { Slot } from '../../algebra/expression.ts';
import { DatabaseError } from '#core/errors.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { BucketId, IndexId, Rid } from '#core/value/rid.ts';
import { noRid } from '#core/value/rid.ts';
import { bucketUnder, holdingBucket, isShared } from '#transaction/read/holding-bucket.ts';
import type { Value } from '#core/value/value.ts';
import type {
  CreatedRecords,
  IndexCursor,
  IndexReader,
  KeyBounds,
} from '#transaction/read/read-view.ts';
import type { Predicate } from '../../evaluate/evaluator.ts';
import { bindBounds, type BoundSearch, type CompiledBounds } from './index-bounds.ts';
import { holdsEveryRecord } from './index-coverage.ts';
import { keyFor, type KeyComponent } from './index-key.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { RidSet } from '../scan/rid-set.ts';
import { shareOfRange } from './range-share.ts';
import { rowsPerTurn, WorkShare } from '../hold/work-share.ts';

export interface CompiledSearch {
  readonly index: IndexId;
  readonly bounds: CompiledBounds;
  /** The bounds say all of the condition that `covers` checks, or of its branch. */
  readonly isWhole: boolean;
  /** The bounds leave components open that may be null, and the index skips nulls. */
  readonly needsEveryRecord: boolean;
}

export interface IndexSearchOptions {
  /** A record is given when at least one of them finds it. */
  readonly searches: readonly CompiledSearch[];
  /** Buckets of the wanted types, in the order in which their records are given. */
  readonly buckets: readonly BucketId[];
  /** By record id in place of scan order. */
  readonly isByRid: boolean;
  readonly as: Slot;
  /** Only the id of the record is read, so it is left as a bare number and the record is loaded only to check it. */
  readonly givesBareIds: boolean;
  /** What the bounds stand for, checked where they are not exact. */
  readonly covers: Predicate | undefined;
  /** Makes the scan that checks `covers`; undefined when there is nothing to check, so that the bounds must serve. */
  readonly fallback: (() => PhysicalOperator) | undefined;
  /** Fewer than other operators take, where `covers` is long. */
  readonly rowsPerTurn: number;
  readonly description: string;
}

/** Below this many hits a scan is never the better plan. */
const hitCountMin = 4096;
/** Above this share of the records reading the blocks in order is cheaper than following the index. */
const hitShareMax = 0.2;

interface PendingRange {
  readonly reader: IndexReader;
  readonly bounds: KeyBounds;
  /** Entries of the range come in the order of record ids, or there is only one. */
  readonly isInScanOrder: boolean;
}

const noRids: Float64Array = new Float64Array(0);

type Mode = 'hit' | 'gather' | 'direct' | 'fetch' | 'scan' | 'end';

/**
 * Records found through ordered indexes, each once, in scan order or by record id: the ids are gathered in a bitmap first, so each block is
 * read once. When the bounds do not fit the index, or hit too large a share of the records, the buckets are scanned and the
 * predicate is checked instead; the rows are the same in the same order.
 *
 * A single key is looked up directly, without gathering.
 */
export class IndexSearchOperator implements PhysicalOperator {
  readonly name = 'Index search';
  // The scan that may stand in is no step of the plan that EXPLAIN shows.
  readonly inputs: readonly PhysicalOperator[] = [];
  readonly description: string;
  readonly #options: IndexSearchOptions;
  readonly #isWanted: ReadonlySet<BucketId>;
  #context: ExecutionContext | undefined;
  #mode: Mode = 'end';
  #fallback: PhysicalOperator | undefined;
  #exact = false;
  /** Ranges still to be gathered, with the reader of each. */
  readonly #pending: PendingRange[] = [];
  /** The only record that may be found, before it is given. */
  #hit: Rid = noRid;
  /** Of a point search: whole keys of a unique index; the array is used again. */
  readonly #point: PointSearch | undefined;
  #cursor: IndexCursor | undefined;
  /** Record ids; in scan order, places of created records (`CreatedRecords.placeOf`) for these. */
  #found: RidSet | undefined;
  /** Set where those are given last. */
  #created: CreatedRecords | undefined;
  #hitCountMax = 0;
  #rids: Float64Array = noRids;
  #position = 0;
  #bucketNumber = 0;
  /** The bucket or window that the ids are of, where others may be among them. */
  #sharedBucket: BucketId | undefined;
  /** `#rids` are places of created records. */
  #areCreated = false;
  readonly #share: WorkShare;

  constructor(options: IndexSearchOptions) {
    this.#share = new WorkShare(options.rowsPerTurn);
    this.description = options.description;
    this.#options = options;
    this.#isWanted = new Set(options.buckets);
    this.#point = pointSearchOf(options.searches);
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#created = undefined;
    this.#exact = true;
    this.#cursor = undefined;
    this.#mode = 'end';
    if (this.#point !== undefined && this.#findPoint(this.#point, context)) return;
    for (const search of this.#options.searches) {
      const bound = bindBounds(search.bounds, context);
      const isIncomplete = search.needsEveryRecord && !holdsEveryRecord(context.view, search.index);
      if (bound.kind === 'scan' || isIncomplete) {
        this.#startScan();
        return;
      }
      if (bound.kind === 'search') this.#addSearch(search, bound);
    }
    this.#chooseMode();
  }

  /** Once it is open: there is one record to give, or none. */
  get givesOneAtMost(): boolean {
    return this.#mode === 'hit';
  }

  /** The common case of one equality on a unique key, kept short. @returns false when it must be searched the long way */
  #findPoint({ search, key }: PointSearch, context: ExecutionContext): boolean {
    const { equals, components } = search.bounds;
    let isExact = search.isWhole;
    for (let at = 0; at < equals.length; at += 1) {
      const part = equals[at] as (typeof equals)[number];
      const component = components[at] as KeyComponent;
      const found = keyFor(part.value(context), component, context.formats, part);
      if (found.kind !== 'key') return false;
      if (!found.exact) isExact = false;
      key[at] = found.value;
    }
    const hit = context.view.index(search.index).recordWith(key);
    if (hit === undefined) return false;
    this.#hit = hit;
    this.#exact = isExact;
    this.#mode = 'hit';
    return true;
  }

  #addSearch(search: CompiledSearch, bound: BoundSearch & { readonly kind: 'search' }): void {
    const reader = (this.#context as ExecutionContext).view.index(search.index);
    if (!bound.exact || !search.isWhole) this.#exact = false;
    // The entries of one whole key come by record id and then as they were created, which in one bucket is scan order.
    const isInScanOrder =
      bound.isFullKey &&
      (search.bounds.isUnique || (this.#options.buckets.length === 1 && !this.#options.isByRid));
    for (const bounds of bound.ranges) this.#pending.push({ reader, bounds, isInScanOrder });
  }

  #chooseMode(): void {
    const first = this.#pending[0];
    if (first === undefined) {
      this.#mode = 'end';
      return;
    }
    if (this.#pending.length === 1 && first.isInScanOrder) {
      this.#cursor = first.reader.lookup(first.bounds.prefix);
      this.#mode = 'direct';
      return;
    }
    this.#found = new RidSet();
    if (!this.#options.isByRid) this.#created = this.#context?.view.created;
    this.#hitCountMax = this.#affordableHitCount();
    this.#mode = 'gather';
    if (this.#pending.some((range) => this.#isWide(range))) this.#startScan();
  }

  /** A range that will hit too much by what its place between the ends of the index says. */
  #isWide(range: PendingRange): boolean {
    const { reader, bounds } = range;
    if (reader.entryCount <= this.#hitCountMax || bounds.prefix.length > 0) return false;
    const share = shareOfRange(reader, bounds.low?.value, bounds.high?.value);
    return share !== undefined && share * reader.entryCount > this.#hitCountMax;
  }

  #affordableHitCount(): number {
    if (this.#options.fallback === undefined) return Number.POSITIVE_INFINITY;
    const { view } = this.#context as ExecutionContext;
    let recordCount = 0;
    for (const bucket of this.#options.buckets) recordCount += view.recordCount(bucket);
    return Math.max(hitCountMin, recordCount * hitShareMax);
  }

  next(): Pulled {
    switch (this.#mode) {
      case 'hit':
        return this.#nextHit();
      case 'direct':
        return this.#nextDirect();
      case 'gather':
        return this.#gather();
      case 'fetch':
        return this.#nextFetched();
      case 'scan':
        return this.#nextScanned();
      default:
        return END;
    }
  }

  #nextHit(): Pulled {
    const hit = this.#hit;
    this.#hit = noRid;
    return hit >= 0 && this.#isWantedRecord(hit) && this.#give(hit) ? ROW : END;
  }

  #nextDirect(): Pulled {
    const cursor = this.#cursor as IndexCursor;
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      if (!cursor.next()) return END;
      if (this.#isWantedRecord(cursor.rid) && this.#give(cursor.rid)) return ROW;
    }
  }

  /** Collects the ids of some entries. */
  #gather(): Pulled {
    const found = this.#found as RidSet;
    const created = this.#created;
    for (let count = 0; count < rowsPerTurn; count += 1) {
      if (this.#cursor === undefined) {
        const next = this.#pending.pop();
        if (next === undefined) return this.#startFetching();
        this.#cursor = isKeyOnly(next.bounds)
          ? next.reader.lookup(next.bounds.prefix)
          : next.reader.range(next.bounds, 'ascending');
      }
      if (this.#cursor.next()) found.add(created?.placeOf(this.#cursor.rid) ?? this.#cursor.rid);
      else this.#cursor = undefined;
    }
    if (found.size > this.#hitCountMax) this.#startScan();
    return PAUSE;
  }

  #startFetching(): Pulled {
    this.#mode = 'fetch';
    this.#bucketNumber = 0;
    this.#areCreated = false;
    this.#rids = noRids;
    this.#position = 0;
    return this.#nextFetched();
  }

  #nextFetched(): Pulled {
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      if (this.#position === this.#rids.length) {
        if (!this.#enterNextBucket()) return END;
        continue;
      }
      const rid = this.#rids[this.#position] as Rid;
      this.#position += 1;
      if (this.#areCreated ? this.#giveCreated(rid) : this.#giveStored(rid)) return ROW;
    }
  }

  /** The ids that were found in the next bucket; behind the last one those of created records. */
  #enterNextBucket(): boolean {
    const { buckets } = this.#options;
    const bucket = buckets[this.#bucketNumber] ?? this.#created?.places;
    if (bucket === undefined || this.#areCreated) return false;
    this.#areCreated = this.#bucketNumber === buckets.length;
    const { catalog } = (this.#context as ExecutionContext).view;
    this.#rids = (this.#found as RidSet).ridsOf(bucketUnder(catalog, bucket));
    this.#sharedBucket = !this.#areCreated && isShared(catalog, bucket) ? bucket : undefined;
    this.#bucketNumber += 1;
    this.#position = 0;
    return true;
  }

  #giveStored(rid: Rid): boolean {
    const shared = this.#sharedBucket;
    if (shared !== undefined) {
      const { view } = this.#context as ExecutionContext;
      if (holdingBucket(view, rid) !== shared) return false;
    }
    return this.#give(rid);
  }

  #isWantedRecord(rid: Rid): boolean {
    return this.#isWanted.has(holdingBucket((this.#context as ExecutionContext).view, rid));
  }

  #giveCreated(place: Rid): boolean {
    const rid = (this.#created as CreatedRecords).ridAt(place);
    return this.#isWantedRecord(rid) && this.#give(rid);
  }

  #give(rid: Rid): boolean {
    const context = this.#context as ExecutionContext;
    const { as, givesBareIds, covers } = this.#options;
    const isSure = this.#exact || covers === undefined;
    if (givesBareIds && isSure) {
      context.frame[as] = rid;
      return true;
    }
    const record = context.view.record(rid);
    if (record === undefined) return false;
    context.frame[as] = record;
    if (!isSure && !covers(context)) return false;
    if (givesBareIds) context.frame[as] = rid;
    return true;
  }

  #nextScanned(): Pulled {
    const pulled = (this.#fallback as PhysicalOperator).next();
    const { as, givesBareIds } = this.#options;
    if (pulled === ROW && givesBareIds) {
      const { frame } = this.#context as ExecutionContext;
      frame[as] = (frame[as] as StoredRecord).rid;
    }
    return pulled;
  }

  #startScan(): void {
    const { fallback } = this.#options;
    if (fallback === undefined)
      throw new DatabaseError('Internal', `index search ${this.description} cannot be a scan`);
    this.#mode = 'scan';
    this.#pending.length = 0;
    this.#cursor = undefined;
    this.#found = undefined;
    this.#fallback ??= fallback();
    this.#fallback.open(this.#context as ExecutionContext);
  }

  close(): void {
    if (this.#mode === 'scan') this.#fallback?.close();
    this.#hit = noRid;
    if (this.#point !== undefined) forget(this.#point.key);
    this.#cursor = undefined;
    // Setting a length costs as much as a lookup.
    if (this.#pending.length > 0) this.#pending.length = 0;
    this.#found = undefined;
    this.#created = undefined;
    this.#rids = noRids;
    this.#context = undefined;
    this.#mode = 'end';
  }
}

interface PointSearch {
  readonly search: CompiledSearch;
  readonly key: Value[];
}

function pointSearchOf(searches: readonly CompiledSearch[]): PointSearch | undefined {
  const [search] = searches;
  if (search === undefined || searches.length !== 1 || search.needsEveryRecord) return undefined;
  const { isUnique, equals, components, low, high, prefix } = search.bounds;
  const isPoint =
    isUnique &&
    equals.length === components.length &&
    equals.every(({ kind }) => kind === 'equals') &&
    (low ?? high ?? prefix) === undefined;
  return isPoint ? { search, key: components.map(() => null) } : undefined;
}

/** A key has a few components: a loop is quicker than `fill`. */
function forget(key: Value[]): void {
  for (let at = 0; at < key.length; at += 1) key[at] = null;
}

function isKeyOnly(bounds: KeyBounds): boolean {
  return bounds.low === undefined && bounds.high === undefined && bounds.textPrefix === undefined;
}
