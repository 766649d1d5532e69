import { EmbeddedDocument } from '#core/value/value.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import { textOf } from '#core/text/text-form.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import { valueKey, valuesEqual } from '#core/value/equality.ts';
import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import type { EvaluationContext } from '../context.ts';
import { boundedContainer, boundedGrowth } from '../turns/value-size.ts';
import { ValueTable } from '../comparison/value-table.ts';

/** Lists and maps in `+` and `-` (sql.md 5.3). The operands stay as they are; the result is a new collection. */

/**
 * List + list concatenates, list + x appends, map + map merges (the right one wins), map + list of key/value pairs adds them.
 * @returns undefined when the left operand is no collection or the right one does not fit
 */
export function addCollections(
  left: Value,
  right: Value,
  context: EvaluationContext,
): Value | undefined {
  if (Array.isArray(left)) return appendToList(left, right, context);
  if (left instanceof EmbeddedDocument) {
    const properties = addToMap(left.properties, right, context);
    return properties && new EmbeddedDocument(left.typeName, properties);
  }
  return left instanceof Map ? addToMap(left, right, context) : undefined;
}

/** A new list: `list` and the elements of `right`, or `right` itself when it is no list. */
export function appendToList(
  list: readonly Value[],
  right: Value,
  context: EvaluationContext,
): readonly Value[] {
  return boundedGrowth(
    Array.isArray(right) ? list.concat(right as readonly Value[]) : list.concat([right]),
    context,
  );
}

function addToMap(map: ValueMap, right: Value, context: EvaluationContext): ValueMap | undefined {
  const merged = new Map(map);
  if (Array.isArray(right)) {
    if (right.length % 2 !== 0) return undefined;
    addPairs(merged, right, context.formats);
  } else {
    const entries = right instanceof EmbeddedDocument ? right.properties : right;
    if (!(entries instanceof Map)) return undefined;
    for (const [key, value] of entries as ValueMap) merged.set(key, value);
  }
  return boundedContainer(merged, context);
}

function addPairs(
  map: Map<string, Value>,
  pairs: readonly Value[],
  formats: TemporalFormats,
): void {
  for (let i = 0; i < pairs.length; i += 2)
    map.set(textOf(pairs[i] as Value, formats), pairs[i + 1] as Value);
}

/**
 * List - x removes the first element equal to x (a list that is no element itself removes each of its elements once);
 * map - map removes equal entries, map - list removes keys (sql.md 5.3).
 * @returns undefined when the left operand is no collection
 */
export function subtractFromCollection(left: Value, right: Value): Value | undefined {
  if (Array.isArray(left)) return removeFromList(left, right);
  if (left instanceof EmbeddedDocument) {
    const properties = removeFromMap(left.properties, right);
    return properties && new EmbeddedDocument(left.typeName, properties);
  }
  return left instanceof Map ? removeFromMap(left, right) : undefined;
}

function removeFromList(list: readonly Value[], right: Value): readonly Value[] {
  const whole = indexOfEqual(list, right);
  if (whole >= 0) return list.toSpliced(whole, 1);
  if (!Array.isArray(right)) return list;
  const table = new ValueTable();
  // How often each element is still to be removed, by its number in the table.
  const pending: number[] = [];
  for (const item of right as readonly Value[]) {
    const place = table.add(valueKey(item));
    pending[place] = (pending[place] ?? 0) + 1;
  }
  return list.filter((item) => {
    const place = table.find(valueKey(item));
    const count = place < 0 ? 0 : (pending[place] as number);
    if (count > 0) pending[place] = count - 1;
    return count === 0;
  });
}

/** As `subtractFromCollection`, in turns for two lists. */
export function* subtractInTurns(left: Value, right: Value, meter: WorkMeter): PausingWork<Value> {
  if (!Array.isArray(left) || !Array.isArray(right))
    return subtractFromCollection(left, right) ?? null;
  const list = left as readonly Value[];
  const whole = indexOfEqual(list, right);
  if (whole >= 0) return list.toSpliced(whole, 1);
  const table = new ValueTable();
  const pending: number[] = [];
  for (let i = 0; i < right.length; i += 1) {
    const place = table.add(valueKey(right[i] as Value));
    pending[place] = (pending[place] ?? 0) + 1;
    if ((i & 255) === 255 && meter.isSpent(unitsPerLook)) yield;
  }
  const rest: Value[] = [];
  for (let i = 0; i < list.length; i += 1) {
    const item = list[i] as Value;
    const place = table.find(valueKey(item));
    const count = place < 0 ? 0 : (pending[place] as number);
    if (count > 0) pending[place] = count - 1;
    else rest.push(item);
    if ((i & 255) === 255 && meter.isSpent(unitsPerLook)) yield;
  }
  return rest;
}

const unitsPerLook = 48;

function indexOfEqual(list: readonly Value[], value: Value): number {
  for (let i = 0; i < list.length; i++) if (valuesEqual(list[i] as Value, value)) return i;
  return -1;
}

function removeFromMap(map: ValueMap, right: Value): ValueMap | undefined {
  const rest = new Map(map);
  const entries = right instanceof EmbeddedDocument ? right.properties : right;
  if (entries instanceof Map) {
    for (const [key, value] of entries as ValueMap) {
      const own = rest.get(key);
      if (own !== undefined && valuesEqual(own, value)) rest.delete(key);
    }
  } else if (Array.isArray(right)) {
    for (const key of right) if (typeof key === 'string') rest.delete(key);
  } else {
    return undefined;
  }
  return rest;
}
