import { decimalOfDouble, decimalOfInteger, decimalToBigint, decimalToNumber } from './decimal.ts';
import { parseDecimal } from './decimal.ts';
import type { Decimal } from './decimal.ts';
import { shortestFloat32 } from './float32.ts';
import { parseDouble, parseInteger } from './number-text.ts';
import { Link } from './record.ts';
import { isBeyondRids, isRidShaped, parseRid } from './rid.ts';
import { dateOf, dateTimeToDate, dateToDateTime, momentOf } from '../temporal/format.ts';
import { parseDate, parseDateTime } from '../temporal/format.ts';
import type { TemporalFormats } from '../temporal/format.ts';
import { isInstant } from '../temporal/instants.ts';
import { asDateTime } from '../temporal/sql-kinds.ts';
import { epochMsMax, LocalDate, withPrecision } from '../temporal/temporal.ts';
import type { TemporalPrecision } from '../temporal/temporal.ts';
import { textOf } from '../text/text-form.ts';
import { EmbeddedDocument, double, int64Max, int64Min, integer, kindOf } from './value.ts';
import type { Value } from './value.ts';

/**
 * Conversion of values to schema types by the rules of sql.md 2.1. One place for what a declared property, a comparison of
 * two types, `.convert()` and the `as...` methods do. Start with `convertValue`.
 */
export type SchemaTypeName =
  | 'BOOLEAN'
  | 'INTEGER'
  | 'SHORT'
  | 'LONG'
  | 'FLOAT'
  | 'DOUBLE'
  | 'DATETIME'
  | 'STRING'
  | 'BINARY'
  | 'LIST'
  | 'MAP'
  | 'LINK'
  | 'BYTE'
  | 'DATE'
  | 'DECIMAL'
  | 'EMBEDDED'
  | 'DATETIME_MICROS'
  | 'DATETIME_NANOS'
  | 'DATETIME_SECOND'
  | 'ARRAY_OF_SHORTS'
  | 'ARRAY_OF_INTEGERS'
  | 'ARRAY_OF_LONGS'
  | 'ARRAY_OF_FLOATS'
  | 'ARRAY_OF_DOUBLES'
  | 'ANY';

/** The value has no form in the type: `Cannot convert type '<class>' to '<TYPE>'`. */
export const notConvertible = Symbol('not convertible');
/** The value is a number that the type cannot hold. */
export const outOfRange = Symbol('out of range');
/** The value is a collection of several elements where one link is needed. */
export const severalLinks = Symbol('several links');

export type Conversion = Value | typeof notConvertible | typeof outOfRange | typeof severalLinks;

/** Ids of the schema types in sql.md 2.1, by name; also the list of all type names. */
export const schemaTypeIds: Readonly<Record<SchemaTypeName, number>> = {
  BOOLEAN: 0,
  INTEGER: 1,
  SHORT: 2,
  LONG: 3,
  FLOAT: 4,
  DOUBLE: 5,
  DATETIME: 6,
  STRING: 7,
  BINARY: 8,
  LIST: 9,
  MAP: 10,
  LINK: 11,
  BYTE: 12,
  DATE: 13,
  DECIMAL: 14,
  EMBEDDED: 15,
  DATETIME_MICROS: 16,
  DATETIME_NANOS: 17,
  DATETIME_SECOND: 18,
  ARRAY_OF_SHORTS: 19,
  ARRAY_OF_INTEGERS: 20,
  ARRAY_OF_LONGS: 21,
  ARRAY_OF_FLOATS: 22,
  ARRAY_OF_DOUBLES: 23,
  ANY: 24,
};

/** The schema type with this name in any letter case. */
export function schemaTypeNamed(name: string): SchemaTypeName | undefined {
  const upper = name.toUpperCase();
  return Object.hasOwn(schemaTypeIds, upper) ? (upper as SchemaTypeName) : undefined;
}

/**
 * `value` as the type holds it; null stays null. Conversion never throws: a failure is one of the three symbols.
 * A FLOAT is the shortest decimal text of its float32 (house decision 14).
 */
export function convertValue(
  value: Value,
  type: SchemaTypeName,
  formats: TemporalFormats,
): Conversion {
  if (value === null) return null;
  switch (type) {
    case 'STRING':
      return textOf(value, formats);
    case 'INTEGER':
    case 'SHORT':
    case 'BYTE':
    case 'LONG':
      return toInteger(value, type);
    case 'BOOLEAN':
      return toBoolean(value);
    case 'FLOAT':
    case 'DOUBLE':
      return toDouble(value, type);
    case 'DECIMAL':
      return toDecimal(value);
    case 'DATE':
      return toDate(value, formats);
    case 'DATETIME':
    case 'DATETIME_SECOND':
    case 'DATETIME_MICROS':
    case 'DATETIME_NANOS':
      return toDateTime(value, precisionOf[type], formats);
    case 'LINK':
      return toLink(value);
    case 'BINARY':
      return toBytes(value);
    case 'LIST':
      return Array.isArray(value) ? value : [value];
    case 'MAP':
      return toMap(value);
    case 'EMBEDDED':
      return toEmbedded(value);
    case 'ANY':
      return value;
    default:
      return toArray(value, elementTypeOf[type], formats);
  }
}

const precisionOf = {
  DATETIME: 'millis',
  DATETIME_SECOND: 'second',
  DATETIME_MICROS: 'micros',
  DATETIME_NANOS: 'nanos',
} as const satisfies Record<string, TemporalPrecision>;

const elementTypeOf = {
  ARRAY_OF_SHORTS: 'SHORT',
  ARRAY_OF_INTEGERS: 'INTEGER',
  ARRAY_OF_LONGS: 'LONG',
  ARRAY_OF_FLOATS: 'FLOAT',
  ARRAY_OF_DOUBLES: 'DOUBLE',
} as const satisfies Record<string, SchemaTypeName>;

/** Types of values that no property can be declared with. */
export type UndeclaredTypeName =
  | 'DURATION'
  | 'LOCAL_TIME'
  | 'ZONED_TIME'
  | 'LOCAL_DATETIME'
  | 'ZONED_DATETIME'
  | 'POINT'
  | 'PATH';

/** The schema type that an undeclared value has: `.type()` and error messages. */
export function schemaTypeOf(value: Exclude<Value, null>): SchemaTypeName | UndeclaredTypeName {
  switch (kindOf(value)) {
    case 'boolean':
      return 'BOOLEAN';
    case 'integer':
      return typeof value === 'number' && fits(value, 'INTEGER') ? 'INTEGER' : 'LONG';
    case 'double':
      return 'DOUBLE';
    case 'decimal':
      return 'DECIMAL';
    case 'bytes':
      return 'BINARY';
    case 'date':
      return 'DATE';
    case 'datetime':
      return 'DATETIME';
    case 'duration':
      return 'DURATION';
    case 'link':
    case 'record':
      return 'LINK';
    case 'embedded':
      return 'EMBEDDED';
    case 'list':
      return 'LIST';
    case 'map':
      return 'MAP';
    case 'localTime':
      return 'LOCAL_TIME';
    case 'zonedTime':
      return 'ZONED_TIME';
    case 'localDateTime':
      return 'LOCAL_DATETIME';
    case 'zonedDateTime':
      return 'ZONED_DATETIME';
    case 'cypherDuration':
      return 'DURATION';
    case 'point':
      return 'POINT';
    case 'path':
      return 'PATH';
    default:
      return 'STRING';
  }
}

export function isSchemaType(name: SchemaTypeName | UndeclaredTypeName): name is SchemaTypeName {
  return Object.hasOwn(schemaTypeIds, name);
}

type IntegerTypeName = 'INTEGER' | 'SHORT' | 'BYTE' | 'LONG';

const integerMax = { BYTE: 127, SHORT: 32_767, INTEGER: 2_147_483_647 } as const;

function fits(n: number, type: IntegerTypeName): boolean {
  return type === 'LONG' || (n <= integerMax[type] && n >= -integerMax[type] - 1);
}

/** Numbers lose their fraction, dates are milliseconds (LONG only), text must be an integer or empty (0). */
function toInteger(value: Value, type: IntegerTypeName): Conversion {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return fits(value, type) ? value : outOfRange;
    return truncated(value, type);
  }
  if (typeof value === 'bigint') return type === 'LONG' ? value : outOfRange;
  if (typeof value === 'string') return integerOfText(value, type);
  if (typeof value !== 'object' || value === null || !('valueKind' in value)) return notConvertible;
  switch (value.valueKind) {
    case 'float':
      return truncated(value.number, type);
    case 'decimal':
      return inRange(decimalToBigint(value), type);
    case 'datetime':
      return type === 'LONG' ? value.epochMs : notConvertible;
    case 'date':
      return type === 'LONG' ? value.epochDay * 86_400_000 : notConvertible;
    default:
      return notConvertible;
  }
}

function truncated(n: number, type: IntegerTypeName): Conversion {
  if (!Number.isFinite(n)) return outOfRange;
  const whole = Math.trunc(n) + 0;
  if (Number.isSafeInteger(whole)) return fits(whole, type) ? whole : outOfRange;
  return inRange(BigInt(whole), type);
}

function inRange(n: bigint, type: IntegerTypeName): Conversion {
  if (n > int64Max || n < int64Min) return outOfRange;
  const whole = integer(n);
  if (typeof whole === 'bigint') return type === 'LONG' ? whole : outOfRange;
  return fits(whole, type) ? whole : outOfRange;
}

const integerShape = /^[+-]?\d+$/;

function integerOfText(text: string, type: IntegerTypeName): Conversion {
  if (text === '') return 0;
  const n = parseInteger(text);
  if (n === undefined) return integerShape.test(text) ? outOfRange : notConvertible;
  if (typeof n === 'bigint') return type === 'LONG' ? n : outOfRange;
  return fits(n, type) ? n : outOfRange;
}

function toBoolean(value: Value): Conversion {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string') {
    const word = value.toLowerCase();
    return word === 'true' ? true : word === 'false' ? false : notConvertible;
  }
  const n = toNumber(value);
  return n === undefined ? notConvertible : Math.trunc(n) !== 0;
}

/** The double nearest to a value of any number type; undefined for other kinds. */
export function toNumber(value: Value): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null || !('valueKind' in value)) return undefined;
  if (value.valueKind === 'float') return value.number;
  return value.valueKind === 'decimal' ? decimalToNumber(value) : undefined;
}

const nonFinite: ReadonlyMap<string, number> = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['PosInfinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
  ['NegInfinity', Number.NEGATIVE_INFINITY],
]);

function toDouble(value: Value, type: 'FLOAT' | 'DOUBLE'): Conversion {
  let n: number | undefined;
  if (typeof value === 'string') {
    n = value === '' ? 0 : (nonFinite.get(value) ?? parseDouble(value));
  } else {
    n = toNumber(value);
    // A finite number that is too large for the type must not become an infinity.
    if (n !== undefined && !Number.isFinite(n) && typeof value === 'object') {
      if ((value as Decimal).valueKind === 'decimal') return outOfRange;
    }
  }
  if (n === undefined) return notConvertible;
  if (type === 'DOUBLE') return double(n);
  const single = Math.fround(n);
  if (Number.isFinite(n) && !Number.isFinite(single)) return outOfRange;
  return double(shortestFloat32(single));
}

/** Text that is a number, however large (limits.md 11). */
const numberShape = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

function toDecimal(value: Value): Conversion {
  if (typeof value === 'string')
    return parseDecimal(value) ?? (numberShape.test(value) ? outOfRange : notConvertible);
  if (typeof value === 'bigint') return decimalOfInteger(value);
  if (typeof value === 'number')
    return Number.isInteger(value)
      ? decimalOfInteger(value)
      : (decimalOfDouble(value) ?? notConvertible);
  if (typeof value !== 'object' || value === null || !('valueKind' in value)) return notConvertible;
  if (value.valueKind === 'decimal') return value;
  if (value.valueKind !== 'float') return notConvertible;
  return decimalOfDouble(value.number) ?? notConvertible;
}

function toDate(value: Value, formats: TemporalFormats): Conversion {
  if (typeof value === 'string') return parseDate(value, formats) ?? notConvertible;
  if (typeof value === 'object' && value !== null && 'valueKind' in value) {
    if (value.valueKind === 'date') return value;
    if (value.valueKind === 'datetime') return dateTimeToDate(value, formats);
    if ('epochDay' in value) return new LocalDate(value.epochDay);
  }
  const days = toNumber(value);
  if (days === undefined) return notConvertible;
  return dateOf(days) ?? outOfRange;
}

function toDateTime(
  value: Value,
  precision: TemporalPrecision,
  formats: TemporalFormats,
): Conversion {
  if (typeof value === 'string') {
    const moment = parseDateTime(value, formats);
    return moment ? withPrecision(moment, precision) : notConvertible;
  }
  if (typeof value === 'object' && value !== null && 'valueKind' in value) {
    if (value.valueKind === 'datetime') return withPrecision(value, precision);
    if (value.valueKind === 'date') return withPrecision(dateToDateTime(value, formats), precision);
    const moment = isInstant(value) ? asDateTime(value) : undefined;
    if (moment !== undefined)
      return Math.abs(moment.epochMs) <= epochMsMax ? withPrecision(moment, precision) : outOfRange;
  }
  const ms = toNumber(value);
  if (ms === undefined) return notConvertible;
  const moment = momentOf(ms);
  return moment ? withPrecision(moment, precision) : outOfRange;
}

/** A record id from a link, record, RID-shaped text, a row with an '@rid', or a collection of one of these; empty ones give null. */
function toLink(value: Value): Conversion {
  if (value === null) return null;
  if (typeof value === 'string') {
    const rid = isRidShaped(value) ? parseRid(value) : undefined;
    if (rid === undefined) return notConvertible;
    return isBeyondRids(value) ? outOfRange : new Link(rid);
  }
  if (Array.isArray(value)) {
    const list = value as readonly Value[];
    if (list.length > 1) return severalLinks;
    return list.length === 0 ? null : toLink(list[0] as Value);
  }
  if (value instanceof Map) {
    const rid = value.get('@rid');
    return rid === undefined || rid === null ? notConvertible : toLink(rid);
  }
  if (typeof value !== 'object' || !('valueKind' in value)) return notConvertible;
  if (value.valueKind === 'link') return value;
  return value.valueKind === 'record' ? new Link(value.rid) : notConvertible;
}

function toBytes(value: Value): Conversion {
  if (value instanceof Uint8Array) return value;
  if (!Array.isArray(value)) return notConvertible;
  const list = value as readonly Value[];
  const bytes = new Uint8Array(list.length);
  for (let i = 0; i < list.length; i++) {
    const item = list[i] as Value;
    const n = typeof item === 'string' ? notConvertible : toInteger(item, 'BYTE');
    if (typeof n !== 'number') return n === outOfRange ? outOfRange : notConvertible;
    bytes[i] = n;
  }
  return bytes;
}

function toMap(value: Value): Conversion {
  if (value instanceof Map) return value;
  return value instanceof EmbeddedDocument ? value.properties : notConvertible;
}

/** A map with an '@type' key; other '@' keys say nothing about an embedded document and are dropped. */
function toEmbedded(value: Value): Conversion {
  if (value instanceof EmbeddedDocument) return value;
  if (!(value instanceof Map)) return notConvertible;
  const typeName = value.get('@type');
  if (typeof typeName !== 'string') return notConvertible;
  const properties = new Map<string, Value>();
  for (const [key, item] of value) if (!key.startsWith('@')) properties.set(key, item);
  return new EmbeddedDocument(typeName, properties);
}

function toArray(value: Value, elementType: SchemaTypeName, formats: TemporalFormats): Conversion {
  const source = value instanceof Uint8Array ? [...new Int8Array(value)] : value;
  if (!Array.isArray(source)) return notConvertible;
  const list = source as readonly Value[];
  const converted: Value[] = new Array(list.length);
  for (let i = 0; i < list.length; i++) {
    const item = list[i] as Value;
    const element =
      toNumber(item) === undefined ? notConvertible : convertValue(item, elementType, formats);
    if (typeof element === 'symbol') return element;
    converted[i] = element;
  }
  return converted;
}
