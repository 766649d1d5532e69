import { DateTime, LocalDate } from '#core/temporal/temporal.ts';
import { Float, type Value } from '#core/value/value.ts';
import type { IndexReader } from '#transaction/read/read-view.ts';

/**
 * The share of an index that lies between two values of its first component, as if its values were spread evenly between
 * the lowest and the highest. Cost: two seeks.
 * @returns undefined for values that have no place on a line: texts, record ids
 */
export function shareOfRange(
  reader: IndexReader,
  low: Value | undefined,
  high: Value | undefined,
): number | undefined {
  if (low === undefined && high === undefined) return undefined;
  const first = placeOf(endOf(reader, 'ascending'));
  const last = placeOf(endOf(reader, 'descending'));
  if (first === undefined || last === undefined || last <= first) return undefined;
  const from = low === undefined ? first : placeOf(low);
  const to = high === undefined ? last : placeOf(high);
  if (from === undefined || to === undefined) return undefined;
  const inside = Math.min(to, last) - Math.max(from, first);
  return Math.max(0, inside) / (last - first);
}

function endOf(reader: IndexReader, order: 'ascending' | 'descending'): Value | undefined {
  const cursor = reader.range({ prefix: [] }, order);
  return cursor.next() ? cursor.keyValues()[0] : undefined;
}

function placeOf(value: Value | undefined): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Float) return value.number;
  if (value instanceof DateTime) return value.epochMs;
  return value instanceof LocalDate ? value.epochDay : undefined;
}
