import type { Rid } from '#core/value/rid.ts';
import type { NeighbourCursor } from './neighbour-cursor.ts';

const capacityMin = 16;
/** Arrays that are longer than needed by more than this are made anew, since they are emptied as a whole. */
const roomMost = 8;

/** How often each neighbour of one element is reached. 12 bytes a place, two places a neighbour; filled once, then read only. */
export class NeighbourTable {
  #neighbours = new Float64Array(capacityMin);
  #counts = new Uint32Array(capacityMin);
  #mask = capacityMin - 1;

  /**
   * What it held is gone.
   * @param cursor stands before the first of at most `countMax` neighbours; is walked to its end
   */
  fill(cursor: NeighbourCursor, countMax: number): void {
    let capacity = capacityMin;
    while (capacity < countMax * 2) capacity *= 2;
    const has = this.#counts.length;
    if (has < capacity || has > capacity * roomMost) {
      this.#neighbours = new Float64Array(capacity);
      this.#counts = new Uint32Array(capacity);
      this.#mask = capacity - 1;
    } else this.#counts.fill(0);
    while (cursor.next()) {
      const place = this.#placeOf(cursor.element);
      this.#neighbours[place] = cursor.element;
      this.#counts[place] = (this.#counts[place] as number) + 1;
    }
  }

  countOf(neighbour: Rid): number {
    return this.#counts[this.#placeOf(neighbour)] as number;
  }

  /** Where the neighbour stands, or the empty place where it would. The low 32 bits of a record id are those of its position. */
  #placeOf(neighbour: Rid): number {
    let place = (Math.imul(neighbour >>> 0, 0x9e3779b1) >>> 8) & this.#mask;
    while (this.#counts[place] !== 0 && this.#neighbours[place] !== neighbour)
      place = (place + 1) & this.#mask;
    return place;
  }
}
