import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { bucketOf, type Rid } from '#core/value/rid.ts';
import type { CandidateRequest } from './candidate-request.ts';
import type { SlotHeap } from './heap.ts';
import { SlotTable } from './slot-table.ts';
import { graphWorthMin, type VectorMemory } from './vector-memory.ts';

/**
 * Walks for searches among some: past all vectors, with a beam that meets as many of the wanted as a search among all does. What was
 * met tells whether the wanted ones are where the query is. Where they are elsewhere, no walk is to be trusted.
 */

/** A walk among all is taken for its wanted ones when it has met so many times those that are asked for: all nearer ones are there. */
const metPerCandidate = 4;
/** A walk that has visited this share of all vectors has cost as much as measuring them. */
export const visitedShareMax = 0.3;
/** A walk does not pause. */
export const visitedMax = 100_000;
/** Beams above this cost more than measuring. */
const beamMax = 2_000;
/** Slots that the graph does not have yet are looked for in a filter, with those that were met, when they are no more than this. */
const unlinkedMax = 4_096;
/** Record ids of a filter between two looks at the meter, and what so many count. */
const ridsPerLook = 8_192;
const unitsPerLook = 16;

export interface WalkRequest {
  readonly beam: number;
  /** Candidates that are wanted. */
  readonly count: number;
}

interface Met {
  readonly slot: number;
  readonly distance: number;
}

/** Slots that a search among some may give. */
export interface WantedSlots {
  readonly slots: Int32Array;
  /** A bit for each slot. */
  readonly bits: Uint32Array;
}

/** @returns up to which slot the heap knows the nearest; 0: the walk is not to be trusted */
export function walkForSlots(
  memory: VectorMemory,
  { slots, bits }: WantedSlots,
  asked: WalkRequest,
  isOther: (rid: Rid) => boolean,
  heap: SlotHeap,
): number {
  const share = slots.length / memory.slotCount;
  const linked = memory.graph.count;
  const met = walkPastAll(memory, share, asked.beam);
  if (met === undefined) return 0;
  const near = met.filter(
    ({ slot }) =>
      ((bits[slot >>> 5] as number) & (1 << (slot & 31))) !== 0 &&
      !isOther(memory.rids[slot] as Rid),
  );
  if (!isTrusted(near.length, met.length * share, asked)) return 0;
  for (const { slot, distance } of near) heap.offer(distance, slot, asked.count);
  return linked;
}

/**
 * Walks first and looks in the filter for what was met, which is much quicker than to find the slots of all its records.
 * @param heap gets the nearest of all
 * @returns whether the walk is to be trusted; undefined when slots were moved meanwhile
 */
export function* walkForFilter(
  memory: VectorMemory,
  request: CandidateRequest & WalkRequest,
  isOther: (rid: Rid) => boolean,
  heap: SlotHeap,
  meter: WorkMeter,
): PausingWork<boolean | undefined> {
  const { graph, slotCount } = memory;
  const { filter, buckets, vector, count } = request;
  const asked = filter?.rids ?? new Float64Array(0);
  const share = Math.min(1, asked.length / memory.count);
  const linked = Math.min(graph.count, slotCount);
  if (slotCount - linked > unlinkedMax) return false;
  memory.space.setQuery(vector);
  const met = walkPastAll(memory, share, request.beam);
  if (met === undefined) return false;
  const looked = new Looked(met.length + slotCount - linked);
  const mayGive = (rid: Rid): boolean =>
    rid >= 0 && !(buckets !== undefined && !buckets.has(bucketOf(rid))) && !isOther(rid);
  for (const { slot } of met) looked.add(slot, memory.rids[slot] as Rid, mayGive);
  for (let slot = linked; slot < slotCount; slot += 1)
    looked.add(slot, memory.rids[slot] as Rid, mayGive);
  for (let i = 0; i < asked.length; i += ridsPerLook) {
    if (i > 0 && meter.isSpent(unitsPerLook)) {
      yield;
      if (memory.graph !== graph) return undefined;
    }
    looked.keep(asked, i, Math.min(asked.length, i + ridsPerLook));
  }
  const near = met.filter(({ slot }) => slot < linked && looked.isKept(slot));
  if (!isTrusted(near.length, met.length * share, request)) return false;
  for (const { slot, distance } of near) heap.offer(distance, slot, count);
  memory.space.setQuery(vector);
  for (let slot = linked; slot < slotCount; slot += 1)
    if (looked.isKept(slot)) heap.offer(memory.space.distance(slot), slot, count);
  return true;
}

/** @returns undefined where measuring is no slower */
function walkPastAll({ graph }: VectorMemory, share: number, beam: number) {
  const linked = graph.count;
  const wide = Math.ceil(beam / share);
  if (linked < graphWorthMin || wide > Math.min(beamMax, linked * visitedShareMax))
    return undefined;
  return graph.search(wide, undefined, visitedMax) as readonly Met[] | undefined;
}

function isTrusted(nearCount: number, expected: number, { count }: WalkRequest): boolean {
  return nearCount >= Math.max(count * metPerCandidate, expected / 2);
}

/** Few slots, by whose record ids a filter is gone through: a table that stays in the processor's cache. */
class Looked {
  readonly #table = new SlotTable();
  readonly #rids: Float64Array;
  readonly #isKept: Uint8Array;
  readonly #places = new Map<number, number>();
  #count = 0;

  constructor(countMax: number) {
    this.#rids = new Float64Array(countMax);
    this.#isKept = new Uint8Array(countMax);
  }

  add(slot: number, rid: Rid, mayGive: (rid: Rid) => boolean): void {
    if (this.#places.has(slot) || !mayGive(rid)) return;
    this.#rids[this.#count] = rid;
    this.#places.set(slot, this.#count);
    this.#table.add(rid, this.#count, this.#rids);
    this.#count += 1;
  }

  /** Those among them that are in the list, from one place to before another. */
  keep(rids: Float64Array, from: number, to: number): void {
    for (let i = from; i < to; i += 1) {
      const place = this.#table.get(rids[i] as Rid, this.#rids);
      if (place >= 0) this.#isKept[place] = 1;
    }
  }

  isKept(slot: number): boolean {
    const place = this.#places.get(slot);
    return place !== undefined && this.#isKept[place] === 1;
  }
}
