import { valueKey } from '#core/value/equality.ts';
import { isList, type Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import type { Accumulator, AggregateFunction } from '../../evaluate/function-definition.ts';
import { ValueTable } from '../../evaluate/comparison/value-table.ts';
import { describe, refusal } from '../arguments.ts';
import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { boundedList, boundedMap, requireElements } from '../number/bounds.ts';
import { isLookDue, unitsPerLook } from '../list/distinct.ts';
import { aggregate } from '../define.ts';
import { propertiesOf } from '../graph/navigation.ts';
import { bytesOfElement, bytesPerKey, KeyedElements } from './keyed-elements.ts';

/**
 * Aggregates that keep elements. Each holds at most `queryMaxHeapElementsAllowedPerOp` of them and accounts them with the
 * statement. A list argument stands for its elements, one level deep; nulls are skipped everywhere.
 */

/** `list` and `unionAll`: all elements in the order of the rows. */
class ListOf implements Accumulator {
  readonly #what: string;
  #elements: Value[] | undefined;

  constructor(what: string) {
    this.#what = what;
  }

  add(args: readonly Value[], context: EvaluationContext): void {
    const value = args[0] as Value;
    if (value === null) return;
    this.#elements ??= [];
    if (!isList(value)) this.#push(this.#elements, value, context);
    else
      for (let i = 0; i < value.length; i++) this.#push(this.#elements, value[i] as Value, context);
  }

  *addInTurns(
    args: readonly Value[],
    context: EvaluationContext,
    meter: WorkMeter,
  ): PausingWork<void> {
    const value = args[0] as Value;
    if (!isList(value)) {
      this.add(args, context);
      return;
    }
    this.#elements ??= [];
    for (let i = 0; i < value.length; i++) {
      this.#push(this.#elements, value[i] as Value, context);
      if ((i & 1023) === 1023 && meter.isSpent(unitsPerLook)) yield;
    }
  }

  #push(elements: Value[], value: Value, context: EvaluationContext): void {
    if (value === null) return;
    requireElements(elements.length + 1, this.#what, context);
    context.memory.reserve(bytesOfElement(value));
    elements.push(value);
  }

  result(context: EvaluationContext): Value {
    return this.#elements ? boundedList([...this.#elements], context) : null;
  }
}

/** `set`: distinct elements, first come first. */
class SetOf implements Accumulator {
  #elements: KeyedElements | undefined;

  add(args: readonly Value[], context: EvaluationContext): void {
    const value = args[0] as Value;
    if (value === null) return;
    this.#elements ??= new KeyedElements('set()');
    this.#elements.addAll(value, context);
  }

  *addInTurns(
    args: readonly Value[],
    context: EvaluationContext,
    meter: WorkMeter,
  ): PausingWork<void> {
    const value = args[0] as Value;
    if (value === null) return;
    this.#elements ??= new KeyedElements('set()');
    yield* this.#elements.addAllInTurns(value, context, meter);
  }

  result(context: EvaluationContext): Value {
    return this.#elements ? boundedList(this.#elements.values(), context) : null;
  }
}

/** `map(m)`: the maps of all rows as one, later keys win. */
class MapOf implements Accumulator {
  #entries: Map<string, Value> | undefined;

  add(args: readonly Value[], context: EvaluationContext): void {
    const value = args[0] as Value;
    if (value === null) return;
    const properties = propertiesOf(value);
    if (properties === undefined)
      throw refusal(`map() requires a map or key and value pairs, not ${describe(value)}`);
    this.#entries ??= new Map();
    for (const [key, entry] of properties) {
      if (entry === null) continue;
      if (!this.#entries.has(key)) {
        requireElements(this.#entries.size + 1, 'map()', context);
        context.memory.reserve(bytesPerKey + key.length);
      }
      context.memory.reserve(bytesOfElement(entry));
      this.#entries.set(key, entry);
    }
  }

  result(context: EvaluationContext): Value {
    return this.#entries ? boundedMap(new Map(this.#entries), context) : null;
  }
}

/** `intersect`: distinct elements that every operand has, in the order of the first one. */
class Intersection implements Accumulator {
  #common: KeyedElements | undefined;

  add(args: readonly Value[], context: EvaluationContext): void {
    const value = args[0] as Value;
    if (value === null) return;
    if (this.#common !== undefined) {
      this.#common.keepOnly(value);
      return;
    }
    this.#common = new KeyedElements('intersect()');
    this.#common.addAll(value, context);
  }

  *addInTurns(
    args: readonly Value[],
    context: EvaluationContext,
    meter: WorkMeter,
  ): PausingWork<void> {
    const value = args[0] as Value;
    if (value === null) return;
    if (this.#common !== undefined) {
      yield* this.#common.keepOnlyInTurns(value, meter);
      return;
    }
    this.#common = new KeyedElements('intersect()');
    yield* this.#common.addAllInTurns(value, context, meter);
  }

  result(): Value {
    return this.#common ? this.#common.values() : [];
  }
}

/** `difference`: distinct elements of the first operand that no later one has; null when the first one is. */
class Difference implements Accumulator {
  #rest: KeyedElements | undefined;
  #isFirst = true;

  add(args: readonly Value[], context: EvaluationContext): void {
    const value = args[0] as Value;
    if (!this.#isFirst) {
      this.#rest?.removeAll(value);
      return;
    }
    this.#isFirst = false;
    if (value === null) return;
    this.#rest = new KeyedElements('difference()');
    this.#rest.addAll(value, context);
  }

  *addInTurns(
    args: readonly Value[],
    context: EvaluationContext,
    meter: WorkMeter,
  ): PausingWork<void> {
    const value = args[0] as Value;
    if (!this.#isFirst) {
      if (this.#rest !== undefined) yield* this.#rest.removeAllInTurns(value, meter);
      return;
    }
    this.#isFirst = false;
    if (value === null) return;
    this.#rest = new KeyedElements('difference()');
    yield* this.#rest.addAllInTurns(value, context, meter);
  }

  result(): Value {
    return this.#rest ? this.#rest.values() : null;
  }
}

/** `symmetricDifference`: elements that exactly one operand has; null when the first operand is. */
class SymmetricDifference implements Accumulator {
  readonly #table = new ValueTable();
  /** By their numbers in the table. */
  readonly #elements: Value[] = [];
  /** The operand that had it last; negative when others had it, too. */
  readonly #operands: number[] = [];
  #operand = 0;
  #onceCount = 0;
  #severalCount = 0;
  #isNull = true;

  add(args: readonly Value[], context: EvaluationContext): void {
    const value = args[0] as Value;
    if (this.#operand === 0) this.#isNull = value === null;
    this.#operand += 1;
    if (this.#isNull) return;
    if (!isList(value)) this.#offer(value, context);
    else for (let i = 0; i < value.length; i++) this.#offer(value[i] as Value, context);
  }

  *addInTurns(
    args: readonly Value[],
    context: EvaluationContext,
    meter: WorkMeter,
  ): PausingWork<void> {
    const value = args[0] as Value;
    if (!isList(value)) {
      this.add(args, context);
      return;
    }
    if (this.#operand === 0) this.#isNull = false;
    this.#operand += 1;
    if (this.#isNull) return;
    for (let i = 0; i < value.length; i++) {
      const element = value[i] as Value;
      this.#offer(element, context);
      if (isLookDue(i, element) && meter.isSpent(unitsPerLook)) yield;
    }
  }

  #offer(element: Value, context: EvaluationContext): void {
    if (element === null) return;
    const place = this.#table.add(valueKey(element));
    if (place === this.#elements.length) {
      this.#onceCount += 1;
      requireElements(this.#onceCount, 'symmetricDifference()', context);
      context.memory.reserve(bytesPerKey + bytesOfElement(element));
      this.#elements.push(element);
      this.#operands.push(this.#operand);
      return;
    }
    const last = this.#operands[place] as number;
    if (last < 0 || last === this.#operand) return;
    this.#operands[place] = -1;
    this.#onceCount -= 1;
    this.#severalCount += 1;
    requireElements(this.#severalCount, 'symmetricDifference()', context);
  }

  result(): Value {
    if (this.#isNull) return null;
    return this.#elements.filter((_, place) => (this.#operands[place] as number) > 0);
  }
}

/** `mode`: the most frequent values, first come first. */
class Mode implements Accumulator {
  readonly #table = new ValueTable();
  /** By their numbers in the table. */
  readonly #values: Value[] = [];
  readonly #counts: number[] = [];

  add(args: readonly Value[], context: EvaluationContext): void {
    const value = args[0] as Value;
    if (!isList(value)) this.#count(value, context);
    else for (let i = 0; i < value.length; i++) this.#count(value[i] as Value, context);
  }

  *addInTurns(
    args: readonly Value[],
    context: EvaluationContext,
    meter: WorkMeter,
  ): PausingWork<void> {
    const value = args[0] as Value;
    if (!isList(value)) this.#count(value, context);
    else
      for (let i = 0; i < value.length; i++) {
        this.#count(value[i] as Value, context);
        if (isLookDue(i, value[i] as Value) && meter.isSpent(unitsPerLook)) yield;
      }
  }

  #count(value: Value, context: EvaluationContext): void {
    if (value === null) return;
    const place = this.#table.add(valueKey(value));
    if (place < this.#counts.length) {
      this.#counts[place] = (this.#counts[place] as number) + 1;
      return;
    }
    requireElements(this.#counts.length + 1, 'mode()', context);
    context.memory.reserve(2 * bytesPerKey + bytesOfElement(value));
    this.#values.push(value);
    this.#counts.push(1);
  }

  result(): Value {
    if (this.#counts.length === 0) return null;
    let most = 0;
    for (const count of this.#counts) if (count > most) most = count;
    return this.#values.filter((_, place) => this.#counts[place] === most);
  }
}

export const collectingAggregates: readonly AggregateFunction[] = [
  aggregate('mode(x)', [1, 1], () => new Mode()),
  aggregate('list(x...)', [1, 1], () => new ListOf('list()')),
  aggregate('set(x...)', [1, 1], () => new SetOf()),
  aggregate('map(m | k, v [, k, v...])', [1, 1], () => new MapOf()),
  aggregate('unionAll(x...)', [1, 1], () => new ListOf('unionAll()')),
  aggregate('intersect(x...)', [1, 1], () => new Intersection()),
  aggregate('difference(a, b...)', [1, 1], () => new Difference()),
  aggregate('symmetricDifference(x...)', [1, 1], () => new SymmetricDifference()),
];
