import { DatabaseError } from '#core/errors.ts';
import { ANY_NUMBER, volatileScalar } from './define.ts';

/**
 * How a program calls a function of the schema (sql.md 14.2): the first argument is its full name, a constant. Front
 * ends take it from no text: what such a call may do is read off the constant.
 */
export const userFunctionCall = '#userFunction';

/** Handed on to the floor that runs bodies. */
export const userFunctions = [
  volatileScalar(`${userFunctionCall}(name, ...)`, [1, ANY_NUMBER], ([name, ...args], context) => {
    if (context.callFunction !== undefined && typeof name === 'string')
      return context.callFunction(name, args);
    throw new DatabaseError('NotSupported', `not supported here: function '${String(name)}'`);
  }),
];
