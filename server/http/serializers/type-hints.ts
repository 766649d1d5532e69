import { kindOf } from '#core/value/value.ts';
import type { Value } from '#core/value/value.ts';

// Numbers of the engine's types, as typed clients know them from the reference product (http-api.md 5.2, `@props`).
const typeIds = {
  null: 7,
  boolean: 0,
  integer: 1,
  double: 5,
  datetime: 6,
  string: 7,
  bytes: 8,
  list: 9,
  map: 10,
  link: 11,
  record: 11,
  date: 13,
  decimal: 14,
  embedded: 15,
  duration: 5,
  // Texts, as the reference product has no types for them.
  localTime: 7,
  zonedTime: 7,
  localDateTime: 7,
  zonedDateTime: 7,
  cypherDuration: 7,
  point: 10,
  path: 10,
} as const;

const longId = 3;
const dateTimeIds = { second: 18, millis: 6, micros: 16, nanos: 17 } as const;

/** Forms of integers and lists that only their declaration tells. */
const declaredIds: ReadonlyMap<string, { readonly of: string; readonly id: number }> = new Map([
  ['SHORT', { of: 'integer', id: 2 }],
  ['LONG', { of: 'integer', id: longId }],
  ['BYTE', { of: 'integer', id: 12 }],
  ['ARRAY_OF_SHORTS', { of: 'list', id: 19 }],
  ['ARRAY_OF_INTEGERS', { of: 'list', id: 20 }],
  ['ARRAY_OF_LONGS', { of: 'list', id: 21 }],
  ['ARRAY_OF_FLOATS', { of: 'list', id: 22 }],
  ['ARRAY_OF_DOUBLES', { of: 'list', id: 23 }],
]);

/** The type id of a column's value in `@props`. @param declared what is known of the column beside its values */
export function typeIdOf(value: Value, declared?: string): number {
  const kind = kindOf(value);
  const known = declared === undefined ? undefined : declaredIds.get(declared);
  if (known?.of === kind) return known.id;
  if (kind === 'integer') {
    const isInt32 = typeof value === 'number' && value === (value | 0);
    return isInt32 ? typeIds.integer : longId;
  }
  if (kind === 'datetime') {
    const { precision } = value as { precision: keyof typeof dateTimeIds };
    return dateTimeIds[precision];
  }
  return typeIds[kind];
}
