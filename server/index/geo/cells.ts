import type { Envelope } from './geometry.ts';

/** Cells of the globe by geohash (Niemeyer 2008): each further letter divides a cell into 32. The empty hash is the globe. */

const letters = '0123456789bcdefghjkmnpqrstuvwxyz';

/**
 * The cells of one size that cover the envelope: the smallest size of at most `precision` letters at which no more than
 * `countMax` are needed. What lies outside the globe counts as at its edge, on both sides of a comparison, so whatever
 * shares a point shares a cell.
 */
export function coveringCells(
  envelope: Envelope,
  precision: number,
  countMax: number,
): readonly string[] {
  for (let length = precision; length > 0; length -= 1) {
    const columns = 2 ** Math.ceil((5 * length) / 2);
    const rows = 2 ** Math.floor((5 * length) / 2);
    const west = place(envelope.minX, 180, columns);
    const east = place(envelope.maxX, 180, columns);
    const south = place(envelope.minY, 90, rows);
    const north = place(envelope.maxY, 90, rows);
    if ((east - west + 1) * (north - south + 1) > countMax) continue;
    const cells: string[] = [];
    for (let row = south; row <= north; row += 1)
      for (let column = west; column <= east; column += 1) cells.push(hashOf(column, row, length));
    return cells;
  }
  return [''];
}

function place(degrees: number, half: number, count: number): number {
  const at = Math.floor(((degrees + half) / (2 * half)) * count);
  return at > 0 ? Math.min(count - 1, at) : 0;
}

/**
 * Tells of cells, as they stand in keys, whether they may share a point with an envelope: much cheaper than to read the records of
 * those that do not. One more cell on each side counts, since predicates take what lies within a ten-thousand-millionth of the extent
 * for the same place, which is less than a cell of twelve letters.
 */
export class CellFilter {
  readonly #envelope: Envelope;
  /** By the length of cells: west, east, south, north. */
  readonly #bounds: (readonly [number, number, number, number] | undefined)[] = [];

  constructor(envelope: Envelope) {
    this.#envelope = envelope;
  }

  /** @param from where the letters begin, which go up to before `to` */
  accepts(bytes: Uint8Array, from: number, to: number): boolean {
    let column = 0;
    let row = 0;
    for (let at = from; at < to; at += 1) {
      const letter = letterOf[bytes[at] as number] as number;
      const three = threeOf[letter] as number;
      const two = twoOf[letter] as number;
      const isColumnFirst = ((at - from) & 1) === 0;
      column = isColumnFirst ? column * 8 + three : column * 4 + two;
      row = isColumnFirst ? row * 4 + two : row * 8 + three;
    }
    const [west, east, south, north] = this.#boundsOf(to - from);
    return column >= west && column <= east && row >= south && row <= north;
  }

  #boundsOf(length: number): readonly [number, number, number, number] {
    let bounds = this.#bounds[length];
    if (bounds === undefined) {
      const { minX, maxX, minY, maxY } = this.#envelope;
      const columns = 2 ** Math.ceil((5 * length) / 2);
      const rows = 2 ** Math.floor((5 * length) / 2);
      const [west, east] = [place(minX, 180, columns) - 1, place(maxX, 180, columns) + 1];
      bounds = [west, east, place(minY, 90, rows) - 1, place(maxY, 90, rows) + 1];
      this.#bounds[length] = bounds;
    }
    return bounds;
  }
}

/** The number of a letter by its byte; the first, third and fifth of its bits; and the others. */
const letterOf = new Uint8Array(256);
for (let i = 0; i < letters.length; i += 1) letterOf[letters.charCodeAt(i)] = i;
const threeOf = Uint8Array.from(letters, (_, i) => ((i >> 2) & 4) | ((i >> 1) & 2) | (i & 1));
const twoOf = Uint8Array.from(letters, (_, i) => ((i >> 2) & 2) | ((i >> 1) & 1));

/** Bits of column and row take turns, the column first; five make a letter. */
function hashOf(column: number, row: number, length: number): string {
  const bitCount = 5 * length;
  let columnBits = Math.ceil(bitCount / 2);
  let rowBits = Math.floor(bitCount / 2);
  let hash = '';
  let letter = 0;
  for (let bit = 0; bit < bitCount; bit += 1) {
    const isColumn = bit % 2 === 0;
    const shift = isColumn ? --columnBits : --rowBits;
    letter = letter * 2 + (Math.floor((isColumn ? column : row) / 2 ** shift) % 2);
    if (bit % 5 === 4) {
      hash += letters.charAt(letter);
      letter = 0;
    }
  }
  return hash;
}
