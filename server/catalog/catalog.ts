import type { SchemaTypeName } from '#core/value/conversion.ts';
import type { RecordKind } from '#core/value/record.ts';
import type { BucketId, IndexId, PropertyId, TypeId } from '#core/value/rid.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { Definitions } from './definitions.ts';

/** The schema of one database: an immutable, versioned value. `changes.ts` makes the next one. */
export interface Catalog {
  /** Raised by every schema change; part of plan cache keys and of the schema guard. */
  readonly version: number;
  types(): readonly TypeDefinition[];
  /** By name or alias, case-sensitive. */
  typeNamed(name: string): TypeDefinition | undefined;
  typeWithId(id: TypeId): TypeDefinition;
  /** The type itself and everything that extends it, in id order. */
  withSubtypes(id: TypeId): readonly TypeId[];
  isSubtype(id: TypeId, of: TypeId): boolean;
  /** Own or inherited declaration. */
  property(type: TypeId, name: string): PropertyDefinition | undefined;
  /** All declarations that apply to records of the type, own ones winning. Cached per catalog. */
  properties(type: TypeId): ReadonlyMap<string, PropertyDefinition>;
  buckets(): readonly BucketDefinition[];
  bucketNamed(name: string): BucketDefinition | undefined;
  bucketWithId(id: BucketId): BucketDefinition | undefined;
  /** Some bucket holds rows of several types: then `windowsOn` tells which. False for most databases; asked on hot paths. */
  readonly hasWindows: boolean;
  /** By type, the windows through which rows of other types than the bucket's own are seen; undefined: there are none. */
  windowsOn(bucket: BucketId): ReadonlyMap<TypeId, BucketId> | undefined;
  indexes(): readonly IndexDefinition[];
  indexNamed(name: string): IndexDefinition | undefined;
  indexWithId(id: IndexId): IndexDefinition;
  /** Indexes that hold records of the type: own and inherited ones. Cached per catalog. */
  indexesOn(type: TypeId): readonly IndexDefinition[];
  /** Property names have database-wide ids; rows and shapes hold ids. */
  propertyId(name: string): PropertyId | undefined;
  propertyName(id: PropertyId): string;
  /** Triggers, functions and views. */
  readonly definitions: Definitions;
}

export interface TypeDefinition {
  readonly id: TypeId;
  readonly name: string;
  readonly kind: RecordKind;
  readonly aliases: readonly string[];
  readonly supertypes: readonly TypeId[];
  /** Own declarations only. */
  readonly properties: ReadonlyMap<string, PropertyDefinition>;
  /** Own buckets only. */
  readonly buckets: readonly BucketId[];
  readonly bucketStrategy: string;
  readonly custom: ValueMap;
  /** Edge types: false when created UNIDIRECTIONAL. */
  readonly bidirectional: boolean;
  /** Edge types: edges have no properties and are found at their ends only (sql.md 1.5 rule 4). */
  readonly lightweight: boolean;
  /** Some edges were loaded with their outgoing side only (`POST /batch?bidirectional=false`). */
  readonly hasOneWayEdges?: true;
  /** The bucket strategy was changed while records existed; they may lie in other buckets than it would choose. */
  readonly needsRepartition: boolean;
  /** DROP TYPE is decided and its records are being deleted: what a stop interrupts is finished at the next start. */
  readonly isDropped?: true;
}

/** Whether all edges of an edge type are listed at their targets: what leads there can be walked back. */
export function isListedAtTargets(type: TypeDefinition): boolean {
  return type.bidirectional && type.hasOneWayEdges !== true;
}

export interface BucketDefinition {
  readonly id: BucketId;
  readonly name: string;
  /** The owning type, if any. */
  readonly type: TypeId | undefined;
  /**
   * A window: no block and no record id is of this bucket; its records are the rows of `type` that lie in that one, whose record ids
   * they keep. Made when a record changes its type and stays where it is.
   */
  readonly windowOn?: BucketId;
}

/** The declared type of a property: one list, that of the conversions. */
export type PropertyTypeName = SchemaTypeName;

export interface PropertyDefinition {
  readonly id: PropertyId;
  readonly name: string;
  /** The type that declares it. */
  readonly declaredBy: TypeId;
  readonly type: PropertyTypeName;
  /** `OF X`: a scalar type name or a document type name. */
  readonly ofType: string | undefined;
  readonly mandatory: boolean;
  readonly notNull: boolean;
  readonly readOnly: boolean;
  readonly hidden: boolean;
  readonly external: boolean;
  readonly compression: string | undefined;
  readonly min: Value;
  readonly max: Value;
  readonly regexp: string | undefined;
  /** Source text of the expression. */
  readonly default: string | undefined;
  readonly custom: ValueMap;
}

export type IndexKind =
  | 'LSM_TREE'
  | 'HASH'
  | 'FULL_TEXT'
  | 'LSM_VECTOR'
  | 'LSM_SPARSE_VECTOR'
  | 'GEOSPATIAL';

export interface IndexDefinition {
  readonly id: IndexId;
  readonly name: string;
  readonly type: TypeId;
  readonly kind: IndexKind;
  readonly unique: boolean;
  readonly components: readonly IndexComponent[];
  readonly nullStrategy: 'SKIP' | 'ERROR' | 'INDEX';
  readonly metadata: ValueMap;
  /** Made as a TEXT index of openCypher, which lists it so; it is as any other ordered one. */
  readonly isText?: true;
  readonly state: 'BUILDING' | 'READY';
  /** The index that this one takes the place and the name of when it is built (REBUILD INDEX). */
  readonly replaces?: IndexId;
  /** A unique one that tells decimals between two doubles apart; those made before 2026-11-22 take them for one until REBUILD INDEX. */
  readonly tellsDecimals?: true;
  /** Its entries lie in chunks; a FULL_TEXT one made before 2026-11-28 has an entry of its own for each posting until REBUILD INDEX. */
  readonly isChunked?: true;
  /** It belongs to its type, a UNIQUE LIGHTWEIGHT one, and is listed nowhere. */
  readonly isInternal?: boolean;
  /** It replaces one that is gone already: a build that a stop interrupted is done again instead of being dropped. */
  readonly isOwed?: true;
}

export interface IndexComponent {
  /** A property name, a dotted path, or `@out` / `@in` on edge types. */
  readonly property: string;
  readonly by: 'value' | 'mapKey' | 'mapValue' | 'item';
  readonly caseInsensitive: boolean;
}
