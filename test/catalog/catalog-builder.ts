import type { AppliedChange, ChangeContext } from '#catalog/change/applied-change.ts';
import { applyChange } from '#catalog/change/apply-change.ts';
import type { IndexComponent } from '#catalog/catalog.ts';
import { type CatalogValue, emptyCatalog } from '#catalog/catalog-value.ts';
import type { PropertyAttribute, SchemaChange } from '#catalog/change/changes.ts';
import type { RecordKind } from '#core/value/record.ts';
import { defaultTemporalFormats } from '#core/temporal/format.ts';

/** A database without records, one bucket per type. */
export const emptyDatabase: ChangeContext = {
  defaultBucketCount: 1,
  formats: defaultTemporalFormats,
  recordCount: () => 0,
};

type CreateType = Extract<SchemaChange, { kind: 'create-type' }>;

/** `CREATE <kind> TYPE name` with everything else left out. */
export function type(
  kind: RecordKind,
  name: string,
  more: Partial<Omit<CreateType, 'kind' | 'type' | 'name'>> = {},
): CreateType {
  return {
    kind: 'create-type',
    type: kind,
    name,
    ifNotExists: false,
    supertypes: [],
    buckets: [],
    bucketCount: undefined,
    custom: new Map(),
    bidirectional: true,
    lightweight: false,
    uniqueEdges: false,
    ...more,
  };
}

/** `CREATE PROPERTY type.property dataType [OF x] (attributes)`; a pair for names with dots. */
export function property(
  path: string | readonly [string, string],
  dataType: string,
  attributes: readonly PropertyAttribute[] = [],
  ofType?: string,
): SchemaChange {
  const [owner = '', name = ''] = typeof path === 'string' ? path.split('.') : path;
  return {
    kind: 'create-property',
    type: owner,
    property: name,
    ifNotExists: false,
    dataType,
    ofType,
    attributes,
    custom: new Map(),
  };
}

/** `CREATE INDEX ON type (properties) [UNIQUE]`. */
export function index(
  typeName: string,
  properties: readonly string[],
  more: { readonly unique?: boolean; readonly nullStrategy?: 'SKIP' | 'ERROR' | 'INDEX' } = {},
): SchemaChange {
  const components = properties.map(
    (name): IndexComponent => ({ property: name, by: 'value', caseInsensitive: false }),
  );
  return {
    kind: 'create-index',
    name: undefined,
    ifNotExists: false,
    type: typeName,
    components,
    componentText: properties.join(', '),
    indexKind: 'LSM_TREE',
    unique: more.unique ?? false,
    nullStrategy: more.nullStrategy ?? 'SKIP',
    metadata: new Map(),
  };
}

/** The catalog after some changes to an empty database (or to `from`). */
export function catalogAfter(
  changes: readonly SchemaChange[],
  from: CatalogValue = emptyCatalog(),
): CatalogValue {
  return changes.reduce((catalog, change) => apply(catalog, change).catalog, from);
}

/** `applyChange` in a database without records. */
export function apply(catalog: CatalogValue, change: SchemaChange): AppliedChange {
  return applyChange(catalog, change, emptyDatabase);
}
