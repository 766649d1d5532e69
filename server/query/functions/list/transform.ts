import { DatabaseError } from '#core/errors.ts';
import { isList, type Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { textArgument } from '../arguments.ts';
import { ANY_NUMBER, inTurns, method } from '../define.ts';
import { isLookDue, unitsPerLook } from './distinct.ts';

type MethodLookup = (name: string) => ScalarFunction | undefined;

/**
 * `.transform('m1', 'm2'...)`: the methods, in order, on every element; on a value that is no list, on the value. Methods
 * that need arguments cannot be named.
 */
export function transformMethod(methodNamed: MethodLookup): ScalarFunction {
  const methodsIn = (args: readonly Value[]): readonly ScalarFunction[] =>
    args.slice(1).map((argument) => {
      const name = textArgument(argument, 'transform()');
      const found = methodNamed(name);
      if (found === undefined)
        throw new DatabaseError('CommandExecution', `Unknown method name: ${name.slice(0, 100)}`);
      if (found.arity.min > 1)
        throw new DatabaseError(
          'IllegalArgument',
          `transform(): the method needs arguments: ${found.syntax}`,
        );
      return found;
    });
  return inTurns(
    method("transform('m1'...)", [1, ANY_NUMBER], (args, context) => {
      const methods = methodsIn(args);
      const value = args[0] as Value;
      if (!isList(value)) return applied(value, methods, context);
      return value.map((element) => applied(element, methods, context));
    }),
    function* (args, context, meter) {
      const methods = methodsIn(args);
      const value = args[0] as Value;
      if (!isList(value)) return applied(value, methods, context);
      const list: Value[] = [];
      for (let i = 0; i < value.length; i += 1) {
        const element = value[i] as Value;
        list.push(applied(element, methods, context));
        if (isLookDue(i, element) && meter.isSpent(unitsPerLook)) yield;
      }
      return list;
    },
  );
}

function applied(
  value: Value,
  methods: readonly ScalarFunction[],
  context: EvaluationContext,
): Value {
  let result = value;
  for (let i = 0; i < methods.length; i++)
    result = (methods[i] as ScalarFunction).evaluate([result], context);
  return result;
}
