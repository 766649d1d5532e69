import { assert } from '#core/assert.ts';
import { DatabaseError } from '#core/errors.ts';
import type { LogIndex } from '#core/rid.ts';
import { type Bytes, viewOf } from './bytes.ts';
import { checksumSize, corrupted, isIntact } from './checksum.ts';
import { keyAfterPrefix } from './ordered-key.ts';
import { type LargeCells, noLargeCells } from './row-record.ts';
import {
  BytesKey,
  type Key,
  keyBytes,
  metaKey,
  type ReadOptions,
  type ReadTransaction,
  type Store,
  type SubDatabases,
} from './sub-databases.ts';

/**
 * The place where values are read: LMDB copies each into one shared buffer. What `find` left here is valid until the next
 * `find` of any reader of the environment.
 */
export class ValueWindow {
  bytes: Bytes = Buffer.alloc(0) as Bytes;
  view: DataView = viewOf(this.bytes);
  /** Bytes of the value, with its checksum. */
  length = 0;
  readonly scratch: Uint8Array = new Uint8Array(2048);

  show(bytes: Buffer, length: number): void {
    if (this.bytes !== bytes) {
      // The buffer is replaced only after a value that did not fit. Its own `length` is that of the last value.
      this.bytes = bytes as Bytes;
      this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    this.length = length;
  }
}

/**
 * One committed state, pinned by an LMDB read transaction and shared by all snapshots of it. Kept while it is the newest
 * one or somebody holds it.
 */
export class PinnedReader {
  readonly index: LogIndex;
  readonly options: ReadOptions;
  readonly window: ValueWindow;
  readonly #subs: SubDatabases;
  readonly #transaction: ReadTransaction;
  /** Large cells as this state has them; set by who makes the reader. */
  largeCells: LargeCells = noLargeCells;
  #holders = 0;
  #isNewest = true;
  #isOpen = true;

  constructor(subs: SubDatabases, index: LogIndex, window: ValueWindow) {
    this.#subs = subs;
    this.index = index;
    this.window = window;
    // The shared read transaction of this turn may be older than the last commit.
    subs.root.resetReadTxn();
    this.#transaction = subs.root.useReadTransaction();
    this.options = { transaction: this.#transaction };
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get isHeld(): boolean {
    return this.#holders > 0;
  }

  get subs(): SubDatabases {
    return this.#subs;
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
    if (!this.#isOpen) throw new DatabaseError('Internal', 'a snapshot was used after its end');
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
    if (!isIntact(keyBytes(key, window.scratch), window.bytes, 0, window.length)) {
      throw corrupted(describe());
    }
    return true;
  }

  /** A copy of a value of `meta`. */
  meta(name: string): Uint8Array | undefined {
    if (!this.findChecked(this.#subs.meta, metaKey(name), () => `the stored value '${name}'`)) {
      return undefined;
    }
    return new Uint8Array(this.window.bytes.subarray(0, this.window.length - checksumSize));
  }

  /** The names in `meta` that start with `prefix`. */
  metaNames(prefix: string): string[] {
    const { meta, sink } = this.#subs;
    sink.length = 0;
    const start = metaKey(prefix);
    const lengths = [
      ...meta.getKeys({
        start,
        end: new BytesKey(keyAfterPrefix(start.bytes)),
        limit: Number.MAX_SAFE_INTEGER,
        transaction: this.#transaction,
      }),
    ];
    return lengths.map((end, i) =>
      sink.bytes.toString('latin1', i === 0 ? 0 : (lengths[i - 1] as number), end),
    );
  }

  #closeIfUnused(): void {
    if (this.#holders === 0 && !this.#isNewest) this.close();
  }

  /** Ends it, held or not: later reads throw. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#transaction.done();
  }
}

/** LMDB itself found a page that cannot be. */
export function damagedPages(error: unknown): DatabaseError {
  const reason = error instanceof Error ? error.message : String(error);
  return new DatabaseError('CorruptedRecord', `pages of the database are damaged: ${reason}`, {
    cause: error,
  });
}
