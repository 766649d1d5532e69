import { Float, type Value } from '#core/value/value.ts';

/**
 * How a column of a shape keeps its value. The numbers are stored in shape definitions: never change them.
 *
 * `number` holds plain numbers (integers within 2^53 and doubles with a fraction, told apart by their value), `double`
 * holds doubles only, so that integral ones come back wrapped; `any` is a tagged value (value-codec.ts).
 */
export const cellKind = {
  number: 0,
  double: 1,
  int64: 2,
  date: 3,
  dateTimeSecond: 4,
  dateTimeMillis: 5,
  boolean: 6,
  string: 7,
  bytes: 8,
  decimal: 9,
  link: 10,
  any: 11,
} as const;

export type CellKind = (typeof cellKind)[keyof typeof cellKind];

export const cellKindCount = 12;

/** Bytes in the fixed part of a row; 0 for variable cells. */
export function fixedWidth(kind: CellKind): number {
  if (kind < cellKind.boolean) return 8;
  return kind === cellKind.boolean ? 1 : 0;
}

/** For `cellKindFor`: the value is null, so any column of the property will do. */
export const anyColumn = -1;

/** The kind that a value asks for; `anyColumn` for null. Two kinds may fit some numbers: see `fitsColumn`. */
export function cellKindFor(value: Value): CellKind | typeof anyColumn {
  switch (typeof value) {
    case 'string':
      return cellKind.string;
    case 'number':
      return cellKind.number;
    case 'boolean':
      return cellKind.boolean;
    case 'bigint':
      return cellKind.int64;
    default:
      break;
  }
  if (value === null) return anyColumn;
  if (value instanceof Float) return cellKind.double;
  if (Array.isArray(value) || value instanceof Map) return cellKind.any;
  if (value instanceof Uint8Array) return cellKind.bytes;
  return cellKindOfObject(value as { readonly valueKind: string });
}

function cellKindOfObject(value: { readonly valueKind: string }): CellKind {
  switch (value.valueKind) {
    case 'decimal':
      return cellKind.decimal;
    case 'date':
      return cellKind.date;
    case 'link':
    case 'record':
      return cellKind.link;
    case 'datetime': {
      const moment = value as unknown as { precision: string; nanosOfMs: number };
      if (moment.nanosOfMs !== 0) return cellKind.any;
      if (moment.precision === 'millis') return cellKind.dateTimeMillis;
      return moment.precision === 'second' ? cellKind.dateTimeSecond : cellKind.any;
    }
    default:
      return cellKind.any;
  }
}
