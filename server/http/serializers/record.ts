import { isRecord, type Value } from '#core/value/value.ts';
import type { ResultBatch, ResultShape } from '#database/session.ts';
import { recordInPieces, valueInPieces } from '../answer/json-pieces.ts';
import { type JsonWriter, longRow } from '../answer/json-writer.ts';
import type { RowFrame, RowSerializer } from './row-serializer.ts';
import { typeIdOf } from './type-hints.ts';

export interface RecordSerializerOptions {
  readonly frame: RowFrame;
  /** Adds `@props` to rows that are no records (http-api.md 5.2). */
  readonly typeHints: boolean;
}

/** Serializers `record` and `studio` (http-api.md 5.3, 5.4): one object per row; what `studio` adds the writer knows. */
export function recordSerializer(
  shape: ResultShape,
  options: RecordSerializerOptions,
  templates: ColumnTemplates,
): RowSerializer {
  if (shape.kind !== 'columns') return new ValueSerializer(options);
  const template = templates.of(shape.names, options.frame);
  return template === longNames
    ? new LongNamesSerializer(shape, options)
    : new ColumnsSerializer(shape, template, options);
}

/** Columns with more characters in their names, or more of them, have no template: to make it would take milliseconds. */
const nameCharactersMax = 256 * 1024;
const namesMax = 1_024;
const longNames = 'long names';

/** The constant bytes of a row: before each value, and after the last one. */
interface ColumnTemplate {
  readonly before: readonly Buffer[];
  readonly end: Buffer;
}

/**
 * Constant bytes of rows by their list of columns, which belongs to the cached plan: a repeated statement finds them made.
 * Forgotten with the plan.
 */
export class ColumnTemplates {
  readonly #byFrame = new Map<
    RowFrame,
    WeakMap<readonly string[], ColumnTemplate | typeof longNames>
  >();

  of(names: readonly string[], frame: RowFrame): ColumnTemplate | typeof longNames {
    let known = this.#byFrame.get(frame);
    if (!known) {
      known = new WeakMap();
      this.#byFrame.set(frame, known);
    }
    let template = known.get(names);
    if (!template) {
      template = areLong(names) ? longNames : makeTemplate(names, frame);
      known.set(names, template);
    }
    return template;
  }
}

function areLong(names: readonly string[]): boolean {
  if (names.length > namesMax) return true;
  return names.reduce((sum, { length }) => sum + length, 0) > nameCharactersMax;
}

function makeTemplate(names: readonly string[], { open, close }: RowFrame): ColumnTemplate {
  const before = names.map((name, index) => {
    const key = `${JSON.stringify(name)}:`;
    return index === 0
      ? Buffer.concat([open, emptyObject, Buffer.from(key)])
      : Buffer.from(`,${key}`);
  });
  const start = names.length === 0 ? [open, emptyObject] : [];
  return { before, end: Buffer.concat([...start, objectEnd, close]) };
}

const comma = 44;
const colon = 58;
const emptyObject = Buffer.from('{');
const objectEnd = Buffer.from('}');

type Columns = Extract<ResultShape, { kind: 'columns' }>;

/** Rows with one value per column. */
class ColumnsSerializer implements RowSerializer {
  readonly #shape: Columns;
  readonly #before: readonly Buffer[];
  readonly #end: Buffer;
  readonly #options: RecordSerializerOptions;

  constructor(shape: Columns, template: ColumnTemplate, options: RecordSerializerOptions) {
    this.#shape = shape;
    this.#before = template.before;
    this.#end = template.end;
    this.#options = options;
  }

  write(writer: JsonWriter, batch: ResultBatch, row: number): void {
    const before = this.#before;
    const { values } = batch;
    const offset = row * before.length;
    for (let i = 0; i < before.length; i++) {
      writer.raw(before[i] as Buffer);
      writer.value(values[offset + i] as Value);
    }
    if (this.#options.typeHints) this.#writeHints(writer, values, offset);
    writer.raw(this.#end);
  }

  *writeInPieces(writer: JsonWriter, { values }: ResultBatch, row: number): Generator<void> {
    const before = this.#before;
    const offset = row * before.length;
    for (let i = 0; i < before.length; i++) {
      writer.raw(before[i] as Buffer);
      yield* valueInPieces(writer, values[offset + i] as Value);
    }
    if (this.#options.typeHints) this.#writeHints(writer, values, offset);
    writer.raw(this.#end);
  }

  #writeHints(writer: JsonWriter, values: readonly Value[], offset: number): void {
    if (this.#shape.names.length > 0) writer.byte(comma);
    writer.name('@props');
    writer.string(hintsOf(this.#shape, values, offset));
  }
}

function hintsOf({ names, types }: Columns, values: readonly Value[], offset: number): string {
  return names
    .map((name, i) => `${name}:${typeIdOf(values[offset + i] ?? null, types?.[i])}`)
    .join(',');
}

/** As `ColumnsSerializer`, without bytes that are made beforehand. */
class LongNamesSerializer implements RowSerializer {
  readonly #shape: Columns;
  readonly #options: RecordSerializerOptions;

  constructor(shape: Columns, options: RecordSerializerOptions) {
    this.#shape = shape;
    this.#options = options;
  }

  write(): void {
    throw longRow;
  }

  *writeInPieces(writer: JsonWriter, { values }: ResultBatch, row: number): Generator<void> {
    const { frame, typeHints } = this.#options;
    const { names } = this.#shape;
    const offset = row * names.length;
    writer.raw(frame.open);
    writer.raw(emptyObject);
    for (let i = 0; i < names.length; i++) {
      if (i > 0) writer.byte(comma);
      yield* valueInPieces(writer, names[i] as string);
      writer.byte(colon);
      yield* valueInPieces(writer, values[offset + i] as Value);
    }
    if (typeHints) {
      writer.byte(comma);
      writer.name('@props');
      yield* valueInPieces(writer, hintsOf(this.#shape, values, offset));
    }
    writer.raw(objectEnd);
    writer.raw(frame.close);
  }
}

/** Rows that are one value: a record, or a map whose keys are the columns. */
class ValueSerializer implements RowSerializer {
  readonly #options: RecordSerializerOptions;

  constructor(options: RecordSerializerOptions) {
    this.#options = options;
  }

  write(writer: JsonWriter, batch: ResultBatch, row: number): void {
    const { frame, typeHints } = this.#options;
    const value = batch.values[row] as Value;
    writer.raw(frame.open);
    if (isRecord(value)) writer.record(value);
    else if (value instanceof Map && typeHints) writer.value(hintedMap(value));
    else if (value instanceof Map || isEmbedded(value)) writer.value(value);
    else {
      writer.raw(emptyObject);
      writer.name('value');
      writer.value(value);
      writer.raw(objectEnd);
    }
    writer.raw(frame.close);
  }

  *writeInPieces(writer: JsonWriter, batch: ResultBatch, row: number): Generator<void> {
    const { frame, typeHints } = this.#options;
    const value = batch.values[row] as Value;
    writer.raw(frame.open);
    if (isRecord(value)) yield* recordInPieces(writer, value);
    else if (value instanceof Map && typeHints) yield* valueInPieces(writer, hintedMap(value));
    else if (value instanceof Map || isEmbedded(value)) yield* valueInPieces(writer, value);
    else {
      writer.raw(emptyObject);
      writer.name('value');
      yield* valueInPieces(writer, value);
      writer.raw(objectEnd);
    }
    writer.raw(frame.close);
  }
}

function hintedMap(map: ReadonlyMap<string, Value>): ReadonlyMap<string, Value> {
  const hints = [...map].map(([name, value]) => `${name}:${typeIdOf(value)}`);
  return new Map([...map, ['@props', hints.join(',')]]);
}

function isEmbedded(value: Value): boolean {
  return typeof value === 'object' && value !== null && 'valueKind' in value
    ? value.valueKind === 'embedded'
    : false;
}
