import { assert } from '#core/assert.ts';
import { DatabaseError } from '#core/errors.ts';
import type { IndexId, LogIndex, TypeId } from '#core/value/rid.ts';
import { allocateBytes, type Bytes, viewOf } from '../format/bytes.ts';
import { checksumSize, corrupted, isIntact } from '../format/checksum.ts';
import type { ComponentRange } from '../checkpoint/entry-block.ts';
import {
  decodeSegments,
  type EntrySegment,
  segmentListComponents,
} from '../format/entry-segments.ts';
import { decodeEdgeRuns, type EdgeRuns, edgeRunsName } from '../format/edge-runs.ts';
import type { ChangeSource } from './change-merge.ts';
import type { Slab } from '../checkpoint/image-memory.ts';
import { keyAfterPrefix } from '../format/ordered-key.ts';
import { keyText, type OverlayLayer } from '../checkpoint/overlay-store.ts';
import { type LargeCells, noLargeCells } from '../format/row-record.ts';
import {
  BytesKey,
  IxKey,
  type Key,
  keyBytes,
  metaKey,
  type ReadOptions,
  type ReadTransaction,
  type Store,
  type SubDatabases,
} from '../format/sub-databases.ts';
import type { Write } from '../checkpoint/write-batch.ts';

/**
 * The place where values are read. LMDB copies each into one shared buffer; values that are not in LMDB yet are shown where
 * they are. What `find` left here is valid until the next `find` of any reader of the environment.
 */
export class ValueWindow {
  bytes: Bytes = Buffer.alloc(0) as Bytes;
  view: DataView = viewOf(this.bytes);
  /** Where the value starts. */
  base = 0;
  /** Bytes of the value, with its checksum. */
  length = 0;
  /** The value comes from memory and needs no check. */
  isPending = false;
  readonly scratch: Bytes = allocateBytes(2048);
  #shared: Buffer | undefined;
  #sharedView: DataView | undefined;

  /** A value that LMDB copied into `bytes`. */
  show(bytes: Buffer, length: number): void {
    if (this.#shared !== bytes) {
      // The buffer is replaced only after a value that did not fit. Its own `length` is that of the last value.
      this.#shared = bytes;
      this.#sharedView = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    this.bytes = bytes as Bytes;
    this.view = this.#sharedView as DataView;
    this.base = 0;
    this.length = length;
    this.isPending = false;
  }

  showPending(slab: Slab, start: number, size: number): void {
    this.bytes = slab.bytes;
    this.view = slab.view;
    this.base = start;
    this.length = size;
    this.isPending = true;
  }

  /** A copy of the value without its checksum. */
  body(): Uint8Array {
    return new Uint8Array(this.bytes.subarray(this.base, this.base + this.length - checksumSize));
  }
}

/** One state of LMDB, pinned by a read transaction that all readers on top of it share. */
export class PinnedBase {
  readonly subs: SubDatabases;
  readonly options: ReadOptions;
  readonly #transaction: ReadTransaction;
  readonly #ended: () => void;
  /** As soon as somebody has asked for them. */
  edgeRuns: EdgeRuns | undefined;
  readonly segments = new Map<IndexId, readonly EntrySegment[]>();
  #users = 0;

  /** @param ended told when the state is given up */
  constructor(subs: SubDatabases, ended: () => void) {
    this.subs = subs;
    this.#ended = ended;
    // The shared read transaction of this turn may be older than the last commit.
    subs.root.resetReadTxn();
    this.#transaction = subs.root.useReadTransaction();
    this.options = { transaction: this.#transaction };
  }

  use(): void {
    this.#users += 1;
  }

  /** Ends the transaction with its last user. */
  leave(): void {
    this.#users -= 1;
    if (this.#users > 0) return;
    this.#transaction.done();
    this.#ended();
  }
}

/**
 * One committed state, shared by all snapshots of it: a pinned state of LMDB and the overlay layers on top of it. Kept while
 * it is the newest one or somebody holds it.
 */
export class PinnedReader {
  readonly index: LogIndex;
  readonly options: ReadOptions;
  readonly window: ValueWindow;
  readonly subs: SubDatabases;
  readonly #base: PinnedBase;
  /** Newest first. */
  readonly #layers: readonly OverlayLayer[];
  /** Large cells as this state has them; set by who makes the reader. */
  largeCells: LargeCells = noLargeCells;
  #holders = 0;
  #isNewest = true;
  #isOpen = true;

  constructor(
    base: PinnedBase,
    layers: readonly OverlayLayer[],
    index: LogIndex,
    window: ValueWindow,
  ) {
    this.#base = base;
    this.#layers = layers.filter((layer) => !layer.isEmpty);
    this.index = index;
    this.window = window;
    this.subs = base.subs;
    this.options = base.options;
    base.use();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get isHeld(): boolean {
    return this.#holders > 0;
  }

  hold(): void {
    this.#holders += 1;
  }

  /** @returns true when nobody holds it any more */
  drop(): boolean {
    this.#holders -= 1;
    assert(this.#holders >= 0, 'a reader is dropped once per hold');
    this.#closeIfUnused();
    return this.#holders === 0;
  }

  /** A newer state exists, or the engine closes. */
  retire(): void {
    this.#isNewest = false;
    this.#closeIfUnused();
  }

  /** Reads a value into the window. @returns false when there is none */
  find(store: Store, key: Key): boolean {
    // The binding would follow a pointer to a transaction that is gone.
    if (!this.#isOpen) throw this.endedError();
    if (this.#layers.length > 0) {
      const isThere = this.#findPending(store, key);
      if (isThere !== undefined) return isThere;
    }
    let bytes: Buffer | undefined;
    try {
      bytes = store.getBinaryFast(key, this.options);
    } catch (error) {
      throw damagedPages(error);
    }
    if (bytes === undefined) return false;
    this.window.show(bytes, store.lastSize);
    return true;
  }

  /**
   * Like `find` for values with a checksum.
   * @throws DatabaseError `CorruptedRecord` naming `describe()`
   */
  findChecked(store: Store, key: Key, describe: () => string): boolean {
    if (!this.find(store, key)) return false;
    const { window } = this;
    const { bytes, base, length, scratch } = window;
    if (window.isPending || isIntact(keyBytes(key, scratch), bytes, base, base + length)) {
      return true;
    }
    throw corrupted(describe());
  }

  /** @returns undefined when no layer knows the key */
  #findPending(store: Store, key: Key): boolean | undefined {
    let text: string | undefined;
    for (let i = 0; i < this.#layers.length; i++) {
      const values = (this.#layers[i] as OverlayLayer).store(store);
      if (values === undefined) continue;
      text ??= keyText(key, this.window.scratch);
      const write = values.get(text, this.index);
      if (write === undefined) continue;
      if (write.slab === undefined) return false;
      this.window.showPending(write.slab, write.start, write.size);
      return true;
    }
    return undefined;
  }

  /** Whether ranges of the sub-database need `pendingBetween`. */
  hasPending(store: Store): boolean {
    return this.#layers.some((layer) => layer.store(store) !== undefined);
  }

  /** Pending puts and removals of keys from `low` on and below `high`, in key order. */
  pendingBetween(
    store: Store,
    low: string,
    high: string,
  ): readonly { readonly text: string; readonly write: Write }[] {
    const found = new Map<string, Write>();
    for (const layer of this.#layers) {
      const values = layer.store(store);
      if (values === undefined) continue;
      for (const text of values.keysBetween(low, high)) {
        if (found.has(text)) continue;
        const write = values.get(text, this.index);
        if (write !== undefined) found.set(text, write);
      }
    }
    return [...found]
      .map(([text, write]) => ({ text, write }))
      .sort((a, b) => (a.text < b.text ? -1 : 1));
  }

  /** Edges of loads that wait beside the lists. Commits of the overlay leave them as they are. */
  get edgeRuns(): EdgeRuns {
    this.#base.edgeRuns ??= decodeEdgeRuns(this.meta(edgeRunsName));
    return this.#base.edgeRuns;
  }

  /** Uses the window when it is asked for the first time. */
  hasRunsOf(type: TypeId): boolean {
    const { waiting } = this.edgeRuns;
    for (let i = 0; i < waiting.length; i += 1) if (waiting[i]?.type === type) return true;
    return false;
  }

  /**
   * The segments beside the chunks of an index, the oldest first. Uses the window when it is asked for the first time.
   * @throws DatabaseError `CorruptedRecord`
   */
  segmentsOf(index: IndexId): readonly EntrySegment[] {
    const { segments } = this.#base;
    let known = segments.get(index);
    if (known === undefined) {
      known = this.#readSegments(index);
      segments.set(index, known);
    }
    return known;
  }

  #readSegments(index: IndexId): readonly EntrySegment[] {
    const key = new IxKey();
    key.index = index;
    key.components = segmentListComponents;
    const describe = () => `the list of segments of index ${index} (REBUILD INDEX makes them anew)`;
    return this.findChecked(this.subs.ft, key, describe) ? decodeSegments(this.window.body()) : [];
  }

  /** What the layers know of a range of an index in chunks, the newest first. */
  pendingChanges(index: IndexId, range: ComponentRange): ChangeSource[] {
    return this.#layers.flatMap(
      (layer) => layer.entries.get(index)?.sources(range, this.index) ?? [],
    );
  }

  /** A copy of a value of `meta`. */
  meta(name: string): Uint8Array | undefined {
    if (!this.findChecked(this.subs.meta, metaKey(name), () => `the stored value '${name}'`)) {
      return undefined;
    }
    return this.window.body();
  }

  /** The names in `meta` that start with `prefix`, as LMDB has them: for opening. */
  metaNames(prefix: string): string[] {
    const { meta, sink } = this.subs;
    sink.length = 0;
    const start = metaKey(prefix);
    const lengths = [
      ...meta.getKeys({
        start,
        end: new BytesKey(keyAfterPrefix(start.bytes)),
        limit: Number.MAX_SAFE_INTEGER,
        transaction: this.options.transaction,
      }),
    ];
    return lengths.map((end, i) =>
      sink.bytes.toString('latin1', i === 0 ? 0 : (lengths[i - 1] as number), end),
    );
  }

  /** What to answer who reads after the end: a statement that is at work when its database closes still holds its state. */
  endedError(): DatabaseError {
    return this.isHeld
      ? new DatabaseError('DatabaseClosed', 'the database is closed')
      : new DatabaseError('Internal', 'a snapshot was used after its end');
  }

  #closeIfUnused(): void {
    if (this.#holders === 0 && !this.#isNewest) this.close();
  }

  /** Ends it, held or not: later reads throw. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#base.leave();
  }
}

/** LMDB itself found a page that cannot be. */
export function damagedPages(error: unknown): DatabaseError {
  const reason = error instanceof Error ? error.message : String(error);
  return new DatabaseError('CorruptedRecord', `pages of the database are damaged: ${reason}`, {
    cause: error,
  });
}
