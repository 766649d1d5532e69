import { convertValue, isSchemaType, schemaTypeOf, toNumber } from '#core/value/conversion.ts';
import {
  compareDecimals,
  decimalOfDouble,
  decimalOfInteger,
  decimalToNumber,
} from '#core/value/decimal.ts';
import type { Decimal } from '#core/value/decimal.ts';
import { isRidShaped, parseRid } from '#core/value/rid.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import { Duration, makeDuration } from '#core/temporal/temporal.ts';
import { isExtended } from '#core/value/extended-value.ts';
import { valuesEqual } from '#core/value/equality.ts';
import { EmbeddedDocument, double, kindOf } from '#core/value/value.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import { compareText, compareValues } from '#core/value/value-order.ts';
import type { NumberValue } from '#core/value/value-order.ts';
import { isNumber } from '../arithmetic/arithmetic.ts';

/**
 * Comparison by the rules of SQL (sql.md 6.3): values of one type directly, numbers after widening, records and rows by
 * record id, anything else after the right side was converted to the left side's type. The operands are never null here;
 * what null means is the caller's business.
 */

/** `a = b`. Cost: a type test or two for plain numbers and text. */
export function sqlEquals(a: Value, b: Value, formats: TemporalFormats): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a === b;
  if (typeof a === 'string' && typeof b === 'string') return a === b;
  if (a === null || b === null) return a === b;
  if (isNumber(a) && isNumber(b)) return compareWidened(a, b) === 0;
  if (typeof a === 'boolean' && typeof b === 'boolean') return a === b;
  if (typeof a === 'object' || typeof b === 'object') {
    const structured = equalStructures(a, b, formats);
    if (structured !== undefined) return structured;
  }
  const converted = convertToTypeOf(a, b, formats);
  return converted !== undefined && equalConverted(a, converted, formats);
}

/** Equality without widening or conversion (`CASE x WHEN y`, `x IN scalar`): 1 is not 1.0. Null equals nothing. */
export function strictlyEqual(a: Value, b: Value): boolean {
  if (a === null) return false;
  if (isNumber(a) && isNumber(b) && kindOf(a) !== kindOf(b)) return false;
  return valuesEqual(a, b);
}

/**
 * Negative, 0 or positive; NaN when a NaN is compared; undefined when the two cannot be ordered.
 */
export function sqlCompare(a: Value, b: Value, formats: TemporalFormats): number | undefined {
  if (typeof a === 'number' && typeof b === 'number')
    return a < b ? -1 : a > b ? 1 : a === b ? 0 : Number.NaN;
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  if (a === null || b === null) return undefined;
  if (isNumber(a) && isNumber(b)) return compareWidened(a, b);
  const left = singleColumn(a);
  const right = singleColumn(b);
  if (left !== undefined || right !== undefined)
    return sqlCompare(left === undefined ? a : left, right === undefined ? b : right, formats);
  if (Array.isArray(a)) return compareLists(a, Array.isArray(b) ? b : [b], formats);
  const converted = isOrderedLike(a, b) ? b : convertToTypeOf(a, b, formats);
  if (converted === undefined || converted === null || !isOrderedLike(a, converted))
    return undefined;
  if (isNumber(a) && isNumber(converted)) return compareWidened(a, converted);
  return compareValues(a, converted);
}

/** Element by element, a prefix before what it begins; one value beside a list is a list of it (keys of `index:`). */
function compareLists(
  a: readonly Value[],
  b: readonly Value[],
  formats: TemporalFormats,
): number | undefined {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const order = sqlCompare(a[i] as Value, b[i] as Value, formats);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** Both numbers widened to the larger type: float64 when one is a double, decimal when one is (sql.md 2.3). */
export function compareWidened(a: NumberValue, b: NumberValue): number {
  const x = typeof a === 'object' && a.valueKind === 'float' ? a.number : a;
  const y = typeof b === 'object' && b.valueKind === 'float' ? b.number : b;
  if (typeof x === 'object' || typeof y === 'object') return compareAsDecimals(x, y);
  if (typeof x === 'bigint' && typeof y === 'bigint') return x < y ? -1 : x > y ? 1 : 0;
  const isDouble = typeof a === 'object' || typeof b === 'object' || isFraction(x) || isFraction(y);
  // Two integers compare exactly, whatever their representation.
  const p = isDouble ? Number(x) : x;
  const q = isDouble ? Number(y) : y;
  return p < q ? -1 : p > q ? 1 : p === q ? 0 : Number.NaN;
}

function isFraction(n: number | bigint): boolean {
  return typeof n === 'number' && !Number.isInteger(n);
}

function compareAsDecimals(x: number | bigint | Decimal, y: number | bigint | Decimal): number {
  const p = asDecimal(x);
  const q = asDecimal(y);
  if (p && q) return compareDecimals(p, q);
  const a = asNumber(x);
  const b = asNumber(y);
  return a < b ? -1 : a > b ? 1 : Number.NaN;
}

function asDecimal(n: number | bigint | Decimal): Decimal | undefined {
  if (typeof n === 'object') return n;
  return typeof n === 'bigint' || Number.isSafeInteger(n)
    ? decimalOfInteger(n)
    : decimalOfDouble(n);
}

function asNumber(n: number | bigint | Decimal): number {
  return typeof n === 'object' ? decimalToNumber(n) : Number(n);
}

/** What only structure tells: record ids, rows, lists, maps. @returns undefined when conversion must decide */
function equalStructures(a: Value, b: Value, formats: TemporalFormats): boolean | undefined {
  const ridA = ridOf(a);
  const ridB = ridOf(b);
  if (ridA !== undefined && ridB !== undefined) return ridA === ridB;
  if (ridA !== undefined && typeof b === 'string') return ridOfText(b) === ridA;
  if (ridB !== undefined && typeof a === 'string') return ridOfText(a) === ridB;
  const mapA = propertiesOf(a);
  const mapB = propertiesOf(b);
  if (mapA && mapB) return equalMaps(a, mapA, b, mapB, formats);
  if (Array.isArray(a) && Array.isArray(b)) return equalLists(a, b, formats);
  const columnA = singleColumn(a);
  if (columnA !== undefined && !mapB) return columnA !== null && sqlEquals(columnA, b, formats);
  const columnB = singleColumn(b);
  if (columnB !== undefined && !mapA) return columnB !== null && sqlEquals(a, columnB, formats);
  return undefined;
}

/** The id of a link, a record, or a row that carries an `@rid`. */
export function ridOf(value: Value): number | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (value instanceof Map) {
    const rid = value.get('@rid');
    return rid === undefined || rid === null || rid instanceof Map ? undefined : ridOf(rid);
  }
  if (!('valueKind' in value)) return undefined;
  return value.valueKind === 'link' || value.valueKind === 'record' ? value.rid : undefined;
}

function ridOfText(text: string): number | undefined {
  return isRidShaped(text) ? parseRid(text) : undefined;
}

function propertiesOf(value: Value): ValueMap | undefined {
  if (value instanceof Map) return value;
  return value instanceof EmbeddedDocument ? value.properties : undefined;
}

/** The value of a row of one column; undefined when `value` is no such row. */
export function singleColumn(value: Value): Value | undefined {
  if (!(value instanceof Map) || value.size !== 1) return undefined;
  for (const column of (value as ValueMap).values()) return column;
  return undefined;
}

function equalMaps(
  a: Value,
  mapA: ValueMap,
  b: Value,
  mapB: ValueMap,
  formats: TemporalFormats,
): boolean {
  if (mapA.size !== mapB.size) return false;
  if (a instanceof EmbeddedDocument && b instanceof EmbeddedDocument && a.typeName !== b.typeName)
    return false;
  for (const [key, value] of mapA) {
    const other = mapB.get(key);
    if (other === undefined || !sqlEquals(value, other, formats)) return false;
  }
  return true;
}

function equalLists(a: readonly Value[], b: readonly Value[], formats: TemporalFormats): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++)
    if (!sqlEquals(a[i] as Value, b[i] as Value, formats)) return false;
  return true;
}

/** @returns undefined when `b` has no form in the type of `a` */
function convertToTypeOf(a: Value, b: Value, formats: TemporalFormats): Value | undefined {
  if (a === null) return undefined;
  if (a instanceof Duration) return durationOf(b);
  const type = schemaTypeOf(a);
  // Kinds of other languages compare with their own kind alone.
  if (!isSchemaType(type)) return isExtended(b) ? b : undefined;
  if (b instanceof Duration && isNumber(a)) return double(b.seconds + b.nanos / 1e9);
  const converted = convertValue(b, type === 'DATETIME' ? 'DATETIME_NANOS' : type, formats);
  return typeof converted === 'symbol' ? undefined : converted;
}

/** A number beside a duration counts seconds, as durations are written. Not specified. */
function durationOf(value: Value): Value | undefined {
  if (value instanceof Duration) return value;
  const seconds = toNumber(value);
  if (seconds === undefined || !Number.isFinite(seconds)) return undefined;
  const whole = Math.floor(seconds);
  return makeDuration(whole, Math.round((seconds - whole) * 1e9));
}

/** Equality of two values of one type. */
function equalConverted(a: Value, b: Value, formats: TemporalFormats): boolean {
  if (isNumber(a) && isNumber(b)) return compareWidened(a, b) === 0;
  if (typeof a !== 'object' || a === null) return a === b;
  if (Array.isArray(a)) return Array.isArray(b) && equalLists(a, b, formats);
  return isOrderedLike(a, b) && compareValues(a, b) === 0;
}

/** Two values that the total order can compare by content: the same kind, and a kind that has an order. */
function isOrderedLike(a: Value, b: Value): boolean {
  if (isNumber(a)) return isNumber(b);
  if (typeof a !== 'object' || a === null) return typeof a === typeof b;
  if (a instanceof Uint8Array) return b instanceof Uint8Array;
  if (ridOf(a) !== undefined && !(a instanceof Map))
    return ridOf(b) !== undefined && !(b instanceof Map);
  return isSameClass(a, b);
}

function isSameClass(a: Value, b: Value): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (!('valueKind' in a) || !('valueKind' in b)) return false;
  return a.valueKind === b.valueKind && a.valueKind !== 'embedded';
}
