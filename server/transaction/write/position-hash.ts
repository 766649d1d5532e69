const slotCountMin = 2048;
/** Of a slot: the place of the value, plus one; 0 when it is empty. What is left of the word is of the hash. */
const placeBits = 19;
const placeMask = 2 ** placeBits - 1;
/** Values that a table holds at most: with as many that were taken out they have places. */
export const hashedMax = 2 ** (placeBits - 2);

const digitBits = 11;
const digitCount = 1 << digitBits;

/**
 * A map from positions to values, up to `hashedMax` of them. A plain map of 100,000 takes two or three misses of the processor's cache
 * to say that it does not have a position, which is what a statement that changes records asks most; here four bytes say so.
 * It grows in a millisecond. Values and positions stand in the order in which they came.
 */
export class PositionHash<V> {
  #slots = new Int32Array(slotCountMin);
  #positions = new Float64Array(slotCountMin / 2);
  /** Undefined where one was taken out; its position keeps its place until the table is laid out anew. */
  #values: (V | undefined)[] = [];
  #size = 0;
  /** Places before this one were given by `takeFirst`. */
  #takenCount = 0;

  get size(): number {
    return this.#size;
  }

  get(position: number): V | undefined {
    const place = this.#find(position);
    return place < 0 ? undefined : this.#values[place];
  }

  set(position: number, value: V): void {
    const place = this.#find(position);
    if (place >= 0) {
      if (this.#values[place] === undefined) this.#size += 1;
      this.#values[place] = value;
      return;
    }
    if (this.#values.length === this.#positions.length) this.#layOut();
    this.#append(position, value);
  }

  /** @returns whether there was a value */
  delete(position: number): boolean {
    const place = this.#find(position);
    if (place < 0 || this.#values[place] === undefined) return false;
    this.#values[place] = undefined;
    this.#size -= 1;
    return true;
  }

  forEach(visit: (value: V, position: number) => void): void {
    for (let place = 0; place < this.#values.length; place += 1) {
      const value = this.#values[place];
      if (value !== undefined) visit(value, this.#positions[place] as number);
    }
  }

  /** Takes out those at the next `count` places, in the order in which they came. Nothing may be set any more. */
  takeFirst(count: number, visit: (value: V, position: number) => void): void {
    const end = Math.min(this.#takenCount + count, this.#values.length);
    for (; this.#takenCount < end; this.#takenCount += 1) this.#take(this.#takenCount, visit);
  }

  /** Takes out the value of a position. */
  take(position: number, visit: (value: V, position: number) => void): void {
    const place = this.#find(position);
    if (place >= 0) this.#take(place, visit);
  }

  #take(place: number, visit: (value: V, position: number) => void): void {
    const value = this.#values[place];
    if (value === undefined) return;
    this.#values[place] = undefined;
    this.#size -= 1;
    visit(value, this.#positions[place] as number);
  }

  /** Cost: as `inOrder` before its first values. */
  positionsInOrder(): Float64Array {
    const positions = new Float64Array(this.#size);
    const order = orderOf(this.#positions.subarray(0, this.#values.length));
    let count = 0;
    for (let at = 0; at < order.length; at += 1) {
      const place = order[at] as number;
      if (this.#values[place] === undefined) continue;
      positions[count] = this.#positions[place] as number;
      count += 1;
    }
    return positions;
  }

  /** The values in the order of their positions, `count` at a time. Cost: a millisecond for 50,000 before the first ones. */
  *inOrder(count: number): Generator<readonly V[], void, undefined> {
    const order = orderOf(this.#positions.subarray(0, this.#values.length));
    for (let from = 0; from < order.length; from += count) {
      const values: V[] = [];
      const to = Math.min(from + count, order.length);
      for (let at = from; at < to; at += 1) {
        const value = this.#values[order[at] as number];
        if (value !== undefined) values.push(value);
      }
      if (values.length > 0) yield values;
    }
  }

  /** @returns the place of the position; -1 when it has none */
  #find(position: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    const hash = hashOf(position);
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const word = slots[slot] as number;
      if (word === 0) return -1;
      if (((word ^ hash) & ~placeMask) !== 0) continue;
      const place = (word & placeMask) - 1;
      if (this.#positions[place] === position) return place;
    }
  }

  /** @param position has no place yet, and there is room */
  #append(position: number, value: V): void {
    this.#positions[this.#values.length] = position;
    this.#values.push(value);
    this.#size += 1;
    this.#enter(position, this.#values.length);
  }

  #enter(position: number, number: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    const hash = hashOf(position);
    let slot = hash & mask;
    while (slots[slot] !== 0) slot = (slot + 1) & mask;
    slots[slot] = (hash & ~placeMask) | number;
  }

  /** Makes room, where half of the places are in use twice as much; the others are given up. */
  #layOut(): void {
    const positions = this.#positions;
    const values = this.#values;
    const isWide = this.#size > positions.length / 2;
    const length = isWide ? positions.length * 2 : positions.length;
    const isDense = this.#size === values.length;
    this.#positions = new Float64Array(length);
    this.#slots = new Int32Array(length * 2);
    if (isDense) {
      this.#positions.set(positions);
      for (let place = 0; place < values.length; place += 1)
        this.#enter(positions[place] as number, place + 1);
      return;
    }
    this.#values = [];
    this.#size = 0;
    for (let place = 0; place < values.length; place += 1) {
      const value = values[place];
      if (value !== undefined) this.#append(positions[place] as number, value);
    }
  }
}

/** Multiplied by the golden ratio; low bits choose the slot, so the high ones, which know most, are mixed into them. */
function hashOf(position: number): number {
  const hash = Math.imul(position | 0, 0x9e3779b1);
  return hash ^ (hash >>> 15);
}

/** The places of the positions, that of the lowest first: a radix sort over as many digits as tell them apart. */
function orderOf(positions: Float64Array): Uint32Array {
  const { length } = positions;
  let order = new Uint32Array(length);
  let lowest = Number.POSITIVE_INFINITY;
  let highest = 0;
  for (let at = 0; at < length; at += 1) {
    const position = positions[at] as number;
    if (position < lowest) lowest = position;
    if (position > highest) highest = position;
    order[at] = at;
  }
  let spare = new Uint32Array(length);
  for (let scale = 1; scale <= highest - lowest; scale *= digitCount) {
    distribute(order, spare, { positions, lowest, scale });
    [order, spare] = [spare, order];
  }
  return order;
}

/** One pass of the sort, stable. */
function distribute(
  order: Uint32Array,
  into: Uint32Array,
  {
    positions,
    lowest,
    scale,
  }: { readonly positions: Float64Array; readonly lowest: number; readonly scale: number },
): void {
  const starts = new Uint32Array(digitCount);
  for (let at = 0; at < positions.length; at += 1) {
    const digit = (((positions[at] as number) - lowest) / scale) & (digitCount - 1);
    starts[digit] = (starts[digit] as number) + 1;
  }
  let start = 0;
  for (let digit = 0; digit < digitCount; digit += 1) {
    const count = starts[digit] as number;
    starts[digit] = start;
    start += count;
  }
  for (let at = 0; at < order.length; at += 1) {
    const place = order[at] as number;
    const digit = (((positions[place] as number) - lowest) / scale) & (digitCount - 1);
    const target = starts[digit] as number;
    into[target] = place;
    starts[digit] = target + 1;
  }
}
