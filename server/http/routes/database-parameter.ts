import type { DatabaseHandle } from '#database/session.ts';
import { DatabaseError } from '#core/errors.ts';
import { badRequest } from '../answer/errors.ts';
import type { Exchange } from '../answer/exchange.ts';

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
    requireKnownConsistency(exchange);
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

const consistencies = ['eventual', 'read_your_writes', 'linearizable'];

/**
 * One server always reads what was committed last, so these headers of clusters ask for nothing more; what is no value of
 * theirs is refused all the same (http-api.md 19.7).
 */
function requireKnownConsistency({ request: { headers } }: Exchange): void {
  const wanted = headers['x-service-read-consistency'];
  if (wanted !== undefined && !consistencies.includes(String(wanted).trim().toLowerCase()))
    throw badRequest(
      `Header X-Service-Read-Consistency is '${printable(String(wanted))}'; use ${consistencies.join(', ')}`,
    );
  const bookmark = headers['x-service-read-after'];
  if (bookmark !== undefined && !/^\d{0,19}$/.test(String(bookmark).trim()))
    throw badRequest(
      `Header X-Service-Read-After is '${printable(String(bookmark))}'; it must be a commit index`,
    );
}

function printable(name: string): string {
  return name.slice(0, 100).replaceAll(/[\u0000-\u001f\u007f]/g, '?');
}
