import { DatabaseError } from '#core/errors.ts';
import { doneInPlace, meterInPlace } from '#core/pausing-work.ts';
import type { Value } from '#core/value/value.ts';
import type { EvaluationContext, LongWork, WorkMeter } from '../evaluate/context.ts';
import type { ScalarFunction } from '../evaluate/function-definition.ts';
import { unitsPerBody } from '../evaluate/turns/long-calls.ts';
import { ANY_NUMBER, volatileScalar } from './define.ts';
import { guided } from './paths/functions.ts';

/**
 * How a program calls a function of the schema (sql.md 14.2): the first argument is its full name, a constant. Front
 * ends take it from no text: what such a call may do is read off the constant.
 */
export const userFunctionCall = '#userFunction';

/** Handed on to the floor that runs bodies; where nobody can pause, a call may take some thousand steps only. */
const call: ScalarFunction = {
  ...volatileScalar(`${userFunctionCall}(name, ...)`, [1, ANY_NUMBER], (args, context) => {
    const { longCalls } = context;
    if (longCalls !== undefined)
      return longCalls.result(call, () => counted(begin(args, context), longCalls));
    return doneInPlace(begin(args, context), context.runtime.clock, `function '${args[0]}'`);
  }),
  mayTakeLong: true,
};

/**
 * `astar()` whose estimates come from a function of the schema: its full name, a constant, then the arguments. So what it may do is
 * read off the program as for a call.
 */
export const guidedPathCall = '#astar';

const guidedPath: ScalarFunction = {
  ...volatileScalar(
    `${guidedPathCall}(name, src, dst, weightProp, options)`,
    [5, 5],
    (all, context) => {
      const { longCalls } = context;
      const [name, ...args] = all;
      const start = (meter: WorkMeter) => guided(args, context, meter, String(name));
      if (longCalls !== undefined) return longCalls.result(guidedPath, () => start(longCalls));
      return doneInPlace(start(meterInPlace), context.runtime.clock, 'astar()');
    },
  ),
  mayTakeLong: true,
};

/** Whether a call by this name runs the function of the schema that its first argument names. */
export function callsUserFunction(name: string): boolean {
  return name === userFunctionCall || name === guidedPathCall;
}

export const userFunctions = [call, guidedPath];

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
