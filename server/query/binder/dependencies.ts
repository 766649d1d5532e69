interface Measurement {
  /** Levels above `base - 1` belong to what is measured. */
  readonly base: number;
  /** All levels below it that were read from: those that are inner ones here may be outer ones further out. */
  readonly levels: Set<number>;
}

/**
 * The level of a value that is computed once for each run of the query at `queryLevel`, before its rows: it depends on less than
 * the query's row, and is there only inside that query.
 */
export function levelBeforeRows(queryLevel: number): number {
  return queryLevel - 0.5;
}

/**
 * Finds out on which enclosing rows a part of a statement depends: analyzers note the level of each row they read from, and
 * measure around parts that may be computed less often than once per row.
 */
export class Dependencies {
  readonly #open: Measurement[] = [];

  /** A value of the row at `level`, or from before the rows of a query, is read. */
  note(level: number): void {
    const current = this.#open[this.#open.length - 1];
    if (current && level > 0 && level <= current.base - 1) current.levels.add(level);
  }

  /**
   * Runs `analyze` and tells the innermost level below `base` that it read from; 0 when it reads from no row. What is measured
   * counts for the measurement around it, too.
   */
  measure<T>(base: number, analyze: () => T): { readonly result: T; readonly level: number } {
    const measurement: Measurement = { base, levels: new Set() };
    this.#open.push(measurement);
    try {
      const result = analyze();
      return { result, level: Math.max(0, ...measurement.levels) };
    } finally {
      this.#open.pop();
      for (const level of measurement.levels) this.note(level);
    }
  }
}
