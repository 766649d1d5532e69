import { DatabaseError } from '#core/errors.ts';
import { doneInPlace } from '#core/pausing-work.ts';
import type { Value } from '#core/value.ts';
import type { EvaluationContext, LongWork, WorkMeter } from '../evaluate/context.ts';
import type { ScalarFunction } from '../evaluate/function-definition.ts';
import { unitsPerBody } from '../evaluate/long-calls.ts';
import { ANY_NUMBER, volatileScalar } from './define.ts';

/**
 * How a program calls a function of the schema (sql.md 14.2): the first argument is its full name, a constant. Front
 * ends take it from no text: what such a call may do is read off the constant.
 */
export const userFunctionCall = '#userFunction';

/** Handed on to the floor that runs bodies; where nobody can pause, a call may take some milliseconds only. */
const call: ScalarFunction = {
  ...volatileScalar(`${userFunctionCall}(name, ...)`, [1, ANY_NUMBER], (args, context) => {
    const { longCalls } = context;
    if (longCalls !== undefined)
      return longCalls.result(call, () => counted(begin(args, context), longCalls));
    return doneInPlace(begin(args, context), context.runtime.clock, `function '${args[0]}'`);
  }),
  mayTakeLong: true,
};

export const userFunctions = [call];

function begin([name, ...args]: readonly Value[], context: EvaluationContext): LongWork {
  if (context.callFunction !== undefined && typeof name === 'string')
    return context.callFunction(name, args);
  throw new DatabaseError('NotSupported', `not supported here: function '${String(name)}'`);
}

/** A turn is over after some calls, however quick they are. */
function* counted(work: LongWork, meter: WorkMeter): LongWork {
  meter.isSpent(unitsPerBody);
  return yield* work;
}
