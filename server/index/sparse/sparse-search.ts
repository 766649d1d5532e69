import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import type { BucketId, LogIndex, Rid } from '#core/value/rid.ts';
import type { EntryReader } from '../entry-reader.ts';
import type { RidFilter } from '../rid-filter.ts';
import type { ChangeListener } from '../search-memory.ts';
import { BoundOrder } from './bound-order.ts';
import { type AskedDimension, type ScoreBounds, scoreBounds } from './score-bounds.ts';
import {
  type SparseSettings,
  sparseSettings,
  sparseVectorOf,
  vectorTag,
  weightTag,
} from './sparse-keys.ts';
import { weightBytes, type WeightList, WeightListBuilder } from './weight-list.ts';

export interface SparseRequest {
  /** Weights by dimension. */
  readonly vector: ReadonlyMap<number, number>;
  readonly k: number;
  readonly minScore: number | undefined;
  readonly filter: RidFilter | undefined;
  readonly buckets: ReadonlySet<BucketId> | undefined;
}

export interface ScoredRecord {
  readonly rid: Rid;
  readonly score: number;
}

/** Bytes of lists that are kept for one index. */
const keptBytesMax = 64 * 1024 * 1024;
const changedMax = 100_000;
const entriesPerLook = 256;
const unitsPerLook = 64;
/** Records that are looked at first; each further round takes so many times more. */
const [firstLooks, looksPerRecord, roundFactor] = [64, 4, 8];

/** Lists of dimensions that were searched. */
class SparseMemory implements ChangeListener {
  readonly #kept = new Map<number, { readonly list: WeightList; readonly lsn: LogIndex }>();
  #bytes = 0;
  readonly #changedAt = new Map<number, LogIndex>();
  #floor: LogIndex;

  constructor(floor: LogIndex) {
    this.#floor = floor;
  }

  changed(): void {
    // Entries tell all.
  }

  entry(version: LogIndex, key: Uint8Array): void {
    if (key[0] !== weightTag) return;
    const dimension = dimensionIn(key);
    if (this.#changedAt.size >= changedMax) {
      this.#changedAt.clear();
      this.#kept.clear();
      this.#bytes = 0;
      this.#floor = version;
    }
    this.#changedAt.set(dimension, version);
  }

  list(dimension: number, lsn: LogIndex): WeightList | undefined {
    const kept = this.#kept.get(dimension);
    const changed = this.#changedAt.get(dimension) ?? this.#floor;
    if (kept === undefined || changed > Math.min(kept.lsn, lsn)) return undefined;
    // Those used last stand at the end, which matters once space is short.
    if (this.#bytes > keptBytesMax / 2) {
      this.#kept.delete(dimension);
      this.#kept.set(dimension, kept);
    }
    return kept.list;
  }

  keep(dimension: number, lsn: LogIndex, list: WeightList): void {
    if ((this.#changedAt.get(dimension) ?? this.#floor) > lsn) return;
    this.#drop(dimension);
    this.#kept.set(dimension, { list, lsn });
    this.#bytes += list.rids.length * weightBytes;
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= keptBytesMax || oldest === dimension) break;
      this.#drop(oldest);
    }
  }

  #drop(dimension: number): void {
    const kept = this.#kept.get(dimension);
    if (kept === undefined) return;
    this.#kept.delete(dimension);
    this.#bytes -= kept.list.rids.length * weightBytes;
  }
}

function dimensionIn(key: Uint8Array): number {
  return new DataView(key.buffer, key.byteOffset, key.length).getUint32(1);
}

/**
 * The k records with the highest products with the query, highest first, ties by record id. Exact: codes of weights bound what a
 * record can score, and records are measured in the order of their bounds until no other one can be among the best.
 */
export function* sparseNearest(
  reader: EntryReader,
  request: SparseRequest,
  meter: WorkMeter,
): PausingWork<readonly ScoredRecord[]> {
  const settings = sparseSettings(reader.definition);
  if (request.k <= 0) return [];
  const asked: AskedDimension[] = [];
  /** What each dimension counts. */
  const query = new Map<number, number>();
  for (const [dimension, weight] of request.vector) {
    if (weight === 0) continue;
    const list = yield* weightList(reader, dimension, settings, meter);
    if (list.rids.length === 0) continue;
    const counted = weight * (settings.usesIdf ? yield* idfOf(reader, list, meter) : 1);
    asked.push({ list, weight: counted });
    query.set(dimension, counted);
  }
  const bounds = yield* scoreBounds(asked, request, meter);
  return yield* measured(bounds, query, request, settings, reader, meter);
}

/** Rarer dimensions say more: `ln(1 + (N - n + 0.5) / (n + 0.5))` over the records with a vector. */
function* idfOf(reader: EntryReader, list: WeightList, meter: WorkMeter): PausingWork<number> {
  const n = list.rids.length;
  const all = Math.max(n, yield* vectorCount(reader, meter));
  return Math.log(1 + (all - n + 0.5) / (n + 0.5));
}

const counts = new WeakMap<object, { readonly lsn: LogIndex; readonly count: number }>();

/** Records that have a vector. Cost: one entry for each, once after each change. */
function* vectorCount(reader: EntryReader, meter: WorkMeter): PausingWork<number> {
  const known = counts.get(reader.memory);
  if (known?.lsn === reader.lsn && !reader.hasOwn) return known.count;
  const low = Uint8Array.of(vectorTag);
  const high = Uint8Array.of(weightTag);
  let count = 0;
  const cursor = reader.stored(low, high);
  try {
    for (let seen = 1; cursor.next(); seen += 1) {
      if (!reader.isHidden(cursor.rid)) count += 1;
      if (seen % entriesPerLook === 0 && meter.isSpent(unitsPerLook)) yield;
    }
  } finally {
    cursor.close();
  }
  count += reader.own(low, high).length;
  if (!reader.hasOwn) counts.set(reader.memory, { lsn: reader.lsn, count });
  return count;
}

/** As the transaction sees it, by record id. */
function* weightList(
  reader: EntryReader,
  dimension: number,
  settings: SparseSettings,
  meter: WorkMeter,
): PausingWork<WeightList> {
  const low = rangeStart(dimension);
  const high = rangeStart(dimension + 1);
  const stored = yield* storedList(reader, dimension, { low, high }, settings, meter);
  if (!reader.hasOwn) return stored;
  const list = new WeightListBuilder();
  for (let i = 0; i < stored.rids.length; i += 1)
    if (!reader.isHidden(stored.rids[i] as Rid))
      list.push(stored.rids[i] as Rid, stored.low[i] as number, stored.high[i] as number);
  for (const { key, rid } of reader.own(low, high)) add(list, key, rid, settings);
  return list.sorted();
}

function* storedList(
  reader: EntryReader,
  dimension: number,
  { low, high }: { readonly low: Uint8Array; readonly high: Uint8Array },
  settings: SparseSettings,
  meter: WorkMeter,
): PausingWork<WeightList> {
  const { memory } = reader;
  const kept = memory.isTold ? memory.state(() => new SparseMemory(memory.newest)) : undefined;
  const known = kept?.list(dimension, reader.lsn);
  if (known !== undefined) return known;
  const list = new WeightListBuilder();
  const cursor = reader.stored(low, high);
  try {
    for (let seen = 1; cursor.next(); seen += 1) {
      add(list, cursor.key, cursor.rid, settings);
      if (seen % entriesPerLook === 0 && meter.isSpent(unitsPerLook)) yield;
    }
  } finally {
    cursor.close();
  }
  const made = list.sorted();
  kept?.keep(dimension, reader.lsn, made);
  return made;
}

function add(list: WeightListBuilder, key: Uint8Array, rid: Rid, { code }: SparseSettings): void {
  const view = new DataView(key.buffer, key.byteOffset, key.length);
  list.push(rid, code.low(view, 5), code.high(view, 5));
}

function rangeStart(dimension: number): Uint8Array {
  const key = new Uint8Array(5);
  key[0] = weightTag;
  if (dimension >= 2 ** 32) {
    key[0] = weightTag + 1;
    return key;
  }
  new DataView(key.buffer).setUint32(1, dimension);
  return key;
}

function* measured(
  { rids, most }: ScoreBounds,
  query: ReadonlyMap<number, number>,
  request: SparseRequest,
  settings: SparseSettings,
  reader: EntryReader,
  meter: WorkMeter,
): PausingWork<readonly ScoredRecord[]> {
  const { k, minScore = -Infinity } = request;
  const order = new BoundOrder(most);
  const best: ScoredRecord[] = [];
  for (let wanted = firstLooks + looksPerRecord * k; ; wanted *= roundFactor) {
    const queue = yield* order.next(Math.min(wanted, most.length), meter);
    if (queue.size === 0) return best;
    for (; queue.size > 0; queue.pop()) {
      const bound = -queue.topKey;
      const worst =
        best.length < k ? minScore : Math.max(minScore, (best.at(-1) as ScoredRecord).score);
      // Sums of bounds are off by rounding.
      if (bound < worst - Math.abs(worst) * 1e-9) return best;
      const rid = rids[queue.topSlot] as Rid;
      const score = scoreOf(reader, rid, settings, query);
      if (score !== undefined && score >= minScore) insert(best, { rid, score }, k);
      if (meter.isSpent(16)) yield;
    }
  }
}

function scoreOf(
  reader: EntryReader,
  rid: Rid,
  settings: SparseSettings,
  query: ReadonlyMap<number, number>,
): number | undefined {
  const record = reader.record(rid);
  if (record === undefined) return undefined;
  const vector = sparseVectorOf(record, settings);
  if (vector === undefined || typeof vector === 'string') return undefined;
  let score = 0;
  for (const [dimension, weight] of query) score += weight * (vector.get(dimension) ?? 0);
  return score;
}

/** Keeps the list sorted; it is short. */
function insert(best: ScoredRecord[], found: ScoredRecord, k: number): void {
  let at = best.length;
  while (at > 0 && isBefore(found, best[at - 1] as ScoredRecord)) at -= 1;
  if (at >= k) return;
  best.splice(at, 0, found);
  if (best.length > k) best.pop();
}

function isBefore(a: ScoredRecord, b: ScoredRecord): boolean {
  return a.score > b.score || (a.score === b.score && a.rid < b.rid);
}
