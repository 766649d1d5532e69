import type { IndexId } from '#core/value/rid.ts';
import { DatabaseError } from '#core/errors.ts';
import { compareBytes } from '../format/entry-chunk.ts';
import { segmentListComponents } from '../format/entry-segments.ts';
import { keyAfterPrefix } from '../format/ordered-key.ts';
import {
  aboveAll,
  belowAll,
  BytesKey,
  IxKey,
  indexPrefixSize,
  type Key,
} from '../format/sub-databases.ts';
import type { PinnedReader } from './pinned-reader.ts';

/** Keys read in one call; most searches want one or two. */
const firstCount = 4;
const countMax = 64;
/** Keys that are looked at beyond the first and the last chunk: one of this index may stand there that is damaged, and hide another. */
const beyondEdge = 2;

/**
 * Finds the chunks of an index, by the components of their first entries: each holds all entries up to the next one's first. Chunks
 * are written to LMDB only, so none of them waits in the overlay. A damaged key leads the searches of LMDB astray, so what they find is
 * not believed: keys must ascend, and a walk that goes on must find the key with which it ended.
 * Each method throws DatabaseError `CorruptedRecord` for keys that do not.
 */
export class ChunkKeys {
  readonly #reader: PinnedReader;
  readonly #index: IndexId;
  readonly #prefix: Uint8Array;
  readonly #end: Uint8Array;
  /** Keys in order, the current one at `#at`. */
  #keys: Uint8Array[] = [];
  #at = 0;
  /** There are none behind `#keys`. */
  #isAll = false;
  #count = firstCount;
  /** It was put where no chunk has its place before. */
  #isAtFirst = false;

  /** @param prefix of a segment; without it those that are not of segments */
  constructor(reader: PinnedReader, index: IndexId, prefix: Uint8Array = emptyBytes) {
    this.#reader = reader;
    this.#index = index;
    this.#prefix = prefix;
    this.#end = prefix.length === 0 ? segmentListComponents : keyAfterPrefix(prefix);
  }

  /** The first entry of the current chunk; undefined when there is none. */
  get current(): Uint8Array | undefined {
    return this.#keys[this.#at];
  }

  /** That of the chunk behind it. */
  get following(): Uint8Array | undefined {
    if (this.#at + 1 >= this.#keys.length && !this.#isAll) this.#readOn();
    return this.#keys[this.#at + 1];
  }

  /** To the chunk that has the place of these components: the last one that begins at or before them, else the first of all. */
  seek(components: Uint8Array): void {
    this.#keys = [];
    this.#at = 0;
    this.#isAll = false;
    this.#count = firstCount;
    const before = this.#range(components, emptyBytes, 1, true);
    const [found] = before;
    this.#isAtFirst = found === undefined;
    if (found === undefined) this.#readOn();
    else if (compare(found, components) > 0) throw this.#damaged(found);
    else this.#keys = before;
  }

  /** After a `seek`, of who goes through all chunks: none lies before the first one. */
  requireBegin(): void {
    const { current } = this;
    if (current === undefined)
      this.#requireOthers(this.#keysFrom(emptyBytes, aboveAll, beyondEdge, false), emptyBytes);
    else if (this.#isAtFirst) this.#requireEdge(current, belowAll);
  }

  /** Of who has gone through all chunks: none lies behind the last one. */
  requireEnd(last: Uint8Array): void {
    this.#requireEdge(last, aboveAll);
  }

  #requireEdge(edge: Uint8Array, end: Key): void {
    const found = this.#keysFrom(edge, end, beyondEdge + 1, end === belowAll);
    const [first] = found;
    if (first === undefined || compare(first, wholeKey(this.#key(edge))) !== 0)
      throw this.#damaged(edge);
    this.#requireOthers(found.slice(1), edge);
  }

  /** Keys beyond an edge are not of the index: the next one is none of its own that is damaged, and it hides no other. */
  #requireOthers(keys: readonly Uint8Array[], edge: Uint8Array): void {
    const isOwn = (key: Uint8Array): boolean =>
      this.#hasPrefix(key) && compare(key.subarray(indexPrefixSize), this.#end) < 0;
    if (keys.some(isOwn)) throw this.#damaged(edge);
    const [next] = keys;
    if (next === undefined) return;
    const { ft } = this.#reader.subs;
    if (!this.#reader.findChecked(ft, new BytesKey(next), () => this.#besides(edge)))
      throw this.#damaged(edge);
  }

  /** As `seek`, from the current chunk onwards. */
  advanceTo(components: Uint8Array): void {
    for (let steps = 0; steps < countMax; steps += 1) {
      const { following } = this;
      if (following === undefined || compare(following, components) > 0) return;
      this.step();
    }
    this.seek(components);
  }

  step(): void {
    if (this.following !== undefined || this.#at < this.#keys.length) this.#at += 1;
  }

  #readOn(): void {
    const last = this.#keys.at(-1);
    const more = this.#range(last ?? emptyBytes, undefined, this.#count, false);
    const [first] = more;
    if (last !== undefined && (first === undefined || compare(first, last) !== 0))
      throw this.#damaged(last);
    for (let at = 1; at < more.length; at += 1)
      if (compare(more[at - 1] as Uint8Array, more[at] as Uint8Array) >= 0)
        throw this.#damaged(more[at] as Uint8Array);
    const found = last === undefined ? more : more.slice(1);
    this.#isAll = more.length < this.#count;
    this.#count = Math.min(countMax, this.#count * 4);
    this.#keys = [...this.#keys.slice(this.#at), ...found];
    this.#at = 0;
  }

  /** @param to undefined: the end of the index */
  #range(
    from: Uint8Array,
    to: Uint8Array | undefined,
    limit: number,
    reverse: boolean,
  ): Uint8Array[] {
    const end = to === undefined ? ixKey(this.#index, this.#end) : this.#key(to);
    const size = indexPrefixSize + this.#prefix.length;
    return this.#keysFrom(from, end, limit, reverse).map((key) => {
      if (!this.#hasPrefix(key)) throw this.#damaged(from);
      return key.subarray(size);
    });
  }

  /** Whole keys. */
  #keysFrom(from: Uint8Array, end: Key, limit: number, reverse: boolean): Uint8Array[] {
    const reader = this.#reader;
    if (!reader.isOpen) throw reader.endedError();
    const { sink, ft } = reader.subs;
    sink.length = 0;
    const { transaction } = reader.options;
    const start = this.#key(from);
    const lengths = [...ft.getKeys({ start, end, reverse, limit, transaction })];
    const bytes = new Uint8Array(sink.bytes.subarray(0, sink.length));
    return lengths.map((length, i) => bytes.subarray(i === 0 ? 0 : lengths[i - 1], length));
  }

  /** Whether a whole key begins as those of the index do. */
  #hasPrefix(key: Uint8Array): boolean {
    const index = this.#index;
    const prefix = this.#prefix;
    for (let i = 0; i < indexPrefixSize; i += 1)
      if (key[i] !== ((index >>> (24 - 8 * i)) & 0xff)) return false;
    for (let i = 0; i < prefix.length; i += 1)
      if (key[indexPrefixSize + i] !== prefix[i]) return false;
    return true;
  }

  #key(components: Uint8Array): IxKey {
    return ixKey(this.#index, withPrefix(this.#prefix, components));
  }

  #damaged(components: Uint8Array): DatabaseError {
    return new DatabaseError('CorruptedRecord', `${this.#besides(components)} is damaged`);
  }

  #besides(components: Uint8Array): string {
    return `the key of ${describeEntries(this.#index, components)} or one beside it`;
  }
}

const emptyBytes = new Uint8Array(0);

/** @returns one of them as it is where the other is empty */
export function withPrefix(prefix: Uint8Array, components: Uint8Array): Uint8Array {
  if (prefix.length === 0) return components;
  const whole = new Uint8Array(prefix.length + components.length);
  whole.set(prefix);
  whole.set(components, prefix.length);
  return whole;
}

function ixKey(index: number, components: Uint8Array): IxKey {
  const key = new IxKey();
  key.index = index as IndexId;
  key.components = components;
  return key;
}

function wholeKey(key: IxKey): Uint8Array {
  const bytes = new Uint8Array(indexPrefixSize + key.components.length);
  key.write(bytes, 0);
  return bytes;
}

/** A chunk, by the components of its first entry, for messages. */
export function describeEntries(index: IndexId, first: Uint8Array): string {
  const end = first.indexOf(0, 1);
  const text = Buffer.from(first.subarray(1, end < 0 ? undefined : end)).toString();
  return `a chunk of entries of index ${index}, from '${text}' on (REBUILD INDEX makes them anew)`;
}

function compare(a: Uint8Array, b: Uint8Array): number {
  return compareBytes(a, 0, a.length, b, 0, b.length);
}
