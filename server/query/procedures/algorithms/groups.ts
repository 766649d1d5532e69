/** Sets of numbers that are joined (union by size, paths halved). */
export class Groups {
  readonly #parents: Int32Array;
  readonly #sizes: Int32Array;
  count: number;

  constructor(size: number) {
    this.#parents = new Int32Array(size);
    this.#sizes = new Int32Array(size).fill(1);
    for (let item = 0; item < size; item += 1) this.#parents[item] = item;
    this.count = size;
  }

  /** The number that stands for the group of the item. */
  of(item: number): number {
    const parents = this.#parents;
    let at = item;
    while (parents[at] !== at) {
      const above = parents[parents[at] as number] as number;
      parents[at] = above;
      at = above;
    }
    return at;
  }

  /** @returns false when both were in one group */
  join(a: number, b: number): boolean {
    let large = this.of(a);
    let small = this.of(b);
    if (large === small) return false;
    if ((this.#sizes[large] as number) < (this.#sizes[small] as number))
      [large, small] = [small, large];
    this.#parents[small] = large;
    this.#sizes[large] = (this.#sizes[large] as number) + (this.#sizes[small] as number);
    this.count -= 1;
    return true;
  }
}
