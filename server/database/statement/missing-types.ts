import { DatabaseError } from '#core/errors.ts';
import type { Transaction } from '#transaction/transaction.ts';
import type { CompiledStatement } from './compiled-statement.ts';

/** Types that statements of openCypher make on the fly (cypher.md 1.1): made first, then the text is analyzed again. */

export function lacksTypes({ program }: CompiledStatement): boolean {
  return program.missingTypes !== undefined;
}

/** Makes them for good, whatever becomes of the transaction; others may make the same at the same time. */
export async function makeTypes(
  transaction: Transaction,
  { program }: CompiledStatement,
): Promise<void> {
  const { missingTypes = [] } = program;
  const before = transaction.catalog.version;
  for (const { name, kind, supertypes } of missingTypes)
    await transaction.alter({
      kind: 'create-type',
      type: kind,
      name,
      ifNotExists: true,
      supertypes,
      buckets: [],
      bucketCount: undefined,
      custom: new Map(),
      bidirectional: true,
      lightweight: false,
      uniqueEdges: false,
    });
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
