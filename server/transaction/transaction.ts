import type { SchemaChange } from '#catalog/change/changes.ts';
import type { Replay } from '#core/pausing-work.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { BucketId, LogIndex, Rid, TypeId } from '#core/value/rid.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { ValueWidths } from './write/changed-record.ts';
import type { PropertyPatch } from './write/property-patch.ts';
import type { ReadView } from './read/read-view.ts';

export type Isolation = 'READ_COMMITTED' | 'REPEATABLE_READ';

/**
 * A read view that can be written. Every write converts values to declared types and checks constraints (sql.md 2.1, 13.6)
 * and unique keys against the snapshot and its own writes; nothing reaches storage before `commit`. After any error inside a
 * write the transaction must be rolled back.
 */
export interface Transaction extends ReadView {
  readonly isolation: Isolation;
  readonly hasWrites: boolean;
  /** How many changes it has made so far: it grows with each write, and falls when some are taken back. */
  readonly changeCount: number;
  /** Those with records that it has changed; also after its end. */
  changedBuckets(): Iterable<BucketId>;
  /**
   * Set while whoever writes can pause: a write that sets off triggers then takes several turns, in each of which the same write is
   * called again. Without it triggers have some milliseconds.
   */
  replay: Replay | undefined;
  /**
   * Set while updates may give records unique keys that others have and give up later in the statement: what is taken then is not
   * refused until `settleKeys`, or the commit.
   */
  defersKeys: boolean;
  /**
   * The end of such a statement.
   * @param countMax keys judged by this call; default all
   * @returns false when there are more: call again before anything else is written
   * @throws DatabaseError `DuplicatedKey` when two records have one key
   */
  settleKeys(countMax?: number): boolean;
  /** Before its end. @returns false when records still have keys that others were given: a commit now would be refused */
  settleFreeKeys(): boolean;
  /** Memory that its writes hold until the end, roughly. */
  readonly heldBytes: number;
  /**
   * Starts a statement: in READ_COMMITTED it takes the newest snapshot, in REPEATABLE_READ the first one is kept.
   */
  beginStatement(): void;
  /** Nothing is read until the next statement begins: a READ_COMMITTED one that has not written lets go of the state it saw. */
  rest(): void;
  /**
   * Inserts and updates are told by `SizedProperties` how wide integers of undeclared properties are, and
   * give `vetoed` (trigger-runner.ts) when a trigger kept the record from being written.
   */
  insertDocument(type: TypeId, properties: ValueMap, bucket?: BucketId): StoredRecord;
  insertVertex(type: TypeId, properties: ValueMap, bucket?: BucketId): StoredRecord;
  insertEdge(
    type: TypeId,
    from: Rid,
    to: Rid,
    properties: ValueMap,
    bucket?: BucketId,
  ): StoredRecord;
  /**
   * As `insertEdge` for an edge that only its source lists (http-api.md 10.2, `bidirectional=false`). Its type must say before that
   * it has such edges (`hasOneWayEdges`).
   */
  insertOneWayEdge(type: TypeId, from: Rid, to: Rid, properties: ValueMap): StoredRecord;
  /**
   * Says that the edge which is made next is made because there is none of its type between the two: of several transactions
   * that do so at once one commits, the others meet a conflict.
   */
  claimEdge(type: TypeId, from: Rid, to: Rid): void;
  /** Replaces the properties by `properties`; writes nothing when they are equal to the stored ones. */
  update(rid: Rid, properties: ValueMap): StoredRecord;
  /**
   * As `update` for some properties of a record that the current statement has read here, where that can be done without
   * looking at the others.
   * @param values in the order of the patch's names; those of declared properties converted to their types
   * @param widths of those of undeclared ones, when there are any
   * @returns undefined when `update` must do it; nothing was done then
   */
  patch(
    record: StoredRecord,
    patch: PropertyPatch,
    values: readonly Value[],
    widths?: ValueWidths,
  ): StoredRecord | undefined;
  /**
   * Makes a vertex one of another vertex type (labels: `write/set-labels.ts`), where it is: id, edges, properties and what its version guards stay. No trigger fires.
   * @throws DatabaseError `MissingTypes` (`#catalog/labels.ts`) when its bucket has no window for the type yet; and as `update`
   */
  setType(rid: Rid, type: TypeId): StoredRecord;
  /**
   * Takes over the vertex types that were made since its snapshot, and nothing else: the snapshot stays. For types that are made on
   * the fly.
   */
  adoptTypes(): void;
  /** A vertex takes its edges with it. @returns false when it does not exist (any more), or a trigger keeps it */
  delete(rid: Rid): boolean;
  /**
   * Gives a vertex a new record id in another type or bucket, with these properties; all its edges are re-pointed and keep
   * their ids. After an error the transaction must be rolled back.
   * @throws DatabaseError `RecordNotFound`, and as an insert
   */
  moveVertex(
    rid: Rid,
    to: { readonly type: TypeId; readonly bucket: BucketId | undefined },
    properties: ValueMap,
  ): StoredRecord;
  /**
   * Makes a deleted record again at its old id.
   * @throws DatabaseError `IllegalArgument` when there is a record, or never was one; and as an insert
   */
  restore(
    rid: Rid,
    type: TypeId,
    properties: ValueMap,
    ends: { readonly from: Rid; readonly to: Rid } | undefined,
  ): StoredRecord;
  /**
   * Commits what was written so far and goes on with the newest state (`BATCH n`). What it committed stays, whatever becomes of
   * the rest.
   * @throws DatabaseError as `commit`; the transaction must be rolled back then
   */
  flush(): Promise<void>;
  /** True after a `flush`: the statement must not be executed again. */
  readonly hasFlushed: boolean;
  /** Takes back everything that was written and not flushed; the transaction goes on. */
  discard(): void;
  /**
   * Applies a schema change now, outside the transaction's own writes (DDL is not undoable), and gives its result rows. What was
   * written to documents of a dropped type is forgotten.
   * `pause` is called between pieces of long work and may throw to end it.
   */
  alter(change: SchemaChange, pause?: () => Promise<void>): Promise<readonly ValueMap[]>;
  /**
   * Locks buckets for this transaction alone until its end: others that changed them commit afterwards, or meet a conflict.
   * @throws DatabaseError `LockTimeout` after `commitLockTimeout`
   */
  lock(buckets: readonly BucketId[]): Promise<void>;
  /** Marks a place to go back to. Until it is released, writes note how to take them back: some 200 bytes each. */
  savepoint(): Savepoint;
  /** A value for `meta` that the commit carries (replay keys); dropped when the transaction changes nothing. */
  attach(name: string, value: Uint8Array): void;
  /**
   * @throws DatabaseError `ConcurrentModification` or `DuplicatedKey` with nothing written
   */
  commit(): Promise<CommitReceipt>;
  rollback(): void;
}

/** A place in a transaction. Of several, the later ones are done with first. */
export interface Savepoint {
  /** Takes back what was written since, also when a write has failed meanwhile; all of it when something was flushed since. */
  undo(): void;
  /** It is not needed any more; again without effect, as after `undo`. */
  release(): void;
}

export interface CommitReceipt {
  /** LSN of the commit; that of the snapshot when nothing was written. */
  readonly index: LogIndex;
  readonly changes: readonly RecordChange[];
}

/** For change events. */
export interface RecordChange {
  readonly kind: 'create' | 'update' | 'delete';
  readonly record: StoredRecord;
}

/** Evaluates the DEFAULT text of a property; handed in from the floor of languages. `undefined`: sets nothing. */
export type DefaultEvaluator = (source: string) => Value | undefined;
