import { Link, type StoredRecord } from '#core/value/record.ts';
import { EmbeddedDocument, isList, isMap, isRecord, type Value } from '#core/value/value.ts';
import type { CheckedView } from './checked-view.ts';

/** Links in the values of a record, however deep, to records that do not exist. Reads every cell. */
export function countDanglingLinks(record: StoredRecord, view: CheckedView): number {
  let count = 0;
  for (const name of record.propertyNames()) count += dangling(record.get(name) ?? null, view);
  return count;
}

function dangling(value: Value, view: CheckedView): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (value instanceof Link || isRecord(value))
    return value.rid < 0 || view.record(value.rid) === undefined ? 1 : 0;
  let count = 0;
  if (isList(value)) for (const item of value) count += dangling(item, view);
  else if (value instanceof EmbeddedDocument)
    for (const item of value.properties.values()) count += dangling(item, view);
  else if (isMap(value)) for (const item of value.values()) count += dangling(item, view);
  return count;
}
