import type { Slot } from '../../algebra/expression.ts';
import { Link, type StoredRecord } from '#core/value/record.ts';
import {
  type BucketId,
  bucketOf,
  makeRid,
  positionMax,
  type Rid,
  type TypeId,
} from '#core/value/rid.ts';
import { isList, isRecord, type Value } from '#core/value/value.ts';
import { holdingBucket } from '#transaction/read/holding-bucket.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { ridOf } from '../record-identity.ts';
import { WorkShare } from '../hold/work-share.ts';

export interface RecordLookupOptions {
  readonly rids: Evaluator;
  readonly as: Slot;
  /** Only records of these types. */
  readonly types: readonly TypeId[] | undefined;
  /** Each record once, in the scan order of these buckets, which hold all of them; undefined: as the ids are given. */
  readonly scanOrder: readonly BucketId[] | undefined;
  /** The ids are numbers; else they are links, records, texts or rows, and numbers are none. */
  readonly areNumbers: boolean;
  readonly description: string;
}

/** Records by id, in the given order; duplicates are kept, what is missing or no record id is skipped. */
export class RecordLookupOperator implements PhysicalOperator {
  readonly name = 'Look up records';
  readonly inputs: readonly PhysicalOperator[] = [];
  readonly description: string;
  readonly #options: RecordLookupOptions;
  readonly #types: ReadonlySet<TypeId> | undefined;
  #context: ExecutionContext | undefined;
  #rids: readonly Value[] = [];
  #idOf: IdOf = ridOf;
  #position = 0;
  readonly #share = new WorkShare();

  constructor(options: RecordLookupOptions) {
    this.description = options.description;
    this.#options = options;
    this.#types = options.types && new Set(options.types);
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    const value = this.#options.rids(context);
    const rids = isList(value) ? value : [value];
    const { scanOrder } = this.#options;
    this.#idOf = this.#options.areNumbers ? idOfNumber : ridOf;
    this.#rids =
      scanOrder !== undefined && rids.length > 1
        ? inScanOrder(rids, this.#idOf, scanOrder, context.view)
        : rids;
    this.#position = 0;
  }

  next(): Pulled {
    const { frame } = this.#context as ExecutionContext;
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      if (this.#position >= this.#rids.length) return END;
      const value = this.#rids[this.#position] as Value;
      this.#position += 1;
      const record = this.#recordOf(value);
      if (record === undefined) continue;
      frame[this.#options.as] = record;
      return ROW;
    }
  }

  #recordOf(value: Value): StoredRecord | undefined {
    const rid = this.#idOf(value);
    if (rid === undefined || rid < 0) return undefined;
    const record = this.#context?.view.record(rid);
    if (record === undefined) return undefined;
    // LIGHTWEIGHT edges are found at their ends only (sql.md 1.5 rule 4).
    if (record.isLightweight === true && !isRecord(value)) return undefined;
    return this.#types === undefined || this.#types.has(record.type) ? record : undefined;
  }

  close(): void {
    this.#rids = [];
    this.#context = undefined;
  }
}

type IdOf = (value: Value) => Rid | undefined;

function idOfNumber(value: Value): Rid | undefined {
  return typeof value === 'number' ? (value as Rid) : undefined;
}

/** Each id once. Cost: sorts them, unless they come in that order, as those of a search do. */
function inScanOrder(
  values: readonly Value[],
  idOf: IdOf,
  buckets: readonly BucketId[],
  view: ReadView,
): readonly Value[] {
  const ranks = new Map(buckets.map((bucket, rank) => [bucket, rank]));
  if (areInScanOrder(values, ranks, view)) return values;
  const rids = new Set<Rid>();
  for (const value of values) {
    const rid = idOf(value);
    if (rid !== undefined && rid >= 0) rids.add(rid);
  }
  const { created } = view;
  const placed = Array.from(rids, (rid) => {
    const place = created?.placeOf(rid) ?? rid;
    // Places of created records are in no bucket.
    const bucket = place === rid ? holdingBucket(view, rid) : bucketOf(place);
    return { rid, place, rank: ranks.get(bucket) ?? buckets.length };
  });
  placed.sort((a, b) => a.rank - b.rank || a.place - b.place);
  return idOf === idOfNumber
    ? placed.map(({ rid }) => rid)
    : placed.map(({ rid }) => new Link(rid));
}

/** Whether the values are links to stored records, or numbers of such, each once, and their buckets come one after the other. */
function areInScanOrder(
  values: readonly Value[],
  ranks: ReadonlyMap<BucketId, number>,
  { created, catalog }: ReadView,
): boolean {
  if (created !== undefined || catalog.hasWindows) return false;
  let last = -1;
  /** Ids of the bucket are below. */
  let end = -1;
  let rank = -1;
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i] as Value;
    if (typeof value !== 'number' && !(value instanceof Link)) return false;
    const rid = typeof value === 'number' ? value : value.rid;
    if (rid > last && rid < end) {
      last = rid;
      continue;
    }
    const bucket = bucketOf(rid as Rid);
    const next = ranks.get(bucket);
    if (next === undefined || next <= rank) return false;
    end = makeRid(bucket, positionMax);
    rank = next;
    last = rid;
  }
  return true;
}
