import { DatabaseError } from '#core/errors.ts';
import { isList, type Value } from '#core/value.ts';
import type { EvaluationContext } from '../evaluate/context.ts';
import type { ScalarFunction } from '../evaluate/function-definition.ts';
import { textArgument } from './arguments.ts';
import { ANY_NUMBER, method } from './define.ts';

type MethodLookup = (name: string) => ScalarFunction | undefined;

/**
 * `.transform('m1', 'm2'...)`: the methods, in order, on every element; on a value that is no list, on the value. Methods
 * that need arguments cannot be named.
 */
export function transformMethod(methodNamed: MethodLookup): ScalarFunction {
  return method("transform('m1'...)", [1, ANY_NUMBER], (args, context) => {
    const methods = args.slice(1).map((argument) => {
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
    const value = args[0] as Value;
    if (!isList(value)) return applied(value, methods, context);
    return value.map((element) => applied(element, methods, context));
  });
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
