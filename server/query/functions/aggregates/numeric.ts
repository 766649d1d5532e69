import { double, isList, type Value } from '#core/value/value.ts';
import { compareValues } from '#core/value/value-order.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import type { Accumulator, AggregateFunction } from '../../evaluate/function-definition.ts';
import { describe, isNumeric, numberArgument, refusal, toDouble } from '../arguments.ts';
import { requireElements } from '../number/bounds.ts';
import { aggregate, ANY_NUMBER } from '../define.ts';
import { placeSmallest, quantile, RunningVariance } from '../number/statistics.ts';
import { NumericSum } from './numeric-sum.ts';

/** Counts, sums and statistics over rows (sql-functions.md 1). Nulls are skipped, lists count by their elements. */

class Count implements Accumulator {
  #count = 0;

  add(args: readonly Value[]): void {
    if (args.length === 0 || args[0] !== null) this.#count++;
  }

  result(): Value {
    return this.#count;
  }
}

class Sum implements Accumulator {
  readonly #sum = new NumericSum();

  add(args: readonly Value[]): void {
    this.#sum.add(args[0] as Value, 'sum()');
  }

  result(): Value {
    return this.#sum.count === 0 ? null : this.#sum.total();
  }
}

class Average implements Accumulator {
  readonly #sum = new NumericSum();

  add(args: readonly Value[]): void {
    this.#sum.add(args[0] as Value, 'avg()');
  }

  result(): Value {
    return this.#sum.count === 0 ? null : double(this.#sum.toDouble() / this.#sum.count);
  }
}

class Extreme implements Accumulator {
  readonly #sign: 1 | -1;
  #value: Value = null;

  constructor(sign: 1 | -1) {
    this.#sign = sign;
  }

  add(args: readonly Value[]): void {
    this.#offer(args[0] as Value);
  }

  #offer(value: Value): void {
    if (value === null) return;
    if (isList(value)) {
      for (let i = 0; i < value.length; i++) this.#offer(value[i] as Value);
      return;
    }
    if (this.#value === null || compareValues(value, this.#value) * this.#sign > 0)
      this.#value = value;
  }

  result(): Value {
    return this.#value;
  }
}

class Spread implements Accumulator {
  readonly #running = new RunningVariance();
  readonly #what: string;
  readonly #read: (running: RunningVariance) => number;

  constructor(what: string, read: (running: RunningVariance) => number) {
    this.#what = what;
    this.#read = read;
  }

  add(args: readonly Value[]): void {
    this.#offer(args[0] as Value);
  }

  #offer(value: Value): void {
    if (value === null) return;
    if (isList(value)) for (let i = 0; i < value.length; i++) this.#offer(value[i] as Value);
    else this.#running.add(requireNumber(value, this.#what));
  }

  result(): Value {
    return this.#running.count === 0 ? null : double(this.#read(this.#running));
  }
}

/** Keeps the numbers, so that a quantile that hits one of them gives it with its own type. */
class Percentile implements Accumulator {
  readonly #what: string;
  readonly #numbers: Value[] = [];
  #quantiles: readonly number[] | undefined;

  constructor(what: string, quantiles?: readonly number[]) {
    this.#what = what;
    this.#quantiles = quantiles;
  }

  add(args: readonly Value[], context: EvaluationContext): void {
    this.#quantiles ??= quantilesIn(args, this.#what);
    this.#offer(args[0] as Value, context);
  }

  #offer(value: Value, context: EvaluationContext): void {
    if (value === null) return;
    if (isList(value)) {
      for (let i = 0; i < value.length; i++) this.#offer(value[i] as Value, context);
      return;
    }
    requireNumber(value, this.#what);
    requireElements(this.#numbers.length + 1, this.#what, context);
    // The value, and its double when they are put in order; most are small objects.
    context.memory.reserve(typeof value === 'number' ? 24 : 48);
    this.#numbers.push(value);
  }

  result(): Value {
    if (this.#numbers.length === 0) return null;
    const quantiles = this.#quantiles ?? [0.5];
    const results = this.#ofPlain(quantiles) ?? this.#ofSorted(quantiles);
    return results.length === 1 ? (results[0] as Value) : results;
  }

  /** Of plain numbers only those at the places that count are put in place: that is linear. */
  #ofPlain(quantiles: readonly number[]): Value[] | undefined {
    const { length } = this.#numbers;
    if (quantiles.length > fewQuantiles) return undefined;
    const doubles = new Float64Array(length);
    for (let i = 0; i < length; i += 1) {
      const number = this.#numbers[i];
      if (typeof number !== 'number') return undefined;
      doubles[i] = number;
    }
    return quantiles.map((q) => {
      const position = Math.min(Math.max(q * (length + 1), 1), length);
      const low = Math.floor(position) - 1;
      placeSmallest(doubles, low);
      if (Number.isInteger(position)) return doubles[low] as number;
      placeSmallest(doubles, Math.min(low + 1, length - 1));
      return double(quantile(doubles, q));
    });
  }

  #ofSorted(quantiles: readonly number[]): Value[] {
    this.#numbers.sort(compareValues);
    const doubles = Float64Array.from(this.#numbers, toDouble);
    return quantiles.map((q) => this.#at(doubles, q));
  }

  #at(doubles: Float64Array, q: number): Value {
    const position = Math.min(Math.max(q * (doubles.length + 1), 1), doubles.length);
    if (Number.isInteger(position)) return this.#numbers[position - 1] as Value;
    return double(quantile(doubles, q));
  }
}

/** For more of them sorting is as fast. */
const fewQuantiles = 4;

function quantilesIn(args: readonly Value[], what: string): readonly number[] {
  return args.slice(1).map((argument) => {
    const q = numberArgument(argument, what);
    if (!(q >= 0 && q <= 1)) throw refusal(`${what} requires quantiles from 0 to 1, not ${q}`);
    return q;
  });
}

function requireNumber(value: Value, what: string): number {
  if (typeof value === 'number') return value;
  if (!isNumeric(value)) throw refusal(`${what} requires numbers, not ${describe(value)}`);
  return toDouble(value);
}

export const numericAggregates: readonly AggregateFunction[] = [
  aggregate('count([* | x])', [0, 1], () => new Count()),
  aggregate('sum(x [, y...])', [1, 1], () => new Sum()),
  aggregate('avg(x [, y...])', [1, 1], () => new Average()),
  aggregate('min(x [, y...])', [1, 1], () => new Extreme(-1)),
  aggregate('max(x [, y...])', [1, 1], () => new Extreme(1)),
  aggregate('median(x)', [1, 1], () => new Percentile('median()', [0.5])),
  aggregate('percentile(x, q [, q...])', [2, ANY_NUMBER], () => new Percentile('percentile()')),
  aggregate('variance(x)', [1, 1], () => new Spread('variance()', (r) => r.sampleVariance())),
  aggregate('variancep(x)', [1, 1], () => new Spread('variancep()', (r) => r.populationVariance())),
  aggregate(
    'stddev(x)',
    [1, 1],
    () => new Spread('stddev()', (r) => Math.sqrt(r.sampleVariance())),
  ),
  aggregate(
    'stddevp(x)',
    [1, 1],
    () => new Spread('stddevp()', (r) => Math.sqrt(r.populationVariance())),
  ),
];
