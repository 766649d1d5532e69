import type { Value } from '#core/value/value.ts';
import type { WorkMeter } from '#core/pausing-work.ts';
import type { EvaluationContext, LongWork } from '../../evaluate/context.ts';
import { argumentError, notA } from '../../evaluate/cypher-failures.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { alias, inTurns, scalar } from '../define.ts';

/** What functions of openCypher have in common: null gives null, a value of another type is an error by its name. */

type Evaluate = (args: readonly Value[], context: EvaluationContext) => Value;

/** The prefix under which the language finds its own functions before those of SQL. */
export const cypherPrefix = '#cypher.';

/** Null for a null argument, whichever it is. */
export function nullForNull(
  syntax: string,
  count: readonly [number, number],
  evaluate: Evaluate,
): ScalarFunction {
  return scalar(`${cypherPrefix}${syntax}`, count, (args, context) =>
    args.some((arg) => arg === null) ? null : evaluate(args, context),
  );
}

/** As `nullForNull`, with a way to do the same in turns (`inTurns`). */
export function nullForNullInTurns(
  syntax: string,
  argumentCount: readonly [number, number],
  evaluate: Evaluate,
  begin: (args: readonly Value[], context: EvaluationContext, meter: WorkMeter) => LongWork,
): ScalarFunction {
  const definition = nullForNull(syntax, argumentCount, evaluate);
  return inTurns(definition, function* (args, context, meter) {
    return args.some((arg) => arg === null) ? null : yield* begin(args, context, meter);
  });
}

/** The same function under further names. */
export function withAliases(
  definition: ScalarFunction,
  ...names: readonly string[]
): readonly ScalarFunction[] {
  return [definition, ...names.map((name) => alias(`${cypherPrefix}${name}`, definition))];
}

/** @throws DatabaseError `InvalidArgumentType` */
export function text(value: Value | undefined): string {
  if (typeof value === 'string') return value;
  throw notA('a string', value ?? null);
}

/** @throws DatabaseError `InvalidArgumentType`, `NumberOutOfRange` */
export function count(value: Value | undefined, what: string): number {
  const isInteger =
    typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value));
  if (!isInteger) throw notA('an integer', value ?? null);
  if (value < 0) throw argumentError('NumberOutOfRange', `${what} is not negative, not ${value}`);
  return Number(value);
}
