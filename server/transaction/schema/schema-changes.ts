import type { AppliedChange, ChangeContext, SchemaEffect } from '#catalog/change/applied-change.ts';
import { applyChange } from '#catalog/change/apply-change.ts';
import { settleIndex } from '#catalog/change/index-definition.ts';
import { markDropped } from '#catalog/change/type.ts';
import { ownRecordCount } from '#catalog/change/window.ts';
import type { IndexDefinition } from '#catalog/catalog.ts';
import type { CatalogValue } from '#catalog/catalog-value.ts';
import type { SchemaChange } from '#catalog/change/changes.ts';
import { requireShortNames } from '#catalog/change/new-names.ts';
import { DatabaseError } from '#core/errors.ts';
import type { BucketId, TypeId } from '#core/value/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { ValueMap } from '#core/value/value.ts';
import type { StorageEngine } from '#storage/engine.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import type { CurrentSchema } from './current-schema.ts';
import { buildIndex } from './index-build.ts';
import type { PositionAllocator } from '../write/position-allocator.ts';
import { requireBareEdges, requireCompatibleValues } from './property-check.ts';
import type { Replicator } from '../commit/replicator.ts';
import type { SchemaGate } from './schema-gate.ts';
import type { Transaction } from '../transaction.ts';

export interface SchemaChangesOptions {
  readonly engine: StorageEngine;
  readonly schema: CurrentSchema;
  readonly gate: SchemaGate;
  readonly replicator: Replicator;
  readonly positions: PositionAllocator;
  readonly runtime: Runtime;
  readonly formats: () => TemporalFormats;
  /** `service.typeDefaultBuckets` */
  readonly defaultBucketCount: () => number;
  /** `service.maxNameLength` */
  readonly nameLengthMax: () => number;
  readonly checkDefault: ((source: string) => void) | undefined;
  readonly begin: () => Transaction;
  /** Records indexed per round of an index build. */
  readonly indexBuildRound: number;
}

/** Between pieces of long work: others have their turn, and it throws when the work is to end. */
export type Pause = () => Promise<void>;

/** How often who waits for another schema change looks whether it is to end, milliseconds. */
const waitLookMs = 100;

/** Records that are deleted in one transaction before their bucket is dropped. */
const deletionBatch = 200;

type EmptyBucket = Extract<SchemaEffect, { kind: 'empty-bucket' }>;
type CheckProperty = Extract<SchemaEffect, { kind: 'check-property' }>;
type CheckInherited = Extract<SchemaEffect, { kind: 'check-inherited' }>;
type CheckBareEdges = Extract<SchemaEffect, { kind: 'check-bare-edges' }>;
type Check = CheckProperty | CheckBareEdges;
type DropType = Extract<SchemaChange, { kind: 'drop-type' }>;
type BuildIndex = Extract<SchemaEffect, { kind: 'build-index' }>;

/**
 * Carries out schema statements, one after the other (ha.md 5.10). The schema itself changes while commits wait and nothing
 * is in flight; long work (index builds, looking at or deleting records) is done outside of that, in slices. A statement that
 * fails leaves the schema as it was.
 */
export class SchemaChanges {
  readonly #options: SchemaChangesOptions;
  #last: Promise<unknown> = Promise.resolve();
  /** Drops that go on although whoever asked for them may have given up. */
  #drops: Promise<unknown> = Promise.resolve();
  #isClosing = false;
  /** Indexes that this server has filled and that the log does not call READY yet. */
  readonly #filled = new Set<number>();

  constructor(options: SchemaChangesOptions) {
    this.#options = options;
  }

  /**
   * @param pause called between pieces of long work; throws when the caller gives up, and the change is undone. A type whose
   *   records are being deleted is dropped all the same, also over a stop
   * @returns the result rows of sql.md 13
   * @throws DatabaseError as `applyChange`; `DuplicatedKey`, `Schema` when existing records do not allow the change
   */
  alter(change: SchemaChange, pause?: Pause): Promise<readonly ValueMap[]> {
    this.#options.replicator.leadership?.();
    const patient = pause ?? (() => this.#options.runtime.timers.yield());
    return this.afterOthers(() => this.#alter(change, patient), pause);
  }

  /**
   * Removes indexes whose build was interrupted by a stop: their statements were never answered. Owed ones are built, and types
   * whose records were being deleted go.
   */
  settleUnfinished(): Promise<void> {
    return this.afterOthers(async () => {
      for (const type of this.#catalog.types()) {
        // One that cannot be finished now (its triggers run in an open database only) keeps the mark; the database opens.
        if (type.isDropped) await this.#deleteAndDrop(dropOf(type.name)).catch(() => {});
      }
      for (const index of this.#options.schema.catalog.indexes()) {
        if (index.state === 'READY') continue;
        if (index.isOwed) await this.#fill(index, () => this.#options.runtime.timers.yield());
        else await this.#abandon(index);
      }
    });
  }

  /**
   * Fills the indexes that are READY in the next schema of the log and that another server has filled for itself, while nothing
   * is applied.
   */
  async fillReady(next: CatalogValue): Promise<void> {
    const { engine, runtime, formats, indexBuildRound, schema } = this.#options;
    const isReady = (id: number) =>
      this.#filled.has(id) ||
      schema.catalog.indexes().some((i) => i.id === id && i.state === 'READY');
    for (const index of next.indexes()) {
      if (index.state !== 'READY' || isReady(index.id)) continue;
      await buildIndex(index, next, {
        engine,
        gate: { exclusively: (work) => work() },
        catalog: () => next,
        runtime,
        formats: formats(),
        roundRecords: indexBuildRound,
        pause: () => runtime.timers.yield(),
      });
    }
    this.#filled.clear();
  }

  /**
   * Does work that no schema change may come into, when those before it are done. With `pause` the caller may give up while
   * it waits.
   */
  afterOthers<T>(work: () => Promise<T>, pause?: Pause): Promise<T> {
    const before = this.#last;
    const run = this.#wait(before, pause).then(work);
    this.#last = Promise.allSettled([before, run]);
    return run;
  }

  /** No schema change may begin any more. Resolves when none deletes records. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#drops;
  }

  async #wait(before: Promise<unknown>, pause: Pause | undefined): Promise<void> {
    let isOver = false;
    const over = before.then(() => {
      isOver = true;
    });
    if (pause === undefined) return over;
    for (;;) {
      let cancel: () => void = () => {};
      const late = new Promise<void>((resolve) => {
        cancel = this.#options.runtime.timers.after(waitLookMs, resolve);
      });
      await Promise.race([over, late]);
      cancel();
      if (isOver) return;
      await pause();
    }
  }

  async #alter(change: SchemaChange, pause: Pause): Promise<readonly ValueMap[]> {
    const planned = this.#apply(change);
    if (planned.catalog === this.#catalog) return planned.rows;
    await this.#checkBefore(planned, pause);
    if (change.kind === 'drop-type' && this.#hasRecordsToDelete(planned)) {
      return this.#dropWithRecords(change, pause);
    }
    const applied = await this.#options.gate.exclusively(() => this.#publish(change));
    // Records came in between.
    if (applied === 'not-empty') return this.#alter(change, pause);
    await this.#checkAfter(applied, pause);
    return this.#build(applied, pause, change);
  }

  #hasRecordsToDelete(applied: AppliedChange): boolean {
    return ofKind(applied, 'empty-bucket').some(({ bucket }) => this.#recordCount(bucket) > 0);
  }

  /**
   * The records go in many commits, so the type is marked first: from then on it is dropped, whoever gives up or stops
   * meanwhile, and nobody is left with half of it.
   */
  async #dropWithRecords(change: DropType, pause: Pause): Promise<readonly ValueMap[]> {
    await pause();
    const id = this.#catalog.typeNamed(change.name)?.id;
    if (id !== undefined) await this.#mark(id, true);
    const dropped = this.#deleteAndDrop(change).catch(async (error: unknown) => {
      if (id !== undefined && !this.#isClosing) await this.#mark(id, false);
      throw error;
    });
    this.#drops = Promise.allSettled([this.#drops, dropped]);
    this.#last = Promise.allSettled([this.#last, dropped]);
    await this.#wait(dropped, pause);
    return dropped;
  }

  #mark(id: TypeId, isDropped: boolean): Promise<void> {
    const { gate, schema, replicator } = this.#options;
    return gate.exclusively(async () => {
      await schema.publish(markDropped(this.#catalog, id, isDropped), [], replicator);
    });
  }

  async #deleteAndDrop(change: DropType): Promise<readonly ValueMap[]> {
    const pause = async () => {
      if (this.#isClosing)
        throw new DatabaseError('DatabaseClosed', 'the database is being closed');
      await this.#options.runtime.timers.yield();
    };
    for (;;) {
      for (const effect of ofKind(this.#apply(change), 'empty-bucket')) {
        await this.#emptyBucket(effect, pause);
      }
      const applied = await this.#options.gate.exclusively(() => this.#publish(change));
      // Records came in between: empty the buckets again.
      if (applied !== 'not-empty') return applied.rows;
    }
  }

  get #catalog(): CatalogValue {
    return this.#options.schema.catalog;
  }

  #apply(change: SchemaChange): AppliedChange {
    using snapshot = this.#options.engine.snapshot();
    const context: ChangeContext = {
      defaultBucketCount: this.#options.defaultBucketCount(),
      formats: this.#options.formats(),
      recordCount: (bucket) => snapshot.recordCount(bucket),
      ...(this.#options.checkDefault && { checkDefault: this.#options.checkDefault }),
    };
    requireShortNames(change, this.#options.nameLengthMax());
    return applyChange(this.#catalog, change, context);
  }

  /** The change once more, now that nothing is in flight, and its entry in the log. */
  async #publish(change: SchemaChange): Promise<AppliedChange | 'not-empty'> {
    const { schema, replicator, positions } = this.#options;
    const applied = this.#apply(change);
    if (applied.catalog === this.#catalog) return applied;
    if (this.#hasRecordsToDelete(applied)) return 'not-empty';
    await schema.publish(applied.catalog, dropOperations(applied.effects), replicator);
    for (const effect of applied.effects) {
      if (effect.kind === 'drop-bucket') positions.drop(effect.bucket);
    }
    return applied;
  }

  /** Without the rows of other types that lie in it. */
  #recordCount(bucket: BucketId): number {
    using snapshot = this.#options.engine.snapshot();
    return ownRecordCount(this.#catalog, bucket, (id) => snapshot.recordCount(id));
  }

  async #emptyBucket({ bucket }: EmptyBucket, pause: Pause): Promise<void> {
    const { begin } = this.#options;
    for (;;) {
      const transaction = begin();
      try {
        transaction.beginStatement();
        const scan = transaction.scan(bucket, 'ascending');
        let count = 0;
        for (let r = scan.next(); r !== undefined && count < deletionBatch; r = scan.next()) {
          transaction.delete(r.rid);
          count += 1;
        }
        if (count === 0) return;
        await transaction.commit();
      } catch (error) {
        if (!(error instanceof DatabaseError) || error.code !== 'ConcurrentModification') {
          throw error;
        }
        await error.blockedBy;
      } finally {
        transaction.rollback();
      }
      await pause();
    }
  }

  /** Most properties that existing records refuse are refused before anybody sees them. */
  async #checkBefore(planned: AppliedChange, pause: Pause): Promise<void> {
    for (const effect of checksOf(planned)) await this.#check(effect, planned.catalog, pause);
    // Looked at once: what comes in meanwhile stays as it is, and is converted when it is next written.
    for (const effect of planned.effects)
      if (effect.kind === 'check-inherited') await this.#check(effect, planned.catalog, pause);
  }

  /**
   * Values that came in between the first look and the change. From now on writes are converted, so one look is enough.
   */
  async #checkAfter(applied: AppliedChange, pause: Pause): Promise<void> {
    for (const effect of checksOf(applied)) {
      try {
        await this.#check(effect, applied.catalog, pause);
      } catch (error) {
        await this.#options.gate.exclusively(() => this.#publish(opposite(effect)));
        for (const { index } of ofKind(applied, 'build-index')) await this.#abandon(index);
        throw error;
      }
    }
  }

  async #check(effect: Check | CheckInherited, catalog: CatalogValue, pause: Pause): Promise<void> {
    const { engine, runtime, formats } = this.#options;
    using snapshot = engine.snapshot();
    const context = { catalog, formats: formats(), runtime, pause };
    if (effect.kind === 'check-bare-edges') await requireBareEdges(effect.type, snapshot, context);
    else await requireCompatibleValues(effect, snapshot, context);
  }

  async #build(
    applied: AppliedChange,
    pause: Pause,
    change: SchemaChange,
  ): Promise<readonly ValueMap[]> {
    let { rows } = applied;
    for (const { index } of ofKind(applied, 'build-index')) {
      const count = await this.#buildOrUndo(index, pause, change);
      rows = rows.map((row) =>
        row.has('totalIndexed') ? new Map([...row, ['totalIndexed', count]]) : row,
      );
    }
    return rows;
  }

  async #buildOrUndo(index: IndexDefinition, pause: Pause, change: SchemaChange): Promise<number> {
    try {
      return await this.#fill(index, pause);
    } catch (error) {
      if (index.isOwed) await this.#takeBackSupertypes(change);
      else await this.#abandon(index);
      throw error;
    }
  }

  async #fill(index: IndexDefinition, pause: Pause): Promise<number> {
    const { engine, gate, runtime, formats, indexBuildRound } = this.#options;
    const count = await buildIndex(index, this.#catalog, {
      engine,
      gate,
      catalog: () => this.#catalog,
      runtime,
      formats: formats(),
      roundRecords: indexBuildRound,
      pause,
    });
    this.#filled.add(index.id);
    const former = index.replaces;
    await this.#settle(
      index,
      'READY',
      former === undefined ? [] : [{ op: 'drop-index', index: former }],
    );
    return count;
  }

  /** The index of a supertype cannot hold the records that came below it: the type goes back, with its entries. */
  async #takeBackSupertypes(change: SchemaChange): Promise<void> {
    if (change.kind !== 'alter-type') return;
    const items = change.items.flatMap((item) =>
      item.kind === 'supertype'
        ? [{ kind: 'supertype', add: item.remove, remove: item.add } as const]
        : [],
    );
    await this.#alter({ kind: 'alter-type', name: change.name, items }, () =>
      this.#options.runtime.timers.yield(),
    );
  }

  async #abandon(index: IndexDefinition): Promise<void> {
    await this.#settle(index, 'dropped', [{ op: 'drop-index', index: index.id }]);
  }

  async #settle(
    index: IndexDefinition,
    outcome: 'READY' | 'dropped',
    operations: readonly RowOperation[],
  ): Promise<void> {
    const { gate, schema, replicator } = this.#options;
    await gate.exclusively(async () => {
      await schema.publish(settleIndex(this.#catalog, index.id, outcome), operations, replicator);
    });
  }
}

function dropOf(name: string): DropType {
  return { kind: 'drop-type', name, ifExists: true, unsafe: true };
}

function checksOf(applied: AppliedChange): readonly Check[] {
  return applied.effects.filter(
    (effect) => effect.kind === 'check-property' || effect.kind === 'check-bare-edges',
  );
}

/** The change that takes back what a check refuses. */
function opposite(effect: Check): SchemaChange {
  if (effect.kind === 'check-bare-edges') {
    const setting = { kind: 'setting', name: 'lightweight', value: false } as const;
    return { kind: 'alter-type', name: effect.type.name, items: [setting] };
  }
  const { type, property } = effect;
  return {
    kind: 'drop-property',
    type: type.name,
    property: property.name,
    ifExists: true,
    force: true,
  };
}

function ofKind(applied: AppliedChange, kind: 'empty-bucket'): readonly EmptyBucket[];
function ofKind(applied: AppliedChange, kind: 'build-index'): readonly BuildIndex[];
function ofKind(applied: AppliedChange, kind: SchemaEffect['kind']): readonly SchemaEffect[] {
  return applied.effects.filter((effect) => effect.kind === kind);
}

function dropOperations(effects: readonly SchemaEffect[]): readonly RowOperation[] {
  const operations: RowOperation[] = [];
  for (const effect of effects) {
    if (effect.kind === 'drop-index') {
      operations.push({ op: 'drop-index', index: effect.index.id });
    } else if (effect.kind === 'drop-bucket') {
      operations.push({ op: 'drop-bucket', bucket: effect.bucket });
    }
  }
  return operations;
}
