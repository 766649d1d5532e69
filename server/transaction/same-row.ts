import type { StoredRecord } from '#core/record.ts';
import { valuesEqual } from '#core/equality.ts';
import { kindOf, type Value, type ValueMap } from '#core/value.ts';
import { RowRecord } from '#storage/row-record.ts';

/** Bytes of a row from its start to its version, and from there on. */
const versionStart = 8;
const versionEnd = 16;

/**
 * Whether a newly made row says the same as the record it would replace, so that it need not be written (sql.md 9.7).
 * Cost: a comparison of bytes; values are compared only when the layouts differ.
 */
export function isSameRow(record: StoredRecord, row: Uint8Array, properties: ValueMap): boolean {
  if (record instanceof RowRecord) {
    const { bytes, view } = record.image;
    const start = record.row;
    const length = view.getUint32(start, true);
    if (length === row.length) {
      const isSame =
        bytes.compare(row, 0, versionStart, start, start + versionStart) === 0 &&
        bytes.compare(row, versionEnd, length, start + versionEnd, start + length) === 0;
      if (isSame) return true;
      // The same layout with other bytes is another record.
      if (bytes.compare(row, 4, versionStart, start + 4, start + versionStart) === 0) return false;
    }
  }
  return hasSameProperties(record, properties);
}

function hasSameProperties(record: StoredRecord, properties: ValueMap): boolean {
  if (record.propertyNames().length !== properties.size) return false;
  for (const [name, value] of properties) {
    const stored = record.get(name);
    if (stored === undefined || !isSameValue(stored, value)) return false;
  }
  return true;
}

/** Equal and of one kind: 1 and 1.0 are different contents. */
function isSameValue(a: Value, b: Value): boolean {
  return a === b || (kindOf(a) === kindOf(b) && valuesEqual(a, b));
}
