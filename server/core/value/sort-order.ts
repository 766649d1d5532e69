import type { Value } from './value.ts';
import { compareText, compareValues } from './value-order.ts';

/**
 * The order of ORDER BY (sql.md 7.8): null first; values of one kind as `compareValues` has them; values of different kinds as
 * their texts would stand, as far as one order of all values allows it. Numbers among themselves compare by value, so `'10'`
 * cannot stand both before 2 and beside 10: texts that begin with a digit come behind all numbers and dates, those that begin
 * with a minus behind the negative numbers. A text that begins otherwise stands where its first character puts it: before what
 * begins with a later one, be it a record id (`#`), a number, a list (`[`) or a map (`{`).
 *
 * @returns negative, 0 or positive; a total order, so pages of a sorted result fit together
 */
export function compareForSort(a: Value, b: Value): number {
  if (a === null || b === null) return compareValues(a, b);
  // One kind nearly always; the order below agrees with it.
  if (typeof a !== 'object' ? typeof a === typeof b : a.constructor === b.constructor)
    return compareValues(a, b);
  const aText = wordOf(a);
  const bText = wordOf(b);
  if (aText !== undefined && bText !== undefined) return compareText(aText, bText);
  return leadOf(a) - leadOf(b) || compareValues(a, b);
}

/** Text, and what is always printed as one of two words. */
function wordOf(value: Value): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'boolean' ? String(value) : undefined;
}

const minus = 0x2d;
const zero = 0x30;
const nine = 0x39;

/** The UTF-16 unit with which the text of a value begins; every digit counts as 0, the empty text as -1. */
function leadOf(value: Value): number {
  switch (typeof value) {
    case 'string': {
      const unit = value === '' ? -1 : value.charCodeAt(0);
      return unit > zero && unit <= nine ? zero : unit;
    }
    case 'boolean':
      return (value ? 't' : 'f').charCodeAt(0);
    case 'number':
    case 'bigint':
      return value < 0 ? minus : zero;
    default:
      return value === null ? -2 : leadOfObject(value);
  }
}

function leadOfObject(value: Exclude<Value, null | string | boolean | number | bigint>): number {
  if (Array.isArray(value) || value instanceof Uint8Array) return 0x5b; // [
  if (value instanceof Map) return 0x7b; // {
  switch ((value as { readonly valueKind: string }).valueKind) {
    case 'float':
    case 'decimal':
      return compareValues(value, 0) < 0 ? minus : zero;
    case 'link':
    case 'record':
      return 0x23; // #
    case 'embedded':
      return 0x7b;
    default:
      return zero; // dates and durations
  }
}
