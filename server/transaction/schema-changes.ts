import type { AppliedChange, ChangeContext, SchemaEffect } from '#catalog/applied-change.ts';
import { applyChange } from '#catalog/apply-change.ts';
import { settleIndex } from '#catalog/change-index.ts';
import type { IndexDefinition } from '#catalog/catalog.ts';
import type { CatalogValue } from '#catalog/catalog-value.ts';
import type { SchemaChange } from '#catalog/changes.ts';
import { DatabaseError } from '#core/errors.ts';
import type { BucketId } from '#core/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import type { TemporalFormats } from '#core/temporal-format.ts';
import type { ValueMap } from '#core/value.ts';
import type { StorageEngine } from '#storage/engine.ts';
import type { RowOperation } from '#storage/row-operations.ts';
import type { CurrentSchema } from './current-schema.ts';
import { buildIndex } from './index-build.ts';
import type { PositionAllocator } from './position-allocator.ts';
import { requireCompatibleValues } from './property-check.ts';
import type { Replicator } from './replicator.ts';
import type { SchemaGate } from './schema-gate.ts';
import type { Transaction } from './transaction.ts';

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
  readonly checkDefault: ((source: string) => void) | undefined;
  readonly begin: () => Transaction;
  /** Records indexed per round of an index build. */
  readonly indexBuildRound: number;
}

/** Records that are deleted in one transaction before their bucket is dropped. */
const deletionBatch = 200;

type EmptyBucket = Extract<SchemaEffect, { kind: 'empty-bucket' }>;
type CheckProperty = Extract<SchemaEffect, { kind: 'check-property' }>;
type BuildIndex = Extract<SchemaEffect, { kind: 'build-index' }>;

/**
 * Carries out schema statements, one after the other (ha.md 5.10). The schema itself changes while commits wait and nothing
 * is in flight; long work (index builds, looking at or deleting records) is done outside of that, in slices. A statement that
 * fails leaves the schema as it was.
 */
export class SchemaChanges {
  readonly #options: SchemaChangesOptions;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: SchemaChangesOptions) {
    this.#options = options;
  }

  /**
   * @returns the result rows of sql.md 13
   * @throws DatabaseError as `applyChange`; `DuplicatedKey`, `Schema` when existing records do not allow the change
   */
  alter(change: SchemaChange): Promise<readonly ValueMap[]> {
    return this.#afterOthers(() => this.#alter(change));
  }

  /** Removes indexes whose build was interrupted by a stop: their statements were never answered. */
  dropUnfinishedIndexes(): Promise<void> {
    return this.#afterOthers(async () => {
      for (const index of this.#options.schema.catalog.indexes()) {
        if (index.state === 'BUILDING') await this.#abandon(index);
      }
    });
  }

  #afterOthers<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#last.then(work);
    this.#last = run.catch(() => undefined);
    return run;
  }

  async #alter(change: SchemaChange): Promise<readonly ValueMap[]> {
    const planned = this.#apply(change);
    if (planned.catalog === this.#catalog) return planned.rows;
    await this.#checkBefore(planned);
    for (;;) {
      for (const effect of ofKind(planned, 'empty-bucket')) await this.#emptyBucket(effect);
      const applied = await this.#options.gate.exclusively(() => this.#publish(change));
      // Records came in between: empty the buckets again.
      if (applied === 'not-empty') continue;
      await this.#checkAfter(applied);
      return this.#build(applied);
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
    return applyChange(this.#catalog, change, context);
  }

  /** The change once more, now that nothing is in flight, and its entry in the log. */
  async #publish(change: SchemaChange): Promise<AppliedChange | 'not-empty'> {
    const { schema, replicator, positions } = this.#options;
    const applied = this.#apply(change);
    if (applied.catalog === this.#catalog) return applied;
    if (ofKind(applied, 'empty-bucket').some(({ bucket }) => this.#recordCount(bucket) > 0)) {
      return 'not-empty';
    }
    await schema.publish(applied.catalog, dropOperations(applied.effects), replicator);
    for (const effect of applied.effects) {
      if (effect.kind === 'drop-bucket') positions.drop(effect.bucket);
    }
    return applied;
  }

  #recordCount(bucket: BucketId): number {
    using snapshot = this.#options.engine.snapshot();
    return snapshot.recordCount(bucket);
  }

  async #emptyBucket({ bucket }: EmptyBucket): Promise<void> {
    const { begin, runtime } = this.#options;
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
      await runtime.timers.yield();
    }
  }

  /** Most properties that existing records refuse are refused before anybody sees them. */
  async #checkBefore(planned: AppliedChange): Promise<void> {
    for (const effect of ofKind(planned, 'check-property')) {
      await this.#check(effect, planned.catalog);
    }
  }

  /**
   * Values that came in between the first look and the change. From now on writes are converted, so one look is enough.
   */
  async #checkAfter(applied: AppliedChange): Promise<void> {
    for (const effect of ofKind(applied, 'check-property')) {
      try {
        await this.#check(effect, applied.catalog);
      } catch (error) {
        await this.#revoke(effect);
        throw error;
      }
    }
  }

  async #check(effect: CheckProperty, catalog: CatalogValue): Promise<void> {
    const { engine, runtime, formats } = this.#options;
    using snapshot = engine.snapshot();
    const context = { catalog, formats: formats(), runtime };
    await requireCompatibleValues(effect, snapshot, context);
  }

  async #revoke({ type, property }: CheckProperty): Promise<void> {
    const { gate } = this.#options;
    await gate.exclusively(() =>
      this.#publish({
        kind: 'drop-property',
        type: type.name,
        property: property.name,
        ifExists: true,
        force: true,
      }),
    );
  }

  async #build(applied: AppliedChange): Promise<readonly ValueMap[]> {
    let { rows } = applied;
    for (const { index } of ofKind(applied, 'build-index')) {
      const count = await this.#buildOne(index);
      rows = rows.map((row) => new Map([...row, ['totalIndexed', count]]));
    }
    return rows;
  }

  async #buildOne(index: IndexDefinition): Promise<number> {
    const { engine, gate, runtime, formats, indexBuildRound } = this.#options;
    const services = {
      engine,
      gate,
      runtime,
      formats: formats(),
      roundRecords: indexBuildRound,
    };
    try {
      const count = await buildIndex(index, this.#catalog, services);
      await this.#settle(index, 'READY', []);
      return count;
    } catch (error) {
      await this.#abandon(index);
      throw error;
    }
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

function ofKind(applied: AppliedChange, kind: 'empty-bucket'): readonly EmptyBucket[];
function ofKind(applied: AppliedChange, kind: 'check-property'): readonly CheckProperty[];
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
