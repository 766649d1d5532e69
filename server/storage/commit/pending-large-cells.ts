import { DatabaseError } from '#core/errors.ts';
import type { PropertyId, Rid } from '#core/value/rid.ts';
import type { ImageMemory } from '../checkpoint/image-memory.ts';
import { readLargeCell } from '../read/large-cells.ts';
import type { PinnedReader } from '../read/pinned-reader.ts';
import type { LargeCells } from '../format/row-record.ts';
import { BigKey, keyBytes } from '../format/sub-databases.ts';
import { putSealed, removal, type Write } from '../checkpoint/write-batch.ts';

/** The large cells of records under change: those of the commit first, then what is stored. */
export class PendingLargeCells implements LargeCells {
  readonly #reader: PinnedReader;
  readonly #memory: ImageMemory;
  readonly #cells = new Map<string, Uint8Array | undefined>();
  readonly #key = new BigKey();

  /** @param memory for cells that are written with the commit */
  constructor(reader: PinnedReader, memory: ImageMemory) {
    this.#reader = reader;
    this.#memory = memory;
  }

  /** @throws DatabaseError `CorruptedRecord` when it is missing */
  largeCell(rid: Rid, property: PropertyId): Uint8Array {
    const cell = this.read(rid, property);
    if (cell !== undefined) return cell;
    throw new DatabaseError('CorruptedRecord', `a large property of record ${rid} is missing`);
  }

  read(rid: Rid, property: PropertyId): Uint8Array | undefined {
    const name = `${rid}/${property}`;
    if (this.#cells.has(name)) return this.#cells.get(name);
    return readLargeCell(this.#reader, this.#key, rid, property);
  }

  /** @param cell undefined: it goes @returns what is to be written */
  put(rid: Rid, property: PropertyId, cell: Uint8Array | undefined): Write {
    this.#cells.set(`${rid}/${property}`, cell);
    const { big } = this.#reader.subs;
    const key = new BigKey();
    key.rid = rid;
    key.property = property;
    if (cell === undefined) return removal(big, key);
    return putSealed(big, key, keyBytes(key, this.#reader.window.scratch), this.#memory, cell);
  }
}
