import type { Value } from '#core/value.ts';
import type { MemoryAccount } from '#query/evaluate/context.ts';
import type { ResultBatch } from './session.ts';

/** What a kept value is counted with: its place in the list and a small object. */
const valueBytes = 32;

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
    this.#memory.reserve(length * valueBytes);
    for (let at = 0; at < length; at += 1) this.values.push(rows.values[at] as Value);
    this.rowCount += count;
  }
}
