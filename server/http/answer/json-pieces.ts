import type { PausingWork } from '#core/pausing-work.ts';
import { propertiesPerStep } from '#core/value/many-properties.ts';
import { Path } from '#core/value/path.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { EmbeddedDocument, isRecord } from '#core/value/value.ts';
import type { ReadProperties, Value, ValueMap } from '#core/value/value.ts';
import type { JsonWriter } from './json-writer.ts';

/*
 * Values of any size as JSON, in pieces: the memory that they take as text stays that of a piece, and whoever sends them may wait
 * for the client in between. The bytes are those of `JsonWriter.value`.
 */

/** Writers are emptied at so many bytes; a row more than that rarely makes a buffer grow. */
export const pieceBytes = 64 * 1024;
/** Characters written at once; each takes up to six bytes. */
const sliceLength = 8 * 1024;

const quote = 34;
const comma = 44;

/** Gives back whenever the writer holds a piece. */
export function* valueInPieces(writer: JsonWriter, value: Value): Generator<void> {
  if (typeof value === 'string') {
    if (value.length <= sliceLength) writer.string(value);
    else yield* textInPieces(writer, value);
  } else if (typeof value !== 'object' || value === null) writer.value(value);
  else if (Array.isArray(value)) yield* listInPieces(writer, value);
  else if (value instanceof Map) yield* mapInPieces(writer, value);
  else if (value instanceof Uint8Array) yield* bytesInPieces(writer, value);
  else if (value instanceof EmbeddedDocument) yield* embeddedInPieces(writer, value);
  else if (isRecord(value)) yield* recordInPieces(writer, value);
  else if (value instanceof Path) yield* pathInPieces(writer, value);
  else writer.value(value);
  if (writer.length >= pieceBytes) yield;
}

/** A whole record row (http-api.md 5.3). */
export function* recordInPieces(writer: JsonWriter, record: StoredRecord): Generator<void> {
  writer.openRecord(record);
  const read = record.manyRead?.();
  if (read !== undefined) {
    yield* manyInPieces(writer, read());
    writer.byte(125);
    return;
  }
  for (const name of record.propertyNames()) {
    const value = record.get(name);
    if (value === undefined) continue;
    writer.byte(comma);
    writer.name(name);
    yield* valueInPieces(writer, value);
  }
  writer.byte(125);
}

/** Properties that are too many to be read at once. */
function* manyInPieces(writer: JsonWriter, reading: PausingWork<ReadProperties>): Generator<void> {
  let step = reading.next();
  while (step.done !== true) {
    yield;
    step = reading.next();
  }
  let count = 0;
  for (const [name, value] of step.value.values) {
    writer.byte(comma);
    writer.name(name);
    yield* valueInPieces(writer, value);
    count += 1;
    if (count % propertiesPerStep === 0) yield;
  }
}

function* textInPieces(writer: JsonWriter, text: string): Generator<void> {
  writer.byte(quote);
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + sliceLength);
    if (isLeadingSurrogate(text.charCodeAt(end - 1)) && end < text.length) end += 1;
    writer.characters(text.slice(at, end));
    at = end;
    if (writer.length >= pieceBytes) yield;
  }
  writer.byte(quote);
}

/** The first of the two units of a character, which must not be written apart from the second. */
function isLeadingSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function* listInPieces(writer: JsonWriter, list: readonly Value[]): Generator<void> {
  writer.byte(91);
  for (let at = 0; at < list.length; at += 1) {
    if (at > 0) writer.byte(comma);
    yield* valueInPieces(writer, list[at] as Value);
  }
  writer.byte(93);
}

function* pathInPieces(writer: JsonWriter, path: Path): Generator<void> {
  yield* mapInPieces(
    writer,
    new Map<string, Value>([
      ['@cat', 'path'],
      ['nodes', path.nodes],
      ['relationships', path.relationships],
      ['length', path.length],
    ]),
  );
}

function* mapInPieces(writer: JsonWriter, map: ValueMap): Generator<void> {
  writer.byte(123);
  yield* entriesInPieces(writer, map, false);
  writer.byte(125);
}

function* embeddedInPieces(writer: JsonWriter, document: EmbeddedDocument): Generator<void> {
  writer.openEmbedded(document);
  yield* entriesInPieces(writer, document.properties, true);
  writer.byte(125);
}

function* entriesInPieces(
  writer: JsonWriter,
  map: ValueMap,
  isContinued: boolean,
): Generator<void> {
  let needsComma = isContinued;
  for (const [key, value] of map) {
    if (needsComma) writer.byte(comma);
    needsComma = true;
    writer.name(key);
    yield* valueInPieces(writer, value);
  }
}

/** Signed integers. */
function* bytesInPieces(writer: JsonWriter, bytes: Uint8Array): Generator<void> {
  writer.byte(91);
  for (let at = 0; at < bytes.length; at += 1) {
    if (at > 0) writer.byte(comma);
    writer.integer(((bytes[at] as number) << 24) >> 24);
    if (writer.length >= pieceBytes) yield;
  }
  writer.byte(93);
}
