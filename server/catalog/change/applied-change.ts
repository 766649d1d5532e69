import type { RecordKind } from '#core/value/record.ts';
import type { BucketId } from '#core/value/rid.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { IndexDefinition, PropertyDefinition, TypeDefinition } from '../catalog.ts';
import { CatalogValue, type CatalogParts } from '../catalog-value.ts';

/** What a change may ask about the database it is made in. */
export interface ChangeContext {
  /** `service.typeDefaultBuckets` */
  readonly defaultBucketCount: number;
  readonly formats: TemporalFormats;
  /** Live records of a bucket. */
  recordCount(bucket: BucketId): number;
  /** Refuses text that is no expression, or only a bare name; handed in from the floor of languages. */
  checkDefault?(source: string): void;
}

/** What a change does to records and entries; carried out by whoever commits the change. */
export type SchemaEffect =
  /** Fill an index from the records of its type and subtypes. It is `BUILDING` until that is done. */
  | { readonly kind: 'build-index'; readonly index: IndexDefinition }
  | { readonly kind: 'drop-index'; readonly index: IndexDefinition }
  /** Delete the records one by one (and the edges of vertices) before the bucket goes. */
  | { readonly kind: 'empty-bucket'; readonly bucket: BucketId; readonly records: RecordKind }
  | { readonly kind: 'drop-bucket'; readonly bucket: BucketId }
  /** The change is refused when a record of the type or a subtype holds an incompatible value. */
  | {
      readonly kind: 'check-property';
      readonly type: TypeDefinition;
      readonly property: PropertyDefinition;
    }
  /** The change is refused when a record of the type or a subtype holds a value that a new supertype's declaration refuses. */
  | {
      readonly kind: 'check-inherited';
      readonly type: TypeDefinition;
      readonly property: PropertyDefinition;
    }
  /** The change is refused when an edge of the type has properties. */
  | { readonly kind: 'check-bare-edges'; readonly type: TypeDefinition };

export interface AppliedChange {
  /** The same object as before when nothing changed. */
  readonly catalog: CatalogValue;
  /** Result rows of the statement; `totalIndexed` is 0 until the index is built. */
  readonly rows: readonly ValueMap[];
  readonly effects: readonly SchemaEffect[];
}

/** The next catalog: `changed` parts over the old ones, with the next version. */
export function nextCatalog(catalog: CatalogValue, changed: Partial<CatalogParts>): CatalogValue {
  return new CatalogValue({ ...catalog.parts, ...changed, version: catalog.version + 1 });
}

/** `types` with the entry of the same id replaced. */
export function replaceType(
  types: readonly TypeDefinition[],
  changed: TypeDefinition,
): readonly TypeDefinition[] {
  return types.map((type) => (type.id === changed.id ? changed : type));
}

/** A result row; columns keep this order. */
export function row(columns: Readonly<Record<string, Value>>): ValueMap {
  return new Map(Object.entries(columns));
}

/** The outcome of a change that found nothing to do. */
export function unchanged(catalog: CatalogValue, rows: readonly ValueMap[] = []): AppliedChange {
  return { catalog, rows, effects: [] };
}
