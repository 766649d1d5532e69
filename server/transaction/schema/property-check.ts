import type { PropertyDefinition, TypeDefinition } from '#catalog/catalog.ts';
import type { CatalogValue } from '#catalog/catalog-value.ts';
import { type CoercionContext, coerceDeclared } from '#catalog/coercion.ts';
import { DatabaseError } from '#core/errors.ts';
import { valuesEqual } from '#core/value/equality.ts';
import { formatRid } from '#core/value/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { Value } from '#core/value/value.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import { storedScan } from '../read/holding-bucket.ts';
import { RecordScan } from '../read/record-scan.ts';
import { SliceTimer } from '../write/slice-timer.ts';

/**
 * CREATE PROPERTY on a type with records (sql.md 13.5, DECISION), or a supertype for it that declares one: every value stored under the name must be one of the
 * declared type already, since rows are not rewritten. A value is one when conversion leaves it equal: 5 is a DOUBLE, '5' is
 * no LONG.
 *
 * @throws DatabaseError `Schema` naming the first record that holds another value
 */
export async function requireCompatibleValues(
  declared: {
    readonly kind: 'check-property' | 'check-inherited';
    readonly type: TypeDefinition;
    readonly property: PropertyDefinition;
  },
  snapshot: StorageSnapshot,
  context: {
    readonly catalog: CatalogValue;
    readonly formats: TemporalFormats;
    readonly runtime: Runtime;
    /** Throws when the statement is to end. */
    readonly pause: () => Promise<void>;
  },
): Promise<void> {
  const { type, property } = declared;
  const { catalog, formats, runtime, pause } = context;
  const timer = new SliceTimer(runtime, pause);
  for (const id of catalog.withSubtypes(type.id)) {
    for (const bucket of catalog.typeWithId(id).buckets) {
      const scan = storedScan(snapshot, catalog, { bucket, from: undefined });
      let count = 0;
      for (let record = scan.next(); record !== undefined; record = scan.next()) {
        const value = record.get(property.name);
        if (value !== undefined && !isCompatible(property, value, { catalog, formats })) {
          throw new DatabaseError(
            'Schema',
            `${refused(declared, catalog)}: record ${formatRid(record.rid)} holds a value of another type`,
          );
        }
        count += 1;
        if ((count & 255) === 0 && timer.isSpent) await timer.pause();
      }
    }
  }
}

function refused(
  { kind, type, property }: Parameters<typeof requireCompatibleValues>[0],
  catalog: CatalogValue,
): string {
  if (kind === 'check-property')
    return `Cannot create property '${type.name}.${property.name}' of type ${property.type}`;
  const owner = catalog.typeWithId(property.declaredBy).name;
  return `Type '${type.name}' cannot extend '${owner}', where property '${property.name}' is ${property.type}`;
}

/**
 * ALTER TYPE ... WITH lightweight = true: edges that have properties would lose them.
 * @throws DatabaseError `Schema` naming the first one
 */
export async function requireBareEdges(
  type: TypeDefinition,
  snapshot: StorageSnapshot,
  context: { readonly runtime: Runtime; readonly pause: () => Promise<void> },
): Promise<void> {
  const timer = new SliceTimer(context.runtime, context.pause);
  for (const bucket of type.buckets) {
    const scan = new RecordScan(snapshot, undefined, {
      bucket,
      order: 'ascending',
      from: undefined,
    });
    let count = 0;
    for (let record = scan.next(); record !== undefined; record = scan.next()) {
      if (record.propertyNames().length > 0) {
        throw new DatabaseError(
          'Schema',
          `Edge type '${type.name}' cannot be LIGHTWEIGHT because edge ${formatRid(record.rid)} has properties`,
        );
      }
      count += 1;
      if ((count & 255) === 0 && timer.isSpent) await timer.pause();
    }
  }
}

function isCompatible(
  property: PropertyDefinition,
  value: Value,
  context: CoercionContext,
): boolean {
  if (value === null) return true;
  try {
    return valuesEqual(coerceDeclared(property, value, context), value);
  } catch (error) {
    if (error instanceof DatabaseError) return false;
    throw error;
  }
}
