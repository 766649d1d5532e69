/**
 * How far terms are from one word: how many characters must be put in, taken out, replaced or swapped with their neighbour (optimal
 * string alignment), as far as that is at most `max`; else `max + 1`. Cost: rows of 2 max + 1 cells. Terms that come in order share
 * their beginnings, whose rows are worked out once: a third of the time of each term by itself.
 */
export class DistancesFrom {
  readonly #word: string;
  readonly #max: number;
  readonly #width: number;
  /** Row `i` is of the first `i` characters of the last term; `#width` cells each. */
  #rows: Uint8Array;
  #least: Uint8Array;
  /** Rows that hold for the last term. */
  #known = 0;
  #last = '';

  constructor(word: string, max: number) {
    this.#word = word;
    this.#max = max;
    this.#width = word.length + 1;
    this.#rows = new Uint8Array(this.#width * 64);
    this.#least = new Uint8Array(64);
    for (let j = 0; j <= word.length; j += 1) this.#rows[j] = Math.min(j, max + 1);
  }

  /** @returns a number above `max` for whatever is further away */
  to(term: string): number {
    const over = this.#max + 1;
    const { length } = term;
    if (Math.abs(length - this.#word.length) > this.#max) return over;
    if (length + 2 > this.#least.length) this.#grow(length + 2);
    const last = this.#last;
    let row = 0;
    while (row < this.#known && row < length && last.charCodeAt(row) === term.charCodeAt(row))
      row += 1;
    this.#last = term;
    this.#known = row;
    if (row > 0 && (this.#least[row] as number) > this.#max) return over;
    while (row < length) {
      row += 1;
      const least = this.#fill(term, row);
      this.#known = row;
      if (least > this.#max) return over;
    }
    return this.#rows[length * this.#width + this.#word.length] as number;
  }

  /** Works out the row of the term's first `i` characters. @returns the least in it */
  #fill(term: string, i: number): number {
    const rows = this.#rows;
    const word = this.#word;
    const width = this.#width;
    const max = this.#max;
    const over = max + 1;
    const at = i * width;
    const above = at - width;
    const x = term.charCodeAt(i - 1);
    const y = i > 1 ? term.charCodeAt(i - 2) : -1;
    const from = Math.max(1, i - max);
    const to = Math.min(word.length, i + max);
    // Cells beside the band are too far away, whatever stands there.
    rows[at + from - 1] = from === 1 ? Math.min(i, over) : over;
    let least = rows[at + from - 1] as number;
    for (let j = from; j <= to; j += 1) {
      const own = word.charCodeAt(j - 1);
      let cost = (rows[above + j - 1] as number) + (own === x ? 0 : 1);
      if (j < i + max) cost = Math.min(cost, (rows[above + j] as number) + 1);
      cost = Math.min(cost, (rows[at + j - 1] as number) + 1);
      if (y >= 0 && j > 1 && own === y && word.charCodeAt(j - 2) === x)
        cost = Math.min(cost, (rows[above - width + j - 2] as number) + 1);
      if (cost > over) cost = over;
      rows[at + j] = cost;
      if (cost < least) least = cost;
    }
    this.#least[i] = least;
    return least;
  }

  #grow(rowCount: number): void {
    const rows = new Uint8Array(2 * rowCount * this.#width);
    rows.set(this.#rows);
    this.#rows = rows;
    const least = new Uint8Array(2 * rowCount);
    least.set(this.#least);
    this.#least = least;
  }
}
