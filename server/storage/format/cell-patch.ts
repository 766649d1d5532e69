import { valuesOf, withWidths } from '#core/value/integer-width.ts';
import type { Value } from '#core/value/value.ts';
import { ByteWriter } from './byte-writer.ts';
import { imageOf } from './bytes.ts';
import type { RowEncoder } from './row.ts';
import type { RowRecord } from './row-record.ts';
import { ValueReader, writeValue } from './value-codec.ts';

// The body of a `patch-cells` operation: count as varint, then per property its name, one byte (0 removes it, 1 sets it)
// and, when it is set, the tagged value.

/** @param changes undefined removes the property */
export function encodePatch(changes: ReadonlyMap<string, Value | undefined>): Uint8Array {
  const out = new ByteWriter(256);
  out.varint(changes.size);
  for (const [name, value] of changes) {
    out.lengthAndText(name);
    out.u8(value === undefined ? 0 : 1);
    if (value !== undefined) writeValue(out, value);
  }
  return out.take();
}

/** The complete row of the record with the patch applied: properties keep their places, new ones come last. */
export function applyPatch(rows: RowEncoder, record: RowRecord, patch: Uint8Array): Uint8Array {
  const properties = valuesOf(record);
  const widths = new Map(record.integerWidths);
  const reader = new ValueReader(imageOf(patch), 0);
  for (let left = reader.varint(); left > 0; left--) {
    const name = reader.text();
    widths.delete(name);
    if (reader.u8() === 0) properties.delete(name);
    else properties.set(name, reader.value());
  }
  const ends = record.shape.isEdge ? { out: record.out, in: record.in } : undefined;
  return rows.encode(record.type, withWidths(properties, widths), ends);
}
