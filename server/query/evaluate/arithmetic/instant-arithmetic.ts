import {
  addCypherDurations,
  divideDuration,
  multiplyDuration,
} from '#core/temporal/cypher-duration.ts';
import { plusDuration } from '#core/temporal/instant-arithmetic.ts';
import { asCypherDuration, asInstant } from '#core/temporal/sql-kinds.ts';
import { Duration } from '#core/temporal/temporal.ts';
import { toNumber } from '#core/value/conversion.ts';
import type { Value } from '#core/value/value.ts';
import { isNumber } from './arithmetic.ts';

/**
 * Temporal operands of dialect cypher (cypher.md 8.4): instant + duration, duration + instant, instant - duration, duration +- duration,
 * duration * number, number * duration, duration / number. Each answers undefined for operands that it is not for.
 */

export function plusOrMinus(left: Value, right: Value, sign: 1 | -1): Value | undefined {
  if (typeof left !== 'object' || typeof right !== 'object') return undefined;
  if (left instanceof Duration && right instanceof Duration) return undefined; // SQL's own
  const length = asCypherDuration(right);
  if (length !== undefined) {
    const other = asCypherDuration(left);
    if (other !== undefined) return addCypherDurations(other, length, sign);
    const instant = asInstant(left);
    return instant && plusDuration(instant, length, sign);
  }
  if (sign < 0) return undefined;
  const first = asCypherDuration(left);
  const instant = first && asInstant(right);
  return first && instant && plusDuration(instant, first, 1);
}

export function timesNumber(left: Value, right: Value): Value | undefined {
  const a = asCypherDuration(left);
  if (a !== undefined && isNumber(right)) return multiplyDuration(a, plainNumber(right));
  const b = asCypherDuration(right);
  return b !== undefined && isNumber(left) ? multiplyDuration(b, plainNumber(left)) : undefined;
}

export function overNumber(left: Value, right: Value): Value | undefined {
  const length = asCypherDuration(left);
  return length !== undefined && isNumber(right)
    ? divideDuration(length, plainNumber(right))
    : undefined;
}

function plainNumber(value: Value): number | bigint {
  return typeof value === 'bigint' ? value : (toNumber(value) ?? Number.NaN);
}
