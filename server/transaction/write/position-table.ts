import { hashedMax, PositionHash } from './position-hash.ts';

/** A power of two; with one change among them, so many words are spent on it. */
const slotsPerLeaf = 16;
const leavesPerGroup = 32;
const positionsPerGroup = slotsPerLeaf * leavesPerGroup;
/** Up to so many values a plain map is the smallest, and they are sorted as they are. */
const fewMax = 512;

type Leaf<V> = (V | undefined)[];
type Group<V> = (Leaf<V> | undefined)[];

/** Values that go from the hash into leaves with each one that is set: some microseconds. */
const movedPerSet = 8;

/**
 * A map by position that gives its values in order: a few in a plain map, many hashed, and beyond `hashedMax` at their places in leaves
 * of 16, these in groups of 512 positions. A million of them in a plain map are moved for 80 ms each time the map grows, and take
 * 200 ms to sort, all in one turn of the event loop. So the way from the hash into leaves is taken in parts: a position is in one of both
 * meanwhile.
 */
export class PositionTable<V> {
  /** All values, as long as they are few. */
  #few: Map<number, V> | undefined = new Map();
  /** All values, when they are many; while they go into leaves, those that have not gone. */
  #many: PositionHash<V> | undefined;
  /** Set while values go into leaves: puts one there. */
  #move: ((value: V, position: number) => void) | undefined;
  #groups: Map<number, Group<V>> | undefined;
  /** Of the leaves. */
  #size = 0;

  get size(): number {
    return this.#few?.size ?? (this.#many?.size ?? 0) + this.#size;
  }

  get(position: number): V | undefined {
    if (this.#few !== undefined) return this.#few.get(position);
    if (this.#many !== undefined) {
      const value = this.#many.get(position);
      if (value !== undefined || this.#groups === undefined) return value;
    }
    return this.#groups?.get(groupOf(position))?.[leafOf(position)]?.[
      position & (slotsPerLeaf - 1)
    ];
  }

  set(position: number, value: V): void {
    const few = this.#few;
    const many = this.#many;
    if (few !== undefined) {
      few.set(position, value);
      if (few.size > fewMax) this.#hash(few);
    } else if (many === undefined) this.#put(position, value);
    else if (this.#move === undefined) {
      many.set(position, value);
      if (many.size === hashedMax) this.#move = (each, at) => this.#put(at, each);
    } else {
      many.delete(position);
      this.#put(position, value);
      many.takeFirst(movedPerSet, this.#move);
      this.#endMove(many);
    }
  }

  #hash(few: ReadonlyMap<number, V>): void {
    const many = new PositionHash<V>();
    this.#few = undefined;
    this.#many = many;
    few.forEach((each, at) => {
      many.set(at, each);
    });
  }

  #endMove(many: PositionHash<V>): void {
    if (many.size > 0) return;
    this.#many = undefined;
    this.#move = undefined;
  }

  #put(position: number, value: V): void {
    const number = groupOf(position);
    this.#groups ??= new Map();
    let group = this.#groups.get(number);
    if (group === undefined) {
      group = new Array<Leaf<V> | undefined>(leavesPerGroup).fill(undefined);
      this.#groups.set(number, group);
    }
    const at = leafOf(position);
    let leaf = group[at];
    if (leaf === undefined) {
      leaf = new Array<V | undefined>(slotsPerLeaf).fill(undefined);
      group[at] = leaf;
    }
    const slot = position & (slotsPerLeaf - 1);
    if (leaf[slot] === undefined) this.#size += 1;
    leaf[slot] = value;
  }

  /** @returns whether there was a value */
  delete(position: number): boolean {
    if (this.#few !== undefined) return this.#few.delete(position);
    if (this.#many?.delete(position) !== true && !this.#deleteInLeaf(position)) return false;
    if (this.size === 0) this.#clear();
    return true;
  }

  #deleteInLeaf(position: number): boolean {
    const number = groupOf(position);
    const group = this.#groups?.get(number);
    const leaf = group?.[leafOf(position)];
    const slot = position & (slotsPerLeaf - 1);
    if (group === undefined || leaf?.[slot] === undefined) return false;
    leaf[slot] = undefined;
    this.#size -= 1;
    // What holds nothing any more is given back: a table may live as long as the database.
    if (leaf.every(isAbsent)) group[leafOf(position)] = undefined;
    if (group.every(isAbsent)) this.#groups?.delete(number);
    return true;
  }

  #clear(): void {
    this.#few = new Map();
    this.#many = undefined;
    this.#move = undefined;
    this.#groups = undefined;
  }

  forEach(visit: (value: V, position: number) => void): void {
    this.#few?.forEach(visit);
    this.#many?.forEach(visit);
    this.#groups?.forEach((group, number) => {
      visitGroup(group, number, visit);
    });
  }

  /** All values in the order of their positions, up to 512 at a time. The map must not change meanwhile. */
  *inOrder(): Generator<readonly V[], void, undefined> {
    if (this.#few !== undefined)
      yield [...this.#few].sort(([a], [b]) => a - b).map(([, value]) => value);
    else if (this.#many !== undefined && this.#move === undefined)
      yield* this.#many.inOrder(positionsPerGroup);
    else yield* this.#groupsInOrder(this.#many);
  }

  /** @param left what has not gone into leaves yet: it goes there group by group */
  *#groupsInOrder(left: PositionHash<V> | undefined): Generator<readonly V[], void, undefined> {
    const positions = left?.positionsInOrder() ?? new Float64Array(0);
    this.#groups ??= new Map();
    const groups = this.#groups;
    const numbers = sortedGroups(groups.keys(), positions);
    const move = (value: V, position: number): void => this.#put(position, value);
    let next = 0;
    for (const number of numbers) {
      const end = (number + 1) * positionsPerGroup;
      for (; next < positions.length && (positions[next] as number) < end; next += 1)
        left?.take(positions[next] as number, move);
      const values: V[] = [];
      visitGroup(groups.get(number) as Group<V>, 0, (value) => {
        values.push(value);
      });
      yield values;
    }
    if (left !== undefined) this.#endMove(left);
  }
}

/** The numbers of groups that are there, and of those that positions in ascending order will need, in ascending order. */
function sortedGroups(known: Iterable<number>, positions: Float64Array): Float64Array {
  const numbers = new Set(known);
  let last = -1;
  for (let at = 0; at < positions.length; at += 1) {
    const number = groupOf(positions[at] as number);
    if (number !== last) numbers.add(number);
    last = number;
  }
  return Float64Array.from(numbers).sort();
}

function groupOf(position: number): number {
  return Math.floor(position / positionsPerGroup);
}

/** Positions have more than 32 bits; those that count here are the lowest. */
function leafOf(position: number): number {
  return (position >>> 4) & (leavesPerGroup - 1);
}

function isAbsent(value: unknown): boolean {
  return value === undefined;
}

function visitGroup<V>(
  group: Group<V>,
  number: number,
  visit: (value: V, position: number) => void,
): void {
  for (let at = 0; at < leavesPerGroup; at += 1) {
    const leaf = group[at];
    if (leaf === undefined) continue;
    const first = number * positionsPerGroup + at * slotsPerLeaf;
    for (let slot = 0; slot < slotsPerLeaf; slot += 1) {
      const value = leaf[slot];
      if (value !== undefined) visit(value, first + slot);
    }
  }
}
