import type {
  RecordLookup,
  ResultBatch,
  ResultShape,
  RowForm,
  RowRenderer,
} from '#database/session.ts';
import { type JsonWriter, longRow } from '../answer/json-writer.ts';
import { type ColumnTemplates, recordSerializer } from './record.ts';
import { bareFrame, lineFrame, type RowSerializer } from './row-serializer.ts';

const comma = 44;

/** Rows above this many bytes are written in pieces, with turns for others between them. */
const longRowBytes = 1024 * 1024;

/** The rows of a result. */
interface FormedRows {
  readonly shape: ResultShape;
  /** Asked for numbers of edges, where the form wants them. */
  readonly records: RecordLookup;
}

/** Rows of JSON behind what a writer holds: the items of a list, or lines, which nothing separates. */
export class JsonRowRenderer implements RowRenderer {
  readonly form: RowForm;
  readonly #writer: JsonWriter;
  readonly #serializer: RowSerializer;
  readonly #isList: boolean;
  #isFirst = true;

  constructor(writer: JsonWriter, form: RowForm, rows: FormedRows, templates: ColumnTemplates) {
    this.form = form;
    this.#writer = writer;
    writer.degrees = form.counts ? rows.records : undefined;
    this.#isList = form.layout === 'list';
    const options = {
      frame: this.#isList ? bareFrame : lineFrame,
      typeHints: form.typeHints,
    };
    this.#serializer = recordSerializer(rows.shape, options, templates);
  }

  append(bytes: Uint8Array): void {
    this.#writer.raw(bytes);
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
