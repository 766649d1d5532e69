import { crc32 } from 'node:zlib';
import { DatabaseError } from '#core/errors.ts';
import { formatRid, type PropertyId, type Rid } from '#core/value/rid.ts';
import { corrupted } from '../format/checksum.ts';
import type { PinnedReader } from './pinned-reader.ts';
import type { LargeCells } from '../format/row-record.ts';
import { BigKey } from '../format/sub-databases.ts';

// Records promise their values also after their snapshot was closed. A row holds length and CRC-32 of each cell kept
// outside, so a cell can be told apart from its successors: an unchanged one is read from the newest state, and one that
// was replaced or deleted since is kept in memory for a while (`RetiredCells`).

/** Replaced and deleted large cells, newest first to stay, within a budget of bytes. */
export class RetiredCells {
  readonly #budgetBytes: number;
  readonly #cells = new Map<string, Uint8Array>();
  #bytes = 0;

  constructor(budgetBytes: number) {
    this.#budgetBytes = budgetBytes;
  }

  add(rid: Rid, property: PropertyId, cell: Uint8Array): void {
    this.#cells.set(cellName(rid, property, crc32(cell)), cell);
    this.#bytes += cell.length;
    for (const [name, oldest] of this.#cells) {
      if (this.#bytes <= this.#budgetBytes) return;
      this.#cells.delete(name);
      this.#bytes -= oldest.length;
    }
  }

  get(rid: Rid, property: PropertyId, hash: number): Uint8Array | undefined {
    return this.#cells.get(cellName(rid, property, hash));
  }
}

function cellName(rid: Rid, property: PropertyId, hash: number): string {
  return `${rid}/${property}/${hash}`;
}

export interface LargeCellReaderOptions {
  readonly reader: PinnedReader;
  readonly newest: () => PinnedReader;
  readonly retired: RetiredCells;
}

/** The large cells as one state has them. */
export class LargeCellReader implements LargeCells {
  readonly #options: LargeCellReaderOptions;
  readonly #key = new BigKey();

  constructor(options: LargeCellReaderOptions) {
    this.#options = options;
  }

  largeCell(rid: Rid, property: PropertyId, length: number, hash: number): Uint8Array {
    const { reader, newest, retired } = this.#options;
    const cell = readLargeCell(reader.isOpen ? reader : newest(), this.#key, rid, property);
    if (cell !== undefined && cell.length === length && crc32(cell) === hash) return cell;
    if (reader.isOpen) throw corrupted(describeCell(rid, property));
    const old = retired.get(rid, property, hash);
    if (old !== undefined) return old;
    throw new DatabaseError(
      'ConcurrentModification',
      `a large property of record ${formatRid(rid)} was changed while it was read`,
    );
  }
}

/**
 * A copy of a large cell; undefined when there is none.
 * @throws DatabaseError `CorruptedRecord`
 */
export function readLargeCell(
  reader: PinnedReader,
  key: BigKey,
  rid: Rid,
  property: PropertyId,
): Uint8Array | undefined {
  key.rid = rid;
  key.property = property;
  if (!reader.findChecked(reader.subs.big, key, () => describeCell(rid, property))) {
    return undefined;
  }
  return reader.window.body();
}

function describeCell(rid: Rid, property: PropertyId): string {
  return `a large property (number ${property}) of record ${formatRid(rid)}`;
}
