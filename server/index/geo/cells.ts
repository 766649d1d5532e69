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
