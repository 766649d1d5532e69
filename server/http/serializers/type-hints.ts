import { kindOf } from '#core/value.ts';
import type { Value } from '#core/value.ts';

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
} as const;

const longId = 3;
const dateTimeIds = { second: 18, millis: 6, micros: 16, nanos: 17 } as const;

/** The type id of a column's value in `@props`. */
export function typeIdOf(value: Value): number {
  const kind = kindOf(value);
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
