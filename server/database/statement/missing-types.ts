import { assert } from '#core/assert.ts';
import { DatabaseError } from '#core/errors.ts';
import { defaultTemporalFormats } from '#core/temporal/format.ts';
import type { Catalog } from '#catalog/catalog.ts';
import { CatalogValue } from '#catalog/catalog-value.ts';
import { applyChange } from '#catalog/change/apply-change.ts';
import type { ChangeContext } from '#catalog/change/applied-change.ts';
import { newType } from '#catalog/labels.ts';
import type { MissingType } from '#query/algebra/missing-type.ts';
import type { Transaction } from '#transaction/transaction.ts';
import { alterAll, type TypeWatch } from '../attempt/types-on-the-fly.ts';
import type { CompiledStatement } from './compiled-statement.ts';

/** Types that statements of openCypher make on the fly (cypher.md 1.1): made first, then the text is analyzed again. */

/** The catalog as it will be when they are made, for looking at plans. */
export function withTypes(catalog: Catalog, types: readonly MissingType[]): Catalog {
  assert(catalog instanceof CatalogValue, 'catalogs are values');
  let made = catalog;
  for (const { name, kind, supertypes } of types)
    made = applyChange(made, newType(kind, name, supertypes), emptyDatabase).catalog;
  return made;
}

/** New types are asked for nothing else. */
const emptyDatabase: ChangeContext = {
  defaultBucketCount: 1,
  formats: defaultTemporalFormats,
  recordCount: () => 0,
};

export function lacksTypes({ program }: CompiledStatement): boolean {
  return program.missingTypes !== undefined;
}

/** Makes them for good (until `watch` throws), whatever becomes of the transaction; others may make the same at the same time. */
export async function makeTypes(
  transaction: Transaction,
  { program }: CompiledStatement,
  watch: TypeWatch,
): Promise<void> {
  const { missingTypes = [] } = program;
  const before = transaction.catalog.version;
  const changes = missingTypes.map(({ name, kind, supertypes }) => newType(kind, name, supertypes));
  await alterAll(transaction, changes, watch);
  if (!transaction.hasWrites) transaction.beginStatement();
  const isStillLacking = missingTypes.some(
    ({ name }) => transaction.catalog.typeNamed(name) === undefined,
  );
  if (isStillLacking && transaction.catalog.version === before)
    throw new DatabaseError(
      'Schema',
      `types made by the statement are not seen by its transaction: ${missingTypes.map(({ name }) => `'${name}'`).join(', ')}`,
    );
}
