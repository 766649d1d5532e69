import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { bucketOf, type Rid } from '#core/value/rid.ts';
import type { CandidateRequest } from './candidate-request.ts';
import { type CoarseCodes, weighedMax } from './coarse-codes.ts';
import {
  visitedMax,
  visitedShareMax,
  type WantedSlots,
  walkForFilter,
  walkForSlots,
} from './filtered-walk.ts';
import { SlotHeap } from './heap.ts';
import { graphWorthMin, type VectorMemory } from './vector-memory.ts';
import type { Quantization } from './vector-settings.ts';

/** Slots looked at between two looks at the meter. */
const slotsPerLook = weighedMax;
/** What so many measured slots count, and so many that were found by their record ids. */
const unitsPerMeasured = 64;
const unitsPerFound = 16;
/** Above so many wanted vectors, or so many bytes of them, a walk may be quicker than measuring them, and is tried first ... */
const measuredMax = 16_384;
const measuredBytesMax = 32 * 1024 * 1024;
/** ... and above so many where codes tell of most that they are too far. */
const codedMax = 65_536;
/** Of codes so many candidates for each wanted neighbour are measured by their vectors. */
const candidatesPerNeighbour: Readonly<Record<Quantization, number>> = {
  NONE: 1,
  INT8: 1.3,
  PRODUCT: 8,
  BINARY: 16,
};

/** ... and so many, for ties. */
const candidatesMore = 2;

/**
 * Which records a search measures. A search among all walks the graph. One among some first finds the slots that it may give. While
 * those are few enough to be measured in a millisecond they all are: that is exact, and no slower than a walk. Above that the graph
 * is walked past all with a beam that meets as many of them as a search among all does. Where it meets few of them, the wanted ones
 * are elsewhere than the query (other clusters, say), no walk is to be trusted, and all are measured (`filtered-walk.ts`): by codes
 * beside full vectors, which the first such search makes (`coarse-codes.ts`).
 *
 * @param isOther the memory does not have the vector of the snapshot
 * @returns records whose vectors are to be measured; undefined when the memory forgot everything meanwhile
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
  const walkedFrom = measuredFirst(memory);
  const givenCount = request.filter?.rids.length ?? 0;
  if (givenCount > walkedFrom) {
    const isFound = yield* walkForFilter(memory, { ...request, beam, count }, isOther, heap, meter);
    if (isFound !== false) return isFound === undefined ? undefined : heap;
  }
  const wanted = yield* wantedSlots(memory, request, meter);
  if (memory.graph !== graph) return undefined;
  memory.space.setQuery(request.vector);
  // Once more only where the filter named many records that nobody can give, so that the beam was too narrow.
  const isUntried = request.filter === undefined || wanted.slots.length < givenCount * 0.9;
  const isMany = wanted.slots.length > walkedFrom;
  const isWalked = isMany && isUntried;
  const from = isWalked ? walkForSlots(memory, wanted, { beam, count }, isOther, heap) : 0;
  if (isMany && from === 0) {
    yield* memory.makeCodes(meter);
    if (memory.graph !== graph) return undefined;
    memory.space.setQuery(request.vector);
  }
  yield* measureListed({ memory, request, heap, count, from, slots: wanted.slots, isOther }, meter);
  return heap;
}

/** Wanted vectors that are measured one by one without a walk. */
function measuredFirst({ bytesPerVector, codes }: VectorMemory): number {
  if (codes === undefined) return Math.min(measuredMax, measuredBytesMax / bytesPerVector);
  return Math.min(codedMax, measuredBytesMax / codes.bytesPerVector);
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
  for (const { slot, distance } of found) heap.offer(distance, slot, count);
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
    if (accepts(slot)) heap.offer(memory.space.distance(slot), slot, count);
  }
}

interface Listed extends Measuring {
  readonly slots: Int32Array;
  readonly isOther: (rid: Rid) => boolean;
}

/** Codes of all vectors, if there are any, ready for the query. */
function codesFor(
  { vector }: CandidateRequest,
  { codes }: VectorMemory,
  heap: SlotHeap,
): CoarseCodes | undefined {
  codes?.setQuery(vector);
  if (heap.size > 0) codes?.setLimit(-heap.topKey);
  return codes;
}

function* measureListed(work: Listed, meter: WorkMeter): PausingWork<void> {
  const { memory, request, heap, from } = work;
  const { graph } = memory;
  const slots = from === 0 ? work.slots : work.slots.filter((slot) => slot >= from);
  let codes = codesFor(request, memory, heap);
  for (let at = 0; at < slots.length; at += slotsPerLook) {
    if (at > 0 && meter.isSpent(unitsPerMeasured)) {
      yield;
      if (memory.graph !== graph) return;
      memory.space.setQuery(request.vector);
      codes = codesFor(request, memory, heap);
    }
    measureSome(work, codes, slots.subarray(at, at + slotsPerLook));
  }
}

/** A function of its own: loops of work that pauses are slower. */
function measureSome(
  { memory, heap, count, isOther }: Listed,
  codes: CoarseCodes | undefined,
  slots: Int32Array,
): void {
  const { space, rids } = memory;
  codes?.weigh(slots);
  for (let i = 0; i < slots.length; i += 1) {
    const slot = slots[i] as number;
    const isFull = heap.size >= count;
    if (isFull && codes?.isFarther(slot, i) === true) continue;
    const distance = space.distance(slot);
    if (isFull && distance >= -heap.topKey) continue;
    // Asked of the few that come so far, not of all.
    if (isOther(rids[slot] as Rid)) continue;
    heap.offer(distance, slot, count);
    codes?.setLimit(-heap.topKey);
  }
}

/** The slots of the wanted records, each once, others among them. Incomplete when slots were moved meanwhile. */
function* wantedSlots(
  memory: VectorMemory,
  { filter, buckets }: CandidateRequest,
  meter: WorkMeter,
): PausingWork<WantedSlots> {
  const { graph, slotCount } = memory;
  const asked = filter?.rids ?? memory.rids;
  const askedCount = filter === undefined ? slotCount : asked.length;
  const found = new FoundSlots(memory, buckets, Math.min(askedCount, slotCount));
  for (let at = 0; at < askedCount; at += slotsPerLook) {
    if (at > 0 && meter.isSpent(unitsPerFound)) {
      yield;
      if (memory.graph !== graph) break;
    }
    found.take(asked.subarray(at, Math.min(askedCount, at + slotsPerLook)));
  }
  return found;
}

class FoundSlots implements WantedSlots {
  readonly bits: Uint32Array;
  readonly #memory: VectorMemory;
  readonly #buckets: CandidateRequest['buckets'];
  readonly #slots: Int32Array;
  readonly #slotCount: number;
  #count = 0;

  constructor(memory: VectorMemory, buckets: CandidateRequest['buckets'], countMax: number) {
    this.#memory = memory;
    this.#buckets = buckets;
    this.#slotCount = memory.slotCount;
    this.bits = new Uint32Array((memory.slotCount + 31) >>> 5);
    this.#slots = new Int32Array(countMax);
  }

  get slots(): Int32Array {
    return this.#slots.subarray(0, this.#count);
  }

  take(asked: Float64Array): void {
    const { rids } = this.#memory;
    const { bits } = this;
    const slots = this.#slots;
    const slotCount = this.#slotCount;
    let count = this.#count;
    let [lastRid, lastSlot] = [-1, -1];
    for (let i = 0; i < asked.length; i += 1) {
      const rid = asked[i] as Rid;
      // Most slots follow each other as their records do: a look at the place spares one in the table.
      const guess = lastSlot + (rid - lastRid);
      const isThere = guess >= 0 && guess < slotCount && rids[guess] === rid;
      const slot = isThere ? guess : this.#memory.slotOf(rid);
      lastRid = rid;
      lastSlot = slot;
      if (slot < 0 || slot >= slotCount || rid < 0) continue;
      const word = bits[slot >>> 5] as number;
      const bit = 1 << (slot & 31);
      if ((word & bit) !== 0) continue;
      if (this.#buckets !== undefined && !this.#buckets.has(bucketOf(rid))) continue;
      bits[slot >>> 5] = word | bit;
      slots[count++] = slot;
    }
    this.#count = count;
  }
}

function candidateCount({ space, settings }: VectorMemory, k: number): number {
  if (space.isExact) return k + candidatesMore;
  return Math.ceil(k * candidatesPerNeighbour[settings.quantization]) + candidatesMore;
}

function ridsIn(heap: SlotHeap, memory: VectorMemory): readonly Rid[] {
  const rids: Rid[] = [];
  for (let i = 0; i < heap.size; i += 1) rids.push(memory.rids[heap.slotAt(i)] as Rid);
  return rids;
}
