import { serverHttpMarkerMaxDepth } from '#config/server-settings.ts';
import { bytesOfMarker } from '#core/value/byte-markers.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Value, ValueMap } from '#core/value/value.ts';

/*
 * Parameters of a statement (http-api.md 6.4). In any value a map with the single key `$bytes` or `$int8` stands for a byte
 * array; a map with more keys is a map.
 */

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
  const bytes = bytesOfMarker(map);
  if (bytes !== undefined) return bytes;
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
