import type { ResultBatch } from '#database/session.ts';
import { type JsonWriter, longRow } from '../answer/json-writer.ts';

/** Bytes around every row: nothing for a JSON array, `{"record":` and `}` with a line break for NDJSON. */
export interface RowFrame {
  readonly open: Buffer;
  readonly close: Buffer;
}

/** Rows of one result as JSON. */
export interface RowSerializer {
  /** Writes one row of a batch. Cost: proportional to its bytes. */
  write(writer: JsonWriter, batch: ResultBatch, row: number): void;
  /** The same bytes; gives back whenever the writer holds a piece of `pieceBytes` and some more. */
  writeInPieces(writer: JsonWriter, batch: ResultBatch, row: number): Generator<void>;
}

/** Rows above this many bytes are written in pieces, with turns for others between them. */
export const longRowBytes = 1024 * 1024;

/** Writes a row. @returns false when it is long: nothing of it was written then, and it is to be written in pieces */
export function writeShortRow(
  serializer: RowSerializer,
  writer: JsonWriter,
  batch: ResultBatch,
  row: number,
): boolean {
  writer.beginRow(longRowBytes);
  try {
    serializer.write(writer, batch, row);
  } catch (error) {
    writer.dropRow();
    if (error !== longRow) throw error;
    return false;
  }
  writer.endRow();
  return true;
}

export const bareFrame: RowFrame = { open: Buffer.alloc(0), close: Buffer.alloc(0) };
export const lineFrame: RowFrame = {
  open: Buffer.from('{"record":'),
  close: Buffer.from('}\n'),
};
