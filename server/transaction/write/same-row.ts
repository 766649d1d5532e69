import { haveSameWidths, widthsOf } from '#core/value/integer-width.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import { everyInSteps, manyProperties } from '#core/value/many-properties.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { valuesEqual } from '#core/value/equality.ts';
import { kindOf, type Value, type ValueMap } from '#core/value/value.ts';
import { RowRecord } from '#storage/format/row-record.ts';

/** Bytes of a row: shape and flags, version, and the rest (storage.md 3.2). */
const layoutStart = 4;
const versionStart = 8;
const versionEnd = 16;

/**
 * Whether a newly made row says the same as the record it would replace, so that it need not be written (sql.md 9.7).
 * Cost: a comparison of bytes; values are compared only when the layouts differ.
 */
export function isSameRow(record: StoredRecord, row: Uint8Array, properties: ValueMap): boolean {
  return hasBytesOf(record, row) ?? hasSameProperties(record, properties);
}

/** As `isSameRow`, with pauses where values are compared. */
export function* isSameRowInSteps(
  record: StoredRecord,
  row: Uint8Array,
  properties: ValueMap,
): PausingWork<boolean> {
  const isSame = hasBytesOf(record, row);
  if (isSame !== undefined) return isSame;
  const read = record.manyRead?.();
  // Another number of properties, or as many that are read at once.
  if (read === undefined) return hasSameProperties(record, properties);
  const stored = yield* read();
  if (stored.values.size !== properties.size) return false;
  const hasSameValues = yield* everyInSteps(properties, ([name, value]) =>
    isSameValue(stored.values.get(name), value),
  );
  return hasSameValues && haveSameWidths(properties, stored.widths, widthsOf(properties));
}

/** Undefined when their layouts differ. */
function hasBytesOf(record: StoredRecord, row: Uint8Array): boolean | undefined {
  if (!(record instanceof RowRecord)) return undefined;
  const { bytes, view } = record.image;
  const start = record.row;
  const length = view.getUint32(start, true);
  if (length !== row.length) return undefined;
  const hasSameLayout = isSameBytes(bytes, start, row, { from: layoutStart, to: versionStart });
  // The same layout with other bytes is another record.
  return hasSameLayout
    ? isSameBytes(bytes, start, row, { from: versionEnd, to: length })
    : undefined;
}

/** A loop beats a call into the engine for short rows, and most changes are seen within a few bytes. */
const loopBytesMax = 256;

function isSameBytes(
  bytes: Buffer,
  start: number,
  row: Uint8Array,
  range: { readonly from: number; readonly to: number },
): boolean {
  const { from, to } = range;
  if (to - from > loopBytesMax) return bytes.compare(row, from, to, start + from, start + to) === 0;
  for (let i = from; i < to; i++) if (bytes[start + i] !== row[i]) return false;
  return true;
}

/** By what they hold, whatever their layout. */
export function hasSameProperties(record: StoredRecord, properties: ValueMap): boolean {
  // The names of very many properties take long to be read.
  if (properties.size < manyProperties && record.manyRead?.() !== undefined) return false;
  if (record.propertyNames().length !== properties.size) return false;
  for (const [name, value] of properties) {
    if (!isSameValue(record.get(name), value)) return false;
  }
  return haveSameWidths(properties, record.integerWidths, widthsOf(properties));
}

/** Equal and of one kind: 1 and 1.0 are different contents. */
function isSameValue(a: Value | undefined, b: Value): boolean {
  if (a === undefined) return false;
  return a === b || (kindOf(a) === kindOf(b) && valuesEqual(a, b));
}
