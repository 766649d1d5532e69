import type { RecordKind } from '#core/value/record.ts';
import type { BucketId } from '#core/value/rid.ts';
import type { IndexComponent, IndexKind } from '../catalog.ts';
import type { DefinitionChange } from './definition-changes.ts';
import type { Value, ValueMap } from '#core/value/value.ts';

/**
 * What DDL asks for. `applyChange(catalog, change)` gives the next catalog and the result row, or throws; it is a pure
 * function, so every node derives the same catalog. Work on records (index build, drop) is described by its `effects`.
 */
export type SchemaChange =
  | {
      readonly kind: 'create-type';
      readonly type: RecordKind;
      readonly name: string;
      readonly ifNotExists: boolean;
      readonly supertypes: readonly string[];
      readonly buckets: readonly string[];
      readonly bucketCount: number | undefined;
      readonly custom: ValueMap;
      readonly bidirectional: boolean;
      readonly lightweight: boolean;
      readonly uniqueEdges: boolean;
    }
  | { readonly kind: 'alter-type'; readonly name: string; readonly items: readonly AlterTypeItem[] }
  | {
      readonly kind: 'drop-type';
      readonly name: string;
      readonly ifExists: boolean;
      readonly unsafe: boolean;
    }
  | {
      readonly kind: 'create-property';
      readonly type: string;
      readonly property: string;
      readonly ifNotExists: boolean;
      readonly dataType: string;
      readonly ofType: string | undefined;
      readonly attributes: readonly PropertyAttribute[];
      readonly custom: ValueMap;
    }
  | {
      readonly kind: 'alter-property';
      readonly type: string;
      readonly property: string;
      readonly attributes: readonly PropertyAttribute[];
      readonly custom: ValueMap;
    }
  | {
      readonly kind: 'drop-property';
      readonly type: string;
      readonly property: string;
      readonly ifExists: boolean;
      readonly force: boolean;
    }
  | { readonly kind: 'create-bucket'; readonly name: string; readonly ifNotExists: boolean }
  | { readonly kind: 'drop-bucket'; readonly bucket: string | number; readonly ifExists: boolean }
  | {
      readonly kind: 'create-index';
      readonly name: string | undefined;
      readonly ifNotExists: boolean;
      readonly type: string;
      readonly components: readonly IndexComponent[];
      readonly componentText: string;
      readonly indexKind: IndexKind;
      /** Properties need not be declared: values of any type are indexed as they are. */
      readonly ofAnyType?: true;
      readonly unique: boolean;
      readonly nullStrategy: 'SKIP' | 'ERROR' | 'INDEX';
      readonly metadata: ValueMap;
      readonly isText?: true;
    }
  /** Records of the vertex type may lie in a bucket of another one: its window there is made, if it has none. No statement says it. */
  | { readonly kind: 'open-window'; readonly bucket: BucketId; readonly type: string }
  | { readonly kind: 'drop-index'; readonly name: string; readonly ifExists: boolean }
  | { readonly kind: 'drop-all-indexes' }
  /** Makes the entries of an index anew; it answers searches meanwhile. */
  | { readonly kind: 'rebuild-index'; readonly name: string }
  | DefinitionChange;

/** Attribute of a property as written: `min 5`, `mandatory`; for `default` and `regexp` the value is the expression's source text. */
export interface PropertyAttribute {
  readonly name: string;
  readonly value: Value;
  /** What a default gives to every record, when its text is a constant. */
  readonly constant?: Value;
}

export type AlterTypeItem =
  | { readonly kind: 'name'; readonly name: string }
  | {
      readonly kind: 'supertype';
      readonly add: readonly string[];
      readonly remove: readonly string[];
    }
  | { readonly kind: 'bucket'; readonly add: readonly string[]; readonly remove: readonly string[] }
  | { readonly kind: 'bucket-strategy'; readonly strategy: string }
  | { readonly kind: 'custom'; readonly key: string; readonly value: Value }
  | { readonly kind: 'aliases'; readonly aliases: readonly string[] }
  /** Edges with their outgoing side only are about to be loaded; no statement says it. */
  | { readonly kind: 'one-way-edges' }
  /** `WITH repartition | lightweight | unique = value`. */
  | { readonly kind: 'setting'; readonly name: string; readonly value: Value };
