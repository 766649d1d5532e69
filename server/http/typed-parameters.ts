import { serverHttpMarkerMaxDepth } from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Value, ValueMap } from '#core/value.ts';

/*
 * Parameters of a statement (http-api.md 6.4). In any value a map with the single key `$bytes` or `$int8` stands for a byte
 * array; a map with more keys is a map.
 */

const bytesMarker = '$bytes';
const int8Marker = '$int8';

const noParameters: ValueMap = new Map();

/**
 * Named parameters by name, positional ones by their number (`0`, `1`, ...).
 * @throws DatabaseError `IllegalArgument` for a malformed marker and for nesting deeper than `depthMax`
 */
export function statementParameters(parameters: Value | undefined, depthMax: number): ValueMap {
  if (Array.isArray(parameters)) {
    const numbered = new Map<string, Value>();
    for (const [index, value] of parameters.entries())
      numbered.set(String(index), decode(value, 1, depthMax));
    return numbered;
  }
  if (!(parameters instanceof Map) || parameters.size === 0) return noParameters;
  const named = new Map<string, Value>();
  for (const [name, value] of parameters as ValueMap) named.set(name, decode(value, 1, depthMax));
  return named;
}

function decode(value: Value, depth: number, depthMax: number): Value {
  if (typeof value !== 'object' || value === null) return value;
  if (depth > depthMax)
    throw new DatabaseError(
      'IllegalArgument',
      `parameters are nested deeper than ${depthMax} levels (${serverHttpMarkerMaxDepth.key})`,
    );
  if (Array.isArray(value)) return decodeList(value, depth, depthMax);
  if (!(value instanceof Map)) return value;
  const map = value as ValueMap;
  if (map.size === 1) {
    const bytes = map.get(bytesMarker);
    if (bytes !== undefined) return decodeBytes(bytes);
    const int8 = map.get(int8Marker);
    if (int8 !== undefined) return decodeInt8(int8);
  }
  let decoded: Map<string, Value> | undefined;
  for (const [key, item] of map) {
    const value = decode(item, depth + 1, depthMax);
    if (value === item) continue;
    decoded ??= new Map(map);
    decoded.set(key, value);
  }
  return decoded ?? map;
}

/** Lists of millions of numbers are looked through, not copied. */
function decodeList(list: readonly Value[], depth: number, depthMax: number): readonly Value[] {
  let decoded: Value[] | undefined;
  for (let at = 0; at < list.length; at += 1) {
    const item = list[at] as Value;
    if (typeof item !== 'object' || item === null) continue;
    const value = decode(item, depth + 1, depthMax);
    if (value === item) continue;
    decoded ??= list.slice();
    decoded[at] = value;
  }
  return decoded ?? list;
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
