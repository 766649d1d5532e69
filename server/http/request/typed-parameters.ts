import { serverHttpMarkerMaxDepth } from '#config/server-settings.ts';
import { bytesOfMarker } from '#core/value/byte-markers.ts';
import { DatabaseError } from '#core/errors.ts';
import type { PausingWork } from '#core/pausing-work.ts';
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

/** As `statementParameters`, with pauses: a list of 100,000 maps takes ten milliseconds. */
export function* parametersInSteps(
  parameters: Value | undefined,
  depthMax: number,
): PausingWork<ValueMap> {
  const isList = Array.isArray(parameters);
  if (!isList && !(parameters instanceof Map)) return noParameters;
  const decoded = new Map<string, Value>();
  for (const [name, value] of parameters.entries())
    decoded.set(String(name), yield* decodeInSteps(value, 1, depthMax));
  return decoded;
}

/** Between two pauses. */
const itemsPerStep = 1_024;

function* decodeInSteps(value: Value, depth: number, depthMax: number): PausingWork<Value> {
  const isList = Array.isArray(value);
  if ((!isList && !(value instanceof Map)) || holdsNoContainer(value))
    return decode(value, depth, depthMax);
  requireDepth(depth, depthMax);
  const bytes = isList ? undefined : bytesOfMarker(value as ValueMap);
  if (bytes !== undefined) return bytes;
  let decoded: Value[] | Map<string, Value> | undefined;
  let itemCount = 0;
  for (const [place, item] of value.entries() as Iterable<[number | string, Value]>) {
    itemCount += 1;
    if (itemCount % itemsPerStep === 0) yield;
    if (typeof item !== 'object' || item === null) continue;
    const changed = yield* decodeInSteps(item, depth + 1, depthMax);
    if (changed === item) continue;
    decoded ??= isList ? value.slice() : new Map(value as ValueMap);
    if (Array.isArray(decoded)) decoded[place as number] = changed;
    else decoded.set(place as string, changed);
  }
  return decoded ?? value;
}

function holdsNoContainer(value: Value): boolean {
  if (!(value instanceof Map) || value.size > itemsPerStep) return false;
  for (const item of value.values()) if (typeof item === 'object' && item !== null) return false;
  return true;
}

function requireDepth(depth: number, depthMax: number): void {
  if (depth > depthMax)
    throw new DatabaseError(
      'IllegalArgument',
      `parameters are nested deeper than ${depthMax} levels (${serverHttpMarkerMaxDepth.key})`,
    );
}

function decode(value: Value, depth: number, depthMax: number): Value {
  if (typeof value !== 'object' || value === null) return value;
  requireDepth(depth, depthMax);
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
