/** A binary heap: `take` gives the item of the least key, of equal keys the one added first. */
export class PriorityQueue<Item> {
  readonly #keys: number[] = [];
  readonly #order: number[] = [];
  readonly #items: Item[] = [];
  #added = 0;

  add(key: number, item: Item): void {
    let at = this.#items.length;
    this.#keys.push(key);
    this.#order.push(this.#added++);
    this.#items.push(item);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  take(): Item | undefined {
    const first = this.#items[0];
    const last = this.#items.length - 1;
    if (last < 0) return undefined;
    this.#swap(0, last);
    this.#keys.pop();
    this.#order.pop();
    this.#items.pop();
    this.#sink(last);
    return first;
  }

  #sink(count: number): void {
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
      (difference === 0 && (this.#order[a] as number) < (this.#order[b] as number))
    );
  }

  #swap(a: number, b: number): void {
    swap(this.#keys, a, b);
    swap(this.#order, a, b);
    swap(this.#items, a, b);
  }
}

function swap<T>(list: T[], a: number, b: number): void {
  const kept = list[a] as T;
  list[a] = list[b] as T;
  list[b] = kept;
}
