import { dateToDateTime } from '#core/temporal/format.ts';
import { DateTime, LocalDate } from '#core/temporal/temporal.ts';
import { double, isMap, type Value } from '#core/value/value.ts';
import { valuesEqual } from '#core/value/equality.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import type { Accumulator, AggregateFunction } from '../../evaluate/function-definition.ts';
import {
  booleanArgument,
  describe,
  integerArgument,
  isNumeric,
  numberArgument,
  optionsArgument,
  refusal,
  toDouble,
  wordArgument,
} from '../arguments.ts';
import { requireElements } from '../number/bounds.ts';
import { aggregate, type ArgumentCount } from '../define.ts';
import { correlation, quantileFromZero } from '../number/statistics.ts';

/**
 * Aggregates over samples (sql-functions.md 5.1). A time is a datetime, a date or epoch milliseconds; samples with a null
 * value or time are skipped, except by `interpolate`, which fills them.
 */
interface Sample {
  readonly value: Value;
  readonly time: number;
}

/** Nanoseconds do not fit, so a fraction of the millisecond stands for them. */
export function timeArgument(value: Value, what: string, context: EvaluationContext): number {
  if (value instanceof DateTime) return value.epochMs + value.nanosOfMs / 1e6;
  if (value instanceof LocalDate) return dateToDateTime(value, context.formats).epochMs;
  return numberArgument(value, what);
}

type Summarize = (
  samples: readonly Sample[],
  options: readonly Value[],
  context: EvaluationContext,
) => Value;

interface SampleLayout {
  /** Position of the value among the arguments; none for functions of the time alone. */
  readonly value: number | undefined;
  /** Position of the time; none keeps the order of the rows. */
  readonly time: number | undefined;
  readonly keepsNulls?: boolean;
}

/** Collects the samples of a group, in the order of their times, and keeps the other arguments of its first row. */
class Samples implements Accumulator {
  readonly #what: string;
  readonly #layout: SampleLayout;
  readonly #summarize: Summarize;
  readonly #samples: Sample[] = [];
  #options: readonly Value[] = [];
  #isFirst = true;

  constructor(what: string, layout: SampleLayout, summarize: Summarize) {
    this.#what = what;
    this.#layout = layout;
    this.#summarize = summarize;
  }

  add(args: readonly Value[], context: EvaluationContext): void {
    if (this.#isFirst) this.#options = [...args];
    this.#isFirst = false;
    const { value: valueAt, time: timeAt, keepsNulls } = this.#layout;
    const value = valueAt === undefined ? null : (args[valueAt] ?? null);
    if (value === null && valueAt !== undefined && !keepsNulls) return;
    const given = timeAt === undefined ? undefined : args[timeAt];
    if (given === null) return;
    const time =
      given === undefined ? this.#samples.length : timeArgument(given, this.#what, context);
    requireElements(this.#samples.length + 1, this.#what, context);
    context.memory.reserve(bytesPerSample);
    this.#samples.push({ value, time });
  }

  result(context: EvaluationContext): Value {
    // Without a row the options were never seen, and the answer is null (house decision 16).
    if (this.#isFirst) return null;
    // A stable sort: samples of one time stay in the order of the rows.
    this.#samples.sort((a, b) => a.time - b.time);
    return this.#summarize(this.#samples, this.#options, context);
  }
}

const bytesPerSample = 48;
const valueAndTime: SampleLayout = { value: 0, time: 1 };

export const timeSeriesAggregates: readonly AggregateFunction[] = [
  sampled('ts.first(v, t)', [2, 2], valueAndTime, (samples) => samples[0]?.value ?? null),
  sampled('ts.last(v, t)', [2, 2], valueAndTime, (samples) => samples.at(-1)?.value ?? null),
  sampled('ts.rate(v, t [, counter])', [2, 3], valueAndTime, (samples, options) => {
    const isCounter = booleanArgument(options[2] ?? false, 'ts.rate()');
    return rateOf(samples, isCounter);
  }),
  sampled('ts.delta(v, t)', [2, 2], valueAndTime, (samples) => {
    const first = samples[0];
    const last = samples.at(-1);
    if (!first || !last) return null;
    return double(numberOf(last, 'ts.delta()') - numberOf(first, 'ts.delta()'));
  }),
  sampled(
    'ts.movingAvg(v, n | {window})',
    [2, 2],
    { value: 0, time: undefined },
    (samples, options) => movingAverage(samples, options[1] ?? null),
  ),
  sampled(
    "ts.interpolate(v [, 'none' | 'zero' | 'prev' | 'linear' [, t]])",
    [1, 3],
    { value: 0, time: 2, keepsNulls: true },
    (samples, options) => interpolated(samples, options[1] ?? null, options[2] !== undefined),
  ),
  aggregate('ts.correlate(a, b)', [2, 2], () => new Correlation()),
  sampled('ts.percentile(v, p)', [2, 2], { value: 0, time: undefined }, (samples, options) => {
    const q = numberArgument(options[1], 'ts.percentile()');
    if (!(q >= 0 && q <= 1)) throw refusal(`ts.percentile() requires p from 0 to 1, not ${q}`);
    if (samples.length === 0) return null;
    const numbers = Float64Array.from(samples, (sample) => numberOf(sample, 'ts.percentile()'));
    return double(quantileFromZero(numbers.sort(), q));
  }),
  sampled('ts.lag(v, offset, t [, default])', [3, 4], { value: 0, time: 2 }, (samples, options) =>
    shifted(samples, options, 'ts.lag()', -1),
  ),
  sampled('ts.lead(v, offset, t [, default])', [3, 4], { value: 0, time: 2 }, (samples, options) =>
    shifted(samples, options, 'ts.lead()', 1),
  ),
  sampled('ts.rowNumber(t)', [1, 1], { value: undefined, time: 0 }, (samples) =>
    samples.map((_, i) => i + 1),
  ),
  sampled('ts.rank(v, t)', [2, 2], valueAndTime, (samples) => {
    let rank = 0;
    return samples.map(({ value }, i) => {
      const previous = samples[i - 1];
      if (previous === undefined || !valuesEqual(previous.value, value)) rank = i + 1;
      return rank;
    });
  }),
];

function sampled(
  syntax: string,
  count: ArgumentCount,
  layout: SampleLayout,
  summarize: Summarize,
): AggregateFunction {
  const what = `${syntax.slice(0, syntax.indexOf('('))}()`;
  return aggregate(syntax, count, () => new Samples(what, layout, summarize));
}

function numberOf({ value }: Sample, what: string): number {
  if (!isNumeric(value)) throw refusal(`${what} requires numbers, not ${describe(value)}`);
  return toDouble(value);
}

/** Growth per second; a counter that falls was reset and adds its new value. */
function rateOf(samples: readonly Sample[], isCounter: boolean): Value {
  const first = samples[0];
  const last = samples.at(-1);
  if (!first || !last || samples.length < 2 || last.time === first.time) return null;
  let growth = numberOf(last, 'ts.rate()') - numberOf(first, 'ts.rate()');
  if (isCounter) {
    growth = 0;
    for (let i = 1; i < samples.length; i++) {
      const before = numberOf(samples[i - 1] as Sample, 'ts.rate()');
      const now = numberOf(samples[i] as Sample, 'ts.rate()');
      growth += now < before ? now : now - before;
    }
  }
  return double(growth / ((last.time - first.time) / 1000));
}

function movingAverage(samples: readonly Sample[], given: Value): Value {
  const what = 'ts.movingAvg()';
  const window = integerArgument(
    isMap(given) ? optionsArgument(given, what, ['window']).get('window') : given,
    what,
  );
  if (window < 1) throw refusal(`${what} requires a window of at least 1, not ${window}`);
  let sum = 0;
  return samples.map((sample, i) => {
    sum += numberOf(sample, what);
    const leaving = samples[i - window];
    if (leaving) sum -= numberOf(leaving, what);
    return double(sum / Math.min(window, i + 1));
  });
}

function interpolated(samples: readonly Sample[], given: Value, isTimed: boolean): Value {
  const method = wordArgument(given ?? 'none', 'ts.interpolate()', [
    'none',
    'zero',
    'prev',
    'linear',
  ]);
  let previous = -1;
  return samples.map(({ value }, i) => {
    if (value !== null) {
      previous = i;
      return value;
    }
    if (method === 'zero') return 0;
    if (method === 'prev') return previous < 0 ? null : (samples[previous] as Sample).value;
    return method === 'linear' && previous >= 0 ? between(samples, previous, i, isTimed) : null;
  });
}

function between(samples: readonly Sample[], before: number, at: number, isTimed: boolean): Value {
  let after = at + 1;
  while (after < samples.length && (samples[after] as Sample).value === null) after++;
  const left = samples[before] as Sample;
  const right = samples[after];
  if (right === undefined) return null;
  const place = (i: number) => (isTimed ? (samples[i] as Sample).time : i);
  const span = place(after) - place(before);
  const fraction = span === 0 ? 0 : (place(at) - place(before)) / span;
  const low = numberOf(left, 'ts.interpolate()');
  return double(low + fraction * (numberOf(right, 'ts.interpolate()') - low));
}

function shifted(
  samples: readonly Sample[],
  options: readonly Value[],
  what: string,
  sign: 1 | -1,
): Value {
  const offset = integerArgument(options[1] ?? 1, what);
  if (offset < 0) throw refusal(`${what} requires an offset of at least 0, not ${offset}`);
  const otherwise = options[3] ?? null;
  return samples.map((_, i) => samples[i + sign * offset]?.value ?? otherwise);
}

/** Pairs in which either side is null are skipped. */
class Correlation implements Accumulator {
  readonly #a: number[] = [];
  readonly #b: number[] = [];

  add(args: readonly Value[], context: EvaluationContext): void {
    const [a, b] = args as [Value, Value];
    if (a === null || b === null) return;
    if (!isNumeric(a) || !isNumeric(b))
      throw refusal(`ts.correlate() requires numbers, not ${describe(a)} and ${describe(b)}`);
    requireElements(this.#a.length + 1, 'ts.correlate()', context);
    context.memory.reserve(bytesPerSample);
    this.#a.push(toDouble(a));
    this.#b.push(toDouble(b));
  }

  result(): Value {
    const result = correlation(this.#a, this.#b);
    return result === undefined ? null : double(result);
  }
}
