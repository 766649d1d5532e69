import type { Value } from '#core/value/value.ts';
import type { AggregateFunction, ScalarFunction } from '../../evaluate/function-definition.ts';
import { describe, refusal, textArgument } from '../arguments.ts';
import { boundedMap } from '../number/bounds.ts';
import { ANY_NUMBER, type ArgumentCount, inTurns, scalar } from '../define.ts';

/**
 * The functions that are aggregates with exactly one argument and otherwise work on the arguments of one row (key A1 of
 * sql-functions.md): the registry has both forms, the analyzer decides by the number of arguments.
 */
const forms: ReadonlyMap<string, ArgumentCount> = new Map([
  ['sum', [1, ANY_NUMBER]],
  ['avg', [1, ANY_NUMBER]],
  ['min', [1, ANY_NUMBER]],
  ['max', [1, ANY_NUMBER]],
  ['bool_and', [1, ANY_NUMBER]],
  ['bool_or', [1, ANY_NUMBER]],
  ['list', [0, ANY_NUMBER]],
  ['set', [0, ANY_NUMBER]],
  ['unionAll', [0, ANY_NUMBER]],
  ['intersect', [0, ANY_NUMBER]],
  ['difference', [0, ANY_NUMBER]],
  ['symmetricDifference', [0, ANY_NUMBER]],
]);

/** The scalar forms of those of `aggregates` that have one. */
export function scalarForms(aggregates: readonly AggregateFunction[]): readonly ScalarFunction[] {
  const functions: ScalarFunction[] = [mapOfPairs];
  for (const definition of aggregates) {
    const count = forms.get(definition.name);
    if (count) functions.push(overArguments(definition, count));
  }
  return functions;
}

function overArguments(definition: AggregateFunction, count: ArgumentCount): ScalarFunction {
  const isIntersection = definition.name === 'intersect';
  const isEmpty = (args: readonly Value[]): boolean => isIntersection && args.includes(null);
  const atOnce = scalar(definition.syntax, count, (args, context) => {
    // As rows nulls are skipped; as an operand of one row nothing is common with null.
    if (isEmpty(args)) return [];
    const accumulator = definition.create();
    const one: Value[] = [null];
    for (let i = 0; i < args.length; i++) {
      one[0] = args[i] as Value;
      accumulator.add(one, context);
    }
    return accumulator.result(context);
  });
  return inTurns(atOnce, function* (args, context, meter) {
    if (isEmpty(args)) return [];
    const accumulator = definition.create();
    for (let i = 0; i < args.length; i++) {
      const one = [args[i] as Value];
      if (accumulator.addInTurns === undefined) accumulator.add(one, context);
      else yield* accumulator.addInTurns(one, context, meter);
    }
    return accumulator.result(context);
  });
}

const mapOfPairs = scalar('map(m | k, v [, k, v...])', [0, ANY_NUMBER], (args, context) => {
  if (args.length % 2 === 1)
    throw refusal(`map() requires pairs of key and value, not ${args.length} arguments`);
  const entries = new Map<string, Value>();
  for (let i = 0; i < args.length; i += 2) {
    const value = args[i + 1] as Value;
    if (typeof args[i] !== 'string')
      throw refusal(`map() requires texts as keys, not ${describe(args[i] as Value)}`);
    if (value !== null) entries.set(textArgument(args[i], 'map()'), value);
  }
  return entries.size === 0 ? null : boundedMap(entries, context);
});
