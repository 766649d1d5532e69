import type { Rid } from '#core/value/rid.ts';
import { addHash, type HashHalves, hashRow } from '#storage/format/row-hash.ts';

/** How many entries there are, and a sum of their hashes: equal sums of equal numbers are the same entries in whatever order. */
export class EntrySum {
  count = 0;
  readonly #sum: HashHalves = { low: 0, high: 0 };
  readonly #hash: HashHalves = { low: 0, high: 0 };

  add(key: Uint8Array, rid: Rid): void {
    const view = new DataView(key.buffer, key.byteOffset, key.length);
    hashRow(rid, view, 0, key.length, this.#hash);
    addHash(this.#sum, this.#hash, 1);
    this.count += 1;
  }

  equals(other: EntrySum): boolean {
    return (
      this.count === other.count &&
      this.#sum.low === other.#sum.low &&
      this.#sum.high === other.#sum.high
    );
  }
}
