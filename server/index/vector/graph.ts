import { SlotHeap } from './heap.ts';
import { headerWord, type SlotBlock } from './slot-block.ts';
import type { VectorSpace } from './space.ts';
import type { VectorSettings } from './vector-settings.ts';

export interface GraphOptions {
  /** Links of a vector on each level. */
  readonly maxConnections: number;
  /** Candidates looked at for a new vector. */
  readonly beamWidth: number;
  /** A candidate is taken unless a taken one is nearer to it than the new vector by this factor. */
  readonly alpha: number;
  /** Lists may grow by this factor before they are pruned. */
  readonly overflow: number;
}

export function graphOptions(settings: VectorSettings): GraphOptions {
  return {
    maxConnections: Math.max(2, settings.maxConnections),
    beamWidth: settings.beamWidth,
    alpha: settings.alphaDiversityRelaxation,
    overflow: settings.neighborOverflowFactor,
  };
}

/** Places of a list, the number of its links included. */
export function listWidth({ maxConnections, overflow }: GraphOptions): number {
  return 1 + Math.max(2, Math.floor(maxConnections * overflow));
}

/** Candidates on the levels above. */
const upperBeam = 12;

/** What a search may give; others are walked through. */
export type AcceptSlot = (slot: number) => boolean;

/**
 * A hierarchical navigable small world (Malkov and Yashunin 2016) with the relaxed pruning of DiskANN (Subramanya et al. 2019) over the
 * slots of a block. Slots are linked in ascending order; levels follow from the slot, so nothing is random. Slots whose vector is
 * gone stay as places to walk through until the graph is made anew. One thread links at a time; others may search meanwhile.
 */
export class VectorGraph {
  readonly #block: SlotBlock;
  readonly #space: VectorSpace;
  readonly #options: GraphOptions;
  #visited = new Uint32Array(0);
  #mark = 0;
  readonly #candidates = new SlotHeap(256);
  /** Worst on top: keys are negated. */
  readonly #nearest = new SlotHeap(256);
  /** Candidates for the links of a slot, nearest first, and which of them were taken. */
  #near = new Int32Array(256);
  #distances = new Float64Array(256);
  readonly #taken: Int32Array;

  constructor(block: SlotBlock, space: VectorSpace, options: GraphOptions) {
    this.#block = block;
    this.#space = space;
    this.#options = options;
    this.#taken = new Int32Array(options.maxConnections);
  }

  /** Slots below this are linked. */
  get count(): number {
    return this.#block.header(headerWord.linkedCount);
  }

  get bytes(): number {
    return this.#visited.byteLength;
  }

  /** Links the next slot. Cost: some hundred microseconds. */
  linkNext(): void {
    const block = this.#block;
    const slot = this.count;
    const level = levelOf(slot, this.#options.maxConnections);
    block.words[block.listAt(slot)] = 0;
    block.words[block.upperAt(slot)] = 0;
    if (level > 0) this.#makeUpper(slot, level);
    if (slot === 0) {
      block.setHeader(headerWord.entry, slot);
      block.setHeader(headerWord.entryLevel, level);
    } else this.#link(slot, level);
    block.setHeader(headerWord.linkedCount, slot + 1);
  }

  #link(slot: number, level: number): void {
    const block = this.#block;
    const entryLevel = block.header(headerWord.entryLevel);
    let at = block.header(headerWord.entry);
    this.#space.setQueryOf(slot);
    for (let upper = entryLevel; upper > level; upper -= 1) at = this.#descend(at, upper);
    for (let own = Math.min(level, entryLevel); own >= 0; own -= 1) {
      this.#walk(at, own, this.#options.beamWidth, undefined, Infinity);
      const count = this.#takeNearest(slot);
      at = count === 0 ? at : (this.#near[0] as number);
      this.#connect(slot, own, count);
      this.#linkBack(slot, own);
      this.#space.setQueryOf(slot);
    }
    if (level <= entryLevel) return;
    block.setHeader(headerWord.entry, slot);
    block.setHeader(headerWord.entryLevel, level);
  }

  /**
   * The nearest to the space's query, as slots with distances, nearest first.
   * @param visitedMax gives up after so many slots and answers undefined: few of them are accepted
   */
  search(
    beam: number,
    accept: AcceptSlot | undefined,
    visitedMax: number,
  ): { readonly slot: number; readonly distance: number }[] | undefined {
    if (this.count === 0) return [];
    const block = this.#block;
    let at = block.header(headerWord.entry);
    for (let level = block.header(headerWord.entryLevel); level > 0; level -= 1)
      at = this.#descend(at, level);
    if (!this.#walk(at, 0, beam, accept, visitedMax)) return undefined;
    const nearest = this.#nearest;
    const found: { slot: number; distance: number }[] = new Array(nearest.size);
    for (let i = nearest.size - 1; i >= 0; i -= 1) {
      found[i] = { slot: nearest.topSlot, distance: -nearest.topKey };
      nearest.pop();
    }
    return found;
  }

  /** A slot near the query on a level above. A few candidates at a time: single steps end in the wrong cluster too often. */
  #descend(from: number, level: number): number {
    this.#walk(from, level, upperBeam, undefined, Infinity);
    const nearest = this.#nearest;
    while (nearest.size > 1) nearest.pop();
    return nearest.topSlot;
  }

  /** Word of a list above the lowest level; -1: there is none. */
  #upperList(slot: number, level: number): number {
    const block = this.#block;
    const at = block.words[block.upperAt(slot)] as number;
    return at === 0 ? -1 : at + (level - 1) * block.form.width;
  }

  #makeUpper(slot: number, levels: number): void {
    const block = this.#block;
    const at = block.takeUpper(levels);
    const { width } = block.form;
    for (let level = 0; level < levels; level += 1) block.upperWords[at + level * width] = 0;
    block.words[block.upperAt(slot)] = at;
  }

  /** Best first search; leaves the accepted ones in `#nearest`. */
  #walk(
    from: number,
    level: number,
    beam: number,
    accept: AcceptSlot | undefined,
    visitedMax: number,
  ): boolean {
    const space = this.#space;
    const block = this.#block;
    const candidates = this.#candidates;
    const nearest = this.#nearest;
    const mark = this.#nextMark();
    const visited = this.#visited;
    candidates.clear();
    nearest.clear();
    const start = space.distance(from);
    candidates.push(start, from);
    visited[from] = mark;
    if (accept === undefined || accept(from)) nearest.push(-start, from);
    let seen = 1;
    const words = level === 0 ? block.words : block.upperWords;
    while (candidates.size > 0) {
      const distance = candidates.topKey;
      if (nearest.size >= beam && distance > -nearest.topKey) break;
      const slot = candidates.topSlot;
      candidates.pop();
      const list = level === 0 ? block.listAt(slot) : this.#upperList(slot, level);
      if (list < 0) continue;
      const end = list + (words[list] as number);
      for (let i = list + 1; i <= end; i += 1) {
        const other = words[i] as number;
        if (visited[other] === mark) continue;
        visited[other] = mark;
        seen += 1;
        const far = space.distance(other);
        if (nearest.size >= beam && far >= -nearest.topKey) continue;
        candidates.push(far, other);
        if (accept !== undefined && !accept(other)) continue;
        if (nearest.size < beam) nearest.push(-far, other);
        else nearest.replaceTop(-far, other);
      }
      if (seen > visitedMax) return false;
    }
    return true;
  }

  /** Moves what a walk found to `#near`, without the slot itself. @returns how many */
  #takeNearest(slot: number): number {
    const nearest = this.#nearest;
    this.#reserveNear(nearest.size);
    let count = nearest.size;
    for (let i = nearest.size - 1; i >= 0; i -= 1) {
      this.#near[i] = nearest.topSlot;
      this.#distances[i] = -nearest.topKey;
      nearest.pop();
    }
    const own = this.#near.subarray(0, count).indexOf(slot);
    if (own >= 0) {
      this.#near.copyWithin(own, own + 1, count);
      this.#distances.copyWithin(own, own + 1, count);
      count -= 1;
    }
    return count;
  }

  /** Gives the slot, of the first `count` in `#near`, the links that lead in most directions, then the nearest others. */
  #connect(slot: number, level: number, count: number): void {
    const space = this.#space;
    const near = this.#near;
    const taken = this.#taken;
    const max = this.#options.maxConnections;
    const { alpha } = this.#options;
    let takenCount = 0;
    let leftCount = 0;
    for (let i = 0; i < count && takenCount < max; i += 1) {
      const other = near[i] as number;
      const distance = this.#distances[i] as number;
      let isTaken = true;
      for (let at = 0; at < takenCount; at += 1) {
        if (isNearer(space.between(taken[at] as number, other), distance, alpha)) {
          isTaken = false;
          break;
        }
      }
      if (isTaken) taken[takenCount++] = other;
      else near[leftCount++] = other;
    }
    for (let i = 0; i < leftCount && takenCount < max; i += 1)
      taken[takenCount++] = near[i] as number;
    const { words, list } = this.#listOf(slot, level);
    for (let i = 0; i < takenCount; i += 1) words[list + 1 + i] = taken[i] as number;
    words[list] = takenCount;
  }

  /** Links of the slot lead back to it. */
  #linkBack(slot: number, level: number): void {
    const { words, list } = this.#listOf(slot, level);
    const others = words.slice(list + 1, list + 1 + (words[list] as number));
    for (const other of others) this.#addLink(other, slot, level);
  }

  #addLink(from: number, to: number, level: number): void {
    const { words, list } = this.#listOf(from, level);
    const { width } = this.#block.form;
    const count = words[list] as number;
    if (count + 1 < width) {
      words[list + count + 1] = to;
      words[list] = count + 1;
      return;
    }
    const space = this.#space;
    const distances = [{ slot: to, distance: space.between(from, to) }];
    for (let i = 1; i <= count; i += 1) {
      const other = words[list + i] as number;
      distances.push({ slot: other, distance: space.between(from, other) });
    }
    distances.sort((a, b) => a.distance - b.distance || a.slot - b.slot);
    this.#reserveNear(distances.length);
    for (const [i, { slot, distance }] of distances.entries()) {
      this.#near[i] = slot;
      this.#distances[i] = distance;
    }
    this.#connect(from, level, distances.length);
  }

  #listOf(slot: number, level: number) {
    const block = this.#block;
    return level === 0
      ? { words: block.words, list: block.listAt(slot) }
      : { words: block.upperWords, list: this.#upperList(slot, level) };
  }

  /** A mark that no slot has. Slots that another thread is linking may be met, too. */
  #nextMark(): number {
    const { capacity } = this.#block;
    if (this.#visited.length < capacity) {
      this.#visited = new Uint32Array(capacity);
      this.#mark = 0;
    } else if (this.#mark === 0xffffffff) {
      this.#visited.fill(0);
      this.#mark = 0;
    }
    this.#mark += 1;
    return this.#mark;
  }

  #reserveNear(count: number): void {
    if (this.#near.length >= count) return;
    this.#near = new Int32Array(count * 2);
    this.#distances = new Float64Array(count * 2);
  }
}

/** Distances may be negative (products): the factor then works the other way. */
function isNearer(between: number, distance: number, alpha: number): boolean {
  if (between >= 0 && distance >= 0) return between * alpha <= distance;
  return between < distance;
}

/** Levels thin out by the number of links, by a hash of the slot. */
function levelOf(slot: number, maxConnections: number): number {
  let hash = Math.imul(slot + 1, 0x9e3779b1);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  hash ^= hash >>> 16;
  const share = ((hash >>> 0) + 1) / 2 ** 32;
  const scale = 1 / Math.log(Math.max(2, maxConnections / 2));
  return Math.min(12, Math.floor(-Math.log(share) * scale));
}
