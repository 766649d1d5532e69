import type { Catalog } from '#catalog/catalog.ts';
import { didYouMean } from '#catalog/name-rules.ts';
import { DatabaseError } from '#core/errors.ts';

/** @throws always `Schema`, as a statement that names the thing */
export function didNotFind(what: 'Type' | 'Bucket', name: string, catalog: Catalog): never {
  const known = what === 'Type' ? catalog.types() : catalog.buckets();
  const help = didYouMean(
    name,
    known.map((one) => one.name),
  );
  const hint = help === undefined ? {} : { help };
  throw new DatabaseError('Schema', `${what} with name '${name}' was not found`, hint);
}
