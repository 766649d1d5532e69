import {
  convertValue,
  outOfRange,
  type SchemaTypeName,
  schemaTypeNamed,
  schemaTypeOf,
} from '#core/value/conversion.ts';
import { decimalOfInteger } from '#core/value/decimal.ts';
import { Link } from '#core/value/record.ts';
import { isBeyondRids } from '#core/value/rid.ts';
import {
  dateTimeToDate,
  formatDateBy,
  formatDateTimeBy,
  momentOf,
  parseDateBy,
  parseDateTime,
  parseDateTimeBy,
} from '#core/temporal/format.ts';
import { DateTime, LocalDate, msPerDay } from '#core/temporal/temporal.ts';
import { textOf } from '#core/text/text-form.ts';
import { textInTurns } from '#core/text/text-in-turns.ts';
import { isList, isRecord, type Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { describe, isNumeric, refusal, ridArgument, textArgument, toDouble } from '../arguments.ts';
import { boundedMap, boundedText } from '../number/bounds.ts';
import { inTurns, method, methodOnNull } from '../define.ts';
import { distinct, distinctInTurns, unitsPerLook } from '../list/distinct.ts';
import { jsonValueInTurns, jsonValueOf } from '../text/json-form.ts';
import { followed, propertiesOf } from '../graph/navigation.ts';
import {
  formatVector,
  formatVectorInTurns,
  isVectorList,
  vectorFormatArgument,
} from '../vector/format.ts';

/** Methods that change the type of a value (sql-functions.md 11.1). */
export const conversionMethods: readonly ScalarFunction[] = [
  inTurns(
    method('asString([fmt])', [0, 1], (args, context) =>
      boundedText(asString(args[0] as Value, args[1] ?? null, context), context),
    ),
    function* ([value = null, format = null], context, meter) {
      if (isVectorList(value)) {
        const form = vectorFormatArgument(format, 'asString()');
        return boundedText(yield* formatVectorInTurns(value, form, meter), context);
      }
      if (format !== null) return boundedText(asString(value, format, context), context);
      return boundedText(yield* textInTurns(value, context.formats, meter), context);
    },
  ),
  method('asInteger()', [0, 0], (args, context) => {
    const value = trimmed(args[0] as Value);
    return value === '' ? null : asWhole(value, 'INTEGER', context);
  }),
  method('asLong()', [0, 0], (args, context) =>
    asWhole(trimmed(args[0] as Value), 'LONG', context),
  ),
  method('asShort()', [0, 0], (args, context) =>
    asWhole(trimmed(args[0] as Value), 'SHORT', context),
  ),
  method('asByte()', [0, 0], (args, context) =>
    asWhole(trimmed(args[0] as Value), 'BYTE', context),
  ),
  method('asFloat()', [0, 0], (args, context) => asReal(args[0] as Value, 'FLOAT', context)),
  method('asDouble()', [0, 0], (args, context) => asReal(args[0] as Value, 'DOUBLE', context)),
  method('asDecimal()', [0, 0], (args, context) => {
    const value = args[0] as Value;
    if (value instanceof DateTime) return decimalOfInteger(value.epochMs);
    if (value instanceof LocalDate) return decimalOfInteger(value.epochDay * msPerDay);
    return asReal(value, 'DECIMAL', context);
  }),
  method('asBoolean()', [0, 0], (args) => {
    const value = args[0] as Value;
    if (typeof value === 'boolean') return value;
    if (typeof value === 'string') return value.trim().toLowerCase() === 'true';
    return isNumeric(value) && toDouble(value) !== 0;
  }),
  method('asDate([fmt])', [0, 1], (args, context) =>
    asDate(args[0] as Value, args[1] ?? null, context),
  ),
  method('asDateTime([fmt])', [0, 1], (args, context) =>
    asDateTime(args[0] as Value, args[1] ?? null, context),
  ),
  methodOnNull('asList()', [0, 0], (args) => listOf(args[0] as Value)),
  inTurns(
    methodOnNull('asSet()', [0, 0], (args) => distinct(listOf(args[0] as Value))),
    ([value = null], _context, meter) => distinctInTurns(listOf(value), meter),
  ),
  inTurns(
    methodOnNull('asMap()', [0, 0], (args, context) => asMap(args[0] as Value, context)),
    function* ([value = null], context, meter) {
      if (!isList(value)) return asMap(value, context);
      requirePairs(value);
      const map = new Map<string, Value>();
      for (let i = 0; i < value.length; i += 2) {
        map.set(textOf(value[i] as Value, context.formats), value[i + 1] as Value);
        if ((i & 511) === 510 && meter.isSpent(unitsPerLook)) yield;
      }
      return boundedMap(map, context);
    },
  ),
  method('asRID()', [0, 0], (args) => {
    const value = args[0] as Value;
    const rid = ridArgument(value);
    if (rid === undefined || (typeof value === 'string' && isBeyondRids(value))) return null;
    return new Link(rid);
  }),
  method('asRecord()', [0, 0], (args, context) => {
    const value = args[0] as Value;
    if (isRecord(value)) return value;
    const rid = ridArgument(value);
    return rid === undefined ? null : (context.view.record(rid) ?? null);
  }),
  ...['asJSON()', 'toJSON()'].map((syntax) =>
    inTurns(
      method(syntax, [0, 0], (args, context) => jsonValueOf(args[0] as Value, context)),
      ([value = null], context, meter) => jsonValueInTurns(value, context, meter),
    ),
  ),
  method("convert('TYPE')", [1, 1], (args, context) => {
    const name = textArgument(args[1], 'convert()');
    const type = schemaTypeNamed(name);
    if (type === undefined) throw refusal(`convert(): unknown type '${name.slice(0, 40)}'`);
    return converted(args[0] as Value, type, context);
  }),
];

/** @throws DatabaseError `IllegalArgument` when the value has no form in the type */
function converted(value: Value, type: SchemaTypeName, context: EvaluationContext): Value {
  const result = convertValue(value, type, context.formats);
  if (result === outOfRange) {
    const settings = ' (service.queryMaxNumberDigits, service.queryMaxNumberExponent)';
    const limits = type === 'DECIMAL' ? settings : '';
    throw refusal(`${describe(value)} is out of range for ${type}${limits}`);
  }
  if (typeof result === 'symbol') {
    const from = value === null ? 'null' : schemaTypeOf(value);
    throw refusal(`Cannot convert type '${from}' to '${type}': ${describe(value)}`);
  }
  return result;
}

function trimmed(value: Value): Value {
  return typeof value === 'string' ? value.trim() : value;
}

function asWhole(
  value: Value,
  type: 'INTEGER' | 'LONG' | 'SHORT' | 'BYTE',
  context: EvaluationContext,
): Value {
  // As the content of a property an empty text is 0; here it is no number.
  if (value === '') throw refusal(`Cannot convert type 'STRING' to '${type}': the text is empty`);
  return converted(value, type, context);
}

function asReal(
  value: Value,
  type: 'FLOAT' | 'DOUBLE' | 'DECIMAL',
  context: EvaluationContext,
): Value {
  const source = trimmed(value);
  return source === '' ? null : converted(source, type, context);
}

function asString(value: Value, format: Value, context: EvaluationContext): string {
  if (isVectorList(value)) return formatVector(value, vectorFormatArgument(format, 'asString()'));
  if (format === null) return textOf(value, context.formats);
  const pattern = textArgument(format, 'asString()');
  if (value instanceof DateTime) return formatDateTimeBy(value, pattern, context.formats.zone);
  if (value instanceof LocalDate) return formatDateBy(value, pattern);
  return textOf(value, context.formats);
}

function asDate(value: Value, format: Value, context: EvaluationContext): Value {
  if (value instanceof LocalDate) return value;
  if (value instanceof DateTime) return dateTimeToDate(value, context.formats);
  if (isNumeric(value)) {
    const moment = momentOf(toDouble(value));
    if (moment === undefined) throw refusal(`${describe(value)} is out of range for DATE`);
    return dateTimeToDate(moment, context.formats);
  }
  if (typeof value !== 'string') throw refusal(`asDate() cannot convert ${describe(value)}`);
  if (format === null) return converted(value, 'DATE', context);
  const date = parseDateBy(value, textArgument(format, 'asDate()'));
  return date ?? unparsable(value, format);
}

function asDateTime(value: Value, format: Value, context: EvaluationContext): Value {
  if (value instanceof DateTime) return value;
  if (typeof value !== 'string' || format === null) {
    if (typeof value === 'string') return withFinePrecision(value, context);
    return converted(value, 'DATETIME', context);
  }
  const { zone } = context.formats;
  const moment = parseDateTimeBy(value, textArgument(format, 'asDateTime()'), zone);
  return moment ?? unparsable(value, format);
}

/** Digits of the fraction beyond milliseconds are kept: there is no declared type that drops them. */
function withFinePrecision(text: string, context: EvaluationContext): Value {
  const moment = parseDateTime(text, context.formats);
  if (moment === undefined) return converted(text, 'DATETIME', context);
  const { epochMs, nanosOfMs } = moment;
  const precision = nanosOfMs === 0 ? 'millis' : nanosOfMs % 1000 === 0 ? 'micros' : 'nanos';
  return new DateTime(epochMs, nanosOfMs, precision);
}

function unparsable(text: string, format: Value): never {
  throw refusal(`${describe(text)} does not match the date format ${describe(format)}`);
}

function listOf(value: Value): readonly Value[] {
  if (value === null) return [];
  return isList(value) ? value : [value];
}

function asMap(value: Value, context: EvaluationContext): Value {
  if (value === null) return new Map<string, Value>();
  if (!isList(value)) return propertiesOf(followed(value, context)) ?? null;
  requirePairs(value);
  const map = new Map<string, Value>();
  for (let i = 0; i < value.length; i += 2)
    map.set(textOf(value[i] as Value, context.formats), value[i + 1] as Value);
  return boundedMap(map, context);
}

function requirePairs({ length }: readonly Value[]): void {
  if (length % 2 === 1)
    throw refusal(`asMap() requires pairs of key and value, not ${length} elements`);
}
