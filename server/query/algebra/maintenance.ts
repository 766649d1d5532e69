import type { SchemaChange } from '#catalog/change/changes.ts';
import type { Effect } from '#core/effects.ts';
import type { BucketId, Rid, TypeId } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { LogicalPlan } from './plan.ts';

/**
 * Statements that work on the database as a whole and not on rows (sql.md 13.4, 13.11 to 13.13, 16.3). Names are resolved and
 * values computed; `database/operations` carries them out, in slices and, where that is said, in commits of their own.
 */
export type Maintenance =
  | { readonly kind: 'alter-database'; readonly key: string; readonly value: Value }
  /** `index` undefined: all of them. */
  | {
      readonly kind: 'rebuild-index';
      readonly index: string | undefined;
      readonly statsOnly: boolean;
      readonly attemptCountMax: number;
    }
  | { readonly kind: 'compact-index'; readonly index: string | undefined }
  | {
      readonly kind: 'rebuild-type';
      readonly type: TypeId;
      readonly polymorphic: boolean;
      readonly repartition: boolean;
      readonly batchSize: number;
    }
  /** `WITH repartition = true` of ALTER TYPE, after `change`, its other items, whose row it continues. */
  | { readonly kind: 'repartition'; readonly type: TypeId; readonly change: SchemaChange }
  | {
      readonly kind: 'truncate';
      readonly what: 'type' | 'bucket';
      readonly name: string;
      readonly types: readonly TypeId[];
      readonly buckets: readonly BucketId[];
      /** Vertices and edges are deleted, too. */
      readonly unsafe: boolean;
    }
  | CheckDatabase
  | ChangeUser
  /** Materialized views (sql.md 14.3). `source`: the plan of the view's query, whose records its maker must be allowed to read. */
  | {
      readonly kind: 'create-view';
      readonly change: Extract<SchemaChange, { kind: 'create-view' }>;
      readonly source: LogicalPlan;
    }
  | { readonly kind: 'alter-view'; readonly change: Extract<SchemaChange, { kind: 'alter-view' }> }
  | { readonly kind: 'refresh-view'; readonly name: string }
  | { readonly kind: 'drop-view'; readonly change: Extract<SchemaChange, { kind: 'drop-view' }> };

/** A user of the server (cypher.md 12.2): root alone may do it. */
export interface ChangeUser {
  readonly kind: 'change-user';
  readonly change: 'create' | 'alter' | 'drop';
  readonly name: string;
  readonly password: string | undefined;
  /** Nothing happens when a new user is there, or one that is to be changed is not. */
  readonly isLenient: boolean;
}

export interface CheckDatabase {
  readonly kind: 'check-database';
  /** undefined: all. */
  readonly types: readonly TypeId[] | undefined;
  readonly buckets: readonly BucketId[] | undefined;
  readonly records: readonly Rid[] | undefined;
  readonly fix: boolean;
  readonly deleteOrphans: boolean;
  readonly deep: boolean;
}

/** What each may do; the table is total like that of plan nodes. */
export const effectsOfMaintenance: {
  readonly [Kind in Maintenance['kind']]: readonly Effect[];
} = {
  'alter-database': ['settings'],
  'rebuild-index': ['schema'],
  'compact-index': ['schema'],
  'rebuild-type': ['schema', 'update'],
  repartition: ['schema', 'update'],
  truncate: ['delete'],
  'check-database': ['repair'],
  'change-user': ['security'],
  'create-view': ['schema'],
  // sql.md 16.8: the refresh policy is a setting of the database.
  'alter-view': ['schema', 'settings'],
  'refresh-view': ['schema'],
  'drop-view': ['schema'],
};

/** The types that it writes records of; undefined: any. */
export function typesOfMaintenance(work: Maintenance): readonly TypeId[] | undefined {
  switch (work.kind) {
    case 'truncate':
      return work.types;
    case 'rebuild-type':
    case 'repartition':
      return [work.type];
    default:
      return undefined;
  }
}
