import type { Catalog, IndexDefinition } from '#catalog/catalog.ts';
import type { LogIndex, Rid, TypeId } from '#core/value/rid.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import type { KeySource } from '#index/ordered/index-keys.ts';
import type { UniqueClaim } from '../write/unique-claims.ts';

/**
 * The units that can conflict (ha.md 5.2), as a captured transaction carries them. The version of a unit is the LSN of the
 * commit that wrote it.
 *
 * | unit | here |
 * |---|---|
 * | record, adjacency entry | `written`: the edge's own record stands for its adjacency entries |
 * | unique index key | `claims` |
 * | vertex existence | `written` by a deletion (`deletedVertices`), required by new edges (`requiredVertices`) |
 * | adjacency stamp | touched at both ends of added and removed edges (`touchedVertices`), required by a deletion (`deletedVertices`) |
 * | schema | `catalog` |
 */
export interface Guards {
  /** Records that are changed or deleted; `base` is the version each was read at, 0 for new ones. Each once, sorted. */
  readonly written: readonly WrittenRecord[];
  /** Those of `written` that must not exist: records made again at an old id. */
  readonly restored: readonly WrittenRecord[];
  readonly requiredVertices: ReadonlySet<Rid>;
  readonly touchedVertices: ReadonlySet<Rid>;
  /** With the number of stored edges that the deletion saw. */
  readonly deletedVertices: ReadonlyMap<Rid, number>;
  readonly claims: ReadonlyMap<string, UniqueClaim>;
  /** The oldest committed state from which any of these was read. */
  readonly oldestRead: LogIndex;
  /** What the transaction left of a record it changed, for keys that change hands within it. */
  changed(rid: Rid, index?: IndexDefinition): KeySource | 'gone' | undefined;
  has(rid: Rid): boolean;
}

export interface WrittenRecord {
  readonly rid: Rid;
  readonly base: LogIndex;
  readonly type: TypeId;
}

/** A captured transaction: what goes into the log, and what must hold for that (architecture.md 4). */
export interface WriteSet {
  /** In canonical order: definitions, then by record id and kind, then positions. */
  readonly operations: readonly RowOperation[];
  readonly guards: Guards;
  /** The schema it was made under. */
  readonly catalog: Catalog;
  /** Types it wrote records of, each once. */
  readonly types: readonly TypeId[];
  /** Estimated size in the log. */
  readonly bytes: number;
  /** See `ProposedEntry.leadership`. */
  readonly leadership?: number | undefined;
  /** While another transaction holds a LOCK on what it changes: resolves when that is over. */
  readonly heldBack?: () => Promise<void> | undefined;
}

/**
 * Whether a transaction made under one schema is right under a later one: the types it wrote must have the same
 * declarations, unique indexes and buckets. Other schema changes do not concern it.
 */
export function isStillValid(made: Catalog, now: Catalog, types: readonly TypeId[]): boolean {
  if (made.version === now.version) return true;
  for (const id of types) if (!isSameForWrites(made, now, id)) return false;
  return true;
}

/** Whether what was checked when a record of the type was written still says the same. */
export function isSameForWrites(made: Catalog, now: Catalog, id: TypeId): boolean {
  const type = now.types().find((other) => other.id === id);
  if (type === undefined) return false;
  const before = made.typeWithId(id);
  if (!before.buckets.every((bucket) => type.buckets.includes(bucket))) return false;
  if (before.lightweight !== type.lightweight) return false;
  const [old, properties] = [made.properties(id), now.properties(id)];
  if (old.size !== properties.size) return false;
  // Unchanged declarations are the same objects, since each catalog is made from the one before.
  for (const [name, property] of old) if (properties.get(name) !== property) return false;
  const had = made.indexesOn(id).map((index) => index.id);
  return now.indexesOn(id).every((index) => had.includes(index.id) || !constrains(index));
}

/** Whether records must be checked against the index before they are written. */
function constrains(index: { readonly unique: boolean; readonly nullStrategy: string }): boolean {
  return index.unique || index.nullStrategy === 'ERROR';
}
