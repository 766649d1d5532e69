import type { BucketId, IndexId, LogIndex } from '#core/value/rid.ts';
import type { StorageSnapshot } from './engine.ts';
import {
  type BucketState,
  decodeApplied,
  decodeBucketState,
  decodeIndexState,
} from './format/counters.ts';
import type { TypeLabels } from './format/row-record.ts';
import { ShapeRegistry } from './format/shape.ts';
import { openSubDatabases, type SubDatabases } from './format/sub-databases.ts';
import { LargeCellReader, RetiredCells } from './read/large-cells.ts';
import { PinnedBase, PinnedReader, ValueWindow } from './read/pinned-reader.ts';
import { LmdbSnapshot } from './read/snapshot.ts';
import { type HeldStates, heldStates } from './read/versioned.ts';
import { StateReader } from './read/state-reader.ts';

export interface LmdbReaderOptions {
  readonly directory: string;
  readonly labels: TypeLabels;
  /** For block images, adjacency and unique keys together. */
  readonly cacheBytes: number;
  readonly mapSizeBytes: number;
  readonly readersMax: number;
}

/**
 * The database of another thread's engine, to read only: what that engine's checkpoints have brought into LMDB. Each snapshot
 * shows the newest of these states and has a read transaction of its own, so that nothing is pinned between snapshots.
 *
 * Nobody tells it what commits change. When it meets another state, it keeps the blocks of buckets whose content hash is the
 * same, since the hash covers version and row of each record, and forgets everything else that it has cached.
 */
export class LmdbReader {
  readonly shapes = new ShapeRegistry();
  readonly labels: TypeLabels;
  readonly #subs: SubDatabases;
  readonly #state: StateReader;
  readonly #window = new ValueWindow();
  readonly #retired = new RetiredCells(0);
  readonly #open = new Set<PinnedReader>();
  readonly #shapeNames = new Set<string>();
  #index = -1 as LogIndex;

  constructor(options: LmdbReaderOptions) {
    const { cacheBytes } = options;
    this.labels = options.labels;
    this.#subs = openSubDatabases({ ...options, isReader: true });
    this.#state = new StateReader({
      blockCacheBytes: cacheBytes * 0.48,
      adjacencyCacheBytes: cacheBytes * 0.33,
      takesFirstLists: false,
      entryCacheBytes: (cacheBytes * 3) / 16,
    });
  }

  /** The newest state in LMDB. Cost: some small reads, and one for each bucket and index after a change. */
  snapshot(): StorageSnapshot {
    const reader = this.#pinned();
    try {
      if (reader.index !== this.#index) this.#moveTo(reader);
    } catch (error) {
      reader.close();
      throw error;
    }
    this.#open.add(reader);
    const source = { shapes: this.shapes, labels: this.labels, state: this.#state };
    const snapshot = new LmdbSnapshot(reader, source, () => this.#open.delete(reader));
    // Nobody else takes it: it ends with this snapshot.
    reader.retire();
    return snapshot;
  }

  /** Snapshots that are still open end, too. */
  async close(): Promise<void> {
    for (const reader of this.#open) reader.close();
    this.#open.clear();
    this.#subs.root.resetReadTxn();
    await this.#subs.root.close();
  }

  #pinned(): PinnedReader {
    const base = new PinnedBase(this.#subs, () => {});
    const nameless = new PinnedReader(base, [], 0 as LogIndex, this.#window);
    try {
      const applied = nameless.meta('applied');
      const index = applied === undefined ? (0 as LogIndex) : decodeApplied(applied).index;
      const reader = new PinnedReader(base, [], index, this.#window);
      const retired = this.#retired;
      reader.largeCells = new LargeCellReader({ reader, newest: () => reader, retired });
      return reader;
    } finally {
      nameless.close();
    }
  }

  #moveTo(reader: PinnedReader): void {
    const { index } = reader;
    const held = heldStates(this.#open);
    this.#learnShapes(reader);
    this.#readBuckets(reader, held);
    for (const name of reader.metaNames('index/')) {
      const state = decodeIndexState(reader.meta(name) as Uint8Array);
      this.#state.setIndexState(Number(name.slice(6)) as IndexId, state, index, held);
    }
    this.#state.forgetEntries(index);
    this.#index = index;
  }

  #learnShapes(reader: PinnedReader): void {
    for (const name of reader.metaNames('shapes/')) {
      if (this.#shapeNames.has(name)) continue;
      this.#shapeNames.add(name);
      const id = Number(name.slice(7));
      this.shapes.define(id, reader.meta(name) as Uint8Array);
      this.shapes.saved(id);
    }
  }

  #readBuckets(reader: PinnedReader, held: HeldStates): void {
    const state = this.#state;
    const gone = new Set(state.buckets.keys());
    for (const name of reader.metaNames('bucket/')) {
      const bucket = Number(name.slice(7)) as BucketId;
      gone.delete(bucket);
      const now = decodeBucketState(reader.meta(name) as Uint8Array);
      const before = state.buckets.get(bucket)?.value;
      if (before !== undefined && hasSameRows(before, now)) continue;
      state.blocks.removeBucket(bucket);
      state.setBucket(bucket, now, reader.index, held);
    }
    for (const bucket of gone) {
      state.blocks.removeBucket(bucket);
      state.setBucket(bucket, undefined, reader.index, held);
    }
  }
}

function hasSameRows(before: BucketState, now: BucketState): boolean {
  return (
    before.hashLow === now.hashLow &&
    before.hashHigh === now.hashHigh &&
    before.live === now.live &&
    before.next === now.next &&
    before.slotCount === now.slotCount &&
    before.isSized === now.isSized
  );
}
