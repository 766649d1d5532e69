import { EmbeddedDocument, isList, isMap, type Value, type ValueMap } from '#core/value/value.ts';
import { Link, type StoredRecord } from '#core/value/record.ts';
import { isRecord } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';

/** Reading maps, records and embedded documents alike, links followed (sql.md 1.7). */

/** The record behind a link, other values as they are; null for a dangling link. */
export function followed(value: Value, context: EvaluationContext): Value {
  return value instanceof Link ? (context.view.record(value.rid) ?? null) : value;
}

/** Property names of a map, record or embedded document; undefined for other values. */
export function namesOf(value: Value): readonly string[] | undefined {
  if (isRecord(value)) return value.propertyNames();
  if (value instanceof EmbeddedDocument) return [...value.properties.keys()];
  return isMap(value) ? [...value.keys()] : undefined;
}

/** One property; null when it is absent or `value` has no properties. */
export function propertyOf(value: Value, name: string): Value {
  if (isRecord(value)) return value.get(name) ?? null;
  if (value instanceof EmbeddedDocument) return value.properties.get(name) ?? null;
  return isMap(value) ? (value.get(name) ?? null) : null;
}

/** The properties as a map; undefined for values without properties. */
export function propertiesOf(value: Value): ValueMap | undefined {
  if (isMap(value)) return value;
  if (value instanceof EmbeddedDocument) return value.properties;
  if (!isRecord(value)) return undefined;
  return recordProperties(value);
}

function recordProperties(record: StoredRecord): ValueMap {
  const properties = new Map<string, Value>();
  const names = record.propertyNames();
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    properties.set(name, record.get(name) ?? null);
  }
  return properties;
}

/** The elements of a list, the values of a map, the value itself otherwise; nothing for null. */
export function elementsOf(value: Value): readonly Value[] {
  if (value === null) return [];
  if (isList(value)) return value;
  return isMap(value) ? [...value.values()] : [value];
}
