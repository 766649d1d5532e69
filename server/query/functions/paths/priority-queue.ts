import { grownFloats, grownIntegers } from './vertex-table.ts';

const capacityMin = 64;

/** A binary heap of numbers: `take` gives the one of the least key, of equal keys the least one. */
export class PriorityQueue {
  #keys = new Float64Array(capacityMin);
  #items = new Int32Array(capacityMin);
  #size = 0;

  add(key: number, item: number): void {
    if (this.#size === this.#keys.length) {
      this.#keys = grownFloats(this.#keys, this.#size * 2);
      this.#items = grownIntegers(this.#items, this.#size * 2);
    }
    let at = this.#size;
    this.#size += 1;
    this.#keys[at] = key;
    this.#items[at] = item;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  /** -1 when there is none. */
  take(): number {
    if (this.#size === 0) return -1;
    const first = this.#items[0] as number;
    this.#size -= 1;
    this.#swap(0, this.#size);
    this.#sink();
    return first;
  }

  #sink(): void {
    const count = this.#size;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= count) return;
      const right = left + 1;
      const child = right < count && this.#isBefore(right, left) ? right : left;
      if (!this.#isBefore(child, at)) return;
      this.#swap(at, child);
      at = child;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const difference = (this.#keys[a] as number) - (this.#keys[b] as number);
    return (
      difference < 0 ||
      (difference === 0 && (this.#items[a] as number) < (this.#items[b] as number))
    );
  }

  #swap(a: number, b: number): void {
    const key = this.#keys[a] as number;
    this.#keys[a] = this.#keys[b] as number;
    this.#keys[b] = key;
    const item = this.#items[a] as number;
    this.#items[a] = this.#items[b] as number;
    this.#items[b] = item;
  }
}
