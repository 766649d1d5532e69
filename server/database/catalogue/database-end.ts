import { DatabaseError } from '#core/errors.ts';
import type { DatabaseEnd } from './databases.ts';

/** What is answered for a database that was closed for this reason. */
export function endedError(name: string, why: DatabaseEnd): DatabaseError {
  if (why === 'stopped') return new DatabaseError('NotOnline', 'the server is stopping');
  return why === 'dropped'
    ? new DatabaseError('DatabaseNotFound', `Database '${name}' does not exist`)
    : new DatabaseError('DatabaseClosed', `Database '${name}' is closed`);
}
