import type { Link, StoredRecord } from './record.ts';
import type { Decimal } from './decimal.ts';
import type {
  CypherDuration,
  LocalDateTime,
  LocalTime,
  ZonedDateTime,
  ZonedTime,
} from '../temporal/instants.ts';
import type { DateTime, Duration, LocalDate } from '../temporal/temporal.ts';
import type { Path } from './path.ts';
import type { Point } from './point.ts';

/**
 * Every value that flows through plans and is stored in records.
 *
 * Numbers: a plain `number` that is a safe integer IS an integer (32 or 64 bit is told by its range); any other plain
 * number (fraction, NaN, infinities) is a double. A double whose value is integral is wrapped in `Float`, so that 4.0
 * stays apart from 4. `bigint` holds only int64 values beyond +/-(2^53 - 1). Make doubles with `double()`, integers
 * from bigint arithmetic with `integer()`; never store an unwrapped integral double.
 *
 * Maps are `Map`s (hostile keys such as `__proto__` are only data). Values are immutable once made.
 */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | Float
  | Decimal
  | LocalDate
  | DateTime
  | Duration
  | Link
  | StoredRecord
  | EmbeddedDocument
  | ValueList
  | ValueMap
  | LocalTime
  | ZonedTime
  | LocalDateTime
  | ZonedDateTime
  | CypherDuration
  | Point
  | Path;

export type ValueList = readonly Value[];
export type ValueMap = ReadonlyMap<string, Value>;

/** A double whose value is integral (also -0). */
export class Float {
  readonly valueKind = 'float';
  readonly number: number;
  constructor(number: number) {
    this.number = number;
  }
}

/** A document stored as a property value: it has a type and no record id. */
export class EmbeddedDocument {
  readonly valueKind = 'embedded';
  readonly typeName: string;
  readonly properties: ValueMap;
  constructor(typeName: string, properties: ValueMap) {
    this.typeName = typeName;
    this.properties = properties;
  }
}

/** The double `n` as a Value. */
export function double(n: number): number | Float {
  return Number.isInteger(n) ? new Float(n) : n;
}

const safeMax = BigInt(Number.MAX_SAFE_INTEGER);
export const int64Max = 2n ** 63n - 1n;
export const int64Min = -(2n ** 63n);

/** The 64-bit integer `n` as a Value; the caller has checked the int64 range. */
export function integer(n: bigint): number | bigint {
  return n <= safeMax && n >= -safeMax ? Number(n) : n;
}

export type ValueKind =
  | 'null'
  | 'boolean'
  | 'integer'
  | 'double'
  | 'decimal'
  | 'string'
  | 'bytes'
  | 'date'
  | 'datetime'
  | 'duration'
  | 'link'
  | 'record'
  | 'embedded'
  | 'list'
  | 'map'
  | 'localTime'
  | 'zonedTime'
  | 'localDateTime'
  | 'zonedDateTime'
  | 'cypherDuration'
  | 'point'
  | 'path';

/** Which branch of the union `value` is. Cost: one to four type tests. */
export function kindOf(value: Value): ValueKind {
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'number':
      return Number.isInteger(value) ? 'integer' : 'double';
    case 'boolean':
      return 'boolean';
    case 'bigint':
      return 'integer';
    default:
      break;
  }
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  if (value instanceof Map) return 'map';
  if (value instanceof Uint8Array) return 'bytes';
  const tagged = value as Exclude<typeof value, ValueList | ValueMap | Uint8Array>;
  return tagged.valueKind === 'float' ? 'double' : tagged.valueKind;
}

export function isList(value: Value): value is ValueList {
  return Array.isArray(value);
}

export function isMap(value: Value): value is ValueMap {
  return value instanceof Map;
}

export function isRecord(value: Value): value is StoredRecord {
  return (
    typeof value === 'object' && value !== null && (value as StoredRecord).valueKind === 'record'
  );
}
