import { DatabaseError } from '#core/errors.ts';
import type { Door } from '../door.ts';
import { HttpRefusal, refusalOf } from '../answer/errors.ts';
import type { Exchange } from '../answer/exchange.ts';

// What routes that change users, access levels and tokens have in common.

/** Refusals of names, passwords and permissions say what is wrong in `error`. */
export async function inWords<T>(change: () => T | Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    throw new HttpRefusal({ ...refusalOf(error), error: error.message });
  }
}

/** Tells the events who changed what. */
export function reportChange(door: Door, exchange: Exchange, what: string): void {
  const message = `User '${exchange.principal.name}' ${what}`;
  door.events.report('INFO', 'Security', message, null, exchange.requestId);
}
