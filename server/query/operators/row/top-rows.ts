import { swap, type CompareRows, type SortedRuns } from './sorted-runs.ts';
import { rowsPerTurn } from '../hold/work-share.ts';

/**
 * The best `countMax` rows seen so far: a heap with the worst kept row on top. Rows are known by their place in the caller's
 * store; a row that enters takes the place of the one that drops out.
 */
export class TopRows {
  readonly #countMax: number;
  readonly #compare: CompareRows;
  readonly #heap: number[] = [];
  /** When the row at a place was added; breaks ties in favour of earlier rows. */
  readonly #arrivals: number[] = [];
  #arrivalCount = 0;

  constructor(countMax: number, compare: CompareRows) {
    this.#countMax = countMax;
    this.#compare = compare;
  }

  /**
   * Where the candidate is to be kept: its own place while there is room, the place of the worst row when it is better than
   * that one, -1 when it is not. The caller stores it there and calls `settle`.
   */
  place(candidate: number): number {
    this.#arrivalCount += 1;
    if (this.#heap.length < this.#countMax) return candidate;
    const worst = this.#heap[0];
    if (worst === undefined) return -1;
    // An equal candidate came later, so it stands behind.
    return this.#compare(candidate, worst) < 0 ? worst : -1;
  }

  /** The place of the row that drops out next; undefined while no row has to. */
  get worst(): number | undefined {
    return this.#heap.length < this.#countMax ? undefined : this.#heap[0];
  }

  settle(place: number): void {
    this.#arrivals[place] = this.#arrivalCount;
    if (place === this.#heap.length && this.#heap.length < this.#countMax) {
      this.#heap.push(place);
      this.#siftUp(this.#heap.length - 1);
    } else this.#siftDown();
  }

  /** Hands some of the kept rows over to be sorted. @returns true when all have been */
  moveTo(runs: SortedRuns): boolean {
    const heap = this.#heap;
    for (let count = 0; count < rowsPerTurn && heap.length > 0; count += 1)
      runs.add(heap.pop() as number);
    return heap.length === 0;
  }

  /** The order of two kept rows; of equal ones that came first stands first. */
  order(a: number, b: number): number {
    const order = this.#compare(a, b);
    return order === 0 ? (this.#arrivals[a] as number) - (this.#arrivals[b] as number) : order;
  }

  #siftUp(from: number): void {
    const heap = this.#heap;
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.order(heap[at] as number, heap[parent] as number) <= 0) return;
      swap(heap, at, parent);
      at = parent;
    }
  }

  #siftDown(): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= heap.length) return;
      const right = left + 1;
      const child =
        right < heap.length && this.order(heap[right] as number, heap[left] as number) > 0
          ? right
          : left;
      if (this.order(heap[child] as number, heap[at] as number) <= 0) return;
      swap(heap, at, child);
      at = child;
    }
  }
}
