import { LateMap } from '#core/value/late-map.ts';
import { Path } from '#core/value/path.ts';
import { isMap, isRecord, type Value } from '#core/value/value.ts';

/** Header of a text and the rounding of its length. */
const textHeaderBytes = 32;
/** The last code unit that a text of one byte per unit can have. */
const oneByteUnitMax = 0xff;

/**
 * Bytes that keeping the value costs, roughly and quickly: what it holds apart from others, and the share of a record in the
 * block that it keeps alive.
 */
export function approximateBytes(value: Value): number {
  if (typeof value === 'string') return textBytes(value);
  if (typeof value !== 'object' || value === null) return 8;
  if (Array.isArray(value)) {
    let bytes = 32;
    for (let at = 0; at < value.length; at += 1) bytes += 8 + approximateBytes(value[at] as Value);
    return bytes;
  }
  if (value instanceof LateMap) return lateMapBytes(value);
  if (isMap(value)) {
    let bytes = 96;
    for (const [key, item] of value) bytes += 40 + key.length + approximateBytes(item);
    return bytes;
  }
  if (value instanceof Uint8Array) return 96 + value.byteLength;
  if (isRecord(value)) return value.heldBytes ?? 112;
  if ('properties' in value) return 32 + approximateBytes(value.properties);
  if (value instanceof Path) return 64 + 136 * (2 * value.length + 1);
  return 96;
}

/** What is not read yet stays so. Known at once the next time. */
function lateMapBytes(map: LateMap): number {
  if (map.heldBytes !== undefined) return map.heldBytes;
  let bytes = 96;
  for (const key of map.keys()) {
    const held = map.isLate(key) ? map.lateBytes : approximateBytes(map.get(key) as Value);
    bytes += 40 + key.length + held;
  }
  map.heldBytes = bytes;
  return bytes;
}

/** A few units tell for nearly all texts whether they need two bytes each: scripts seldom mix. */
export function textBytes(text: string): number {
  const { length } = text;
  const isWide =
    text.charCodeAt(0) > oneByteUnitMax ||
    text.charCodeAt(length >>> 1) > oneByteUnitMax ||
    text.charCodeAt(length - 1) > oneByteUnitMax;
  return textHeaderBytes + (isWide ? 2 * length : length);
}
