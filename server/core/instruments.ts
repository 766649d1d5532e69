/** A histogram as it stands. */
export interface HistogramReading {
  /** Upper bounds in ascending order, each with the number of observations up to it; the last bound is Infinity. */
  readonly buckets: readonly (readonly [bound: number, count: number])[];
  readonly sum: number;
  readonly count: number;
}

/** Bounds for times of statements and requests, seconds. */
export const latencyBounds: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** Cells of a histogram: a count for each bound and for what is larger, and the sum. */
export function histogramCells(bounds: readonly number[] = latencyBounds): number {
  return bounds.length + 2;
}

/** Counts observations by size. An observation costs a few comparisons and two additions; nothing is allocated. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #cells: Float64Array;

  /**
   * @param bounds upper bounds, ascending
   * @param cells `histogramCells` of them; those of another thread when one of them observes and the other one reads
   */
  constructor(
    bounds: readonly number[] = latencyBounds,
    cells: Float64Array = new Float64Array(histogramCells(bounds)),
  ) {
    this.#bounds = bounds;
    this.#cells = cells;
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] as number)) at += 1;
    const cells = this.#cells;
    cells[at] = (cells[at] as number) + 1;
    cells[bounds.length + 1] = (cells[bounds.length + 1] as number) + value;
  }

  read(): HistogramReading {
    const buckets: [number, number][] = [];
    let count = 0;
    for (let at = 0; at <= this.#bounds.length; at += 1) {
      count += this.#cells[at] as number;
      buckets.push([this.#bounds[at] ?? Number.POSITIVE_INFINITY, count]);
    }
    return { buckets, sum: this.#cells[this.#bounds.length + 1] as number, count };
  }
}

/** A family of counts by one label, whose values come from our own tables and are therefore few. */
export class LabelledCounts {
  readonly #counts = new Map<string, number>();

  add(label: string, amount = 1): void {
    this.#counts.set(label, (this.#counts.get(label) ?? 0) + amount);
  }

  entries(): IterableIterator<[string, number]> {
    return this.#counts.entries();
  }
}
