import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { integer, type Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import { argumentError, kindName } from '../../evaluate/cypher-failures.ts';
import { NumberRange } from '../../evaluate/number-range.ts';

/** Function whose result `UNWIND` goes through without a list of it. */
export const rangeFunction = '#cypher.range';

/**
 * The arguments of `range()`; null when one of them is.
 * @throws DatabaseError `InvalidArgumentType`, `NumberOutOfRange`
 */
export function rangeOf(args: readonly Value[], context: EvaluationContext): NumberRange | null {
  const [from = null, to = null, step = 1] = args;
  const bounds = [from, to, step];
  if (bounds.some((bound) => bound === null)) return null;
  for (const bound of bounds)
    if (typeof bound !== 'bigint' && !Number.isInteger(bound))
      throw argumentError('InvalidArgumentType', `range() takes integers, not ${kindName(bound)}`);
  const [start, end, by] = bounds as [number, number, number];
  if (![start, end, by].every(Number.isSafeInteger))
    return wideRange([BigInt(start), BigInt(end), BigInt(by)], context);
  if (by === 0) throw argumentError('NumberOutOfRange', 'the step of range() is not 0');
  const length = Math.max(0, Math.floor((end - start) / by) + 1);
  requireRangeSize(length, context);
  return new NumberRange(length, (place) => start + place * by);
}

/** A range with bounds beyond the integers that a double holds. */
function wideRange(
  [start, end, by]: readonly [bigint, bigint, bigint],
  context: EvaluationContext,
): NumberRange {
  if (by === 0n) throw argumentError('NumberOutOfRange', 'the step of range() is not 0');
  const isEmpty = by > 0n ? end < start : end > start;
  const count = isEmpty ? 0n : (end - start) / by + 1n;
  requireRangeSize(count, context);
  return new NumberRange(Number(count), (place) => integer(start + BigInt(place) * by));
}

/** @throws DatabaseError `NumberOutOfRange` */
function requireRangeSize(count: number | bigint, { limits }: EvaluationContext): void {
  if (count <= limits.rangeSizeMax) return;
  throw argumentError(
    'NumberOutOfRange',
    `range() of ${count} elements, more than the limit of ${limits.rangeSizeMax} (service.queryMaxRangeSize)`,
  );
}

export function listOfRange(range: NumberRange): readonly Value[] {
  const list: Value[] = [];
  for (let place = 0; place < range.length; place += 1) list.push(range.at(place));
  return list;
}

const placesPerLook = 1_024;

export function* listOfRangeInTurns(
  range: NumberRange,
  meter: WorkMeter,
): PausingWork<readonly Value[]> {
  const list: Value[] = [];
  for (let place = 0; place < range.length; place += 1) {
    list.push(range.at(place));
    if (list.length % placesPerLook === 0 && meter.isSpent(placesPerLook / 64)) yield;
  }
  return list;
}
