import type { StoredRecord } from '#core/value/record.ts';
import { EmbeddedDocument, isList, isMap, isRecord, type Value } from '#core/value/value.ts';

/**
 * About the bytes that a record takes when it is stored: header, property ids and values without block overhead. Texts
 * count their UTF-8 bytes, other scalars their common width.
 */
export function recordBytes(record: StoredRecord): number {
  let bytes = recordHeaderBytes;
  const names = record.propertyNames();
  for (let i = 0; i < names.length; i++)
    bytes += entryBytes + valueBytes(record.get(names[i] as string) ?? null);
  return bytes;
}

const recordHeaderBytes = 12;
const entryBytes = 3;

function valueBytes(value: Value): number {
  switch (typeof value) {
    case 'string':
      return 1 + Buffer.byteLength(value);
    case 'number':
      return Number.isInteger(value) && Math.abs(value) < 2 ** 31 ? 4 : 8;
    case 'bigint':
      return 8;
    case 'boolean':
      return 1;
    default:
      break;
  }
  if (value === null) return 1;
  if (value instanceof Uint8Array) return 1 + value.length;
  if (isList(value)) return value.reduce<number>((sum, element) => sum + valueBytes(element), 2);
  if (isMap(value)) return mapBytes(value);
  if (value instanceof EmbeddedDocument) return 2 + mapBytes(value.properties);
  return isRecord(value) ? 7 : 8;
}

function mapBytes(map: ReadonlyMap<string, Value>): number {
  let bytes = 2;
  for (const [key, value] of map) bytes += 1 + Buffer.byteLength(key) + valueBytes(value);
  return bytes;
}
