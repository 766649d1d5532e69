import type { Value } from '#core/value/value.ts';
import type { Accumulator, AggregateFunction } from '../../evaluate/function-definition.ts';
import { refusal } from '../arguments.ts';
import { aggregate } from '../define.ts';
import type { Vector } from '../vector/arithmetic.ts';
import { vectorArgument, vectorValue } from '../vector/arguments.ts';

type Combine = (total: number, component: number) => number;

/** Element-wise over the rows; null rows are skipped. */
class ElementWise implements Accumulator {
  readonly #what: string;
  readonly #combine: Combine;
  readonly #isAverage: boolean;
  #total: Vector | undefined;
  #count = 0;

  constructor(what: string, combine: Combine, isAverage: boolean) {
    this.#what = what;
    this.#combine = combine;
    this.#isAverage = isAverage;
  }

  add(args: readonly Value[]): void {
    if (args[0] === null) return;
    const vector = vectorArgument(args[0], this.#what);
    this.#count++;
    if (this.#total === undefined) {
      this.#total = Float64Array.from(vector);
      return;
    }
    const total = this.#total;
    if (total.length !== vector.length)
      throw refusal(
        `${this.#what} requires vectors of one length, not ${total.length} and ${vector.length}`,
      );
    for (let i = 0; i < total.length; i++)
      total[i] = this.#combine(total[i] as number, vector[i] as number);
  }

  result(): Value {
    if (this.#total === undefined) return null;
    const count = this.#count;
    return vectorValue(this.#isAverage ? this.#total.map((sum) => sum / count) : this.#total);
  }
}

const plus: Combine = (total, component) => total + component;

export const vectorAggregates: readonly AggregateFunction[] = [
  aggregate('vector.sum(col)', [1, 1], () => new ElementWise('vector.sum()', plus, false)),
  aggregate('vector.avg(col)', [1, 1], () => new ElementWise('vector.avg()', plus, true)),
  aggregate('vector.min(col)', [1, 1], () => new ElementWise('vector.min()', Math.min, false)),
  aggregate('vector.max(col)', [1, 1], () => new ElementWise('vector.max()', Math.max, false)),
];
