import { DatabaseError } from '../errors.ts';
import type { Value, ValueMap } from './value.ts';

const bytesMarker = '$bytes';
const int8Marker = '$int8';

/**
 * The byte array that a map with the single key `$bytes` or `$int8` stands for (contract, typed parameter markers); undefined
 * for other maps. @throws DatabaseError `IllegalArgument` for a malformed marker
 */
export function bytesOfMarker(map: ValueMap): Uint8Array | undefined {
  if (map.size !== 1) return undefined;
  const bytes = map.get(bytesMarker);
  if (bytes !== undefined) return decodeBytes(bytes);
  const int8 = map.get(int8Marker);
  return int8 === undefined ? undefined : decodeInt8(int8);
}

/** Base64 in the standard or the URL-safe alphabet, with or without padding, without white space. */
function decodeBytes(value: Value): Uint8Array {
  if (typeof value !== 'string')
    throw malformed(bytesMarker, `${shown(value)} is not a base64 string`);
  const body = value.replace(/={1,2}$/, '');
  const isMixed = /[+/]/.test(body) && /[-_]/.test(body);
  const paddedRight = value.length === body.length || value.length % 4 === 0;
  if (!/^[A-Za-z0-9+/_-]*$/.test(body) || isMixed || body.length % 4 === 1 || !paddedRight)
    throw malformed(bytesMarker, `${shown(value)} is not base64`);
  return Uint8Array.from(Buffer.from(body, 'base64'));
}

function decodeInt8(value: Value): Uint8Array {
  if (!Array.isArray(value))
    throw malformed(int8Marker, `${shown(value)} is not an array of numbers`);
  return Uint8Array.from(value as readonly Value[], (item, index) => {
    const number = numberOf(item);
    if (number === undefined)
      throw malformed(int8Marker, `element ${shown(item)} at index ${index}: not a number`);
    const rounded = Math.round(number);
    if (rounded < -128 || rounded > 127)
      throw malformed(
        int8Marker,
        `element ${shown(item)} at index ${index}: out of range [-128, 127]`,
      );
    return rounded & 255;
  });
}

function numberOf(value: Value): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null) return undefined;
  const tagged = value as { readonly valueKind?: string; readonly number?: number };
  return tagged.valueKind === 'float' ? tagged.number : undefined;
}

function malformed(marker: string, problem: string): DatabaseError {
  return new DatabaseError('IllegalArgument', `Invalid ${marker} ${problem}`);
}

function shown(value: Value): string {
  const number = numberOf(value);
  const text =
    number === undefined && value !== null && typeof value === 'object'
      ? Array.isArray(value)
        ? 'an array'
        : 'an object'
      : String(number ?? value);
  return typeof value === 'string' ? `'${text.slice(0, 60)}'` : text.slice(0, 60);
}
