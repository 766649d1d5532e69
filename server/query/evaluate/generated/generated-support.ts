import type { TemporalFormats } from '#core/temporal/format.ts';
import type { Value } from '#core/value/value.ts';
import type { CompareOperator } from '../../algebra/expression.ts';
import { sqlCompare, sqlEquals } from '../comparison/sql-comparison.ts';

/** Functions that generated code calls on cells (generate.ts). */

/** The cell is exactly these bytes. */
export function equalBytes(
  bytes: Uint8Array,
  start: number,
  end: number,
  wanted: Uint8Array,
): boolean {
  const length = wanted.length;
  if (end - start !== length) return false;
  for (let i = 0; i < length; i++) if (bytes[start + i] !== wanted[i]) return false;
  return true;
}

/** The cell starts with these bytes. */
export function startsWithBytes(
  bytes: Uint8Array,
  start: number,
  end: number,
  wanted: Uint8Array,
): boolean {
  const length = wanted.length;
  if (end - start < length) return false;
  for (let i = 0; i < length; i++) if (bytes[start + i] !== wanted[i]) return false;
  return true;
}

/** Byte order, which for UTF-8 is the order of text. */
export function compareBytes(
  bytes: Uint8Array,
  start: number,
  end: number,
  other: Uint8Array,
): number {
  const length = Math.min(end - start, other.length);
  for (let i = 0; i < length; i++) {
    const difference = (bytes[start + i] as number) - (other[i] as number);
    if (difference !== 0) return difference;
  }
  return end - start - other.length;
}

/**
 * The comparison of closures on a cell and a constant that are both not null. `isReversed`: the constant is the left operand;
 * `operator` is then the one with the cell on the left.
 */
export function compareGeneral(
  operator: Exclude<CompareOperator, '<=>'>,
  cell: Value,
  constant: Value,
  isReversed: boolean,
  formats: TemporalFormats,
): boolean {
  if (operator === '=' || operator === '<>') {
    const equal = isReversed
      ? sqlEquals(constant, cell, formats)
      : sqlEquals(cell, constant, formats);
    return equal === (operator === '=');
  }
  const order = isReversed
    ? sqlCompare(constant, cell, formats)
    : sqlCompare(cell, constant, formats);
  if (order === undefined) return false;
  const direction = isReversed ? -order : order;
  switch (operator) {
    case '<':
      return direction < 0;
    case '<=':
      return direction <= 0;
    case '>':
      return direction > 0;
    case '>=':
      return direction >= 0;
  }
}

/** As `compareGeneral` for two computed values; null on either side is unknown. */
export function compareNullable(
  operator: Exclude<CompareOperator, '<=>'>,
  left: Value,
  right: Value,
  formats: TemporalFormats,
): boolean | null {
  if (left === null || right === null) return null;
  return compareGeneral(operator, left, right, false, formats);
}
