import { textOf } from '#core/text/text-form.ts';
import { isList, type Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import type { Accumulator, AggregateFunction } from '../../evaluate/function-definition.ts';
import { booleanArgument } from '../arguments.ts';
import { boundedText } from '../number/bounds.ts';
import { aggregate } from '../define.ts';

/** `bool_and`, `bool_or`: nulls are skipped; no value at all gives the neutral element. */
class AllOrAny implements Accumulator {
  readonly #what: string;
  readonly #deciding: boolean;
  #isDecided = false;

  constructor(what: string, deciding: boolean) {
    this.#what = what;
    this.#deciding = deciding;
  }

  add(args: readonly Value[]): void {
    const value = args[0] as Value;
    if (value === null) return;
    if (isList(value)) {
      for (let i = 0; i < value.length; i++) this.add([value[i] as Value]);
      return;
    }
    if (booleanArgument(value, this.#what) === this.#deciding) this.#isDecided = true;
  }

  result(): Value {
    return this.#isDecided ? this.#deciding : !this.#deciding;
  }
}

/** `concat(x [, delim])`: texts of all rows, null as the text `null`; null when all are. */
class Concatenation implements Accumulator {
  #text: string | undefined;
  #isAllNull = true;

  add(args: readonly Value[], context: EvaluationContext): void {
    if (args[0] !== null) this.#isAllNull = false;
    const part = textOf(args[0] as Value, context.formats);
    const delimiter = args[1] ?? null;
    if (this.#text === undefined) this.#text = part;
    else this.#text += delimiter === null ? part : textOf(delimiter, context.formats) + part;
    // The cheap test; the exact one follows at the end.
    if (this.#text.length > context.limits.valueBytesMax) boundedText(this.#text, context);
  }

  result(context: EvaluationContext): Value {
    return this.#text === undefined || this.#isAllNull ? null : boundedText(this.#text, context);
  }
}

export const logicalAggregates: readonly AggregateFunction[] = [
  aggregate('bool_and(b [, ...])', [1, 1], () => new AllOrAny('bool_and()', false)),
  aggregate('bool_or(b [, ...])', [1, 1], () => new AllOrAny('bool_or()', true)),
  aggregate('concat(x [, delim])', [1, 2], () => new Concatenation()),
];
