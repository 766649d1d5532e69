import { isMap, type Value, type ValueMap } from '#core/value/value.ts';

/** From these sizes on a call may take milliseconds. */
export const largeText = 65_536;
const largeBytes = 262_144;
const manyElements = 4_096;

/** A value that a function may not be able to go through within a fraction of a turn. Cost: a type test or two for others. */
export function isLarge(value: Value | undefined): boolean {
  if (typeof value === 'string') return value.length >= largeText;
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) {
    const { length } = value;
    if (length >= manyElements) return true;
    // What few elements hold is told by the first and the last one.
    return length > 0 && (isBig(value[0] as Value) || isBig(value[length - 1] as Value));
  }
  if (value instanceof Uint8Array) return value.length >= largeBytes;
  return isMap(value) && (value.size >= manyElements || holdsBig(value));
}

/** A map of few entries, as that of a sparse vector, whose entries are large. */
function holdsBig(map: ValueMap): boolean {
  if (map.size > fewEntries) return false;
  for (const entry of map.values()) if (isBig(entry)) return true;
  return false;
}

const fewEntries = 4;

function isBig(value: Value): boolean {
  if (typeof value === 'string') return value.length >= largeText / 16;
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.length >= manyElements;
  return value instanceof Uint8Array
    ? value.length >= largeBytes
    : isMap(value) && value.size >= manyElements;
}
