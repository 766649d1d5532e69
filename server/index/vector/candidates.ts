import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { type BucketId, bucketOf, type Rid } from '#core/value/rid.ts';
import type { RidFilter } from '../rid-filter.ts';
import { SlotHeap } from './heap.ts';
import { graphWorthMin, type VectorMemory } from './vector-memory.ts';
import type { Quantization } from './vector-settings.ts';

/**
 * Which records a search measures. A search among all walks the graph. One among some first finds the slots that it may give. While
 * those are few enough to be measured in a millisecond they all are: that is exact, and no slower than a walk. Above that the graph
 * is walked past all with a beam that meets as many of them as a search among all does. Where it meets few of them, the wanted ones
 * are elsewhere than the query (other clusters, say), no walk is to be trusted, and all are measured.
 */
export interface CandidateRequest {
  readonly vector: Float32Array;
  readonly k: number;
  readonly efSearch: number | undefined;
  /** Only these records. */
  readonly filter: RidFilter | undefined;
  /** Only records of these buckets. */
  readonly buckets: ReadonlySet<BucketId> | undefined;
}

/** Slots looked at between two looks at the meter. */
const slotsPerLook = 1_024;
/** What so many measured slots count, and so many that were found by their record ids. */
const unitsPerMeasured = 64;
const unitsPerFound = 16;
/** Wanted vectors up to so many, and of so many bytes, are measured one by one without a walk. */
const measuredMax = 65_536;
const measuredBytesMax = 32 * 1024 * 1024;
/** From so many wanted vectors on a walk may be quicker than measuring them, and is tried first. */
const walkedMin = 16_384;
/** A walk among all is taken for its wanted ones when it has met so many times those that are asked for: all nearer ones are there. */
const metPerCandidate = 4;
/** A walk that has visited this share of all vectors has cost as much as measuring them. */
const visitedShareMax = 0.3;
/** A walk does not pause. */
const visitedMax = 100_000;
/** Beams above this cost more than measuring. */
const beamMax = 2_000;
/** Of codes so many candidates for each wanted neighbour are measured by their vectors. */
const candidatesPerNeighbour: Readonly<Record<Quantization, number>> = {
  NONE: 1,
  INT8: 1.3,
  PRODUCT: 8,
  BINARY: 16,
};

/** ... and so many, for ties. */
const candidatesMore = 2;

/** Slots that a search among some may give. */
interface WantedSlots {
  readonly slots: Int32Array;
  /** A bit for each slot. */
  readonly bits: Uint32Array;
}

/**
 * Records whose vectors are to be measured.
 * @param isOther the memory does not have the vector of the snapshot
 * @returns undefined when the memory forgot everything meanwhile
 */
export function* candidatesIn(
  memory: VectorMemory,
  request: CandidateRequest,
  isOther: (rid: Rid) => boolean,
  meter: WorkMeter,
): PausingWork<readonly Rid[] | undefined> {
  const { lives } = memory;
  for (;;) {
    const { graph } = memory;
    const heap = yield* nearestSlots(memory, request, isOther, meter);
    if (memory.lives !== lives) return undefined;
    // The slots may have been moved in a pause.
    if (heap !== undefined && memory.graph === graph) return ridsIn(heap, memory);
  }
}

/** @returns undefined when slots were moved meanwhile */
function* nearestSlots(
  memory: VectorMemory,
  request: CandidateRequest,
  isOther: (rid: Rid) => boolean,
  meter: WorkMeter,
): PausingWork<SlotHeap | undefined> {
  const count = candidateCount(memory, request.k);
  const heap = new SlotHeap(Math.min(count, 4_096));
  const { graph, slotCount } = memory;
  const beam = Math.max(request.efSearch ?? memory.settings.efSearch, count);
  if (request.filter === undefined && request.buckets === undefined) {
    const accepts = (slot: number): boolean => {
      const rid = memory.rids[slot] as Rid;
      return rid >= 0 && !isOther(rid);
    };
    memory.space.setQuery(request.vector);
    const from = walk(memory, { beam, count, accepts }, heap);
    yield* measureRange({ memory, request, heap, count, from, to: slotCount, accepts }, meter);
    return heap;
  }
  const wanted = yield* wantedSlots(memory, request, isOther, meter);
  if (memory.graph !== graph) return undefined;
  memory.space.setQuery(request.vector);
  const isWalked = wanted.slots.length > Math.min(walkedMin, measurableCount(memory));
  const from = isWalked ? walkForWanted(memory, wanted, { beam, count }, heap) : 0;
  yield* measureListed({ memory, request, heap, count, from, slots: wanted.slots }, meter);
  return heap;
}

function measurableCount({ bytesPerVector }: VectorMemory): number {
  return Math.min(measuredMax, measuredBytesMax / bytesPerVector);
}

/** @returns up to which slot the heap knows the nearest; 0: the walk did not come to an end */
function walk(
  { graph }: VectorMemory,
  asked: {
    readonly beam: number;
    readonly count: number;
    readonly accepts: (slot: number) => boolean;
  },
  heap: SlotHeap,
): number {
  const { beam, count, accepts } = asked;
  const linked = graph.count;
  if (linked < graphWorthMin || count >= linked * visitedShareMax) return 0;
  const found = graph.search(beam, accepts, Math.min(linked * visitedShareMax, visitedMax));
  // A walk that ran out of slots has met a part of the graph only, or few that are accepted.
  if (found === undefined || found.length < count) return 0;
  for (const { slot, distance } of found) offer(heap, count, distance, slot);
  return linked;
}

/** As `walk`, past the others as well: they tell whether the wanted ones are where the query is. */
function walkForWanted(
  { graph, slotCount }: VectorMemory,
  { slots, bits }: WantedSlots,
  asked: { readonly beam: number; readonly count: number },
  heap: SlotHeap,
): number {
  const { count } = asked;
  const share = slots.length / slotCount;
  const beam = Math.ceil(asked.beam / share);
  const linked = graph.count;
  if (linked < graphWorthMin || beam > Math.min(beamMax, linked * visitedShareMax)) return 0;
  const found = graph.search(beam, undefined, visitedMax);
  if (found === undefined) return 0;
  const near = found.filter(
    ({ slot }) => ((bits[slot >>> 5] as number) & (1 << (slot & 31))) !== 0,
  );
  if (near.length < Math.max(count * metPerCandidate, (found.length * share) / 2)) return 0;
  for (const { slot, distance } of near) offer(heap, count, distance, slot);
  return linked;
}

interface Measuring {
  readonly memory: VectorMemory;
  readonly request: CandidateRequest;
  readonly heap: SlotHeap;
  readonly count: number;
  /** Slots from this one on. */
  readonly from: number;
}

function* measureRange(
  work: Measuring & { readonly to: number; readonly accepts: (slot: number) => boolean },
  meter: WorkMeter,
): PausingWork<void> {
  const { memory, request, heap, count, from, to, accepts } = work;
  const { graph } = memory;
  for (let slot = from; slot < to; slot += 1) {
    if ((slot - from + 1) % slotsPerLook === 0 && meter.isSpent(unitsPerMeasured)) {
      yield;
      if (memory.graph !== graph) return;
      memory.space.setQuery(request.vector);
    }
    if (accepts(slot)) offer(heap, count, memory.space.distance(slot), slot);
  }
}

function* measureListed(
  work: Measuring & { readonly slots: Int32Array },
  meter: WorkMeter,
): PausingWork<void> {
  const { memory, request, heap, count, from, slots } = work;
  const { graph } = memory;
  for (let i = 0; i < slots.length; i += 1) {
    if ((i + 1) % slotsPerLook === 0 && meter.isSpent(unitsPerMeasured)) {
      yield;
      if (memory.graph !== graph) return;
      memory.space.setQuery(request.vector);
    }
    const slot = slots[i] as number;
    if (slot >= from) offer(heap, count, memory.space.distance(slot), slot);
  }
}

/** The slots of the wanted records, each once. Incomplete when slots were moved meanwhile. */
function* wantedSlots(
  memory: VectorMemory,
  { filter, buckets }: CandidateRequest,
  isOther: (rid: Rid) => boolean,
  meter: WorkMeter,
): PausingWork<WantedSlots> {
  const { graph, slotCount } = memory;
  const bits = new Uint32Array((slotCount + 31) >>> 5);
  const asked = filter?.rids ?? memory.rids;
  const askedCount = filter === undefined ? slotCount : asked.length;
  const slots = new Int32Array(Math.min(askedCount, slotCount));
  let count = 0;
  for (let i = 0; i < askedCount; i += 1) {
    if ((i + 1) % slotsPerLook === 0 && meter.isSpent(unitsPerFound)) {
      yield;
      if (memory.graph !== graph) break;
    }
    const rid = asked[i] as Rid;
    const slot = filter === undefined ? i : memory.slotOf(rid);
    if (slot < 0 || slot >= slotCount || rid < 0) continue;
    const bit = 1 << (slot & 31);
    if (((bits[slot >>> 5] as number) & bit) !== 0) continue;
    if ((buckets !== undefined && !buckets.has(bucketOf(rid))) || isOther(rid)) continue;
    bits[slot >>> 5] = (bits[slot >>> 5] as number) | bit;
    slots[count++] = slot;
  }
  return { slots: slots.subarray(0, count), bits };
}

function candidateCount({ space, settings }: VectorMemory, k: number): number {
  if (space.isExact) return k + candidatesMore;
  return Math.ceil(k * candidatesPerNeighbour[settings.quantization]) + candidatesMore;
}

/** Keeps the least; the heap has the greatest on top. */
function offer(heap: SlotHeap, count: number, distance: number, slot: number): void {
  if (heap.size < count) heap.push(-distance, slot);
  else if (distance < -heap.topKey) heap.replaceTop(-distance, slot);
}

function ridsIn(heap: SlotHeap, memory: VectorMemory): readonly Rid[] {
  const rids: Rid[] = [];
  for (let i = 0; i < heap.size; i += 1) rids.push(memory.rids[heap.slotAt(i)] as Rid);
  return rids;
}
