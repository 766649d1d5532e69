import { DatabaseError, type ErrorCode } from '#core/errors.ts';

/** What an error of a statement means for what it stood in. */

export function isConflict(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === 'ConcurrentModification';
}

/**
 * What is wrong with a statement by its text, its parameters or its caller; the session goes on (house decision 52). A type
 * or function that is not there counts as an error of execution, as the same names do in DDL.
 */
const refusals: ReadonlySet<string> = new Set([
  'Syntax',
  'IllegalArgument',
  'NotIdempotent',
  'NotSupported',
  'Forbidden',
  'TooLarge',
  'DatabaseReadOnly',
] satisfies ErrorCode[]);

export function isRefusal(error: unknown): boolean {
  return error instanceof DatabaseError && refusals.has(error.code);
}

/** A statement in a message. */
export function abbreviated(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}...` : text;
}
