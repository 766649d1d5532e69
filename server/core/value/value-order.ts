import { compareDecimals, decimalOfInteger, exactDecimalOfDouble } from './decimal.ts';
import type { Decimal } from './decimal.ts';
import { compareDateTimes, compareDurations, msPerDay } from '../temporal/temporal.ts';
import { compareExtended, type ExtendedValue } from './extended-value.ts';
import type { DateTime, LocalDate } from '../temporal/temporal.ts';
import type { Float, Value, ValueMap } from './value.ts';

/**
 * The total order of all values, that of ordered indexes; ORDER BY follows it within one kind (`sort-order.ts`): null <
 * false < true < numbers < dates < text < bytes < links and records < durations < lists < maps < embedded documents < the kinds of
 * `extended-value.ts` (tags of storage.md 3.4).
 *
 * Numbers compare by value whatever their type (`exactDecimalOfDouble`), NaN above all others; text by its UTF-8 bytes, that is by code point;
 * record ids by bucket, then position; a calendar date as its midnight in UTC; lists element by element, then by length;
 * maps entry by entry in order of their names.
 *
 * @returns negative, 0 or positive
 */
export function compareValues(a: Value, b: Value): number {
  if (typeof a === 'number' && typeof b === 'number') return comparePlainNumbers(a, b);
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  const rank = rankOf(a);
  const rankDifference = rank - rankOf(b);
  if (rankDifference !== 0) return rankDifference;
  switch (rank) {
    case numberRank:
      return compareNumbers(a as NumberValue, b as NumberValue);
    case dateRank:
      return compareMoments(a as DateTime | LocalDate, b as DateTime | LocalDate);
    case bytesRank:
      return Buffer.compare(a as Uint8Array, b as Uint8Array);
    case linkRank:
      return (a as { rid: number }).rid - (b as { rid: number }).rid;
    default:
      return compareComposite(a, b, rank);
  }
}

/** Every representation of a number. */
export type NumberValue = number | bigint | Float | Decimal;

const nullRank = 0;
const falseRank = 1;
const trueRank = 2;
const numberRank = 3;
const dateRank = 4;
const stringRank = 5;
const bytesRank = 6;
const linkRank = 7;
const durationRank = 8;
const listRank = 9;
const mapRank = 10;
const embeddedRank = 11;
const extendedRank = 12;

function rankOf(value: Value): number {
  switch (typeof value) {
    case 'number':
    case 'bigint':
      return numberRank;
    case 'string':
      return stringRank;
    case 'boolean':
      return value ? trueRank : falseRank;
    default:
      break;
  }
  if (value === null) return nullRank;
  if (Array.isArray(value)) return listRank;
  if (value instanceof Map) return mapRank;
  if (value instanceof Uint8Array) return bytesRank;
  const tagged = value as Exclude<typeof value, readonly Value[] | ValueMap | Uint8Array>;
  switch (tagged.valueKind) {
    case 'float':
    case 'decimal':
      return numberRank;
    case 'date':
    case 'datetime':
      return dateRank;
    case 'link':
    case 'record':
      return linkRank;
    case 'duration':
      return durationRank;
    case 'embedded':
      return embeddedRank;
    default:
      return extendedRank;
  }
}

/** NaN equals itself and is above all other numbers. */
function comparePlainNumbers(a: number, b: number): number {
  if (a < b) return -1;
  if (a > b) return 1;
  if (a === b) return 0;
  return Number.isNaN(a) ? (Number.isNaN(b) ? 0 : 1) : -1;
}

/** Exact comparison of two numbers of any type. */
export function compareNumbers(a: NumberValue, b: NumberValue): number {
  const x = typeof a === 'object' && a.valueKind === 'float' ? a.number : a;
  const y = typeof b === 'object' && b.valueKind === 'float' ? b.number : b;
  if (typeof x === 'number' && typeof y === 'number') return comparePlainNumbers(x, y);
  if (typeof x !== 'object' && typeof y !== 'object') return compareMixed(x, y);
  const p = toDecimal(x);
  const q = toDecimal(y);
  if (p && q) return compareDecimals(p, q);
  // At most one is a NaN or an infinity; the other is finite.
  return p ? (y === Number.NEGATIVE_INFINITY ? 1 : -1) : x === Number.NEGATIVE_INFINITY ? -1 : 1;
}

function compareMixed(x: number | bigint, y: number | bigint): number {
  // JavaScript compares a bigint with a number exactly; NaN is neither below nor above.
  if (x < y) return -1;
  if (x > y) return 1;
  if (typeof x === 'number' && Number.isNaN(x)) return 1;
  return typeof y === 'number' && Number.isNaN(y) ? -1 : 0;
}

function toDecimal(n: number | bigint | Decimal): Decimal | undefined {
  if (typeof n === 'object') return n;
  return typeof n === 'bigint' ? decimalOfInteger(n) : exactDecimalOfDouble(n);
}

/**
 * Order of the UTF-8 bytes, which is the order of code points. JavaScript compares UTF-16 units, where the halves of a
 * pair (U+D800..U+DFFF) stand below U+E000..U+FFFF although they encode higher code points.
 */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = length < longText ? 0 : commonStart(a, b, length); i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) {
      if (x < 0xd800 || y < 0xd800) return x - y;
      const xIsHalf = x <= 0xdfff;
      return xIsHalf === y <= 0xdfff ? x - y : xIsHalf ? 1 : -1;
    }
  }
  return a.length - b.length;
}

/** Texts from this length on have what they share compared by the engine, a hundred times as fast. */
const longText = 1_024;

/** A position up to which two texts are the same, at most 1,023 before the first difference. */
function commonStart(a: string, b: string, length: number): number {
  let start = 0;
  while (start < length && a.slice(start, start + longText) === b.slice(start, start + longText))
    start += longText;
  return Math.min(start, length);
}

function compareMoments(a: DateTime | LocalDate, b: DateTime | LocalDate): number {
  if (a.valueKind === 'datetime' && b.valueKind === 'datetime') return compareDateTimes(a, b);
  if (a.valueKind === 'date' && b.valueKind === 'date') return a.epochDay - b.epochDay;
  const x = a.valueKind === 'date' ? a.epochDay * msPerDay : a.epochMs;
  const y = b.valueKind === 'date' ? b.epochDay * msPerDay : b.epochMs;
  return x - y || nanosOf(a) - nanosOf(b);
}

function nanosOf(moment: DateTime | LocalDate): number {
  return moment.valueKind === 'date' ? 0 : moment.nanosOfMs;
}

function compareComposite(a: Value, b: Value, rank: number): number {
  switch (rank) {
    case listRank:
      return compareLists(a as readonly Value[], b as readonly Value[]);
    case mapRank:
      return compareMaps(a as ValueMap, b as ValueMap);
    case durationRank:
      return compareDurations(
        a as Parameters<typeof compareDurations>[0],
        b as Parameters<typeof compareDurations>[0],
      );
    case embeddedRank: {
      const x = a as { typeName: string; properties: ValueMap };
      const y = b as { typeName: string; properties: ValueMap };
      return compareText(x.typeName, y.typeName) || compareMaps(x.properties, y.properties);
    }
    case extendedRank:
      return compareExtended(a as ExtendedValue, b as ExtendedValue);
    default:
      return 0; // null, false and true have one value each
  }
}

function compareLists(a: readonly Value[], b: readonly Value[]): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const order = compareValues(a[i] as Value, b[i] as Value);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** Entry by entry in order of names, as index keys have them. */
function compareMaps(a: ValueMap, b: ValueMap): number {
  const xs = [...a.keys()].sort(compareText);
  const ys = [...b.keys()].sort(compareText);
  const length = Math.min(xs.length, ys.length);
  for (let i = 0; i < length; i++) {
    const x = xs[i] as string;
    const y = ys[i] as string;
    const order = compareText(x, y) || compareValues(a.get(x) ?? null, b.get(y) ?? null);
    if (order !== 0) return order;
  }
  return xs.length - ys.length;
}
