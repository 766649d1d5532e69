import { LocalDateTime, ZonedDateTime } from '#core/temporal/instants.ts';
import { asDateTime } from '#core/temporal/sql-kinds.ts';
import { compareDateTimes, DateTime } from '#core/temporal/temporal.ts';
import { EmbeddedDocument } from '#core/value/value.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import { valuesEqual } from '#core/value/equality.ts';
import { compareNumbers, compareValues, type NumberValue } from '#core/value/value-order.ts';
import { isNumber } from '../arithmetic/arithmetic.ts';
import { ridOf } from './sql-comparison.ts';

/**
 * Comparison by the rules of openCypher: no conversion between types. Different kinds are unequal and cannot be ordered; a
 * null inside a list or map makes its equality unknown unless another element already differs.
 */

/** `a = b`; null is unknown. */
export function cypherEquals(a: Value, b: Value): boolean | null {
  if (a === null || b === null) return null;
  if (typeof a === 'number' && typeof b === 'number') return a === b;
  if (isNumber(a)) return isNumber(b) && !isNotANumber(a) && compareNumbers(a, b) === 0;
  if (typeof a !== 'object') return a === b;
  if (Array.isArray(a)) return Array.isArray(b) ? equalLists(a, b) : false;
  const rid = a instanceof Map ? undefined : ridOf(a);
  if (rid !== undefined) return !(b instanceof Map) && ridOf(b) === rid;
  const map = a instanceof EmbeddedDocument ? a.properties : a;
  if (map instanceof Map) {
    const other = b instanceof EmbeddedDocument ? b.properties : b;
    return other instanceof Map ? equalMaps(map, other) : false;
  }
  if (isSameKind(a, b)) return valuesEqual(a, b);
  const order = compareWithSql(a, b);
  return order === 0;
}

function isNotANumber(value: NumberValue): boolean {
  return typeof value === 'number' && Number.isNaN(value);
}

function equalLists(a: readonly Value[], b: readonly Value[]): boolean | null {
  if (a.length !== b.length) return false;
  let isUnknown = false;
  for (let i = 0; i < a.length; i++) {
    const equal = cypherEquals(a[i] as Value, b[i] as Value);
    if (equal === false) return false;
    if (equal === null) isUnknown = true;
  }
  return isUnknown ? null : true;
}

function equalMaps(a: ValueMap, b: ValueMap): boolean | null {
  if (a.size !== b.size) return false;
  let isUnknown = false;
  for (const [key, value] of a) {
    const other = b.get(key);
    if (other === undefined) return false;
    const equal = cypherEquals(value, other);
    if (equal === false) return false;
    if (equal === null) isUnknown = true;
  }
  return isUnknown ? null : true;
}

/** Negative, 0 or positive; NaN when a NaN is compared; undefined when the two have no order (unknown). */
export function cypherCompare(a: Value, b: Value): number | undefined {
  if (a === null || b === null) return undefined;
  if (isNumber(a)) {
    if (!isNumber(b)) return undefined;
    return isNotANumber(a) || isNotANumber(b) ? Number.NaN : compareNumbers(a, b);
  }
  if (Array.isArray(a)) return Array.isArray(b) ? compareLists(a, b) : undefined;
  if (typeof a === 'object' && (a instanceof Map || ridOf(a) !== undefined)) return undefined;
  if (isSameKind(a, b)) return isUnordered(a) ? undefined : compareValues(a, b);
  return compareWithSql(a, b);
}

/** A DATETIME of SQL beside a datetime of the language, local or zoned, is the moment that SQL says it is. */
function compareWithSql(a: Value, b: Value): number | undefined {
  const isSql = a instanceof DateTime;
  if (isSql === b instanceof DateTime) return undefined;
  const x = isSql ? a : momentOf(a);
  const y = isSql ? momentOf(b) : (b as DateTime);
  return x && y && compareDateTimes(x, y);
}

function momentOf(value: Value): DateTime | undefined {
  return value instanceof LocalDateTime || value instanceof ZonedDateTime
    ? asDateTime(value)
    : undefined;
}

/** Durations and paths are equal or not; which is larger has no answer. */
function isUnordered(value: Exclude<Value, null>): boolean {
  return typeof value === 'object' && 'valueKind' in value && unorderedKinds.has(value.valueKind);
}

const unorderedKinds: ReadonlySet<string> = new Set([
  'duration',
  'cypherDuration',
  'path',
  'point',
  'embedded',
]);

/** Lexicographic; unknown as soon as a deciding pair is. */
function compareLists(a: readonly Value[], b: readonly Value[]): number | undefined {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const order = cypherCompare(a[i] as Value, b[i] as Value);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function isSameKind(a: Value, b: Value): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null)
    return typeof a === typeof b;
  if (a instanceof Uint8Array) return b instanceof Uint8Array;
  return 'valueKind' in a && 'valueKind' in b && a.valueKind === b.valueKind;
}
