import { viewOf } from './bytes.ts';

// Beside the chunks of an index lie segments (storage.md 3.5, `ft`): what commits between two checkpoints changed of it, in chunks of
// the same form. Each has those of entries that came and those of entries that are gone. A newer segment counts before an older one,
// and any before the chunks. All of it stands behind the chunks, whose groups begin with lower bytes:
//
//   FF                                                  the list: u8 format = 1, then of each segment, the oldest first,
//                                                       u32 number, u32 entries that came, u32 that are gone, big-endian
//   FF, number u32, 1 came or 0 gone, first components  a chunk

const listFormat = 1;
const listedSize = 12;

/** One segment, as the list of its index has it. */
export interface EntrySegment {
  /** Higher than all before it in the list, and than all that there were. */
  readonly number: number;
  readonly additions: number;
  readonly removals: number;
}

/** Components of the list, and the first byte of those of segments; no group begins with it. */
export const segmentByte = 0xff;
export const segmentListComponents = Uint8Array.of(segmentByte);

/** What the components of chunks of a segment have before those of their first entries. */
export function segmentPrefix(number: number, isAddition: boolean): Uint8Array {
  const prefix = new Uint8Array(segmentPrefixSize);
  prefix[0] = segmentByte;
  viewOf(prefix).setUint32(1, number);
  prefix[5] = isAddition ? 1 : 0;
  return prefix;
}

export const segmentPrefixSize = 6;

export function entriesIn({ additions, removals }: EntrySegment): number {
  return additions + removals;
}

export function entriesInAll(segments: readonly EntrySegment[]): number {
  return segments.reduce((count, segment) => count + entriesIn(segment), 0);
}

export function encodeSegments(segments: readonly EntrySegment[]): Uint8Array {
  const bytes = new Uint8Array(1 + segments.length * listedSize);
  const view = viewOf(bytes);
  bytes[0] = listFormat;
  segments.forEach(({ number, additions, removals }, at) => {
    view.setUint32(1 + at * listedSize, number);
    view.setUint32(5 + at * listedSize, additions);
    view.setUint32(9 + at * listedSize, removals);
  });
  return bytes;
}

export function decodeSegments(bytes: Uint8Array): readonly EntrySegment[] {
  const view = viewOf(bytes);
  const segments: EntrySegment[] = [];
  for (let at = 1; at < bytes.length; at += listedSize)
    segments.push({
      number: view.getUint32(at),
      additions: view.getUint32(at + 4),
      removals: view.getUint32(at + 8),
    });
  return segments;
}
