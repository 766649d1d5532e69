/** Rows sorted at once: a millisecond or two where the keys are texts. */
const runLength = 1024;

export type CompareRows = (a: number, b: number) => number;

/** Gives row numbers in order, then -1. */
export interface RunMerger {
  next(): number;
}

/**
 * Sorts row numbers in bounded steps: each full run is sorted when it fills, and the merger takes the smallest head of all runs
 * (a binary heap, so a row costs the logarithm of the number of runs). Equal rows keep the order in which they were added.
 */
export class SortedRuns {
  readonly #compare: CompareRows;
  readonly #runs: number[][] = [];
  #open: number[] = [];

  constructor(compare: CompareRows) {
    this.#compare = compare;
  }

  add(row: number): void {
    this.#open.push(row);
    if (this.#open.length === runLength) this.#endRun();
  }

  merger(): RunMerger {
    if (this.#open.length > 0) this.#endRun();
    return this.#runs.length === 1
      ? new SingleRun(this.#runs[0] as number[])
      : new MergedRuns(this.#runs, this.#compare);
  }

  #endRun(): void {
    this.#open.sort(this.#compare);
    this.#runs.push(this.#open);
    this.#open = [];
  }
}

/** Rows that are in order already. */
class SingleRun implements RunMerger {
  readonly #rows: readonly number[];
  #position = 0;

  constructor(rows: readonly number[]) {
    this.#rows = rows;
  }

  next(): number {
    const row = this.#rows[this.#position] ?? -1;
    this.#position += 1;
    return row;
  }
}

class MergedRuns implements RunMerger {
  readonly #runs: readonly (readonly number[])[];
  readonly #positions: number[];
  readonly #compare: CompareRows;
  /** Numbers of runs, smallest head first. Run numbers break ties, which keeps the sort stable. */
  readonly #heap: number[] = [];

  constructor(runs: readonly (readonly number[])[], compare: CompareRows) {
    this.#runs = runs;
    this.#positions = runs.map(() => 0);
    this.#compare = compare;
    for (let run = 0; run < runs.length; run += 1) {
      this.#heap.push(run);
      this.#siftUp(run);
    }
  }

  next(): number {
    const run = this.#heap[0];
    if (run === undefined) return -1;
    const rows = this.#runs[run] as readonly number[];
    const position = this.#positions[run] as number;
    const row = rows[position] as number;
    this.#positions[run] = position + 1;
    if (position + 1 === rows.length) {
      const last = this.#heap.pop() as number;
      if (this.#heap.length === 0) return row;
      this.#heap[0] = last;
    }
    this.#siftDown();
    return row;
  }

  #head(run: number): number {
    return (this.#runs[run] as readonly number[])[this.#positions[run] as number] as number;
  }

  #isBefore(a: number, b: number): boolean {
    const order = this.#compare(this.#head(a), this.#head(b));
    return order === 0 ? a < b : order < 0;
  }

  #siftUp(from: number): void {
    const heap = this.#heap;
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(heap[at] as number, heap[parent] as number)) return;
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
        right < heap.length && this.#isBefore(heap[right] as number, heap[left] as number)
          ? right
          : left;
      if (!this.#isBefore(heap[child] as number, heap[at] as number)) return;
      swap(heap, at, child);
      at = child;
    }
  }
}

/** Exchanges two elements of a heap. */
export function swap(heap: number[], a: number, b: number): void {
  const held = heap[a] as number;
  heap[a] = heap[b] as number;
  heap[b] = held;
}
