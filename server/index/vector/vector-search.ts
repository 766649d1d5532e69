import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { bucketOf, type LogIndex, type Rid } from '#core/value/rid.ts';
import type { EntryReader } from '../entry-reader.ts';
import type { CandidateRequest } from './candidate-request.ts';
import { candidatesIn } from './candidates.ts';
import { readVector, vectorKey } from './vector-keys.ts';
import { VectorMemory } from './vector-memory.ts';
import { type Similarity, type VectorSettings, vectorSettings } from './vector-settings.ts';

export interface Neighbour {
  readonly rid: Rid;
  readonly distance: number;
}

export function memoryOf(reader: EntryReader): VectorMemory {
  const { memory } = reader;
  const mayTake = (bytes: number) => memory.mayTake(bytes);
  return memory.state(
    () => new VectorMemory(vectorSettings(reader.definition), memory.background, mayTake),
  );
}

/**
 * The k nearest vectors, nearest first, ties by record id. Exact until there is a graph, with a filter that keeps few, and for
 * what changed lately; every distance is that of the record in the reader's view.
 */
export function* nearest(
  reader: EntryReader,
  request: CandidateRequest,
  meter: WorkMeter,
): PausingWork<readonly Neighbour[]> {
  const settings = vectorSettings(reader.definition);
  const k = Math.min(request.k, reader.storedCount + reader.own(vectorKey, afterVectors).length);
  if (k <= 0) return [];
  const wanted = { ...request, k };
  const memory = memoryOf(reader);
  const others = yield* memory.prepare(reader, meter);
  if (others === undefined) return yield* ofRecords(reader, settings, wanted, meter);
  const isOther = (rid: Rid) => others.has(rid) || (reader.hasOwn && reader.isHidden(rid));
  const candidates = yield* candidatesIn(memory, wanted, isOther, meter);
  if (candidates === undefined) return yield* ofRecords(reader, settings, wanted, meter);
  const best = new Best(k);
  const measured = new Set<Rid>();
  const take = (rid: Rid): void => {
    if (measured.has(rid) || !isWanted(rid, wanted)) return;
    measured.add(rid);
    measure(reader, settings, rid, wanted, best);
  };
  let kept = keptVectors(memory, reader.lsn);
  for (const rid of candidates) {
    measured.add(rid);
    const vector = kept(rid);
    if (vector === undefined) measure(reader, settings, rid, wanted, best);
    else best.add(rid, distanceOf(wanted.vector, vector, settings.similarity));
    if (!meter.isSpent(8)) continue;
    yield;
    kept = keptVectors(memory, reader.lsn);
  }
  for (const rid of others) take(rid);
  // What other searches took over during this one.
  for (const rid of memory.changedAfter(reader.lsn)) take(rid);
  for (const { rid } of reader.own(vectorKey, afterVectors)) take(rid);
  return best.sorted();
}

/** Vectors that the memory has as the snapshot has them, until the next pause: their records need not be read. */
function keptVectors(memory: VectorMemory, lsn: LogIndex): (rid: Rid) => Float32Array | undefined {
  const { space } = memory;
  if (!space.isExact || !memory.knowsSince(lsn)) return () => undefined;
  const newer = memory.changedAfter(lsn);
  return (rid) => {
    const slot = newer.has(rid) ? -1 : memory.slotOf(rid);
    return slot < 0 ? undefined : space.vectorAt(slot);
  };
}

export const afterVectors: Uint8Array = Uint8Array.of(0x03);

function isWanted(rid: Rid, { filter, buckets }: CandidateRequest): boolean {
  if (filter !== undefined && !filter.has(rid)) return false;
  return buckets === undefined || buckets.has(bucketOf(rid));
}

/** Reads every vector from its record: for snapshots that the memory cannot serve. */
function* ofRecords(
  reader: EntryReader,
  settings: VectorSettings,
  request: CandidateRequest,
  meter: WorkMeter,
): PausingWork<readonly Neighbour[]> {
  const best = new Best(request.k);
  const cursor = reader.stored(vectorKey, afterVectors);
  try {
    while (cursor.next()) {
      const { rid } = cursor;
      if (reader.isHidden(rid) || !isWanted(rid, request)) continue;
      measure(reader, settings, rid, request, best);
      if (meter.isSpent(16)) yield;
    }
  } finally {
    cursor.close();
  }
  for (const { rid } of reader.own(vectorKey, afterVectors))
    if (isWanted(rid, request)) measure(reader, settings, rid, request, best);
  return best.sorted();
}

let scratch = new Float32Array(0);

function measure(
  reader: EntryReader,
  { property, dimensions, similarity }: VectorSettings,
  rid: Rid,
  request: CandidateRequest,
  best: Best,
): void {
  const record = reader.record(rid);
  if (record === undefined) return;
  if (scratch.length < dimensions) scratch = new Float32Array(dimensions);
  if (!readVector(record, property, scratch, 0, dimensions)) return;
  best.add(rid, distanceOf(request.vector, scratch, similarity));
}

/** COSINE `1 - cos`, EUCLIDEAN the squared distance, DOT_PRODUCT `-(1 + dot) / 2` (sql-functions.md 8.1). */
export function distanceOf(a: Float32Array, b: Float32Array, similarity: Similarity): number {
  let [dot, squareA, squareB, difference] = [0, 0, 0, 0];
  for (let i = 0; i < a.length; i += 1) {
    const x = a[i] as number;
    const y = b[i] as number;
    dot += x * y;
    squareA += x * x;
    squareB += y * y;
    difference += (x - y) * (x - y);
  }
  if (similarity === 'EUCLIDEAN') return difference;
  if (similarity === 'DOT_PRODUCT') return -(1 + dot) / 2;
  const lengths = Math.sqrt(squareA) * Math.sqrt(squareB);
  return lengths === 0 ? 1 : 1 - Math.min(1, Math.max(-1, dot / lengths));
}

/** The k nearest, ties by record id. */
class Best {
  readonly #k: number;
  #found: Neighbour[] = [];
  #worst = Infinity;

  constructor(k: number) {
    this.#k = k;
  }

  add(rid: Rid, distance: number): void {
    if (distance > this.#worst) return;
    this.#found.push({ rid, distance });
    if (this.#found.length >= 2 * this.#k + 64) this.#trim();
  }

  sorted(): readonly Neighbour[] {
    this.#trim();
    return this.#found;
  }

  #trim(): void {
    this.#found.sort((a, b) => a.distance - b.distance || a.rid - b.rid);
    if (this.#found.length > this.#k) this.#found.length = this.#k;
    if (this.#found.length === this.#k) this.#worst = this.#found.at(-1)?.distance ?? Infinity;
  }
}
