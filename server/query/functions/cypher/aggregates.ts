import { compareForCypher } from '#core/value/cypher-order.ts';
import { double, Float, type Value } from '#core/value/value.ts';
import { isNumber } from '../../evaluate/arithmetic/arithmetic.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import { cypherArithmeticOf } from '../../evaluate/arithmetic/cypher-arithmetic.ts';
import { argumentError, kindName, notA, typeError } from '../../evaluate/cypher-failures.ts';
import type { Accumulator, AggregateFunction } from '../../evaluate/function-definition.ts';
import { bytesOfElement } from '../aggregates/keyed-elements.ts';
import { toDouble } from '../arguments.ts';
import { aggregate } from '../define.ts';
import { boundedList, requireElements } from '../number/bounds.ts';
import { RunningVariance } from '../number/statistics.ts';

/**
 * Aggregates of openCypher (cypher.md 7): nulls are skipped and a list is a value like others. They are registered as `#cypher.<name>`;
 * an aggregation of dialect cypher finds them under their plain names.
 */

class Sum implements Accumulator {
  #sum: Value = 0;
  #count = 0;

  add(args: readonly Value[], context: EvaluationContext): void {
    const value = args[0] as Value;
    if (value === null) return;
    requireSummable(value, 'sum()');
    this.#sum = this.#count === 0 ? value : plus(this.#sum, value, context);
    this.#count += 1;
  }

  result(): Value {
    return this.#sum;
  }
}

class Average implements Accumulator {
  #sum: Value = null;
  #count = 0;

  add(args: readonly Value[], context: EvaluationContext): void {
    const value = args[0] as Value;
    if (value === null) return;
    requireSummable(value, 'avg()');
    const next = isNumber(value) ? double(toDouble(value)) : value;
    this.#sum = this.#sum === null ? next : plus(this.#sum, next, context);
    this.#count += 1;
  }

  result(context: EvaluationContext): Value {
    return this.#sum === null ? null : over(this.#sum, this.#count, context);
  }
}

const plus = cypherArithmeticOf('+');
const over = cypherArithmeticOf('/');

/** Numbers and durations. */
function requireSummable(value: Exclude<Value, null>, what: string): void {
  if (isNumber(value)) return;
  if (typeof value === 'object' && 'valueKind' in value && /duration/i.test(value.valueKind))
    return;
  throw typeError('InvalidArgumentType', `${what} of ${kindName(value)}`);
}

class Extreme implements Accumulator {
  readonly #sign: 1 | -1;
  #value: Value = null;

  constructor(sign: 1 | -1) {
    this.#sign = sign;
  }

  add(args: readonly Value[]): void {
    const value = args[0] as Value;
    if (value === null) return;
    if (this.#value === null || compareForCypher(value, this.#value) * this.#sign > 0)
      this.#value = value;
  }

  result(): Value {
    return this.#value;
  }
}

class Collect implements Accumulator {
  readonly #elements: Value[] = [];

  add(args: readonly Value[], context: EvaluationContext): void {
    const value = args[0] as Value;
    if (value === null) return;
    requireElements(this.#elements.length + 1, 'collect()', context);
    context.memory.reserve(bytesOfElement(value));
    this.#elements.push(value);
  }

  result(context: EvaluationContext): Value {
    return boundedList([...this.#elements], context);
  }
}

class Deviation implements Accumulator {
  readonly #running = new RunningVariance();
  readonly #what: string;
  readonly #isPopulation: boolean;

  constructor(what: string, isPopulation: boolean) {
    this.#what = what;
    this.#isPopulation = isPopulation;
  }

  add(args: readonly Value[]): void {
    const value = args[0] as Value;
    if (value === null) return;
    this.#running.add(numberIn(value, this.#what));
  }

  result(): Value {
    const { count } = this.#running;
    if (count === 0) return null;
    if (count === 1) return new Float(0);
    const variance = this.#isPopulation
      ? this.#running.populationVariance()
      : this.#running.sampleVariance();
    return double(Math.sqrt(variance));
  }
}

function numberIn(value: Exclude<Value, null>, what: string): number {
  if (!isNumber(value)) throw typeError('InvalidArgumentType', `${what} of ${kindName(value)}`);
  return toDouble(value);
}

/** Keeps the numbers; the share is that of the last row. */
class Percentile implements Accumulator {
  readonly #what: string;
  readonly #isContinuous: boolean;
  readonly #numbers: Value[] = [];
  #share = 0;

  constructor(what: string, isContinuous: boolean) {
    this.#what = what;
    this.#isContinuous = isContinuous;
  }

  add(args: readonly Value[], context: EvaluationContext): void {
    const [value, share] = args as readonly [Value, Value];
    if (share === null || !isNumber(share)) throw notA('a number from 0 to 1', share);
    this.#share = toDouble(share);
    if (!(this.#share >= 0 && this.#share <= 1))
      throw argumentError(
        'NumberOutOfRange',
        `the percentile of ${this.#what} is between 0 and 1, not ${this.#share}`,
      );
    if (value === null) return;
    numberIn(value, this.#what);
    requireElements(this.#numbers.length + 1, this.#what, context);
    context.memory.reserve(48);
    this.#numbers.push(value);
  }

  result(): Value {
    const { length } = this.#numbers;
    if (length === 0) return null;
    const sorted = [...this.#numbers].sort(compareForCypher);
    if (!this.#isContinuous)
      return sorted[Math.max(Math.ceil(this.#share * length) - 1, 0)] as Value;
    const position = this.#share * (length - 1);
    const low = toDouble(sorted[Math.floor(position)] as Value);
    const high = toDouble(sorted[Math.ceil(position)] as Value);
    return double(low + (high - low) * (position - Math.floor(position)));
  }
}

export const cypherAggregates: readonly AggregateFunction[] = [
  aggregate('#cypher.sum(x)', [1, 1], () => new Sum()),
  aggregate('#cypher.avg(x)', [1, 1], () => new Average()),
  aggregate('#cypher.min(x)', [1, 1], () => new Extreme(-1)),
  aggregate('#cypher.max(x)', [1, 1], () => new Extreme(1)),
  aggregate('#cypher.collect(x)', [1, 1], () => new Collect()),
  aggregate('#cypher.stDev(x)', [1, 1], () => new Deviation('stDev()', false)),
  aggregate('#cypher.stDevP(x)', [1, 1], () => new Deviation('stDevP()', true)),
  aggregate('#cypher.percentileCont(x, p)', [2, 2], () => new Percentile('percentileCont()', true)),
  aggregate(
    '#cypher.percentileDisc(x, p)',
    [2, 2],
    () => new Percentile('percentileDisc()', false),
  ),
];
