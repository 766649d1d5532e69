import { type ValueKey, valueKey } from '#core/equality.ts';
import { isList, type Value } from '#core/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import type { Accumulator, AggregateFunction } from '../../evaluate/function-definition.ts';
import { describe, refusal } from '../arguments.ts';
import { boundedList, boundedMap, requireElements } from '../bounds.ts';
import { aggregate } from '../define.ts';
import { propertiesOf } from '../navigation.ts';
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
    const own = new KeyedElements('intersect()');
    own.addAll(value, context);
    if (this.#common === undefined) this.#common = own;
    else this.#common.keepOnly(own);
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

  result(): Value {
    return this.#rest ? this.#rest.values() : null;
  }
}

/** `symmetricDifference`: elements that exactly one operand has; null when the first operand is. */
class SymmetricDifference implements Accumulator {
  readonly #once = new KeyedElements('symmetricDifference()');
  readonly #several = new KeyedElements('symmetricDifference()');
  #isFirst = true;
  #isNull = true;

  add(args: readonly Value[], context: EvaluationContext): void {
    const value = args[0] as Value;
    if (this.#isFirst) this.#isNull = value === null;
    this.#isFirst = false;
    if (this.#isNull) return;
    const own = new KeyedElements('symmetricDifference()');
    own.addAll(value, context);
    for (const element of own.values()) {
      if (this.#several.has(element)) continue;
      if (this.#once.remove(element)) this.#several.add(element, context);
      else this.#once.add(element, context);
    }
  }

  result(): Value {
    return this.#isNull ? null : this.#once.values();
  }
}

/** `mode`: the most frequent values, first come first. */
class Mode implements Accumulator {
  readonly #counts = new Map<ValueKey, { readonly value: Value; count: number }>();

  add(args: readonly Value[], context: EvaluationContext): void {
    const value = args[0] as Value;
    if (!isList(value)) this.#count(value, context);
    else for (let i = 0; i < value.length; i++) this.#count(value[i] as Value, context);
  }

  #count(value: Value, context: EvaluationContext): void {
    if (value === null) return;
    const key = valueKey(value);
    const known = this.#counts.get(key);
    if (known) {
      known.count++;
      return;
    }
    requireElements(this.#counts.size + 1, 'mode()', context);
    context.memory.reserve(2 * bytesPerKey + bytesOfElement(value));
    this.#counts.set(key, { value, count: 1 });
  }

  result(): Value {
    if (this.#counts.size === 0) return null;
    let most = 0;
    for (const { count } of this.#counts.values()) if (count > most) most = count;
    const values: Value[] = [];
    for (const { value, count } of this.#counts.values()) if (count === most) values.push(value);
    return values;
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
