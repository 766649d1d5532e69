/**
 * Conversion of a value to a schema type (sql.md 2.1, 2.4). Every function answers `undefined` when the value cannot be
 * converted; null is never passed in. Nothing here knows about properties or elements: see `coercion.ts`.
 */
import {
  Decimal,
  decimalOfDouble,
  decimalOfInteger,
  decimalToBigint,
  decimalToNumber,
  parseDecimal,
} from '#core/decimal.ts';
import { shortestFloat32 } from '#core/float32.ts';
import { parseDouble } from '#core/number-text.ts';
import { Link } from '#core/record.ts';
import { isRidShaped, parseRid } from '#core/rid.ts';
import {
  dateOf,
  dateTimeToDate,
  dateToDateTime,
  momentOf,
  parseDate,
  parseDateTime,
  type TemporalFormats,
} from '#core/temporal-format.ts';
import { DateTime, LocalDate, type TemporalPrecision } from '#core/temporal.ts';
import { textOf } from '#core/text-form.ts';
import {
  double,
  EmbeddedDocument,
  Float,
  integer,
  isList,
  isMap,
  isRecord,
  type Value,
} from '#core/value.ts';
import type { PropertyTypeName } from './catalog.ts';
import { propertyTypeSpec } from './property-type.ts';

/**
 * `value` as a value of the schema type; the same object when nothing had to change. LIST and MAP elements are not looked at.
 * @returns undefined when the rules of sql.md 2.1 do not allow it, also for numbers out of range
 */
export function convertValue(
  value: Value,
  type: PropertyTypeName,
  formats: TemporalFormats,
): Value | undefined {
  if (value === null) return null;
  const spec = propertyTypeSpec(type);
  switch (spec.family) {
    case 'text':
      return typeof value === 'string' ? value : textOf(value, formats);
    case 'integer':
      return toInteger(value, type);
    case 'floating':
      return toFloating(value, type === 'FLOAT');
    case 'boolean':
      return toBoolean(value);
    case 'decimal':
      return toDecimal(value);
    case 'datetime':
      return toDateTime(value, precisions[type] ?? 'millis', formats);
    case 'date':
      return toDate(value, formats);
    case 'bytes':
      return toBytes(value);
    case 'list':
      return isList(value) ? value : [value];
    case 'map':
      return isMap(value) ? value : undefined;
    case 'link':
      return toLink(value);
    case 'embedded':
      return value instanceof EmbeddedDocument ? value : undefined;
    default:
      return toArray(value, type);
  }
}

/** True when a number (or text of one) was refused only because the type cannot hold it. */
export function isOutOfRange(value: Value, type: PropertyTypeName): boolean {
  if (propertyTypeSpec(type).family !== 'integer') return false;
  const whole = toBigint(value, type);
  return whole !== undefined && integerWithin(whole, type) === undefined;
}

const precisions: { readonly [type in PropertyTypeName]?: TemporalPrecision } = {
  DATETIME: 'millis',
  DATETIME_MICROS: 'micros',
  DATETIME_NANOS: 'nanos',
  DATETIME_SECOND: 'second',
};

function integerWithin(whole: bigint, type: PropertyTypeName): Value | undefined {
  const { low = 0n, high = 0n } = propertyTypeSpec(type);
  return whole >= low && whole <= high ? integer(whole) : undefined;
}

function toInteger(value: Value, type: PropertyTypeName): Value | undefined {
  // The common case first: a plain integer in a type that can hold it.
  if (typeof value === 'number' && Number.isInteger(value)) {
    const { low = 0n, high = 0n } = propertyTypeSpec(type);
    return type === 'LONG' || (value >= Number(low) && value <= Number(high)) ? value : undefined;
  }
  const whole = toBigint(value, type);
  return whole === undefined ? undefined : integerWithin(whole, type);
}

/** The integer part of anything that is a number; fractions are dropped toward zero. */
function toBigint(value: Value, type: PropertyTypeName): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'string') {
    if (value === '') return 0n;
    const decimal = parseDecimal(value);
    return decimal === undefined ? undefined : decimalToBigint(decimal);
  }
  if (value instanceof Decimal) return decimalToBigint(value);
  if (type === 'LONG') {
    if (value instanceof DateTime) return BigInt(value.epochMs);
    if (value instanceof LocalDate) return BigInt(value.epochDay) * 86_400_000n;
  }
  const number = value instanceof Float ? value.number : value;
  return typeof number === 'number' && Number.isFinite(number)
    ? BigInt(Math.trunc(number))
    : undefined;
}

/** The double nearest to a number or numeric text. */
function toNumber(value: Value): number | undefined {
  if (typeof value === 'number') return value;
  if (value instanceof Float) return value.number;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Decimal) return decimalToNumber(value);
  if (typeof value === 'string') return value === '' ? 0 : parseDouble(value);
  return undefined;
}

function toFloating(value: Value, single: boolean): Value | undefined {
  if (!single && (value instanceof Float || isFraction(value))) return value;
  const number = toNumber(value);
  if (number === undefined) return undefined;
  if (!single) return double(number);
  const rounded = Math.fround(number);
  // A finite number beyond the range of float32 would silently become infinite.
  if (!Number.isFinite(rounded) && Number.isFinite(number)) return undefined;
  return double(shortestFloat32(rounded));
}

function isFraction(value: Value): value is number {
  return typeof value === 'number' && !Number.isInteger(value);
}

function toBoolean(value: Value): Value | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string') {
    const lower = value.toLowerCase();
    return lower === 'true' ? true : lower === 'false' ? false : undefined;
  }
  const number = toNumber(value);
  return number === undefined || Number.isNaN(number) ? undefined : Math.trunc(number) !== 0;
}

function toDecimal(value: Value): Value | undefined {
  if (value instanceof Decimal) return value;
  if (typeof value === 'bigint') return decimalOfInteger(value);
  if (typeof value === 'string') return parseDecimal(value === '' ? '0' : value);
  const number = value instanceof Float ? value.number : value;
  if (typeof number !== 'number') return undefined;
  return Number.isSafeInteger(number) && !(value instanceof Float)
    ? decimalOfInteger(number)
    : decimalOfDouble(number);
}

function toDateTime(
  value: Value,
  precision: TemporalPrecision,
  formats: TemporalFormats,
): Value | undefined {
  if (value instanceof DateTime) return withPrecision(value, precision);
  if (value instanceof LocalDate) return withPrecision(dateToDateTime(value, formats), precision);
  const moment =
    typeof value === 'string' ? parseDateTime(value, formats) : numberThen(value, momentOf);
  return moment === undefined ? undefined : withPrecision(moment, precision);
}

/** Cuts what the declared type does not keep. */
function withPrecision(moment: DateTime, precision: TemporalPrecision): DateTime {
  let { epochMs, nanosOfMs } = moment;
  if (precision === 'second') epochMs = Math.floor(epochMs / 1_000) * 1_000;
  if (precision === 'second' || precision === 'millis') nanosOfMs = 0;
  else if (precision === 'micros') nanosOfMs -= nanosOfMs % 1_000;
  const isSame =
    moment.precision === precision && moment.epochMs === epochMs && moment.nanosOfMs === nanosOfMs;
  return isSame ? moment : new DateTime(epochMs, nanosOfMs, precision);
}

function toDate(value: Value, formats: TemporalFormats): Value | undefined {
  if (value instanceof LocalDate) return value;
  if (value instanceof DateTime) return dateTimeToDate(value, formats);
  return typeof value === 'string' ? parseDate(value, formats) : numberThen(value, dateOf);
}

function numberThen<T>(value: Value, make: (n: number) => T | undefined): T | undefined {
  const number = toNumber(value);
  return number === undefined || !Number.isFinite(number) ? undefined : make(number);
}

function toBytes(value: Value): Value | undefined {
  if (value instanceof Uint8Array) return value;
  if (!isList(value)) return undefined;
  const bytes = new Uint8Array(value.length);
  for (let i = 0; i < value.length; i++) {
    const byte = toInteger(value[i] ?? null, 'BYTE');
    if (typeof byte !== 'number') return undefined;
    bytes[i] = byte & 0xff;
  }
  return bytes;
}

function toLink(value: Value): Value | undefined {
  if (value instanceof Link) return value;
  if (isRecord(value)) return new Link(value.rid);
  if (typeof value === 'string') {
    const rid = isRidShaped(value) ? parseRid(value) : undefined;
    return rid === undefined ? undefined : new Link(rid);
  }
  if (isList(value) && value.length === 1) return toLink(value[0] ?? null);
  return undefined;
}

function toArray(value: Value, type: PropertyTypeName): Value | undefined {
  if (!isList(value)) return undefined;
  const elements: Value[] = [];
  for (const element of value) {
    const isNumber =
      typeof element === 'number' ||
      typeof element === 'bigint' ||
      element instanceof Float ||
      element instanceof Decimal;
    if (!isNumber) return undefined;
    const converted =
      type === 'ARRAY_OF_FLOATS' || type === 'ARRAY_OF_DOUBLES'
        ? toFloating(element, type === 'ARRAY_OF_FLOATS')
        : integerElement(element, type);
    if (converted === undefined) return undefined;
    elements.push(converted);
  }
  return elements;
}

function integerElement(value: Value, type: PropertyTypeName): Value | undefined {
  const whole = toBigint(value, type);
  return whole === undefined ? undefined : integerWithin(whole, type);
}
