import type { IndexId } from '#core/value/rid.ts';
import type { ComponentRange } from '../checkpoint/entry-block.ts';
import { corrupted } from '../format/checksum.ts';
import { compareBytes, componentsMax, EntryChunkReader, groupEnd } from '../format/entry-chunk.ts';
import { type EntrySegment, segmentPrefix } from '../format/entry-segments.ts';
import { IxKey } from '../format/sub-databases.ts';
import { ChangeMerge, type ChangeSource, prefixOf } from './change-merge.ts';
import { ChunkKeys, describeEntries, withPrefix } from './chunk-keys.ts';
import { LmdbEntryCursor } from './entry-cursor.ts';
import type { PinnedReader } from './pinned-reader.ts';

// What stands beside the chunks of an index and counts before them: the overlay, segments, and single entries in `ix`, which builds
// before there were segments have left.

/** All changes of a range that the reader sees, as one. */
export function changesBeside(
  reader: PinnedReader,
  index: IndexId,
  range: ComponentRange,
): ChangeMerge {
  return new ChangeMerge([
    ...reader.pendingChanges(index, range),
    ...segmentChanges(reader, index, reader.segmentsOf(index), range),
    new SingleChanges(reader, index, range),
  ]);
}

/** @returns the newest first */
export function segmentChanges(
  reader: PinnedReader,
  index: IndexId,
  segments: readonly EntrySegment[],
  range: ComponentRange,
): ChangeSource[] {
  const sources: ChangeSource[] = [];
  for (const { number, additions, removals } of segments) {
    // An entry is in one of the two.
    if (additions > 0) sources.unshift(new SegmentChanges(reader, { index, number, range }, true));
    if (removals > 0) sources.unshift(new SegmentChanges(reader, { index, number, range }, false));
  }
  return sources;
}

interface RunPlace {
  readonly index: IndexId;
  readonly number: number;
  readonly range: ComponentRange;
}

/** The entries of a segment that came, or those that are gone. */
class SegmentChanges implements ChangeSource {
  readonly #reader: PinnedReader;
  readonly #index: IndexId;
  readonly #prefix: Uint8Array;
  readonly #high: Uint8Array;
  readonly #keys: ChunkKeys;
  readonly #chunk = new EntryChunkReader();
  readonly #components = new Uint8Array(componentsMax);
  bytes: Uint8Array | undefined;
  readonly start = 0;
  end = 0;
  readonly isAddition: boolean;
  prefix = 0;

  constructor(reader: PinnedReader, { index, number, range }: RunPlace, isAddition: boolean) {
    this.#reader = reader;
    this.#index = index;
    this.#prefix = segmentPrefix(number, isAddition);
    this.#high = range.high;
    this.isAddition = isAddition;
    this.#keys = new ChunkKeys(reader, index, this.#prefix);
    this.#begin(range.low);
  }

  step(): void {
    while (!this.#chunk.next()) {
      this.#keys.step();
      if (!this.#open()) return;
    }
    this.#look();
  }

  #begin(low: Uint8Array): void {
    this.#keys.seek(low);
    // Groups are passed over whole, then entries.
    const zero = low.indexOf(0, 1);
    const group = zero < 0 ? low : low.subarray(0, groupEnd(low, 0));
    while (this.#open()) {
      if (this.#chunk.skipBefore(group)) break;
      this.#keys.step();
    }
    if (this.#keys.current === undefined) return;
    do this.step();
    while (
      this.bytes !== undefined &&
      compareBytes(this.bytes, 0, this.end, low, 0, low.length) < 0
    );
  }

  #look(): void {
    const components = this.#components;
    const high = this.#high;
    this.end = this.#chunk.rewriteComponents(components);
    const isInside =
      (components[0] as number) < (high[0] as number) ||
      compareBytes(components, 0, this.end, high, 0, high.length) < 0;
    this.bytes = isInside ? components : undefined;
    this.prefix = prefixOf(components, 0);
  }

  #open(): boolean {
    const { current } = this.#keys;
    if (current === undefined) {
      this.bytes = undefined;
      return false;
    }
    this.#chunk.open(chunkBody(this.#reader, this.#index, current, this.#prefix));
    return true;
  }
}

/** Single entries. */
export class SingleChanges implements ChangeSource {
  readonly #cursor: LmdbEntryCursor;
  readonly #passed: ((components: Uint8Array) => void) | undefined;
  bytes: Uint8Array | undefined;
  readonly start = 0;
  end = 0;
  isAddition = false;
  prefix = 0;

  /** @param passed told of each that was stepped over */
  constructor(
    reader: PinnedReader,
    index: IndexId,
    range: ComponentRange,
    passed?: (components: Uint8Array) => void,
  ) {
    this.#cursor = new LmdbEntryCursor(reader, { index, ...range, order: 'ascending' });
    this.#passed = passed;
    this.#look();
  }

  step(): void {
    if (this.bytes !== undefined) this.#passed?.(this.bytes);
    this.#look();
  }

  #look(): void {
    const cursor = this.#cursor;
    this.bytes = cursor.next() ? cursor.components : undefined;
    if (this.bytes === undefined) return;
    this.end = this.bytes.length;
    this.isAddition = !cursor.isRemoved;
    this.prefix = prefixOf(this.bytes, 0);
  }
}

/**
 * @param prefix of a segment
 * @throws DatabaseError `CorruptedRecord` for a damaged one, or one that is not found
 */
export function chunkBody(
  reader: PinnedReader,
  index: IndexId,
  first: Uint8Array,
  prefix: Uint8Array = new Uint8Array(0),
): Uint8Array {
  const key = new IxKey();
  key.index = index;
  key.components = withPrefix(prefix, first);
  // Its key was found by a walk; a search that does not find it is led astray by a damaged one.
  if (!reader.findChecked(reader.subs.ft, key, () => describeEntries(index, first)))
    throw corrupted(describeEntries(index, first));
  return reader.window.body();
}

/** Whether an entry is there. */
export function hasChunkedEntry(
  reader: PinnedReader,
  index: IndexId,
  components: Uint8Array,
): boolean {
  const high = new Uint8Array(components.length + 1);
  high.set(components);
  const changes = changesBeside(reader, index, { low: components, high });
  if (changes.bytes !== undefined) return changes.isAddition;
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
