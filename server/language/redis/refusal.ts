import { DatabaseError } from '#core/errors.ts';

/** What is wrong with a command. */
export function refusal(message: string): DatabaseError {
  return new DatabaseError('IllegalArgument', message);
}

/** As it may be shown: one line, not long. */
export function shown(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}...` : text;
}
