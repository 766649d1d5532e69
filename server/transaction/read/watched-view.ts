import type { Catalog } from '#catalog/catalog.ts';
import type { TriggerDefinition, TypeHooks } from '#catalog/definitions.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { Clock } from '#core/runtime.ts';
import type { BucketId, IndexId, LogIndex, Rid, TypeId } from '#core/value/rid.ts';
import type { AdjacencyList, Direction, StorageSnapshot } from '#storage/engine.ts';
import type { ListWindow } from '#storage/read/list-memory.ts';
import { checkedReader, withScan } from './checked-cursor.ts';
import { holdingBucket } from './holding-bucket.ts';
import type { CreatedRecords, IndexReader, ReadView, RecordCursor } from './read-view.ts';
import { type TriggerSubject, vetoed } from '../trigger/trigger-runner.ts';

/** Scans pause when triggers have worked for so long. */
const turnMs = 0.5;

/** Runs a trigger on READ. @returns false when it vetoes */
export type ReadTriggerRunner = (
  trigger: TriggerDefinition,
  subject: TriggerSubject,
  view: ReadView,
) => boolean;

/**
 * What a statement reads while the schema has triggers on READ (sql.md 14.1): a record that one vetoes is not there for it, in
 * scans, searches, steps of graphs and counts alike. Records of such types are read one by one, never as blocks.
 */
export class WatchedView implements ReadView {
  readonly #inner: ReadView;
  readonly #run: ReadTriggerRunner;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** Time of triggers since the last pause. */
  #spentMs = 0;

  constructor(inner: ReadView, run: ReadTriggerRunner, clock: Pick<Clock, 'monotonicMs'>) {
    this.#inner = inner;
    this.#run = run;
    this.#clock = clock;
  }

  get catalog(): Catalog {
    return this.#inner.catalog;
  }

  get snapshot(): StorageSnapshot {
    return this.#inner.snapshot;
  }

  get snapshotIndex(): LogIndex {
    return this.#inner.snapshotIndex;
  }

  record(rid: Rid): StoredRecord | undefined {
    const hooks = this.#hooks(holdingBucket(this.#inner, rid));
    if (hooks === undefined) return this.#inner.record(rid);
    const record = this.#inner.record(rid);
    return record === undefined || !this.#shows(hooks, record) ? undefined : record;
  }

  scan(bucket: BucketId, order: 'ascending' | 'descending', fromPosition?: number): RecordCursor {
    return this.#watched(this.#inner.scan(bucket, order, fromPosition), this.#hooks(bucket));
  }

  scanStored(bucket: BucketId): RecordCursor {
    return this.#watched(this.#inner.scanStored(bucket), this.#hooks(bucket));
  }

  get created(): CreatedRecords | undefined {
    return withScan(this.#inner.created, (created, buckets) =>
      this.#watchedCreated(created.scan(buckets)),
    );
  }

  #watched(cursor: RecordCursor, hooks: TypeHooks | undefined): RecordCursor {
    if (hooks === undefined) return cursor;
    return {
      next: () => {
        const record = cursor.next();
        return record === undefined || this.#shows(hooks, record) ? record : vetoed;
      },
      isPauseDue: () => this.#isPauseDue(),
    };
  }

  /** Records of several types. */
  #watchedCreated(cursor: RecordCursor): RecordCursor {
    return {
      next: () => {
        const record = cursor.next();
        if (record === undefined || record === vetoed) return record;
        const hooks = this.#hooks(holdingBucket(this.#inner, record.rid));
        return hooks === undefined || this.#shows(hooks, record) ? record : vetoed;
      },
      isPauseDue: () => this.#isPauseDue(),
    };
  }

  isChanged(bucket: BucketId): boolean {
    return this.#hooks(bucket) !== undefined || this.#inner.isChanged(bucket);
  }

  hasChangedRows(bucket: BucketId): boolean {
    return this.#hooks(bucket) !== undefined || this.#inner.hasChangedRows(bucket);
  }

  /** Of all records: what counts for results reads them one by one (the rule count-records), the rest only compares sizes. */
  recordCount(bucket: BucketId): number {
    return this.#inner.recordCount(bucket);
  }

  requireRead(bucket: BucketId): void {
    this.#inner.requireRead?.(bucket);
  }

  adjacency(
    vertex: Rid,
    direction: Direction,
    edgeType: TypeId,
    passing?: ListWindow,
  ): AdjacencyList {
    const list = this.#inner.adjacency(vertex, direction, edgeType, passing);
    const edges = new Float64Array(list.count);
    const vertices = new Float64Array(list.count);
    let count = 0;
    for (let at = 0; at < list.count; at += 1) {
      const edge = list.edges[at] as Rid;
      const other = list.vertices[at] as Rid;
      if (!this.#mayRead(edge) || !this.#mayRead(other)) continue;
      edges[count] = edge;
      vertices[count] = other;
      count += 1;
    }
    return count === list.count ? list : { count, edges, vertices };
  }

  degree(vertex: Rid, direction: Direction, edgeType: TypeId): number {
    return this.adjacency(vertex, direction, edgeType).count;
  }

  index(id: IndexId): IndexReader {
    const reader = this.#inner.index(id);
    const { catalog } = this.#inner;
    const types = catalog.withSubtypes(catalog.indexWithId(id).type);
    if (types.every((type) => this.#hooksOf(type) === undefined)) return reader;
    // The lookup asks the triggers.
    const recordWith = (): undefined => undefined;
    return checkedReader(reader, (rid) => this.#mayRead(rid), recordWith);
  }

  [Symbol.dispose](): void {
    this.#inner[Symbol.dispose]();
  }

  #isPauseDue(): boolean {
    if (this.#spentMs < turnMs) return false;
    this.#spentMs = 0;
    return true;
  }

  #hooks(bucket: BucketId): TypeHooks | undefined {
    const type = this.#inner.catalog.bucketWithId(bucket)?.type;
    return type === undefined ? undefined : this.#hooksOf(type);
  }

  #hooksOf(type: TypeId): TypeHooks | undefined {
    const hooks = this.#inner.catalog.definitions.hooks(type);
    const isWatched = hooks !== undefined && hooks.beforeRead.length + hooks.afterRead.length > 0;
    return isWatched ? hooks : undefined;
  }

  #shows(hooks: TypeHooks, record: StoredRecord): boolean {
    const { rid } = record;
    if (!this.#allows(hooks, rid)) return false;
    for (const trigger of hooks.afterRead)
      this.#fire(trigger, { record, oldRecord: undefined, rid });
    return true;
  }

  #fire(trigger: TriggerDefinition, subject: TriggerSubject): boolean {
    const startedMs = this.#clock.monotonicMs();
    const isAllowed = this.#run(trigger, subject, this.#inner);
    this.#spentMs += this.#clock.monotonicMs() - startedMs;
    return isAllowed;
  }

  /** For records that are met and not read: only what may keep them from being met. */
  #mayRead(rid: Rid): boolean {
    const hooks = this.#hooks(holdingBucket(this.#inner, rid));
    return hooks === undefined || this.#allows(hooks, rid);
  }

  #allows(hooks: TypeHooks, rid: Rid): boolean {
    for (const trigger of hooks.beforeRead) {
      const subject = { record: undefined, oldRecord: undefined, rid };
      if (!this.#fire(trigger, subject)) return false;
    }
    return true;
  }
}
