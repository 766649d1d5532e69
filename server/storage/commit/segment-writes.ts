import type { IndexId } from '#core/value/rid.ts';
import type { ImageMemory } from '../checkpoint/image-memory.ts';
import type { PendingEntries } from '../checkpoint/pending-entries.ts';
import { putLast, removal, type Write } from '../checkpoint/write-batch.ts';
import { checksumSize, isDamage, sealValue } from '../format/checksum.ts';
import { EntryChunkWriter, segmentChunkBytesMax } from '../format/entry-chunk.ts';
import {
  encodeSegments,
  entriesIn,
  type EntrySegment,
  segmentByte,
  segmentListComponents,
  segmentPrefix,
} from '../format/entry-segments.ts';
import { IxKey, keyBytes } from '../format/sub-databases.ts';
import { ChangeMerge } from '../read/change-merge.ts';
import { segmentChanges } from '../read/changes-beside.ts';
import { ChunkKeys, withPrefix } from '../read/chunk-keys.ts';
import type { PinnedReader } from '../read/pinned-reader.ts';

// What commits changed of an index in chunks becomes a segment, at the checkpoint or with a commit that goes to LMDB. Small ones are
// taken into the next one, so that there are few: each entry is laid anew some times until its segment has 65,536 of them.

/** What is written of an index, and where to. */
export interface EntryWriting {
  readonly reader: PinnedReader;
  readonly index: IndexId;
  readonly memory: ImageMemory;
  readonly writes: Write[];
}

/** Entries of a segment that takes in smaller ones. */
const smallMax = 65_536;
/** Segments above which the newest of them become one, whatever they hold. */
const segmentsMax = 24;
/** Entries between two steps: half a millisecond. */
const entriesPerStep = 4_096;
const keysPerStep = 512;

const everything = { low: new Uint8Array(0), high: Uint8Array.of(segmentByte) };

/**
 * Writes a segment of what is pending, with the list of all segments. A damaged segment is left as it is, and beside a damaged list
 * nothing is written: who reads the index is told.
 */
export function* writeSegment(
  writing: EntryWriting,
  pending: PendingEntries,
  listed: () => readonly EntrySegment[],
): Generator<undefined, void, undefined> {
  const { writes } = writing;
  const before = writes.length;
  let segments: readonly EntrySegment[];
  try {
    segments = listed();
  } catch (error) {
    if (isDamage(error)) return;
    throw error;
  }
  for (let absorbed = absorbedOf(segments, pending.count); ; absorbed >>= 1) {
    try {
      yield* append(writing, pending, segments, absorbed);
      return;
    } catch (error) {
      if (!isDamage(error) || absorbed === 0) throw error;
      writes.length = before;
    }
  }
}

/** How many of the newest go into one of so many entries. */
function absorbedOf(segments: readonly EntrySegment[], count: number): number {
  let size = count;
  let absorbed = 0;
  const isMany = segments.length >= segmentsMax;
  for (const segment of segments.toReversed()) {
    const more = entriesIn(segment);
    if (more > 2 * size || (size + more > smallMax && !isMany)) break;
    size += more;
    absorbed += 1;
  }
  return absorbed;
}

function* append(
  writing: EntryWriting,
  pending: PendingEntries,
  segments: readonly EntrySegment[],
  absorbedCount: number,
): Generator<undefined, void, undefined> {
  const { reader, index } = writing;
  const kept = segments.slice(0, segments.length - absorbedCount);
  const absorbed = segments.slice(kept.length);
  const number = (segments.at(-1)?.number ?? 0) + 1;
  const changes = new ChangeMerge([
    ...(yield* pending.sortedSources()),
    ...segmentChanges(reader, index, absorbed, everything),
  ]);
  const additions = segmentWriter(writing, number, true);
  const removals = segmentWriter(writing, number, false);
  let additionCount = 0;
  let removalCount = 0;
  while (changes.bytes !== undefined) {
    const { bytes, start, end } = changes;
    if (changes.isAddition) {
      additions.add(bytes, start, end);
      additionCount += 1;
    } else {
      removals.add(bytes, start, end);
      removalCount += 1;
    }
    changes.take();
    if ((additionCount + removalCount) % entriesPerStep === 0) yield;
  }
  additions.finish();
  removals.finish();
  yield* removeSegments(writing, absorbed);
  putSegments(writing, [...kept, { number, additions: additionCount, removals: removalCount }]);
}

function segmentWriter(
  writing: EntryWriting,
  number: number,
  isAddition: boolean,
): EntryChunkWriter {
  const prefix = segmentPrefix(number, isAddition);
  return new EntryChunkWriter(
    (first, body) => putChunk(writing, withPrefix(prefix, first), body),
    segmentChunkBytesMax,
  );
}

/**
 * Takes the segments up to a number out of the list and out of LMDB. The last one leaves its number, without entries: who has begun with
 * segments up to a number must not take later ones for them.
 * @returns what is listed then
 */
export function* dropSegments(
  writing: EntryWriting,
  segmentMax: number,
): Generator<undefined, readonly EntrySegment[], undefined> {
  const segments = writing.reader.segmentsOf(writing.index);
  const gone = segments.filter((segment) => segment.number <= segmentMax && entriesIn(segment) > 0);
  const last = gone.at(-1);
  if (last === undefined) return segments;
  yield* removeSegments(writing, gone);
  const later = segments.filter(({ number }) => number > segmentMax);
  const left = later.length > 0 ? later : [{ number: last.number, additions: 0, removals: 0 }];
  putSegments(writing, left);
  return left;
}

function* removeSegments(
  { reader, index, writes }: EntryWriting,
  segments: readonly EntrySegment[],
): Generator<undefined, void, undefined> {
  let count = 0;
  for (const { number } of segments)
    for (const isAddition of [true, false]) {
      const prefix = segmentPrefix(number, isAddition);
      const keys = new ChunkKeys(reader, index, prefix);
      keys.seek(new Uint8Array(0));
      for (; keys.current !== undefined; keys.step()) {
        writes.push(removal(reader.subs.ft, keyOf(index, withPrefix(prefix, keys.current))));
        count += 1;
        if (count % keysPerStep === 0) yield;
      }
    }
}

function putSegments(writing: EntryWriting, segments: readonly EntrySegment[]): void {
  putChunk(writing, segmentListComponents, encodeSegments(segments));
}

/** Puts a chunk with its checksum. */
export function putChunk(
  { reader, index, memory, writes }: EntryWriting,
  components: Uint8Array,
  body: Uint8Array,
): void {
  const key = keyOf(index, components.slice());
  const size = body.length + checksumSize;
  const start = memory.take(size);
  const { bytes } = memory.slab;
  bytes.set(body, start);
  sealValue(keyBytes(key, reader.window.scratch), bytes, start, start + size);
  writes.push(putLast(reader.subs.ft, key, memory, start, size));
}

function keyOf(index: IndexId, components: Uint8Array): IxKey {
  const key = new IxKey();
  key.index = index;
  key.components = components;
  return key;
}
