import type { PausingWork, WorkMeter } from '../pausing-work.ts';
import type { Decimal } from './decimal.ts';
import type { LogIndex, Rid, TypeId } from './rid.ts';
import type {
  CypherDuration,
  LocalDateTime,
  LocalTime,
  ZonedDateTime,
  ZonedTime,
} from '../temporal/instants.ts';
import type { DateTime, Duration, LocalDate } from '../temporal/temporal.ts';
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

export type RecordKind = 'document' | 'vertex' | 'edge';

/** A record id as a value: a stored link, or `@rid`. */
export class Link {
  readonly valueKind = 'link';
  readonly rid: Rid;
  constructor(rid: Rid) {
    this.rid = rid;
  }
}

/**
 * A persistent record as everyone above storage sees it. Properties are decoded one by one, on demand.
 * It shows the state at the moment it was read, and stays valid after its snapshot was closed.
 */
export interface StoredRecord {
  readonly valueKind: 'record';
  readonly kind: RecordKind;
  readonly rid: Rid;
  readonly type: TypeId;
  readonly typeName: string;
  /** An edge of a LIGHTWEIGHT type, which has no record id for anybody above the executor (sql.md 1.5). */
  readonly isLightweight?: boolean;
  /** LSN of the commit that wrote the row; 0 for a record that this transaction inserted. */
  readonly version: LogIndex;
  /** Source and target vertex of an edge; `noRid` on other records. */
  readonly out: Rid;
  readonly in: Rid;
  /** `undefined` when the property does not exist; `null` when it exists and is null. */
  get(property: string): Value | undefined;
  /** Names of the existing properties, in stored order, without system attributes. */
  propertyNames(): readonly string[];
  /** Widths of integers that their values do not show; undefined when there are none, which is the rule. */
  readonly integerWidths?: IntegerWidths | undefined;
  /** Of one of them, where it costs to gather all; ask `integerWidthOf` (integer-width.ts). */
  integerWidthOf?(property: string): IntegerWidth | undefined;
  /** How to read a property that takes long (megabytes kept outside of the row); undefined for others, which `get` reads. */
  largeRead?(property: string): ((meter: WorkMeter) => PausingWork<Value>) | undefined;
  /** How to read all of very many properties with pauses; undefined for others, which `valuesOf` reads. */
  manyRead?(): (() => PausingWork<ReadProperties>) | undefined;
  /**
   * Writes a list of that many numbers at `at`, without a value for each.
   * @returns false when it is not stored in that way: then `get` tells what it is
   */
  readFloats?(property: string, into: Float32Array, at: number, count: number): boolean;
  /** Bytes of memory that keeping the record costs, its share of a larger image included; some 100 when it is not known. */
  readonly heldBytes?: number;
}

/** All properties of a record, and the widths that it tells of them. */
export interface ReadProperties {
  readonly values: Map<string, Value>;
  readonly widths: IntegerWidths | undefined;
}

/** The types of integers within 32 bits that their values do not show (integer-width.ts). */
export type IntegerWidth = 'LONG' | 'SHORT' | 'BYTE';

/** By property. What is said of a property that holds no integer means nothing. */
export type IntegerWidths = ReadonlyMap<string, IntegerWidth>;

export type PathElement = StoredRecord | Link;

/** A walk through the graph: one node more than relationships; each relationship keeps its own direction. */
export class Path {
  readonly valueKind = 'path';
  readonly nodes: readonly PathElement[];
  readonly relationships: readonly PathElement[];
  constructor(nodes: readonly PathElement[], relationships: readonly PathElement[]) {
    this.nodes = nodes;
    this.relationships = relationships;
  }

  get length(): number {
    return this.relationships.length;
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
