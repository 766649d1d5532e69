import type { ResultBatch, RowRenderer } from '#database/session.ts';
import { type JsonWriter, longRow } from '../answer/json-writer.ts';
import type { RowSerializer } from './row-serializer.ts';

const comma = 44;

/** Rows above this many bytes are written in pieces, with turns for others between them. */
const longRowBytes = 1024 * 1024;

/** Rows of JSON behind what a writer holds: the items of a list, or lines, which nothing separates. */
export class JsonRowRenderer implements RowRenderer {
  readonly #writer: JsonWriter;
  readonly #serializer: RowSerializer;
  readonly #isList: boolean;
  #isFirst = true;

  constructor(writer: JsonWriter, serializer: RowSerializer, layout: 'list' | 'lines') {
    this.#writer = writer;
    this.#serializer = serializer;
    this.#isList = layout === 'list';
  }

  get length(): number {
    return this.#writer.length;
  }

  write(batch: ResultBatch, row: number): boolean {
    const writer = this.#writer;
    writer.beginRow(longRowBytes);
    try {
      if (this.#isList && !this.#isFirst) writer.byte(comma);
      this.#serializer.write(writer, batch, row);
    } catch (error) {
      writer.dropRow();
      if (error !== longRow) throw error;
      return false;
    }
    writer.endRow();
    this.#isFirst = false;
    return true;
  }

  *writeInPieces(batch: ResultBatch, row: number): Generator<void> {
    if (this.#isList && !this.#isFirst) this.#writer.byte(comma);
    this.#isFirst = false;
    yield* this.#serializer.writeInPieces(this.#writer, batch, row);
  }
}
