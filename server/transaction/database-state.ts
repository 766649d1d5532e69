import type { Catalog, IndexDefinition } from '#catalog/catalog.ts';
import type { CatalogValue } from '#catalog/catalog-value.ts';
import type { SchemaChange } from '#catalog/change/changes.ts';
import { nameLengthMax } from '#catalog/name-rules.ts';
import { DatabaseError } from '#core/errors.ts';
import type { BucketId, LogIndex, Rid } from '#core/value/rid.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import type { Runtime } from '#core/runtime.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { ValueMap } from '#core/value/value.ts';
import { IndexKeys } from '#index/ordered/index-keys.ts';
import { SearchMemory } from '#index/search-memory.ts';
import type { BulkWriter } from '#storage/bulk/writer.ts';
import type { LogEntry, StorageEngine, StorageSnapshot } from '#storage/engine.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import { RowPatcher } from '#storage/format/row-patch.ts';
import { Applier } from './commit/applier.ts';
import { BucketLocks } from './commit/bucket-locks.ts';
import { BucketSelector } from './write/bucket-selector.ts';
import type { ChangeObserver } from './commit/change-observer.ts';
import { Committer } from './commit/committer.ts';
import { CurrentSchema } from './schema/current-schema.ts';
import { EdgeClaims } from './write/edge-claims.ts';
import { GuardSequencer } from './commit/guard-sequencer.ts';
import {
  defaultGroupCommitLimits,
  type GroupCommitLimits,
  LocalReplicator,
} from './commit/local-replicator.ts';
import { roundRecordsDefault } from './schema/index-build.ts';
import { Overlay } from './write/overlay.ts';
import { PositionAllocator } from './write/position-allocator.ts';
import type { ReadView } from './read/read-view.ts';
import type { Replicator } from './commit/replicator.ts';
import { type Pause, SchemaChanges } from './schema/schema-changes.ts';
import { SchemaGate } from './schema/schema-gate.ts';
import { type PinnedState, StatementView } from './read/statement-view.ts';
import type { DefaultEvaluator, Isolation, Transaction } from './transaction.ts';
import type { TransactionServices } from './transaction-services.ts';
import { TransactionValue } from './transaction-value.ts';
import type { TriggerRunner } from './trigger/trigger-runner.ts';
import type { TypeLabelBook } from './write/type-label-book.ts';
import { WriteRuleBook } from './write/write-rules.ts';

/** A value of `meta` that a commit carries. */
export interface MetaValue {
  readonly name: string;
  readonly value: Uint8Array;
}

export interface DatabaseStateOptions {
  readonly engine: StorageEngine;
  /** The book whose `labels` the engine was opened with. */
  readonly labels: TypeLabelBook;
  readonly runtime: Runtime;
  /** The database's date and number formats, as they are now. */
  readonly formats: () => TemporalFormats;
  readonly evaluateDefault: DefaultEvaluator;
  /** Runs the triggers of the schema; absent: they are refused. */
  readonly runTrigger?: TriggerRunner;
  /** Told after each commit of a transaction, with the records that it changed and their buckets; must not throw. */
  readonly committed?: (buckets: Iterable<BucketId>, records: readonly Rid[]) => void;
  /** Told after each change of the schema. */
  readonly schemaChanged?: () => void;
  /** Refuses a DEFAULT text that is no expression; absent: not checked here. */
  readonly checkDefault?: (source: string) => void;
  /** `service.typeDefaultBuckets` */
  readonly defaultBucketCount: () => number;
  /** `service.maxNameLength`; absent: as limits.md 22 has it. */
  readonly nameLengthMax?: () => number;
  /** `service.commitLockTimeout`, milliseconds */
  readonly commitLockTimeoutMs: () => number;
  /** `service.ha.groupCommitOfferTimeout`, milliseconds; 100 when absent */
  readonly offerTimeoutMs?: () => number;
  readonly groupCommit?: GroupCommitLimits;
  /** Records that an index build takes while commits wait. */
  readonly indexBuildRound?: number;
  /** Told of every commit. */
  readonly changes?: ChangeObserver;
  /** What searches keep, told of changes by whoever derives index entries; absent: nothing is kept. */
  readonly searchMemory?: SearchMemory;
  /** Another log than that of a single server. */
  readonly replicator?: Replicator;
}

const noOverlay = new Overlay();
/** An operation of a repair in the log, roughly. */
const repairBytes = 64;

/** Triggers that do not run. */
// biome-ignore lint/correctness/useYield: it is over at once
function* allowEach(): PausingWork<boolean> {
  return true;
}

function notMendedHere(): DatabaseError {
  return new DatabaseError(
    'NotSupported',
    'not supported in a cluster: mending damaged files by what is left of them; remove the database of this server and have it fetched from another one',
  );
}

function refuseTrigger(): never {
  throw new DatabaseError('NotSupported', 'not supported: triggers without statements');
}

/**
 * One open database as the floors above see it: committed states, transactions and schema changes. It owns everything in
 * memory that transactions share; the engine is the caller's and is closed after `close`.
 */
export class DatabaseState {
  #isRecovered = false;
  #isClosed = false;
  /** Positions of records, for bulk loads too. */
  readonly positions: PositionAllocator;
  readonly #options: DatabaseStateOptions;
  readonly #schema: CurrentSchema;
  readonly #gate: SchemaGate;
  readonly #sequencer = new GuardSequencer();
  readonly #edgeClaims = new EdgeClaims();
  readonly #replicator: Replicator;
  readonly #services: TransactionServices;
  readonly #changes: SchemaChanges;

  constructor(options: DatabaseStateOptions, schema: CurrentSchema) {
    const { engine, runtime } = options;
    this.#options = options;
    this.#schema = schema;
    this.#gate = new SchemaGate(() => this.#sequencer.idle());
    this.#replicator =
      options.replicator ??
      new LocalReplicator(
        engine,
        new Applier(engine),
        options.groupCommit ?? defaultGroupCommitLimits,
        runtime.timers,
      );
    this.positions = new PositionAllocator((bucket) => this.#nextPosition(bucket));
    const committer = new Committer({
      engine,
      sequencer: this.#sequencer,
      replicator: this.#replicator,
      gate: this.#gate,
      runtime,
      catalog: () => schema.catalog,
      formats: options.formats,
      lockTimeoutMs: options.commitLockTimeoutMs,
      offerTimeoutMs: options.offerTimeoutMs ?? (() => 100),
    });
    this.#changes = new SchemaChanges({
      engine,
      schema,
      gate: this.#gate,
      replicator: this.#replicator,
      positions: this.positions,
      runtime,
      formats: options.formats,
      defaultBucketCount: options.defaultBucketCount,
      nameLengthMax: () => this.nameLengthMax,
      checkDefault: options.checkDefault,
      begin: () => this.beginMaintenance(),
      indexBuildRound: options.indexBuildRound ?? roundRecordsDefault,
    });
    this.#services = this.#makeServices(committer);
    const { searchMemory } = this.#services;
    searchMemory.workWith((begin, ended) => void this.#workBeside(begin, ended));
  }

  /** The schema of the newest committed state. */
  get catalog(): Catalog {
    return this.#schema.catalog;
  }

  begin(isolation: Isolation): Transaction {
    return new TransactionValue(this.#services, isolation);
  }

  /** See `Replicator.leadership`; undefined: a single server. @throws DatabaseError `NotLeader` */
  leadership(): number | undefined {
    return this.#replicator.leadership?.();
  }

  /** Of one entry of the log, with some room; undefined: no limit. */
  get entryBytesMax(): number | undefined {
    return this.#replicator.entryBytesMax;
  }

  /** A transaction that may write the records of materialized views. */
  beginRefresh(): Transaction {
    return new TransactionValue(this.#services, 'READ_COMMITTED', true);
  }

  /** Characters of a new name. */
  get nameLengthMax(): number {
    return this.#options.nameLengthMax?.() ?? nameLengthMax;
  }

  /** A transaction for work on records that no statement asked for: no trigger fires, and views may be written. */
  beginMaintenance(): Transaction {
    const services = { ...this.#services, runTrigger: allowEach };
    return new TransactionValue(services, 'READ_COMMITTED', true);
  }

  /** The newest committed state, to read only. */
  view(): ReadView {
    return new StatementView(this.#services, this.#pin(), noOverlay);
  }

  /** A schema change outside of any transaction. */
  async alter(change: SchemaChange, pause?: Pause): Promise<readonly ValueMap[]> {
    const rows = await this.#changes.alter(change, pause);
    this.#options.schemaChanged?.();
    return rows;
  }

  /**
   * Commits values kept in `meta` (database settings, replay keys) in log order.
   * @throws DatabaseError as a commit
   */
  async writeMeta(values: ReadonlyMap<string, Uint8Array | undefined>): Promise<LogIndex> {
    const operations: RowOperation[] = [];
    let bytes = 0;
    for (const [name, value] of values) {
      operations.push({ op: 'meta', name, value });
      bytes += name.length + (value?.length ?? 0);
    }
    return this.#replicator.replicate({ operations, bytes, placed: () => {} });
  }

  /**
   * Commits operations that mend what the rules of this room would never have stored, while no other commit is in flight.
   * @param plan looks at the state they land on; none: nothing is done
   */
  repair(plan: (latest: StorageSnapshot) => readonly RowOperation[]): Promise<void> {
    return this.#gate.exclusively(async () => {
      using latest = this.#options.engine.snapshot();
      const operations = plan(latest);
      if (operations.length === 0) return;
      // They say what one copy has lost; the others are whole.
      if (this.#replicator.leadership !== undefined) throw notMendedHere();
      const bytes = operations.length * repairBytes;
      await this.#replicator.replicate({ operations, bytes, placed: () => {} });
    });
  }

  /**
   * Commits what a bulk writer holds, at its place in the log, while no other commit is in flight. The caller has taken the
   * positions of its records from `positions` and has seen to constraints; `verify` looks at the state it lands on (unique
   * keys, ends of edges, schema version) and may throw; it takes its time in slices, since it may look at many records.
   * @param values of `meta` that the commit carries (replay keys)
   * @param leadership under which its positions were taken
   */
  commitBulk(
    writer: BulkWriter,
    verify: (latest: StorageSnapshot, catalog: Catalog) => void | Promise<void>,
    values: readonly MetaValue[] = [],
    leadership?: number,
  ): Promise<LogIndex> {
    return this.#gate.exclusively(async () => {
      using latest = this.#options.engine.snapshot();
      await verify(latest, this.#schema.catalog);
      return await this.#replicator.replicate({
        operations: values.map(({ name, value }) => ({ op: 'meta', name, value })),
        bulk: writer,
        leadership,
        bytes: writer.pendingBytes,
        placed: () => {},
      });
    });
  }

  /** Work that searches are quicker after; it ends with the database. */
  async #workBeside(
    begin: () => Generator<undefined, void, undefined>,
    ended: () => void,
  ): Promise<void> {
    const { timers } = this.#options.runtime;
    try {
      const work = begin();
      while (!this.#isClosed) {
        await timers.yield();
        if (work.next().done === true) return;
      }
    } catch {
      // Searches are right without it; memory that it could not get is not taken again before the next change.
    } finally {
      ended();
    }
  }

  /**
   * Of a log that several servers apply: an entry is about to be applied here, whoever wrote it. One with a schema is applied
   * alone.
   */
  applying({ position, operations }: LogEntry): void {
    for (const operation of operations)
      if (operation.op === 'schema') this.#schema.expect(operation.document, position.index);
  }

  /** It is visible, or was refused. */
  applied({ position, operations }: LogEntry, isApplied: boolean): void {
    for (const operation of operations) {
      if (operation.op === 'drop-bucket' && isApplied)
        this.positions.drop(operation.bucket as BucketId);
      if (operation.op !== 'schema') continue;
      this.#schema.reached(position.index, isApplied);
      if (isApplied) this.#options.schemaChanged?.();
    }
  }

  /**
   * This server has become the leader and has applied everything before that: what it keeps in memory begins anew with what is
   * stored. What others left unfinished is finished then, unless it stops leading.
   */
  lead(): void {
    this.positions.forgetAll();
    this.#options.engine.shapes.forgetUnsaved();
    this.#edgeClaims.beginAt(this.#options.engine.applied().index);
  }

  /** Fills the indexes that the next schema calls READY and that were not filled here; nothing is applied meanwhile. */
  fillReady(next: CatalogValue): Promise<void> {
    return this.#changes.fillReady(next);
  }

  /** Index builds and drops that a former leader did not finish. */
  settleUnfinished(): Promise<void> {
    return this.#changes.settleUnfinished();
  }

  /** Resolves when no commit is in flight. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#changes.close();
    await this.#sequencer.idle();
  }

  /** Finishes what a stop interrupted; called once, before anything else. In a cluster the next leader does (`lead`). */
  async recover(): Promise<void> {
    if (this.#replicator.leadership === undefined) await this.#changes.settleUnfinished();
    this.#isRecovered = true;
  }

  #makeServices(committer: Committer): TransactionServices {
    const { engine, formats, evaluateDefault } = this.#options;
    let book: WriteRuleBook | undefined;
    const keys = new WeakMap<IndexDefinition, IndexKeys>();
    return {
      engine,
      searchMemory: this.#options.searchMemory ?? new SearchMemory(false),
      keysOf: (index) => {
        let known = keys.get(index);
        if (known === undefined) {
          known = new IndexKeys(index);
          keys.set(index, known);
        }
        return known;
      },
      committer,
      formats,
      evaluateDefault,
      positions: this.positions,
      buckets: new BucketSelector(),
      patcher: new RowPatcher(() => engine.rows.bytesMax),
      knownNames: new Set(),
      nameLengthMax: () => this.nameLengthMax,
      rulesFor: (view) => {
        if (book?.catalog !== view.catalog) book = new WriteRuleBook(view.catalog);
        return book;
      },
      locks: new BucketLocks({
        timers: this.#options.runtime.timers,
        waitMsMax: this.#options.commitLockTimeoutMs,
        inFlight: () => this.#sequencer.settledSoFar(),
      }),
      edgeClaims: this.#edgeClaims,
      timers: this.#options.runtime.timers,
      clock: this.#options.runtime.clock,
      changes: this.#options.changes,
      runTrigger: this.#options.runTrigger ?? refuseTrigger,
      leadership: this.#replicator.leadership,
      // What follows commits is not there yet while the database is opened, and looks at everything afterwards.
      committed: (buckets, log) => {
        if (this.#isRecovered) this.#options.committed?.(buckets, log);
      },
      pin: (isKept) => this.#pin(isKept),
      alter: (change, pause) => this.alter(change, pause),
    };
  }

  #pin(isKept = false): PinnedState {
    const snapshot = this.#options.engine.snapshot(isKept);
    return { snapshot, catalog: this.#schema.at(snapshot.index) };
  }

  #nextPosition(bucket: BucketId): number {
    using snapshot = this.#options.engine.snapshot();
    return snapshot.nextPosition(bucket);
  }
}

/**
 * Reads the schema of an open engine and finishes what a stop interrupted.
 * @throws DatabaseError `CorruptedRecord` for a schema document that cannot be read
 */
export async function openDatabaseState(options: DatabaseStateOptions): Promise<DatabaseState> {
  using snapshot = options.engine.snapshot();
  const state = new DatabaseState(options, CurrentSchema.load(snapshot, options.labels));
  await state.recover();
  return state;
}
