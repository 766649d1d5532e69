import type { IndexId } from '#core/value/rid.ts';
import { compareBytes } from '../format/entry-chunk.ts';
import { segmentListComponents } from '../format/entry-segments.ts';
import { keyAfterPrefix } from '../format/ordered-key.ts';
import { IxKey, indexPrefixSize } from '../format/sub-databases.ts';
import type { PinnedReader } from './pinned-reader.ts';

/** Keys read in one call; most searches want one or two. */
const firstCount = 4;
const countMax = 64;

/**
 * Finds the chunks of an index, by the components of their first entries: each holds all entries up to the next one's first. Chunks
 * are written to LMDB only, so none of them waits in the overlay.
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
    if (before.length > 0) this.#keys = before;
    else this.#readOn();
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
    const found = last === undefined ? more : more.filter((key) => compare(key, last) !== 0);
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
    const reader = this.#reader;
    if (!reader.isOpen) throw reader.endedError();
    const { sink, ft } = reader.subs;
    sink.length = 0;
    const end = to === undefined ? ixKey(this.#index, this.#end) : this.#key(to);
    const lengths = [
      ...ft.getKeys({
        start: this.#key(from),
        end,
        reverse,
        limit,
        transaction: reader.options.transaction,
      }),
    ];
    const bytes = new Uint8Array(sink.bytes.subarray(0, sink.length));
    const before = indexPrefixSize + this.#prefix.length;
    return lengths.map((length, i) =>
      bytes.subarray((i === 0 ? 0 : (lengths[i - 1] as number)) + before, length),
    );
  }

  #key(components: Uint8Array): IxKey {
    return ixKey(this.#index, withPrefix(this.#prefix, components));
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

function compare(a: Uint8Array, b: Uint8Array): number {
  return compareBytes(a, 0, a.length, b, 0, b.length);
}
