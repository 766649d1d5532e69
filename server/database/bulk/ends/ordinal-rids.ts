import type { Rid } from '#core/value/rid.ts';

const segmentBits = 17;
const segmentMask = (1 << segmentBits) - 1;

/** Record ids by number. Grows by segments of 1 MiB: an array that is doubled is copied in one turn of the event loop. */
export class OrdinalRids {
  readonly #segments: Float64Array[] = [];

  set(ordinal: number, rid: Rid): void {
    const number = ordinal >>> segmentBits;
    while (number >= this.#segments.length) this.#segments.push(new Float64Array(segmentMask + 1));
    (this.#segments[number] as Float64Array)[ordinal & segmentMask] = rid;
  }

  /** Of a number that was set. */
  get(ordinal: number): Rid {
    const segment = this.#segments[ordinal >>> segmentBits] as Float64Array;
    return segment[ordinal & segmentMask] as Rid;
  }
}
