import { decimalText } from '../value/decimal.ts';
import { DatabaseError } from '../errors.ts';
import { textOfExtended } from '../value/extended-value.ts';
import { formatRid } from '../value/rid.ts';
import { formatDate, formatDateTime } from '../temporal/format.ts';
import type { TemporalFormats } from '../temporal/format.ts';
import type { Duration } from '../temporal/temporal.ts';
import type { Value, ValueMap } from '../value/value.ts';

/**
 * The text form of a value: what concatenation, LIKE, STRING properties and `.asString()` see.
 *
 * Text is itself; doubles have their shortest text (`4.0` for an integral one); dates follow the database's formats;
 * durations are seconds; record ids and records are `#bucket:position`; bytes are read as UTF-8; lists, maps and embedded
 * documents are JSON.
 */
export function textOf(value: Value, formats: TemporalFormats): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
      return Number.isFinite(value) ? String(value) : nonFiniteText(value);
    case 'bigint':
    case 'boolean':
      return String(value);
    default:
      break;
  }
  if (value === null) return 'null';
  if (value instanceof Uint8Array) return utf8.decode(value);
  if (Array.isArray(value) || value instanceof Map) return jsonText(value, formats, 0);
  const tagged = value as Exclude<typeof value, readonly Value[] | ValueMap | Uint8Array>;
  switch (tagged.valueKind) {
    case 'float':
      return doubleText(tagged.number);
    case 'decimal':
      return decimalText(tagged);
    case 'date':
      return formatDate(tagged, formats);
    case 'datetime':
      return formatDateTime(tagged, formats);
    case 'duration':
      return durationText(tagged);
    case 'link':
    case 'record':
      return formatRid(tagged.rid);
    case 'embedded':
      return jsonText(tagged, formats, 0);
    default:
      return textOfExtended(tagged);
  }
}

const utf8 = new TextDecoder();

/** The shortest text of a double; an integral one keeps `.0`, except in exponent form, which is none of an integer. */
export function doubleText(n: number): string {
  if (!Number.isFinite(n)) return nonFiniteText(n);
  if (Object.is(n, -0)) return '-0.0';
  const text = String(n);
  return Number.isInteger(n) && !text.includes('e') ? `${text}.0` : text;
}

/** House decision 50. */
export function nonFiniteText(n: number): 'NaN' | 'PosInfinity' | 'NegInfinity' {
  if (Number.isNaN(n)) return 'NaN';
  return n > 0 ? 'PosInfinity' : 'NegInfinity';
}

/** Seconds, with a fraction only when there is one: `90`, `-1.5`. A JSON number. */
export function durationText(duration: Duration): string {
  const { seconds, nanos } = duration;
  if (nanos === 0) return String(seconds);
  // Nanos count upward from the second below, so a negative length shows their complement.
  const isNegative = seconds < 0;
  const whole = isNegative ? -seconds - 1 : seconds;
  const rest = isNegative ? 1_000_000_000 - nanos : nanos;
  const fraction = String(rest).padStart(9, '0').replace(/0+$/, '');
  return `${isNegative ? '-' : ''}${whole}.${fraction}`;
}

export const nestingMax = 1_000;

export function nestedTooDeep(): DatabaseError {
  return new DatabaseError('IllegalArgument', `value nested deeper than ${nestingMax} levels`);
}

/** JSON of a value inside a list or map: numbers and durations bare, records as their ids, bytes as signed integers. */
export function jsonText(value: Value, formats: TemporalFormats, depth: number): string {
  if (depth > nestingMax) throw nestedTooDeep();
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number')
    return Number.isFinite(value) ? String(value) : `"${nonFiniteText(value)}"`;
  if (Array.isArray(value)) {
    const items = (value as readonly Value[]).map((item) => jsonText(item, formats, depth + 1));
    return `[${items.join(',')}]`;
  }
  if (value instanceof Map) return mapText(value, [], formats, depth);
  if (value instanceof Uint8Array) return `[${new Int8Array(value).join(',')}]`;
  const tagged = value as Exclude<typeof value, readonly Value[] | ValueMap | Uint8Array>;
  switch (tagged.valueKind) {
    case 'embedded':
      return mapText(
        tagged.properties,
        [`"@type":${JSON.stringify(tagged.typeName)}`],
        formats,
        depth,
      );
    case 'float':
      return Number.isFinite(tagged.number)
        ? doubleText(tagged.number)
        : `"${nonFiniteText(tagged.number)}"`;
    case 'decimal':
      return decimalText(tagged);
    case 'duration':
      return durationText(tagged);
    default:
      return JSON.stringify(textOf(tagged, formats));
  }
}

function mapText(
  map: ValueMap,
  leading: readonly string[],
  formats: TemporalFormats,
  depth: number,
): string {
  const entries = [...leading];
  for (const [key, item] of map)
    entries.push(`${JSON.stringify(key)}:${jsonText(item, formats, depth + 1)}`);
  return `{${entries.join(',')}}`;
}
