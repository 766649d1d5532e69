import type { Catalog, IndexDefinition, IndexKind } from '#catalog/catalog.ts';
import { didYouMean } from '#catalog/name-rules.ts';
import { DatabaseError } from '#core/errors.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import { describe, refusal } from '../arguments.ts';

const kindNames: Readonly<Record<IndexKind, string>> = {
  LSM_TREE: 'ordered',
  HASH: 'hash',
  FULL_TEXT: 'full-text',
  LSM_VECTOR: 'dense vector',
  LSM_SPARSE_VECTOR: 'sparse vector',
  GEOSPATIAL: 'geospatial',
};

/**
 * The index that a search names: by its name, or as `Type[property]`, then also one that the type inherits.
 * @throws DatabaseError `IllegalArgument` for null, `Schema` for an unknown index and one of another kind
 */
export function indexNamed(
  catalog: Catalog,
  name: Value | undefined,
  kind: IndexKind,
  what: string,
): { readonly index: IndexDefinition; readonly type: TypeId | undefined } {
  if (typeof name !== 'string')
    throw refusal(`${what} requires the name of an index, not ${describe(name ?? null)}`);
  const own = catalog.indexNamed(name);
  const part = /^(.+)\[(.+)\]$/su.exec(name);
  const type = part ? catalog.typeNamed(part[1] as string) : undefined;
  const wanted = part?.[2]?.replaceAll(/\s+/gu, '');
  const inherited =
    own ??
    (type &&
      catalog
        .indexesOn(type.id)
        .find(
          (index) =>
            index.kind === kind && index.components.map((c) => c.property).join(',') === wanted,
        ));
  if (
    inherited === undefined ||
    inherited.isInternal === true ||
    inherited.replaces !== undefined
  ) {
    const names = catalog.indexes().filter((index) => index.kind === kind);
    const help = didYouMean(
      name,
      names.map((index) => index.name),
    );
    const hint = help === undefined ? {} : { help };
    throw new DatabaseError('Schema', `${what}: Index with name '${name}' was not found`, hint);
  }
  return { index: requireKind(inherited, kind, what), type: type?.id };
}

/** @throws DatabaseError `Schema` for another kind, `Busy` while it is being built */
export function requireKind(
  index: IndexDefinition,
  kind: IndexKind,
  what: string,
): IndexDefinition {
  if (index.kind !== kind)
    throw new DatabaseError(
      'Schema',
      `${what}: index '${index.name}' is not a ${kindNames[kind]} index, but ${index.kind === 'LSM_TREE' ? 'an' : 'a'} ${kindNames[index.kind]} one`,
    );
  if (index.state !== 'READY')
    throw new DatabaseError('Busy', `${what}: index '${index.name}' is being built; try again`);
  return index;
}
