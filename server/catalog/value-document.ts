import { Decimal } from '#core/value/decimal.ts';
import { DatabaseError } from '#core/errors.ts';
import { extendedOfParts, partsOfExtended } from '#core/value/extended-parts.ts';
import { isExtended } from '#core/value/extended-value.ts';
import { Link } from '#core/value/record.ts';
import type { Rid } from '#core/value/rid.ts';
import { DateTime, Duration, LocalDate, type TemporalPrecision } from '#core/temporal/temporal.ts';
import { EmbeddedDocument, Float, kindOf, type Value, type ValueMap } from '#core/value/value.ts';

/** JSON that stands for a value: itself for null, booleans, text and finite plain numbers, else `[kind, ...parts]`. */
export type ValueDocument = null | boolean | number | string | readonly ValueDocument[];

/** Encodes a value of the schema (bounds, custom attributes) so that `decodeValue` gives it back. Maps become pair lists. */
export function encodeValue(value: Value): ValueDocument {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number') {
    return Number.isFinite(value) && !Object.is(value, -0) ? value : ['float', String(value)];
  }
  if (typeof value === 'bigint') return ['integer', String(value)];
  if (Array.isArray(value)) return ['list', ...value.map(encodeValue)];
  if (value instanceof Map) return ['map', ...encodePairs(value)];
  if (value instanceof Uint8Array) return ['bytes', Buffer.from(value).toString('base64')];
  if (value instanceof Float) {
    return ['float', Object.is(value.number, -0) ? '-0' : String(value.number)];
  }
  if (value instanceof Decimal) return ['decimal', String(value.unscaled), value.scale];
  if (value instanceof LocalDate) return ['date', value.epochDay];
  if (value instanceof DateTime) {
    return ['datetime', value.epochMs, value.nanosOfMs, value.precision];
  }
  if (value instanceof Duration) return ['duration', value.seconds, value.nanos];
  if (value instanceof Link) return ['link', value.rid];
  if (value instanceof EmbeddedDocument) {
    return ['embedded', value.typeName, ...encodePairs(value.properties)];
  }
  if (isExtended(value)) return ['extended', ...partsOfExtended(value)];
  throw new DatabaseError('IllegalArgument', `a ${kindOf(value)} cannot be stored in the schema`);
}

/** The reverse of `encodeValue`. @throws DatabaseError `CorruptedRecord` for anything it would not have written */
export function decodeValue(document: ValueDocument): Value {
  if (document === null || typeof document !== 'object') return document;
  const [kind, first, second, third] = document;
  switch (kind) {
    case 'float': {
      const number = Number(first);
      return Number.isInteger(number) ? new Float(number) : number;
    }
    case 'integer':
      return BigInt(String(first));
    case 'list':
      return document.slice(1).map(decodeValue);
    case 'map':
      return decodePairs(document.slice(1));
    case 'bytes':
      return new Uint8Array(Buffer.from(String(first), 'base64'));
    case 'decimal':
      return new Decimal(BigInt(String(first)), Number(second));
    case 'date':
      return new LocalDate(Number(first));
    case 'datetime':
      return new DateTime(Number(first), Number(second), third as TemporalPrecision);
    case 'duration':
      return new Duration(Number(first), Number(second));
    case 'link':
      return new Link(Number(first) as Rid);
    case 'embedded':
      return new EmbeddedDocument(String(first), decodePairs(document.slice(2)));
    case 'extended': {
      const value = extendedOfParts(document.slice(1) as readonly Value[]);
      if (value !== undefined) return value;
      throw new DatabaseError('CorruptedRecord', `schema document: unknown value '${first}'`);
    }
    default:
      throw new DatabaseError('CorruptedRecord', `schema document: unknown value kind '${kind}'`);
  }
}

/** Pairs instead of an object, so that a key such as `__proto__` is only text. */
export function encodePairs(map: ValueMap): readonly ValueDocument[] {
  return [...map].map(([key, value]) => [key, encodeValue(value)]);
}

export function decodePairs(pairs: readonly ValueDocument[]): ValueMap {
  return new Map(
    pairs.map((pair) => {
      const [key, value] = pair as readonly ValueDocument[];
      return [String(key), decodeValue(value ?? null)];
    }),
  );
}
