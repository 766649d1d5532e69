interface Measurement {
  /** Levels from here on belong to what is measured. */
  readonly base: number;
  level: number;
}

/**
 * Finds out on which enclosing rows a part of a statement depends: analyzers note the level of each row they read from, and
 * measure around parts that may be computed less often than once per row.
 */
export class Dependencies {
  readonly #open: Measurement[] = [];

  /** A value of the row at `level` is read. */
  note(level: number): void {
    const current = this.#open[this.#open.length - 1];
    if (current && level < current.base && level > current.level) current.level = level;
  }

  /**
   * Runs `analyze` and tells the innermost level below `base` that it read from; 0 when it reads from no row. What is measured
   * counts for the measurement around it, too.
   */
  measure<T>(base: number, analyze: () => T): { readonly result: T; readonly level: number } {
    const measurement: Measurement = { base, level: 0 };
    this.#open.push(measurement);
    try {
      const result = analyze();
      return { result, level: measurement.level };
    } finally {
      this.#open.pop();
      this.note(measurement.level);
    }
  }
}
