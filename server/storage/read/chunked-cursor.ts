import type { Rid } from '#core/value/rid.ts';
import type { EntryCursor } from '../engine.ts';
import { compareBytes, EntryChunkReader, keyOfComponents } from '../format/entry-chunk.ts';
import type { ChangeMerge } from './change-merge.ts';
import { changesBeside, chunkBody } from './changes-beside.ts';
import { ChunkKeys } from './chunk-keys.ts';
import type { EntryRange } from './entry-cursor.ts';
import type { PinnedReader } from './pinned-reader.ts';

/**
 * Entries of an index in chunks, in the order of their components: group, record id, tail. What changed since the chunks were made
 * stands beside them and is merged in. As `LmdbEntryCursor` it holds nothing of LMDB between two steps. Bounds lie between groups.
 */
export class ChunkedEntryCursor implements EntryCursor {
  readonly #reader: PinnedReader;
  readonly #range: EntryRange;
  readonly #keys: ChunkKeys;
  readonly #chunk = new EntryChunkReader();
  #changes: ChangeMerge | undefined;
  #isBegun = false;
  /** The entry of the chunk is next, or was given last. */
  #hasStored = false;
  /** The current entry is that of the chunk. */
  #isStored = false;
  #change: { readonly key: Uint8Array; readonly rid: Rid } | undefined;

  constructor(reader: PinnedReader, range: EntryRange) {
    this.#reader = reader;
    this.#range = range;
    this.#keys = new ChunkKeys(reader, range.index);
  }

  next(): boolean {
    if (!this.#isBegun) this.#begin();
    else if (this.#isStored) this.#hasStored = this.#nextStored();
    this.#isStored = false;
    this.#change = undefined;
    const changes = this.#changes;
    while (changes?.bytes !== undefined) {
      const { bytes, start, end, isAddition } = changes;
      const order = this.#hasStored ? this.#chunk.compareComponents(bytes, start, end) : 1;
      if (order < 0) break;
      if (order === 0) this.#hasStored = this.#nextStored();
      if (isAddition) this.#change = keyOfComponents(bytes.subarray(start, end));
      changes.take();
      if (isAddition) return true;
    }
    this.#isStored = this.#hasStored;
    return this.#hasStored;
  }

  get key(): Uint8Array {
    return this.#change?.key ?? this.#chunk.key;
  }

  get rid(): Rid {
    return this.#change?.rid ?? this.#chunk.rid;
  }

  close(): void {
    this.#changes = undefined;
    this.#isBegun = true;
    this.#hasStored = false;
    this.#isStored = false;
  }

  #begin(): void {
    this.#isBegun = true;
    const { index, low, high } = this.#range;
    this.#changes = changesBeside(this.#reader, index, { low, high });
    this.#keys.seek(low);
    while (this.#openChunk()) {
      if (this.#chunk.skipBefore(low)) {
        this.#hasStored = this.#nextStored();
        return;
      }
      this.#keys.step();
    }
  }

  #nextStored(): boolean {
    while (!this.#chunk.next()) {
      this.#keys.step();
      if (!this.#openChunk()) return false;
    }
    return !this.#chunk.isFirstOfGroup || this.#chunk.compareGroup(this.#range.high) < 0;
  }

  #openChunk(): boolean {
    const { current } = this.#keys;
    if (current === undefined) return false;
    const { high, index } = this.#range;
    if (compareBytes(current, 0, current.length, high, 0, high.length) >= 0) return false;
    this.#chunk.open(chunkBody(this.#reader, index, current));
    return true;
  }
}
