import type { Catalog, TypeDefinition } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import { Link } from '#core/record.ts';
import {
  type BucketId,
  bucketOf,
  formatRid,
  type LogIndex,
  makeRid,
  positionOf,
  type Rid,
} from '#core/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import type { TemporalFormats } from '#core/temporal-format.ts';
import type { BulkWriter } from '#storage/bulk-writer.ts';
import type { StorageEngine, StorageSnapshot } from '#storage/engine.ts';
import { BucketSelector } from '#transaction/bucket-selector.ts';
import type { DatabaseState } from '#transaction/database-state.ts';
import type { DefaultEvaluator } from '#transaction/transaction.ts';
import type { BulkLoadOptions } from '../session.ts';
import { type BatchRows, batchRows, type RowSurroundings } from './batch-rows.ts';
import type { EdgeBatch, RecordBatch, TemporaryId } from './bulk-batch.ts';
import { BulkKeys } from './bulk-keys.ts';

export interface BulkLoaderOptions extends BulkLoadOptions {
  readonly state: DatabaseState;
  readonly engine: StorageEngine;
  readonly runtime: Runtime;
  readonly formats: TemporalFormats;
  readonly defaults: DefaultEvaluator;
  /** @throws DatabaseError when the database was closed or dropped */
  readonly requireOpen?: () => void;
  /** @throws DatabaseError `Forbidden` when records of the type may not be inserted */
  readonly authorize?: (type: string) => void;
}

export interface BulkReport {
  readonly recordCount: number;
  readonly edgeCount: number;
  /** Of the last chunk; 0 when there was none. */
  readonly index: LogIndex;
}

const defaultChunkBytes = 64 * 1024 * 1024;
const sliceMs = 5;

/**
 * Loads many new records: vertices and documents, then the edges between them (architecture.md 5 C). Rows are converted,
 * checked and laid into whole blocks at once, past the overlay of transactions; a chunk of them is one durable commit. An edge
 * and its entries at both ends are in one chunk, and its vertices in the same or an earlier one, so a load that is
 * interrupted leaves a prefix of whole chunks and no edge without its ends.
 *
 * A schema change during the load ends it with `ConcurrentModification`. After any error, nothing more may be added.
 */
export class BulkLoader {
  readonly #options: BulkLoaderOptions;
  readonly #catalog: Catalog;
  readonly #surroundings: RowSurroundings;
  readonly #keys: BulkKeys;
  readonly #buckets = new BucketSelector();
  readonly #rids = new Map<TemporaryId, Rid>();
  /** Vertices that edges of the chunk name: nobody keeps them from being deleted meanwhile. */
  readonly #ends = new Set<Rid>();
  /** First position of the chunk in each bucket. */
  readonly #chunkStart = new Map<BucketId, number>();
  #writer: BulkWriter;
  #recordCount = 0;
  #edgeCount = 0;
  #index = 0 as LogIndex;
  #turnStartMs: number;

  constructor(options: BulkLoaderOptions) {
    this.#options = options;
    this.#catalog = options.state.catalog;
    this.#surroundings = {
      catalog: this.#catalog,
      formats: options.formats,
      shapes: options.engine.shapes,
      defaults: options.defaults,
    };
    this.#keys = new BulkKeys(this.#catalog, options.formats);
    this.#writer = options.engine.bulk();
    this.#turnStartMs = options.runtime.clock.monotonicMs();
  }

  /** Adds documents or vertices; batches of some thousand rows keep the event loop free. */
  async addRecords(batch: RecordBatch): Promise<void> {
    const type = this.#type(batch.type);
    if (type.kind === 'edge') throw wrongKind(type, 'records');
    await this.#makeRoom();
    const rows = batchRows(type, batch, this.#surroundings);
    const place = this.#place(type, batch.rowCount);
    const rules = this.#keys.rulesOf(type.id);
    for (let at = 0; at < batch.rowCount; at += 1) {
      rows.select(at);
      const { bucket, position } = place(rows);
      const rid = makeRid(bucket, position);
      this.#keys.claim(rules, rid, keySource(rows, rid, rid));
      if (rows.shape === undefined) {
        this.#writer.addRow(type.id, bucket, position, rows.properties());
      } else this.#writer.addColumns(rows.shape, bucket, position, rows.columnValues());
      const id = batch.ids?.[at];
      if (id !== undefined) this.#name(id, rid);
    }
    this.#recordCount += batch.rowCount;
  }

  /** Adds edges between vertices that were added before, or are stored. */
  async addEdges(batch: EdgeBatch): Promise<void> {
    const type = this.#type(batch.type);
    if (type.kind !== 'edge') throw wrongKind(type, 'edges');
    await this.#makeRoom();
    const rows = batchRows(type, batch, this.#surroundings);
    const place = this.#place(type, batch.rowCount);
    const rules = this.#keys.rulesOf(type.id);
    for (let at = 0; at < batch.rowCount; at += 1) {
      rows.select(at);
      const { bucket, position } = place(rows);
      const from = this.#end(batch.from[at]);
      const to = this.#end(batch.to[at]);
      this.#keys.claim(rules, makeRid(bucket, position), keySource(rows, from, to));
      const edge = { type: type.id, bucket, position, from, to, both: true };
      if (rows.shape === undefined) this.#writer.addEdge(edge, rows.properties());
      else this.#writer.addEdgeColumns(rows.shape, edge, rows.columnValues());
    }
    this.#edgeCount += batch.rowCount;
  }

  /** Commits what is left; everything is durable and visible then. */
  async finish(): Promise<BulkReport> {
    if (this.#writer.pendingBytes > 0) await this.#commit();
    return { recordCount: this.#recordCount, edgeCount: this.#edgeCount, index: this.#index };
  }

  async #makeRoom(): Promise<void> {
    const { chunkBytesMax = defaultChunkBytes, runtime } = this.#options;
    if (this.#writer.pendingBytes >= chunkBytesMax) await this.#commit();
    else if (runtime.clock.monotonicMs() - this.#turnStartMs >= sliceMs) {
      await runtime.timers.yield();
    } else return;
    this.#turnStartMs = runtime.clock.monotonicMs();
  }

  async #commit(): Promise<void> {
    const { state, engine } = this.#options;
    const writer = this.#writer;
    this.#index = await state.commitBulk(writer, (latest, catalog) =>
      this.#verify(latest, catalog),
    );
    this.#keys.clear();
    this.#ends.clear();
    this.#chunkStart.clear();
    this.#writer = engine.bulk();
  }

  #verify(latest: StorageSnapshot, catalog: Catalog): void {
    if (catalog !== this.#catalog) {
      throw new DatabaseError(
        'ConcurrentModification',
        'the schema was changed while records were being loaded',
      );
    }
    this.#keys.requireFree(latest);
    for (const rid of this.#ends) {
      if (this.#isInChunk(rid) || latest.record(rid) !== undefined) continue;
      throw missingVertex(formatRid(rid));
    }
  }

  #isInChunk(rid: Rid): boolean {
    return positionOf(rid) >= (this.#chunkStart.get(bucketOf(rid)) ?? Infinity);
  }

  #type(name: string): TypeDefinition {
    const type = this.#catalog.typeNamed(name);
    if (type !== undefined) return type;
    throw new DatabaseError('Schema', `Type with name '${name}' was not found`);
  }

  /** Gives the rows of a batch their places, one after the other. */
  #place(
    type: TypeDefinition,
    rowCount: number,
  ): (rows: BatchRows) => { readonly bucket: BucketId; readonly position: number } {
    const { positions } = this.#options.state;
    if (type.bucketStrategy.startsWith('partitioned')) {
      return (rows) => {
        const bucket = this.#buckets.select(type, rows.properties());
        const position = positions.reserve(bucket, 1);
        this.#noteStart(bucket, position);
        return { bucket, position };
      };
    }
    // The batches of a load go to the buckets in turn, instead of its rows: whole blocks are filled.
    const bucket = this.#buckets.select(type, noProperties);
    const first = positions.reserve(bucket, rowCount);
    this.#noteStart(bucket, first);
    const place = { bucket, position: first - 1 };
    return () => {
      place.position += 1;
      return place;
    };
  }

  #noteStart(bucket: BucketId, position: number): void {
    if (!this.#chunkStart.has(bucket)) this.#chunkStart.set(bucket, position);
  }

  #name(id: TemporaryId, rid: Rid): void {
    if (this.#rids.has(id)) {
      throw new DatabaseError('IllegalArgument', `two records of the load have the id '${id}'`);
    }
    this.#rids.set(id, rid);
  }

  #end(end: TemporaryId | Link | undefined): Rid {
    if (end instanceof Link) {
      if (!this.#isVertex(end.rid)) throw missingVertex(formatRid(end.rid));
      this.#ends.add(end.rid);
      return end.rid;
    }
    const rid = end === undefined ? undefined : this.#rids.get(end);
    if (rid === undefined) throw missingVertex(String(end));
    if (!this.#isInChunk(rid)) this.#ends.add(rid);
    return rid;
  }

  #isVertex(rid: Rid): boolean {
    using view = this.#options.state.view();
    return this.#ends.has(rid) || view.record(rid)?.kind === 'vertex';
  }
}

const noProperties = new Map();

function keySource(rows: BatchRows, from: Rid, to: Rid) {
  return { get: (name: string) => rows.get(name), out: from, in: to };
}

function wrongKind(type: TypeDefinition, what: string): DatabaseError {
  return new DatabaseError(
    'IllegalArgument',
    `'${type.name}' is a ${type.kind} type, ${what} of it cannot be loaded so`,
  );
}

function missingVertex(name: string): DatabaseError {
  return new DatabaseError('RecordNotFound', `vertex '${name}' of an edge was not found`);
}
