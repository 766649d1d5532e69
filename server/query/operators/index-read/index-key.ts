import { foldCase } from '#core/text/case-folding.ts';
import type { PropertyTypeName } from '#catalog/catalog.ts';
import { convertValue } from '#core/value/conversion.ts';
import { type Decimal, decimalToNumber, exactDecimalOfDouble } from '#core/value/decimal.ts';
import { Link } from '#core/value/record.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import { textOf } from '#core/text/text-form.ts';
import { double, type Float, kindOf, type Value, type ValueKind } from '#core/value/value.ts';
import { ridOf } from '../record-identity.ts';

/** What an ordered index holds in one component. */
export interface KeyComponent {
  /** Declared type of what is indexed (of the elements for BY ITEM); undefined when it is not declared. */
  readonly type: PropertyTypeName | undefined;
  readonly caseInsensitive: boolean;
}

/**
 * What to look for in the index instead of comparing `property <op> value` on every record.
 * `key`: all records for which the comparison holds have this key, or for ranges stand on the right side of it (both bounds
 * then count as inclusive unless `exact`); `exact`: no other records do, by the rules of openCypher either, which converts nothing.
 * `nothing`: the comparison holds for none. `scan`: only the records can tell.
 */
export type KeyOf =
  | { readonly kind: 'key'; readonly value: Value; readonly exact: boolean }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'scan' };

/** How what is asked for is compared with what is stored. */
export interface ComparisonRules {
  /** The property stands on the right side of the comparison, so SQL converts it to the constant's kind. */
  readonly isFlipped: boolean;
  /** An equality of openCypher. */
  readonly isOfCypher: boolean;
}

const nothing: KeyOf = { kind: 'nothing' };
const scan: KeyOf = { kind: 'scan' };

/**
 * The key for the right side of a comparison with a property. SQL compares numbers by value and converts everything else to
 * the kind of the stored value (sql.md 6.3), so the constant is converted to the declared type; where this could miss a
 * record the answer is `scan`.
 */
export function keyFor(
  value: Value,
  component: KeyComponent,
  formats: TemporalFormats,
  { isFlipped, isOfCypher }: ComparisonRules,
): KeyOf {
  if (value === null) return nothing;
  const kind = kindOf(value);
  const { type } = component;
  // NaN equals nothing and is on no side of anything; the index holds stored ones at a place of their own.
  if (Number.isNaN(value) && type !== undefined && isOwnKind(kind, type)) return nothing;
  if (type === undefined) return isOfCypher ? keyOfKind(value, kind) : undeclaredKey(value, kind);
  if (isFlipped && !isOwnKind(kind, type)) return scan;
  switch (type) {
    case 'STRING':
      return textKey(value, kind, component.caseInsensitive, formats);
    case 'BYTE':
    case 'SHORT':
    case 'INTEGER':
    case 'LONG':
    case 'FLOAT':
    case 'DOUBLE':
      return numberKey(value, kind, type);
    case 'DECIMAL':
      return decimalKey(value, kind);
    case 'BOOLEAN':
      return kind === 'boolean' ? exactKey(value) : scan;
    case 'DATE':
      return kind === 'date' ? exactKey(value) : convertedKey(value, type, formats);
    case 'DATETIME':
    case 'DATETIME_SECOND':
    case 'DATETIME_MICROS':
    case 'DATETIME_NANOS':
      return convertedKey(value, type, formats);
    case 'LINK':
      return linkKey(value);
    case 'BINARY':
      return kind === 'bytes' ? exactKey(value) : scan;
    default:
      return scan;
  }
}

function exactKey(value: Value): KeyOf {
  return { kind: 'key', value, exact: true };
}

function isOwnKind(kind: ValueKind, type: PropertyTypeName): boolean {
  switch (type) {
    case 'STRING':
      return kind === 'string';
    case 'BOOLEAN':
      return kind === 'boolean';
    case 'LINK':
      return kind === 'link' || kind === 'record';
    case 'DATE':
      return kind === 'date';
    case 'DATETIME':
    case 'DATETIME_SECOND':
    case 'DATETIME_MICROS':
    case 'DATETIME_NANOS':
      return kind === 'datetime';
    case 'BINARY':
      return kind === 'bytes';
    default:
      return kind === 'integer' || kind === 'double' || kind === 'decimal';
  }
}

function textKey(
  value: Value,
  kind: ValueKind,
  caseInsensitive: boolean,
  formats: TemporalFormats,
): KeyOf {
  // Keys without letter case find more than a comparison that minds it.
  if (kind === 'string')
    return caseInsensitive
      ? { kind: 'key', value: foldCase(value as string), exact: false }
      : exactKey(value);
  if (kind === 'integer' || kind === 'double' || kind === 'boolean')
    return { kind: 'key', value: textOf(value, formats), exact: false };
  return scan;
}

/** Text that names one integer and nothing else, whatever number type it is converted to. */
const plainInteger = /^(0|-?[1-9]\d{0,14})$/;

/**
 * Two numbers of different kinds are compared as doubles (sql.md 2.3). Beyond 2^53 several integers are one double there,
 * while keys are exact.
 */
const exactDoubleMax = 2 ** 53;

function numberKey(value: Value, kind: ValueKind, type: PropertyTypeName): KeyOf {
  const isInexact = type === 'FLOAT' || type === 'DOUBLE';
  if (kind === 'integer') return isInexact && typeof value === 'bigint' ? scan : exactKey(value);
  if (kind === 'double') return !isInexact && isHuge(value) ? scan : exactKey(value);
  if (kind === 'decimal' && isHuge(value)) return scan;
  // The key of a decimal is rounded down, that of a stored double is not; the nearest double is at the right place.
  if (kind === 'decimal')
    return {
      kind: 'key',
      value: double(decimalToNumber(value as Decimal)),
      exact: false,
    };
  if (kind === 'string' && plainInteger.test(value as string))
    return { kind: 'key', value: Number(value), exact: false };
  return scan;
}

function isHuge(value: Value): boolean {
  const n = kindOf(value) === 'decimal' ? decimalToNumber(value as Decimal) : doubleOf(value);
  return Number.isFinite(n) && Math.abs(n) >= exactDoubleMax;
}

/** The number of a double, integral ones included. */
function doubleOf(value: Value): number {
  return typeof value === 'number' ? value : (value as Float).number;
}

function decimalKey(value: Value, kind: ValueKind): KeyOf {
  if (kind === 'decimal' || kind === 'integer') return { kind: 'key', value, exact: false };
  if (kind === 'double') {
    const decimal = exactDecimalOfDouble(doubleOf(value));
    return decimal === undefined ? scan : { kind: 'key', value: decimal, exact: false };
  }
  if (kind === 'string' && plainInteger.test(value as string))
    return { kind: 'key', value: Number(value), exact: false };
  return scan;
}

function convertedKey(value: Value, type: PropertyTypeName, formats: TemporalFormats): KeyOf {
  const converted = convertValue(value, type, formats);
  return typeof converted === 'symbol' || converted === null
    ? scan
    : { kind: 'key', value: converted, exact: false };
}

function linkKey(value: Value): KeyOf {
  const rid = ridOf(value);
  return rid === undefined ? scan : { kind: 'key', value: new Link(rid), exact: false };
}

/** Text that no element of another kind can equal after conversion: it is no number, boolean, date or record id. */
const plainWord = /^[a-zA-Z][^\d#]*$/;

/**
 * Elements of a list without `OF X` may be of any kind. Only a word can be looked up safely: whatever is not text does not
 * convert from it.
 */
function undeclaredKey(value: Value, kind: ValueKind): KeyOf {
  if (kind !== 'string') return scan;
  const text = value as string;
  const isSafe = plainWord.test(text) && !/^(true|false|nan|infinity)$/i.test(text);
  return isSafe ? { kind: 'key', value: text, exact: false } : scan;
}

/**
 * The same for openCypher, where only text equals text and only numbers equal numbers: a key is the value itself. Keys of numbers
 * beyond 2^53 are told apart more finely than a comparison with a double does, decimals less.
 */
function keyOfKind(value: Value, kind: ValueKind): KeyOf {
  if (kind === 'string' || kind === 'boolean') return exactKey(value);
  const isNumber = kind === 'double' || (kind === 'integer' && typeof value === 'number');
  return isNumber && !isHuge(value) ? { kind: 'key', value, exact: false } : scan;
}
