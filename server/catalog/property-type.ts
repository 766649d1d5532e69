import type { PropertyTypeName } from './catalog.ts';

/** What a schema type is, as far as conversion, validation and indexes must know (sql.md 2.1). */
export interface PropertyTypeSpec {
  /** The number clients and stored schemas know it by. */
  readonly id: number;
  readonly family:
    | 'boolean'
    | 'integer'
    | 'floating'
    | 'decimal'
    | 'datetime'
    | 'date'
    | 'text'
    | 'bytes'
    | 'list'
    | 'map'
    | 'link'
    | 'embedded'
    | 'array'
    | 'any';
  /** How `min` and `max` are meant; undefined: they are refused (sql.md 13.6). */
  readonly bounds: 'value' | 'characters' | 'bytes' | 'items' | 'date' | undefined;
  /** Whether a plain ordered index takes values of the type. */
  readonly isIndexable: boolean;
  /** Inclusive range of the integer types and of the elements of integer arrays. */
  readonly low?: bigint;
  readonly high?: bigint;
}

const range = (bits: bigint) => ({ low: -(2n ** (bits - 1n)), high: 2n ** (bits - 1n) - 1n });

export const propertyTypes = {
  BOOLEAN: { id: 0, family: 'boolean', bounds: undefined, isIndexable: true },
  INTEGER: { id: 1, family: 'integer', bounds: 'value', isIndexable: true, ...range(32n) },
  SHORT: { id: 2, family: 'integer', bounds: 'value', isIndexable: true, ...range(16n) },
  LONG: { id: 3, family: 'integer', bounds: 'value', isIndexable: true, ...range(64n) },
  FLOAT: { id: 4, family: 'floating', bounds: 'value', isIndexable: true },
  DOUBLE: { id: 5, family: 'floating', bounds: 'value', isIndexable: true },
  DATETIME: { id: 6, family: 'datetime', bounds: 'date', isIndexable: true },
  STRING: { id: 7, family: 'text', bounds: 'characters', isIndexable: true },
  BINARY: { id: 8, family: 'bytes', bounds: 'bytes', isIndexable: true },
  LIST: { id: 9, family: 'list', bounds: 'items', isIndexable: false },
  MAP: { id: 10, family: 'map', bounds: 'items', isIndexable: false },
  LINK: { id: 11, family: 'link', bounds: undefined, isIndexable: true },
  BYTE: { id: 12, family: 'integer', bounds: 'value', isIndexable: true, ...range(8n) },
  DATE: { id: 13, family: 'date', bounds: 'date', isIndexable: true },
  DECIMAL: { id: 14, family: 'decimal', bounds: 'value', isIndexable: true },
  EMBEDDED: { id: 15, family: 'embedded', bounds: undefined, isIndexable: false },
  DATETIME_MICROS: { id: 16, family: 'datetime', bounds: 'date', isIndexable: true },
  DATETIME_NANOS: { id: 17, family: 'datetime', bounds: 'date', isIndexable: true },
  DATETIME_SECOND: { id: 18, family: 'datetime', bounds: 'date', isIndexable: true },
  ARRAY_OF_SHORTS: { id: 19, family: 'array', bounds: 'items', isIndexable: false, ...range(16n) },
  ARRAY_OF_INTEGERS: {
    id: 20,
    family: 'array',
    bounds: 'items',
    isIndexable: false,
    ...range(32n),
  },
  ARRAY_OF_LONGS: { id: 21, family: 'array', bounds: 'items', isIndexable: false, ...range(64n) },
  ARRAY_OF_FLOATS: { id: 22, family: 'array', bounds: 'items', isIndexable: false },
  ARRAY_OF_DOUBLES: { id: 23, family: 'array', bounds: 'items', isIndexable: false },
  ANY: { id: 24, family: 'any', bounds: undefined, isIndexable: true },
} as const satisfies Record<PropertyTypeName, PropertyTypeSpec>;

/** The spec of a type, with its optional parts visible. */
export function propertyTypeSpec(name: PropertyTypeName): PropertyTypeSpec {
  return propertyTypes[name];
}

const byUpperName = new Map<string, PropertyTypeName>(
  (Object.keys(propertyTypes) as PropertyTypeName[]).map((name) => [name, name]),
);

/** Every type name, in id order. */
export const propertyTypeNames: readonly PropertyTypeName[] = [...byUpperName.values()];

/** Names are case-insensitive in DDL; undefined for any other word. */
export function propertyTypeNamed(text: string): PropertyTypeName | undefined {
  return byUpperName.get(text.toUpperCase());
}

/** True for types whose values have no elements: what `LIST OF X` may name besides record types. */
export function isScalarType(name: PropertyTypeName): boolean {
  const { family } = propertyTypes[name];
  return family !== 'list' && family !== 'map' && family !== 'array';
}
