import type { IndexId, Rid } from '#core/value/rid.ts';
import type { EntryCursor } from '../engine.ts';
import { compareBytes, EntryChunkReader, keyOfComponents } from '../format/entry-chunk.ts';
import { IxKey } from '../format/sub-databases.ts';
import { ChunkKeys } from './chunk-keys.ts';
import { type EntryRange, LmdbEntryCursor } from './entry-cursor.ts';
import type { PinnedReader } from './pinned-reader.ts';

/**
 * Entries of an index in chunks, in the order of their components: group, record id, tail. What changed since the chunks were made
 * stands in single entries, which are merged in; one of them says of an entry of a chunk that it is gone. As `LmdbEntryCursor` it
 * holds nothing of LMDB between two steps. Bounds lie between groups.
 */
export class ChunkedEntryCursor implements EntryCursor {
  readonly #reader: PinnedReader;
  readonly #range: EntryRange;
  readonly #keys: ChunkKeys;
  readonly #chunk = new EntryChunkReader();
  readonly #changes: LmdbEntryCursor;
  #isBegun = false;
  /** The entry of the chunk is next, or was given last. */
  #hasStored = false;
  #hasChange = false;
  /** The current entry is that of the chunk. */
  #isStored = false;
  #change: { readonly key: Uint8Array; readonly rid: Rid } | undefined;

  constructor(reader: PinnedReader, range: EntryRange) {
    this.#reader = reader;
    this.#range = range;
    this.#keys = new ChunkKeys(reader, range.index);
    this.#changes = new LmdbEntryCursor(reader, range);
  }

  next(): boolean {
    if (!this.#isBegun) this.#begin();
    else if (this.#isStored) this.#hasStored = this.#nextStored();
    this.#isStored = false;
    this.#change = undefined;
    while (this.#hasChange) {
      const changes = this.#changes;
      const { components } = changes;
      const order = this.#hasStored
        ? this.#chunk.compareComponents(components, 0, components.length)
        : 1;
      if (order < 0) break;
      if (order === 0) this.#hasStored = this.#nextStored();
      const { isRemoved } = changes;
      if (!isRemoved) this.#change = keyOfComponents(components);
      this.#hasChange = changes.next();
      if (!isRemoved) return true;
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
    this.#changes.close();
    this.#isBegun = true;
    this.#hasStored = false;
    this.#hasChange = false;
    this.#isStored = false;
  }

  #begin(): void {
    this.#isBegun = true;
    this.#hasChange = this.#changes.next();
    const { low } = this.#range;
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

/** @throws DatabaseError `CorruptedRecord` for a damaged one */
export function chunkBody(reader: PinnedReader, index: IndexId, first: Uint8Array): Uint8Array {
  const key = new IxKey();
  key.index = index;
  key.components = first;
  const isThere = reader.findChecked(reader.subs.ft, key, () => describeEntries(index, first));
  return isThere ? reader.window.body() : new Uint8Array(0);
}

function describeEntries(index: IndexId, first: Uint8Array): string {
  const end = first.indexOf(0, 1);
  const text = Buffer.from(first.subarray(1, end)).toString();
  return `a chunk of entries of index ${index}, from '${text}' on (REBUILD INDEX makes them anew)`;
}

/** Whether an entry is there. */
export function hasChunkedEntry(
  reader: PinnedReader,
  index: IndexId,
  components: Uint8Array,
): boolean {
  const key = new IxKey();
  key.index = index;
  key.components = components;
  if (reader.find(reader.subs.ix, key)) return reader.window.length === 0;
  const keys = new ChunkKeys(reader, index);
  keys.seek(components);
  const { current } = keys;
  if (current === undefined) return false;
  const chunk = new EntryChunkReader();
  chunk.open(chunkBody(reader, index, current));
  while (chunk.next()) {
    const order = chunk.compareComponents(components, 0, components.length);
    if (order >= 0) return order === 0;
  }
  return false;
}
