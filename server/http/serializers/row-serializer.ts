import type { ResultBatch } from '#database/session.ts';
import type { JsonWriter } from '../answer/json-writer.ts';

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

export const bareFrame: RowFrame = { open: Buffer.alloc(0), close: Buffer.alloc(0) };
export const lineFrame: RowFrame = {
  open: Buffer.from('{"record":'),
  close: Buffer.from('}\n'),
};
