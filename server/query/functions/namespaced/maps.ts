import { textOf } from '#core/text/text-form.ts';
import {
  EmbeddedDocument,
  isList,
  isMap,
  isRecord,
  type Value,
  type ValueMap,
} from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { describe, listArgument, refusal, textArgument } from '../arguments.ts';
import { boundedMap, requireElements } from '../number/bounds.ts';
import { type ArgumentCount, inTurns, nullSafe } from '../define.ts';
import { unitsPerLook } from '../list/distinct.ts';
import { propertiesOf } from '../graph/navigation.ts';
import { keysOf } from './collections.ts';
import { valueKey } from '#core/value/equality.ts';

/** `map.*` (sql-functions.md 9). Records and embedded documents stand for their properties. */
export const mapFunctions: readonly ScalarFunction[] = [
  onMap('merge(a, b)', [2, 2], (map, args, context) => {
    const other = args[1] as Value;
    if (other === null) return map;
    const merged = new Map(map);
    for (const [key, value] of mapOf(other, 'map.merge()')) merged.set(key, value);
    return boundedMap(merged, context);
  }),
  nullSafe('map.mergeList(list)', [1, 1], (args, context) => {
    const merged = new Map<string, Value>();
    for (const element of listArgument(args[0], 'map.mergeList()')) {
      if (element === null) continue;
      for (const [key, value] of mapOf(element, 'map.mergeList()')) merged.set(key, value);
    }
    return boundedMap(merged, context);
  }),
  onMap('setKey(m, k, v)', [3, 3], (map, args, context) => {
    const key = textArgument(args[1], 'map.setKey()');
    return boundedMap(new Map(map).set(key, args[2] as Value), context);
  }),
  onMap('removeKey(m, k)', [2, 2], (map, args) => {
    const rest = new Map(map);
    rest.delete(textArgument(args[1], 'map.removeKey()'));
    return rest;
  }),
  onMap('removeKeys(m, keys)', [2, 2], (map, args) => {
    const rest = new Map(map);
    for (const key of listArgument(args[1], 'map.removeKeys()'))
      rest.delete(textArgument(key, 'map.removeKeys()'));
    return rest;
  }),
  onMap('submap(m, keys [, defaults])', [2, 3], (map, args) => {
    const defaults =
      args[2] === undefined || args[2] === null ? [] : listArgument(args[2], 'map.submap()');
    const part = new Map<string, Value>();
    listArgument(args[1], 'map.submap()').forEach((name, i) => {
      const key = textArgument(name, 'map.submap()');
      const value = map.get(key) ?? defaults[i];
      if (value !== undefined) part.set(key, value);
    });
    return part;
  }),
  onMap('values(m [, keys])', [1, 2], (map, args) => {
    if (args[1] === undefined || args[1] === null) return [...map.values()];
    return listArgument(args[1], 'map.values()').map(
      (key) => map.get(textArgument(key, 'map.values()')) ?? null,
    );
  }),
  inTurns(
    nullSafe('map.fromLists(keys, vals)', [2, 2], (args, context) => {
      const { keys, values } = keysAndValues(args);
      const map = new Map<string, Value>();
      keys.forEach((key, i) => {
        map.set(textArgument(key, 'map.fromLists()'), values[i] as Value);
      });
      return boundedMap(map, context);
    }),
    function* (args, context, meter) {
      const { keys, values } = keysAndValues(args);
      const map = new Map<string, Value>();
      for (let i = 0; i < keys.length; i += 1) {
        map.set(textArgument(keys[i], 'map.fromLists()'), values[i] as Value);
        if ((i & 255) === 255 && meter.isSpent(unitsPerLook)) yield;
      }
      return boundedMap(map, context);
    },
  ),
  nullSafe('map.fromPairs(pairs)', [1, 1], (args, context) => {
    const map = new Map<string, Value>();
    for (const pair of listArgument(args[0], 'map.fromPairs()')) {
      if (!isList(pair) || pair.length !== 2)
        throw refusal(`map.fromPairs() requires pairs of key and value, not ${describe(pair)}`);
      map.set(textArgument(pair[0], 'map.fromPairs()'), pair[1] as Value);
    }
    return boundedMap(map, context);
  }),
  nullSafe('map.groupBy(list, key)', [2, 2], (args, context) => groupedBy(args, context)),
  onMap("flatten(m [, '.'])", [1, 2], (map, args, context) => {
    const flat = new Map<string, Value>();
    flatten(map, '', textArgument(args[1] ?? '.', 'map.flatten()'), flat, context);
    return boundedMap(flat, context);
  }),
  onMap("unflatten(m [, '.'])", [1, 2], (map, args) =>
    unflatten(map, textArgument(args[1] ?? '.', 'map.unflatten()')),
  ),
  onMap('clean(m [, keys] [, values])', [1, 3], (map, args) => {
    const keys = new Set(listOrEmpty(args[1], 'map.clean()'));
    const values = keysOf(listOrEmpty(args[2], 'map.clean()'));
    const rest = new Map<string, Value>();
    for (const [key, value] of map)
      if (value !== null && !keys.has(key) && !values.has(valueKey(value))) rest.set(key, value);
    return rest;
  }),
  onMap('sortedProperties(m)', [1, 1], (map) =>
    [...map.keys()].sort().map((key) => [key, map.get(key) ?? null]),
  ),
];

function keysAndValues(args: readonly Value[]): {
  readonly keys: readonly Value[];
  readonly values: readonly Value[];
} {
  const keys = listArgument(args[0], 'map.fromLists()');
  const values = listArgument(args[1], 'map.fromLists()');
  if (keys.length !== values.length)
    throw refusal(
      `map.fromLists() requires as many values as keys, not ${values.length} and ${keys.length}`,
    );
  return { keys, values };
}

type OnMap = (map: ValueMap, args: readonly Value[], context: EvaluationContext) => Value;

function onMap(syntax: string, count: ArgumentCount, evaluate: OnMap): ScalarFunction {
  const what = `map.${syntax.slice(0, syntax.indexOf('('))}()`;
  return nullSafe(`map.${syntax}`, count, (args, context) =>
    evaluate(mapOf(args[0] as Value, what), args, context),
  );
}

function mapOf(value: Value, what: string): ValueMap {
  const map = propertiesOf(value);
  if (map === undefined) throw refusal(`${what} requires a map, not ${describe(value)}`);
  return map;
}

function listOrEmpty(value: Value | undefined, what: string): readonly Value[] {
  return value === undefined || value === null ? [] : listArgument(value, what);
}

function groupedBy(args: readonly Value[], context: EvaluationContext): Value {
  const name = textArgument(args[1], 'map.groupBy()');
  const groups = new Map<string, Value[]>();
  for (const element of listArgument(args[0], 'map.groupBy()')) {
    const properties = propertiesOf(element);
    if (properties === undefined) continue;
    const key = textOf(properties.get(name) ?? null, context.formats);
    const group = groups.get(key);
    if (group) group.push(element);
    else groups.set(key, [element]);
  }
  return groups;
}

function flatten(
  map: ValueMap,
  prefix: string,
  separator: string,
  flat: Map<string, Value>,
  context: EvaluationContext,
): void {
  for (const [key, value] of map) {
    const nested = isMap(value)
      ? value
      : value instanceof EmbeddedDocument && !isRecord(value)
        ? value.properties
        : undefined;
    if (nested && nested.size > 0)
      flatten(nested, prefix + key + separator, separator, flat, context);
    else flat.set(prefix + key, value);
    requireElements(flat.size, 'map.flatten()', context);
  }
}

const pathLengthMax = 100;

function unflatten(map: ValueMap, separator: string): Value {
  const root = new Map<string, Value>();
  for (const [path, value] of map) {
    const keys = separator === '' ? [path] : path.split(separator);
    if (keys.length > pathLengthMax)
      throw refusal(`map.unflatten() nests at most ${pathLengthMax} levels`);
    let target = root;
    for (let i = 0; i < keys.length - 1; i++) {
      const known = target.get(keys[i] as string);
      const next = known instanceof Map ? (known as Map<string, Value>) : new Map<string, Value>();
      target.set(keys[i] as string, next);
      target = next;
    }
    target.set(keys[keys.length - 1] as string, value);
  }
  return root;
}
