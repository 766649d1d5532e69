import { exactDecimalOfDouble } from '../value/decimal.ts';
import { int64Max, int64Min, integer } from '../value/value.ts';
import { invalid } from './calendar.ts';
import { CypherDuration } from './instants.ts';

/**
 * Durations of months, days, seconds and nanoseconds (cypher.md 8.4): made from parts that may have fractions, which cascade into
 * the smaller groups; added, multiplied, divided. Exact: fractions are counted in 10^-24 of their unit.
 */

const nanosPerSecond = 1_000_000_000n;
const nanosPerDay = 86_400n * nanosPerSecond;
/** A month of 30.436875 days. */
const nanosPerMonth = 2_629_746n * nanosPerSecond;

/** @throws DatabaseError `IllegalArgument` for counts beyond what a duration holds; nanoseconds carry into seconds */
export function makeCypherDuration(
  months: bigint,
  days: bigint,
  seconds: bigint,
  nanos: bigint,
): CypherDuration {
  const rest = ((nanos % nanosPerSecond) + nanosPerSecond) % nanosPerSecond;
  const whole = seconds + (nanos - rest) / nanosPerSecond;
  if (whole > int64Max || whole < int64Min) throw overflow('seconds');
  return new CypherDuration(
    safe(months, 'months'),
    safe(days, 'days'),
    integer(whole) as number | bigint,
    Number(rest),
  );
}

function safe(n: bigint, unit: string): number {
  const count = Number(n);
  if (!Number.isSafeInteger(count)) throw overflow(unit);
  return count;
}

function overflow(unit: string) {
  return invalid(`the duration has more ${unit} than fit`);
}

/** A count with its fraction, in 10^-24. */
export type Scaled = bigint;

const scaleDigits = 24;
const one: Scaled = 10n ** BigInt(scaleDigits);

/** @throws DatabaseError `IllegalArgument` for NaN, infinities and what no duration can hold */
export function scaledNumber(n: number | bigint): Scaled {
  if (typeof n === 'bigint') return n * one;
  const exact = exactDecimalOfDouble(n);
  if (exact === undefined || Math.abs(n) > 1e30) throw invalid(`a duration cannot hold ${n}`);
  return exact.scale > scaleDigits
    ? exact.unscaled / 10n ** BigInt(exact.scale - scaleDigits)
    : exact.unscaled * 10n ** BigInt(scaleDigits - exact.scale);
}

/** Of decimal digits with an optional fraction. */
export function scaledText(whole: string, fraction: string): Scaled {
  return BigInt(whole + fraction.slice(0, scaleDigits).padEnd(scaleDigits, '0'));
}

/** Units of each group, with fractions; `nanos` are single nanoseconds. */
export interface DurationParts {
  readonly months: Scaled;
  readonly days: Scaled;
  readonly seconds: Scaled;
  readonly nanos: Scaled;
}

/** Fractions cascade: of a month into days, of a day into seconds, of a second into nanoseconds; what is less is cut. */
export function durationOfParts({ months, days, seconds, nanos }: DurationParts): CypherDuration {
  const wholeMonths = months / one;
  const dayNanos = days * nanosPerDay + (months - wholeMonths * one) * nanosPerMonth;
  const wholeDays = dayNanos / (one * nanosPerDay);
  const left = dayNanos - wholeDays * one * nanosPerDay;
  const scaled = seconds * nanosPerSecond + nanos + left;
  return makeCypherDuration(wholeMonths, wholeDays, 0n, scaled / one);
}

export function addCypherDurations(
  a: CypherDuration,
  b: CypherDuration,
  sign: 1 | -1,
): CypherDuration {
  const factor = BigInt(sign);
  return makeCypherDuration(
    BigInt(a.months) + factor * BigInt(b.months),
    BigInt(a.days) + factor * BigInt(b.days),
    BigInt(a.seconds) + factor * BigInt(b.seconds),
    BigInt(a.nanos) + factor * BigInt(b.nanos),
  );
}

export function multiplyDuration(length: CypherDuration, factor: number | bigint): CypherDuration {
  const by = scaledNumber(factor);
  return scaledBy(length, (count) => count * by);
}

/** @throws DatabaseError `IllegalArgument` for a division by 0 */
export function divideDuration(length: CypherDuration, divisor: number | bigint): CypherDuration {
  const by = scaledNumber(divisor);
  if (by === 0n) throw invalid('a duration cannot be divided by zero');
  return scaledBy(length, (count) => (count * one * one) / by);
}

/** Seconds and nanoseconds are one count: half of a second below 0 is no whole second and a half above it. */
function scaledBy(length: CypherDuration, scale: (count: bigint) => Scaled): CypherDuration {
  const nanos = BigInt(length.seconds) * nanosPerSecond + BigInt(length.nanos);
  return durationOfParts({
    months: scale(BigInt(length.months)),
    days: scale(BigInt(length.days)),
    seconds: 0n,
    nanos: scale(nanos),
  });
}

export function negateDuration(length: CypherDuration): CypherDuration {
  return addCypherDurations(new CypherDuration(0, 0, 0, 0), length, -1);
}
