import { DatabaseError } from '#core/errors.ts';
import { noRid, type Rid } from '#core/value/rid.ts';
import { allocateBytes, type Bytes } from '#storage/format/bytes.ts';

/** Entries lie at multiples of this: f64 record id, u32 length, the bytes of the key. */
const unit = 8;
const keyOffset = 12;
/** Places are 31-bit numbers of units. */
const unitsMax = 2 ** 31;
/** Of 8 MiB. */
const segmentBits = 20;
const segmentUnits = 1 << segmentBits;
const segmentMask = segmentUnits - 1;
const firstUnits = 8 * 1024;

interface Segment {
  readonly bytes: Bytes;
  /** The same memory. */
  readonly rids: Float64Array;
  readonly words: Uint32Array;
  /** When there is another one behind: the place behind the last entry, and that of the next. */
  end: number;
  next: number;
}

/**
 * Keys of bytes with their record ids, in the order they came. The memory grows by segments; only the first one is ever copied to be
 * larger, since hundreds of megabytes in one copy hold the event loop. An entry lies in one segment; a longer one has a segment of
 * its own, which stands for as many places as it takes.
 */
export class EntryMemory {
  /** By the upper bits of places. */
  readonly #segments: Segment[] = [segmentOf(firstUnits)];
  #end = 0;
  /** Behind an entry with a segment of its own nothing more fits. */
  #isLastOpen = true;

  /** One past the last entry, for walking with `after`. */
  get end(): number {
    return this.#end;
  }

  /** @returns the place of the new entry, which has no record id yet */
  add(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    const units = unitsOf(length);
    const entry = this.#placeFor(units);
    const { bytes: own, rids, words } = this.#segmentOf(entry);
    const within = entry & segmentMask;
    let into = within * unit + keyOffset;
    for (let at = start; at < end; at += 1, into += 1) own[into] = bytes[at] as number;
    rids[within] = noRid;
    words[within * 2 + 2] = length;
    this.#end = entry + units;
    return entry;
  }

  /** Whether the key of the entry is this one. */
  isKey(entry: number, bytes: Uint8Array, start: number, end: number): boolean {
    const { bytes: own, words } = this.#segmentOf(entry);
    const within = entry & segmentMask;
    if (words[within * 2 + 2] !== end - start) return false;
    let other = within * unit + keyOffset;
    for (let at = start; at < end; at += 1, other += 1) {
      if (bytes[at] !== own[other]) return false;
    }
    return true;
  }

  setRid(entry: number, rid: Rid): void {
    this.#segmentOf(entry).rids[entry & segmentMask] = rid;
  }

  ridOf(entry: number): Rid {
    return this.#segmentOf(entry).rids[entry & segmentMask] as Rid;
  }

  textOf(entry: number): string {
    const start = (entry & segmentMask) * unit + keyOffset;
    return this.#segmentOf(entry).bytes.utf8Slice(start, start + this.#lengthOf(entry));
  }

  /** Valid until the next `add`. */
  keyOf(entry: number): Uint8Array {
    const start = (entry & segmentMask) * unit + keyOffset;
    return this.#segmentOf(entry).bytes.subarray(start, start + this.#lengthOf(entry));
  }

  /** The entry that came next. */
  after(entry: number): number {
    return this.entryAt(entry + unitsOf(this.#lengthOf(entry)));
  }

  /** The entry at a place that was the end once: the next one may have gone to another segment. */
  entryAt(place: number): number {
    const segment = this.#segments[place >>> segmentBits];
    return segment !== undefined && segment.end === place ? segment.next : place;
  }

  #segmentOf(entry: number): Segment {
    return this.#segments[entry >>> segmentBits] as Segment;
  }

  #lengthOf(entry: number): number {
    return this.#segmentOf(entry).words[(entry & segmentMask) * 2 + 2] as number;
  }

  #placeFor(units: number): number {
    const entry = this.#end;
    const segment = this.#segments[entry >>> segmentBits];
    if (segment === undefined || !this.#isLastOpen) return this.#startSegment(units);
    const needed = (entry & segmentMask) + units;
    if (needed > segmentUnits) return this.#startSegment(units);
    // Only the first one is smaller.
    if (needed * unit > segment.bytes.length) this.#widen(segment, needed);
    return entry;
  }

  #widen({ bytes }: Segment, needed: number): void {
    const units = Math.max(needed, (bytes.length / unit) * 2);
    const grown = segmentOf(Math.min(units, segmentUnits));
    grown.bytes.set(bytes.subarray(0, this.#end * unit));
    this.#segments[0] = grown;
  }

  #startSegment(units: number): number {
    const last = this.#segments.at(-1) as Segment;
    const entry = this.#segments.length * segmentUnits;
    if (entry + units > unitsMax) {
      throw new DatabaseError('TooLarge', 'the ids or keys of one load exceed 16 GiB');
    }
    last.end = this.#end;
    last.next = entry;
    const segment = segmentOf(Math.max(units, segmentUnits));
    for (let taken = 0; taken < units; taken += segmentUnits) this.#segments.push(segment);
    this.#isLastOpen = units <= segmentUnits;
    return entry;
  }
}

function segmentOf(units: number): Segment {
  const bytes = allocateBytes(units * unit);
  const rids = new Float64Array(bytes.buffer);
  return { bytes, rids, words: new Uint32Array(bytes.buffer), end: -1, next: -1 };
}

function unitsOf(length: number): number {
  return (keyOffset + length + unit - 1) >>> 3;
}
