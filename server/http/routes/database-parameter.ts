import type { DatabaseHandle } from '#database/session.ts';
import { DatabaseError } from '#core/errors.ts';
import { badRequest } from '../answer/errors.ts';
import type { Exchange } from '../answer/exchange.ts';
import { printable, wantedState } from '../cluster/wanted-state.ts';

/**
 * The database that the path names, if the caller may use it. Access comes first, so that nobody learns which databases
 * exist.
 * @throws HttpRefusal 400 for a name that could be a path; DatabaseError `Forbidden`, `DatabaseNotFound`, ...
 */
export function databaseOf(exchange: Exchange): DatabaseHandle {
  const name = accessibleName(exchange);
  return exchange.door.databases.open(name);
}

/** The name in the path, checked for form and access, with the headers that every request about a database may carry. */
export function accessibleName(exchange: Exchange): string {
  const name = databaseName(exchange);
  const { principal, door } = exchange;
  if (principal.isRoot || door.authorizer.canAccess(principal, name)) {
    wantedState(exchange);
    return name;
  }
  throw new DatabaseError(
    'Forbidden',
    `User '${principal.name}' has not access to database '${name}'`,
  );
}

/** The name in the path, checked for form only. */
export function databaseName(exchange: Exchange): string {
  const name = exchange.parameters['database'] ?? '';
  if (name.trim() === '') throw badRequest('Database parameter is null');
  if (/[/\\\u0000]|\.\./.test(name))
    throw badRequest(
      `Invalid database name '${printable(name)}': a name holds no '/', '\\', NUL or '..'`,
    );
  return name;
}
