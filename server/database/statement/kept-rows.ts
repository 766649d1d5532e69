import type { Value } from '#core/value/value.ts';
import type { MemoryAccount } from '#query/evaluate/context.ts';
import { approximateBytes } from '#query/evaluate/turns/held-bytes.ts';
import type { ResultBatch } from '../session.ts';

/** The place of a value in the list. */
const placeBytes = 16;

/** The first rows of a statement that gives more than its caller takes. */
export class KeptRows implements ResultBatch {
  readonly values: Value[] = [];
  rowCount = 0;
  readonly #wanted: number;
  readonly #memory: MemoryAccount;

  constructor(wanted: number, memory: MemoryAccount) {
    this.#wanted = wanted;
    this.#memory = memory;
  }

  /** @throws DatabaseError `TooLarge` */
  add(rows: ResultBatch): void {
    const count = Math.min(rows.rowCount, this.#wanted - this.rowCount);
    if (count <= 0) return;
    const length = (rows.values.length / rows.rowCount) * count;
    let bytes = 0;
    for (let at = 0; at < length; at += 1) {
      const value = rows.values[at] as Value;
      bytes += placeBytes + (typeof value === 'number' ? 0 : approximateBytes(value));
    }
    this.#memory.reserve(bytes);
    for (let at = 0; at < length; at += 1) this.values.push(rows.values[at] as Value);
    this.rowCount += count;
  }
}
