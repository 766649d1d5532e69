import type { IndexId } from '#core/value/rid.ts';
import type { GroupedPart } from '../bulk/grouped-run.ts';
import { removal } from '../checkpoint/write-batch.ts';
import { corrupted } from '../format/checksum.ts';
import {
  compareBytes,
  componentsMax,
  EntryChunkReader,
  EntryChunkWriter,
} from '../format/entry-chunk.ts';
import { type EntrySegment, segmentByte } from '../format/entry-segments.ts';
import { IxKey } from '../format/sub-databases.ts';
import { ChangeMerge } from '../read/change-merge.ts';
import { chunkBody, segmentChanges, SingleChanges } from '../read/changes-beside.ts';
import { ChunkKeys, describeEntries } from '../read/chunk-keys.ts';
import { dropSegments, type EntryWriting, putChunk } from './segment-writes.ts';

export interface MergedRuns {
  /** Those that come count where both have an entry. */
  readonly removals?: readonly GroupedPart[] | undefined;
  readonly additions?: readonly GroupedPart[] | undefined;
}

export interface MergeBounds {
  /** Components from which on chunks and changes are looked at; empty: from the first. */
  readonly from: Uint8Array;
  /** Of segments those up to this number are looked at. */
  readonly segmentMax: number;
  /** Chunks that are made anew at most, and changes that are brought in. */
  readonly chunkMax: number;
  readonly changeMax: number;
  /** Chunks that nothing changes are made anew as well, so that all are full. */
  readonly isWhole: boolean;
}

const everything: MergeBounds = {
  from: new Uint8Array(0),
  segmentMax: Infinity,
  chunkMax: Infinity,
  changeMax: Infinity,
  isWhole: false,
};

/** Entries between two steps: half a millisecond. */
const entriesPerStep = 4_096;

/** What `foldSlice` leaves. */
export interface Folded {
  /** Where to go on; undefined at the end. */
  readonly next: Uint8Array | undefined;
  /** At the end, the segments that are left. */
  readonly left: readonly EntrySegment[] | undefined;
}

/** As `mergeChunks`; at the end the segments go that are in the chunks then. */
export function* foldSlice(
  writing: EntryWriting,
  runs: MergedRuns,
  bounds: MergeBounds = everything,
): Generator<undefined, Folded, undefined> {
  const next = yield* mergeChunks(writing, runs, bounds);
  if (next !== undefined) return { next, left: undefined };
  return { next, left: yield* dropSegments(writing, bounds.segmentMax) };
}

/**
 * Makes chunks anew in which entries change: those of runs, of segments, and single entries, which go. Segments stay: they say the same
 * as the chunks then. A chunk without a change stays as it is. What a chunk cannot take goes into a new one behind it, and neighbours
 * that change are filled up one after the other.
 * @returns where to go on; undefined at the end
 */
function* mergeChunks(
  { reader, index, memory, writes }: EntryWriting,
  { additions, removals }: MergedRuns,
  { from, segmentMax, chunkMax, changeMax, isWhole }: MergeBounds,
): Generator<undefined, Uint8Array | undefined, undefined> {
  const { subs } = reader;
  const target = { reader, index, memory, writes };
  const writer = new EntryChunkWriter((first, body) => putChunk(target, first, body));
  const range = { low: from, high: Uint8Array.of(segmentByte) };
  const segments = reader.segmentsOf(index).filter(({ number }) => number <= segmentMax);
  const changes = new ChangeMerge([
    ...(additions ?? []).map((part) => part.changes(true)),
    ...(removals ?? []).map((part) => part.changes(false)),
    ...segmentChanges(reader, index, segments, range),
    new SingleChanges(reader, index, range, (components) => {
      writes.push(removal(subs.ix, ixKey(index, components)));
    }),
  ]);
  const keys = new ChunkKeys(reader, index);
  const chunk = new EntryChunkReader();
  const components = new Uint8Array(componentsMax);
  let chunkCount = 0;
  let seen = 0;
  let last: Uint8Array | undefined;
  keys.seek(from);
  if (isWhole) keys.requireBegin();
  for (;;) {
    const head = changes.bytes?.subarray(changes.start, changes.end);
    if (head === undefined && !(isWhole && keys.current !== undefined)) break;
    if (chunkCount >= chunkMax || changes.count >= changeMax) {
      writer.finish();
      const next = firstOf(head, isWhole ? keys.current : undefined)?.slice();
      // Or who goes on from there would come here again, for ever.
      if (next !== undefined && compare(next, from) <= 0)
        throw corrupted(describeEntries(index, next));
      return next;
    }
    if (!isWhole && head !== undefined) {
      keys.advanceTo(head);
      // What lies between stays as it is, so what was made ends before it.
      if (keys.current !== last) writer.finish();
    }
    const { current, following } = keys;
    let hasEntry = false;
    if (current !== undefined) {
      if (isWhole && following === undefined) keys.requireEnd(current);
      chunk.open(chunkBody(reader, index, current));
      writes.push(removal(subs.ft, ixKey(index, current)));
      hasEntry = chunk.next();
    }
    for (;;) {
      const { bytes, start, end } = changes;
      const isInside =
        bytes !== undefined &&
        changes.count < changeMax &&
        (following === undefined ||
          compareBytes(bytes, start, end, following, 0, following.length) < 0);
      if (!hasEntry && !isInside) break;
      const order = !isInside ? -1 : hasEntry ? chunk.compareComponents(bytes, start, end) : 1;
      if (order <= 0) {
        const entryEnd = chunk.rewriteComponents(components);
        if (order < 0) writer.add(components, 0, entryEnd);
        hasEntry = chunk.next();
      }
      if (order >= 0) {
        if (changes.isAddition) writer.add(bytes as Uint8Array, start, end);
        changes.take();
      }
      seen += 1;
      if (seen % entriesPerStep === 0) yield;
    }
    chunkCount += 1;
    last = following;
    keys.step();
  }
  writer.finish();
  return undefined;
}

function firstOf(a: Uint8Array | undefined, b: Uint8Array | undefined): Uint8Array | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return compare(a, b) < 0 ? a : b;
}

function compare(a: Uint8Array, b: Uint8Array): number {
  return compareBytes(a, 0, a.length, b, 0, b.length);
}

function ixKey(index: IndexId, components: Uint8Array): IxKey {
  const key = new IxKey();
  key.index = index;
  key.components = components;
  return key;
}
