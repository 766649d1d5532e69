import { DatabaseError } from '#core/errors.ts';

/** @throws always `Schema`, as a statement that names the thing */
export function didNotFind(what: 'Type' | 'Bucket', name: string): never {
  throw new DatabaseError('Schema', `${what} with name '${name}' was not found`);
}
