import { hashedMax, PositionHash } from './position-hash.ts';

/** A power of two; with one change among them, so many words are spent on it. */
const slotsPerLeaf = 16;
const leavesPerGroup = 32;
const positionsPerGroup = slotsPerLeaf * leavesPerGroup;
/** Up to so many values a plain map is the smallest, and they are sorted as they are. */
const fewMax = 512;

type Leaf<V> = (V | undefined)[];
type Group<V> = (Leaf<V> | undefined)[];

/**
 * A map by position that gives its values in order: a few in a plain map, many hashed, and beyond `hashedMax` at their places in leaves
 * of 16, these in groups of 512 positions. A million of them in a plain map are moved for 80 ms each time the map grows, and take
 * 200 ms to sort, all in one turn of the event loop.
 */
export class PositionTable<V> {
  /** All values, as long as they are few. */
  #few: Map<number, V> | undefined = new Map();
  /** All values, when they are many. */
  #many: PositionHash<V> | undefined;
  #groups: Map<number, Group<V>> | undefined;
  #size = 0;

  get size(): number {
    return this.#few?.size ?? this.#many?.size ?? this.#size;
  }

  get(position: number): V | undefined {
    if (this.#few !== undefined) return this.#few.get(position);
    if (this.#many !== undefined) return this.#many.get(position);
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
    } else if (many !== undefined) {
      many.set(position, value);
      if (many.size === hashedMax) this.#spread(many);
    } else this.#put(position, value);
  }

  #hash(few: ReadonlyMap<number, V>): void {
    const many = new PositionHash<V>();
    this.#few = undefined;
    this.#many = many;
    few.forEach((each, at) => {
      many.set(at, each);
    });
  }

  #spread(many: PositionHash<V>): void {
    this.#many = undefined;
    many.forEach((each, at) => {
      this.#put(at, each);
    });
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
    if (this.#many !== undefined) return this.#deleteHashed(this.#many, position);
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
    if (this.#size === 0) this.#few = new Map();
    return true;
  }

  #deleteHashed(many: PositionHash<V>, position: number): boolean {
    if (!many.delete(position)) return false;
    if (many.size === 0) {
      this.#many = undefined;
      this.#few = new Map();
    }
    return true;
  }

  forEach(visit: (value: V, position: number) => void): void {
    if (this.#few !== undefined) this.#few.forEach(visit);
    else if (this.#many !== undefined) this.#many.forEach(visit);
    else
      this.#groups?.forEach((group, number) => {
        visitGroup(group, number, visit);
      });
  }

  /** All values in the order of their positions, up to 512 at a time. */
  *inOrder(): Generator<readonly V[], void, undefined> {
    if (this.#few !== undefined) {
      yield [...this.#few].sort(([a], [b]) => a - b).map(([, value]) => value);
      return;
    }
    if (this.#many !== undefined) {
      yield* this.#many.inOrder(positionsPerGroup);
      return;
    }
    const groups = this.#groups ?? new Map<number, Group<V>>();
    const numbers = Float64Array.from(groups.keys()).sort();
    for (let i = 0; i < numbers.length; i += 1) {
      const values: V[] = [];
      visitGroup(groups.get(numbers[i] as number) as Group<V>, 0, (value) => {
        values.push(value);
      });
      yield values;
    }
  }
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
