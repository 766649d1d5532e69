import { SlotHeap } from './heap.ts';
import type { VectorSpace } from './space.ts';

export interface GraphOptions {
  /** Links of a vector on the lowest level; half as many above. */
  readonly maxConnections: number;
  /** Candidates looked at for a new vector. */
  readonly beamWidth: number;
  /** A candidate is taken unless a taken one is nearer to it than the new vector by this factor. */
  readonly alpha: number;
  /** Lists may grow by this factor before they are pruned. */
  readonly overflow: number;
}

/** What a search may give; others are walked through. */
export type AcceptSlot = (slot: number) => boolean;

/**
 * A hierarchical navigable small world (Malkov and Yashunin 2016) with the relaxed pruning of DiskANN (Subramanya et al. 2019) over the
 * slots of a space. Slots are linked in ascending order; levels follow from the slot, so nothing is random. Slots whose vector is
 * gone stay as places to walk through until the graph is made anew.
 */
export class VectorGraph {
  readonly #space: VectorSpace;
  readonly #options: GraphOptions;
  /** Per slot: number of links, then links. */
  #links = new Int32Array(0);
  readonly #width: number;
  readonly #upperWidth: number;
  /** By slot: a list for each level from 1 on. */
  readonly #upper = new Map<number, Int32Array[]>();
  #visited = new Uint32Array(0);
  #mark = 0;
  #entry = -1;
  #entryLevel = 0;
  #count = 0;
  readonly #candidates = new SlotHeap(256);
  /** Worst on top: keys are negated. */
  readonly #nearest = new SlotHeap(256);

  constructor(space: VectorSpace, options: GraphOptions) {
    this.#space = space;
    this.#options = options;
    this.#width = 1 + Math.max(2, Math.floor(options.maxConnections * options.overflow));
    this.#upperWidth = 1 + Math.max(2, Math.floor((options.maxConnections / 2) * options.overflow));
  }

  /** Slots below this are linked. */
  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return (
      this.#links.byteLength + this.#visited.byteLength + this.#upper.size * 4 * this.#upperWidth
    );
  }

  /** Links the next slot. Cost: some hundred microseconds. */
  linkNext(): void {
    const slot = this.#count;
    this.#reserve(slot + 1);
    const level = levelOf(slot, this.#options.maxConnections);
    if (level > 0)
      this.#upper.set(
        slot,
        Array.from({ length: level }, () => new Int32Array(this.#upperWidth)),
      );
    this.#count = slot + 1;
    if (this.#entry < 0) {
      this.#entry = slot;
      this.#entryLevel = level;
      return;
    }
    this.#space.setQueryOf(slot);
    let at = this.#entry;
    for (let upper = this.#entryLevel; upper > level; upper -= 1) at = this.#descend(at, upper);
    for (let own = Math.min(level, this.#entryLevel); own >= 0; own -= 1) {
      this.#walk(at, own, this.#options.beamWidth, undefined, Infinity);
      const near = this.#sortedNearest();
      at = near[0]?.slot ?? at;
      this.#space.setQueryOf(slot);
      for (const other of this.#connect(slot, own, near)) this.#addLink(other, slot, own);
      this.#space.setQueryOf(slot);
    }
    if (level > this.#entryLevel) {
      this.#entry = slot;
      this.#entryLevel = level;
    }
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
    if (this.#entry < 0) return [];
    let at = this.#entry;
    for (let level = this.#entryLevel; level > 0; level -= 1) at = this.#descend(at, level);
    if (!this.#walk(at, 0, beam, accept, visitedMax)) return undefined;
    return this.#sortedNearest();
  }

  #listOf(slot: number, level: number): Int32Array {
    if (level === 0) return this.#links.subarray(slot * this.#width, (slot + 1) * this.#width);
    return this.#upper.get(slot)?.[level - 1] ?? noLinks;
  }

  /** The slot nearest to the query that single steps lead to. */
  #descend(from: number, level: number): number {
    const space = this.#space;
    let at = from;
    let nearest = space.distance(at);
    for (;;) {
      const list = this.#listOf(at, level);
      const count = list[0] as number;
      let next = at;
      for (let i = 1; i <= count; i += 1) {
        const other = list[i] as number;
        const distance = space.distance(other);
        if (distance < nearest) {
          nearest = distance;
          next = other;
        }
      }
      if (next === at) return at;
      at = next;
    }
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
    const candidates = this.#candidates;
    const nearest = this.#nearest;
    const visited = this.#visited;
    const mark = this.#nextMark();
    candidates.clear();
    nearest.clear();
    const start = space.distance(from);
    candidates.push(start, from);
    visited[from] = mark;
    if (accept === undefined || accept(from)) nearest.push(-start, from);
    let seen = 1;
    const links = this.#links;
    while (candidates.size > 0) {
      const distance = candidates.topKey;
      if (nearest.size >= beam && distance > -nearest.topKey) break;
      const slot = candidates.topSlot;
      candidates.pop();
      const list = level === 0 ? links : this.#listOf(slot, level);
      const start = level === 0 ? slot * this.#width : 0;
      const end = start + (list[start] as number);
      for (let i = start + 1; i <= end; i += 1) {
        const other = list[i] as number;
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

  #sortedNearest(): { readonly slot: number; readonly distance: number }[] {
    const nearest = this.#nearest;
    const found: { slot: number; distance: number }[] = new Array(nearest.size);
    for (let i = nearest.size - 1; i >= 0; i -= 1) {
      found[i] = { slot: nearest.topSlot, distance: -nearest.topKey };
      nearest.pop();
    }
    return found;
  }

  /** Gives the slot the links that lead in most directions. @returns them */
  #connect(
    slot: number,
    level: number,
    near: readonly { readonly slot: number; readonly distance: number }[],
  ): readonly number[] {
    const max = this.#linksMax(level);
    const taken: number[] = [];
    const left: number[] = [];
    const { alpha } = this.#options;
    for (const { slot: other, distance } of near) {
      if (taken.length >= max) break;
      if (other === slot) continue;
      if (taken.some((kept) => isNearer(this.#space.between(kept, other), distance, alpha)))
        left.push(other);
      else taken.push(other);
    }
    for (let i = 0; i < left.length && taken.length < max; i += 1) taken.push(left[i] as number);
    const list = this.#listOf(slot, level);
    list[0] = taken.length;
    for (let i = 0; i < taken.length; i += 1) list[i + 1] = taken[i] as number;
    return taken;
  }

  #addLink(from: number, to: number, level: number): void {
    const list = this.#listOf(from, level);
    const count = list[0] as number;
    if (count + 1 < list.length) {
      list[count + 1] = to;
      list[0] = count + 1;
      return;
    }
    const near = [{ slot: to, distance: this.#space.between(from, to) }];
    for (let i = 1; i <= count; i += 1) {
      const other = list[i] as number;
      near.push({ slot: other, distance: this.#space.between(from, other) });
    }
    near.sort((a, b) => a.distance - b.distance || a.slot - b.slot);
    this.#connect(from, level, near);
  }

  #linksMax(level: number): number {
    return level === 0
      ? this.#options.maxConnections
      : Math.max(1, Math.floor(this.#options.maxConnections / 2));
  }

  #nextMark(): number {
    if (this.#mark === 0xffffffff) {
      this.#visited.fill(0);
      this.#mark = 0;
    }
    this.#mark += 1;
    return this.#mark;
  }

  #reserve(count: number): void {
    if (this.#visited.length >= count) return;
    const capacity = Math.max(1_024, Math.ceil(count * 1.5));
    const links = new Int32Array(capacity * this.#width);
    links.set(this.#links);
    this.#links = links;
    const visited = new Uint32Array(capacity);
    visited.set(this.#visited);
    this.#visited = visited;
  }
}

const noLinks = new Int32Array(1);

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
