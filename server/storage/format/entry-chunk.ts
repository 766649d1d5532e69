import { bucketOf, type BucketId, makeRid, positionOf, type Rid } from '#core/value/rid.ts';
import { segmentPrefixSize } from './entry-segments.ts';
import { readRidBytes, ridSize, writeRid } from './sub-databases.ts';

// Chunks of index entries (storage.md 3.5, `ft`), for indexes with so many that one each is too dear: postings.
//
// The key of such an entry is a group that ends with its first zero byte behind the first byte (the term), and a tail (what scoring
// needs). Its components are group, record id, tail: in this order entries are sorted, and cut into chunks, each stored under index id
// and the components of its first entry. The tail of a key follows the record id, so all of a term's records lie in order.
//
//   u8 format = 1, u16 bucket of the first entry, then for each group
//   varint bytes shared with the group before, varint further bytes, these, varint entries (n), u8 tail size + 1, or 0 when they differ
//   u8 bytes that all tails begin with, these, varint bytes of what follows: bucket (zigzag, against that above), position of the first
//   then n times: distance of the record id to the one before (none for the first), size of the rest of the tail where they differ, rest
//
// Integers are varints. No checksum is part of it: values are sealed by who stores them.

const chunkFormat = 1;
const headerSize = 3;
/**
 * With its key a chunk takes half a page of LMDB: key and value together may have 2,038 bytes there, of which 8 are the node's, 4 the
 * index id and 4 the checksum.
 */
const chunkBytesMax = 2_020;
/** Of chunks of segments (`entry-segments.ts`). */
export const segmentChunkBytesMax = chunkBytesMax - segmentPrefixSize;
/** Bytes of components: a key of LMDB has no more. */
export const componentsMax = 2_048;
/** Of the lengths and counts of a group. */
const groupNumbersMax = 12;

/** Where the group of a key ends. */
export function groupEnd(key: Uint8Array, start: number): number {
  const end = key.indexOf(0, start + 1);
  if (end < 0) throw new Error('a key of an index in chunks has no zero byte');
  return end + 1;
}

/** The components of an entry, from its key. */
export function chunkedComponents(key: Uint8Array, rid: Rid): Uint8Array {
  const end = groupEnd(key, 0);
  const components = new Uint8Array(key.length + ridSize);
  for (let i = 0; i < end; i += 1) components[i] = key[i] as number;
  writeRid(components, end, rid);
  for (let i = end; i < key.length; i += 1) components[i + ridSize] = key[i] as number;
  return components;
}

/** The key of an entry, from its components. */
export function keyOfComponents(components: Uint8Array): { readonly key: Uint8Array; rid: Rid } {
  const end = groupEnd(components, 0);
  const key = new Uint8Array(components.length - ridSize);
  for (let i = 0; i < end; i += 1) key[i] = components[i] as number;
  for (let i = end; i < key.length; i += 1) key[i] = components[i + ridSize] as number;
  return { key, rid: readRidBytes(components, end) };
}

/** Takes entries in the order of their components and gives chunks. */
export class EntryChunkWriter {
  readonly #give: (first: Uint8Array, body: Uint8Array) => void;
  /** Of a chunk with its key. */
  readonly #wholeMax: number;
  readonly #out = new Uint8Array(32 * 1024);
  #used = 0;
  #bytesMax = 0;
  #first: Uint8Array = new Uint8Array(0);
  #bucket = 0;
  #last = 0;
  /** The group that is open, and the one before it in the chunk. */
  #group = new Uint8Array(2048);
  #groupLength = 0;
  #former = new Uint8Array(2048);
  #formerLength = 0;
  /** Entries of the open group. */
  #count = 0;
  #firstRid = 0;
  readonly #distances = new Float64Array(chunkBytesMax + 1);
  readonly #tailEnds = new Uint32Array(chunkBytesMax + 1);
  #tails = new Uint8Array(16 * 1024);
  #sharedTail = 0;
  /** -1: they differ. */
  #tailSize = 0;
  #ridBytes = 0;

  /** @param give is given what to store of each chunk; both arrays are its own only until it returns */
  constructor(give: (first: Uint8Array, body: Uint8Array) => void, bytesMax = chunkBytesMax) {
    this.#give = give;
    this.#wholeMax = bytesMax;
  }

  get isEmpty(): boolean {
    return this.#used === 0;
  }

  /** @param components in `bytes[start, end)`, behind all before */
  add(bytes: Uint8Array, start: number, end: number): void {
    let zero = start + 1;
    while (bytes[zero] !== 0 && zero < end) zero += 1;
    const tailStart = zero + 1 + ridSize;
    const rid = ridAt(bytes, tailStart - ridSize);
    const groupLength = tailStart - ridSize - start;
    if (this.#used === 0) {
      this.#begin(bytes, start, end, rid);
      this.#open(bytes, start, groupLength, rid);
      this.#take(bytes, tailStart, end, 0);
      return;
    }
    if (this.#isInGroup(bytes, start, groupLength)) {
      const distance = rid - this.#last;
      if (this.#sizeWith(bytes, tailStart, end, distance) <= this.#bytesMax) {
        this.#take(bytes, tailStart, end, distance);
        this.#last = rid;
        return;
      }
      this.finish();
      this.add(bytes, start, end);
      return;
    }
    this.#closeGroup();
    const needed = groupNumbersMax + groupLength + 2 * (end - tailStart) + 10;
    if (this.#used + needed > this.#bytesMax) {
      this.finish();
      this.add(bytes, start, end);
      return;
    }
    this.#open(bytes, start, groupLength, rid);
    this.#take(bytes, tailStart, end, 0);
  }

  /** The chunk that is open ends here. */
  finish(): void {
    if (this.#used === 0) return;
    this.#closeGroup();
    this.#give(this.#first, this.#out.subarray(0, this.#used));
    this.#used = 0;
    this.#formerLength = 0;
  }

  #begin(bytes: Uint8Array, start: number, end: number, rid: Rid): void {
    this.#first = bytes.slice(start, end);
    this.#bytesMax = this.#wholeMax - this.#first.length;
    this.#bucket = bucketOf(rid);
    const out = this.#out;
    out[0] = chunkFormat;
    out[1] = this.#bucket;
    out[2] = this.#bucket >>> 8;
    this.#used = headerSize;
  }

  #open(bytes: Uint8Array, start: number, length: number, rid: Rid): void {
    for (let i = 0; i < length; i += 1) this.#group[i] = bytes[start + i] as number;
    this.#groupLength = length;
    this.#count = 0;
    this.#firstRid = rid;
    this.#last = rid;
    this.#ridBytes = 0;
  }

  #isInGroup(bytes: Uint8Array, start: number, length: number): boolean {
    if (this.#count === 0 || length !== this.#groupLength) return false;
    const group = this.#group;
    // The ends differ more often than the beginnings.
    for (let i = length - 1; i >= 0; i -= 1) if (group[i] !== bytes[start + i]) return false;
    return true;
  }

  #take(bytes: Uint8Array, tailStart: number, tailEnd: number, distance: number): void {
    const count = this.#count;
    const from = count === 0 ? 0 : (this.#tailEnds[count - 1] as number);
    const size = tailEnd - tailStart;
    if (from + size > this.#tails.length) {
      const grown = new Uint8Array(2 * (from + size));
      grown.set(this.#tails);
      this.#tails = grown;
    }
    for (let i = 0; i < size; i += 1) this.#tails[from + i] = bytes[tailStart + i] as number;
    this.#distances[count] = distance;
    this.#tailEnds[count] = from + size;
    if (count === 0) {
      this.#sharedTail = Math.min(size, 255);
      this.#tailSize = size < 255 ? size : -1;
    } else {
      this.#sharedTail = this.#sharedWith(bytes, tailStart, tailEnd);
      if (this.#tailSize !== size) this.#tailSize = -1;
      this.#ridBytes += varintSize(distance);
    }
    this.#count = count + 1;
  }

  /** Bytes that this tail and all of the group begin with. */
  #sharedWith(bytes: Uint8Array, tailStart: number, tailEnd: number): number {
    const max = Math.min(this.#sharedTail, tailEnd - tailStart);
    let shared = 0;
    while (shared < max && this.#tails[shared] === bytes[tailStart + shared]) shared += 1;
    return shared;
  }

  /** Of the chunk, with one more entry of the open group. */
  #sizeWith(bytes: Uint8Array, tailStart: number, tailEnd: number, distance: number): number {
    const count = this.#count + 1;
    const shared = this.#sharedWith(bytes, tailStart, tailEnd);
    const size = tailEnd - tailStart;
    const isFixed = this.#tailSize === size;
    const tails = isFixed
      ? count * (size - shared)
      : (this.#tailEnds[count - 2] as number) + size - count * shared + 2 * count;
    const rids = this.#ridBytes + varintSize(distance) + 8;
    return this.#used + groupNumbersMax + this.#groupLength + shared + rids + tails;
  }

  #closeGroup(): void {
    if (this.#count === 0) return;
    const { length } = this.#out;
    const tailBytes = this.#tailEnds[this.#count - 1] as number;
    // One entry may be larger than a chunk: a term of a thousand bytes.
    assertRoom(this.#used + this.#groupLength + tailBytes + 8 * this.#count + 64 <= length);
    const group = this.#group;
    let shared = 0;
    const sharedMax = Math.min(this.#formerLength, this.#groupLength);
    while (shared < sharedMax && group[shared] === this.#former[shared]) shared += 1;
    let at = this.#varint(this.#used, shared);
    at = this.#varint(at, this.#groupLength - shared);
    const out = this.#out;
    for (let i = shared; i < this.#groupLength; i += 1) out[at++] = group[i] as number;
    const count = this.#count;
    at = this.#varint(at, count);
    const isFixed = this.#tailSize >= 0;
    out[at++] = isFixed ? this.#tailSize + 1 : 0;
    const common = this.#sharedTail;
    out[at++] = common;
    const tails = this.#tails;
    for (let i = 0; i < common; i += 1) out[at++] = tails[i] as number;
    // Two bytes for the size of what follows; most often one is enough, and the rest moves down.
    const sizeAt = at;
    at += 2;
    const bodyAt = at;
    const rid = this.#firstRid as Rid;
    const step = bucketOf(rid) - this.#bucket;
    at = this.#varint(at, step >= 0 ? 2 * step : -2 * step - 1);
    at = this.#varint(at, positionOf(rid));
    for (let i = 0; i < count; i += 1) {
      if (i > 0) at = this.#varint(at, this.#distances[i] as number);
      const from = (i === 0 ? 0 : (this.#tailEnds[i - 1] as number)) + common;
      const end = this.#tailEnds[i] as number;
      if (!isFixed) at = this.#varint(at, end - from);
      for (let j = from; j < end; j += 1) out[at++] = tails[j] as number;
    }
    const size = at - bodyAt;
    if (size < 0x80) {
      out.copyWithin(sizeAt + 1, bodyAt, at);
      at -= 1;
    }
    this.#varint(sizeAt, size);
    this.#used = at;
    const former = this.#former;
    this.#former = group;
    this.#formerLength = this.#groupLength;
    this.#group = former;
    this.#count = 0;
  }

  #varint(from: number, value: number): number {
    const out = this.#out;
    let at = from;
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 128)) out[at++] = (rest % 128) | 0x80;
    out[at++] = rest;
    return at;
  }
}

/** As `writeRid`, for arrays of one kind: that one meets all kinds, and takes 20 ns a byte then. */
export function putRid(bytes: Uint8Array, at: number, rid: Rid): void {
  const bucket = Math.floor(rid / 2 ** 37);
  // A remainder of doubles is a call of the library, ten times as slow.
  const position = rid - bucket * 2 ** 37;
  const low = position >>> 0;
  bytes[at] = bucket >>> 8;
  bytes[at + 1] = bucket;
  bytes[at + 2] = Math.floor(position / 2 ** 32);
  bytes[at + 3] = low >>> 24;
  bytes[at + 4] = low >>> 16;
  bytes[at + 5] = low >>> 8;
  bytes[at + 6] = low;
}

function ridAt(bytes: Uint8Array, at: number): Rid {
  const bucket = ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
  const low =
    (((bytes[at + 3] as number) << 24) |
      ((bytes[at + 4] as number) << 16) |
      ((bytes[at + 5] as number) << 8) |
      (bytes[at + 6] as number)) >>>
    0;
  return (bucket * 2 ** 37 + (bytes[at + 2] as number) * 2 ** 32 + low) as Rid;
}

function assertRoom(hasRoom: boolean): void {
  if (!hasRoom) throw new Error('an index entry is larger than a key may be');
}

function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 128)) size += 1;
  return size;
}

/** Goes through the entries of one chunk. */
export class EntryChunkReader {
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;
  #end = 0;
  #bucket = 0;
  #left = 0;
  #tailSize = 0;
  #common = 0;
  #isFirst = true;
  /** Group, then tail. */
  #key = new Uint8Array(2048);
  #shown = new Uint8Array(0);
  groupLength = 0;
  keyLength = 0;
  rid = 0 as Rid;
  /** The entry is the first of its group in the chunk. */
  isFirstOfGroup = false;

  /** @param body which stays as it is until the next one is opened */
  open(body: Uint8Array): void {
    this.#bytes = body;
    this.#bucket = ((body[2] as number) << 8) | (body[1] as number);
    this.#at = headerSize;
    this.#end = body.length;
    this.#left = 0;
    this.groupLength = 0;
  }

  /** The next entry; false when there are no more. */
  next(): boolean {
    if (this.#left === 0) {
      if (this.#at >= this.#end) return false;
      this.#enterGroup();
      this.#at = this.#bodyAt;
    }
    this.#left -= 1;
    if (this.#isFirst) {
      const step = this.#varint();
      const bucket = this.#bucket + (step % 2 === 0 ? step / 2 : -(step + 1) / 2);
      this.rid = makeRid(bucket as BucketId, this.#varint());
    } else this.rid = (this.rid + this.#varint()) as Rid;
    this.isFirstOfGroup = this.#isFirst;
    this.#isFirst = false;
    const size = this.#tailSize >= 0 ? this.#tailSize - this.#common : this.#varint();
    const from = this.groupLength + this.#common;
    const bytes = this.#bytes;
    for (let i = 0; i < size; i += 1) this.#key[from + i] = bytes[this.#at + i] as number;
    this.#at += size;
    this.keyLength = from + size;
    return true;
  }

  /** Passes over the entries of groups that come before `low`. @returns false when all of them do */
  skipBefore(low: Uint8Array): boolean {
    while (this.#at < this.#end) {
      const at = this.#at;
      this.#enterGroup();
      if (compareBytes(this.#key, 0, this.groupLength, low, 0, low.length) >= 0) {
        this.#at = this.#bodyAt;
        return true;
      }
      this.#at = this.#bodyAt + this.#bodySize;
      this.#left = 0;
      if (this.#at <= at) throw new Error('a chunk of entries goes nowhere');
    }
    return false;
  }

  /** The key of the entry, valid until the next one. */
  get key(): Uint8Array {
    if (this.#shown.length !== this.keyLength) this.#shown = this.#key.subarray(0, this.keyLength);
    return this.#shown;
  }

  /** Lays the components of the entry at the start of `target`. @returns where they end */
  writeComponents(target: Uint8Array): number {
    const { groupLength, keyLength } = this;
    const key = this.#key;
    for (let i = 0; i < groupLength; i += 1) target[i] = key[i] as number;
    putRid(target, groupLength, this.rid);
    for (let i = groupLength; i < keyLength; i += 1) target[i + ridSize] = key[i] as number;
    return keyLength + ridSize;
  }

  /** As `writeComponents`, where those of the entry before are; a group that is the same is left alone. */
  rewriteComponents(target: Uint8Array): number {
    const { groupLength, keyLength } = this;
    const key = this.#key;
    if (this.isFirstOfGroup) for (let i = 0; i < groupLength; i += 1) target[i] = key[i] as number;
    putRid(target, groupLength, this.rid);
    for (let i = groupLength; i < keyLength; i += 1) target[i + ridSize] = key[i] as number;
    return keyLength + ridSize;
  }

  /** @returns less than 0 when the group of the entry comes before the bytes */
  compareGroup(bytes: Uint8Array): number {
    return compareBytes(this.#key, 0, this.groupLength, bytes, 0, bytes.length);
  }

  /** As the order of components. */
  compareComponents(bytes: Uint8Array, start: number, end: number): number {
    const { groupLength } = this;
    const key = this.#key;
    // A group ends with its only zero byte, so none is the beginning of another.
    for (let i = 0; i < groupLength; i += 1) {
      const difference = (key[i] as number) - (bytes[start + i] as number);
      if (difference !== 0) return difference;
    }
    const order = this.rid - ridAt(bytes, start + groupLength);
    if (order !== 0) return order;
    return compareBytes(
      key,
      groupLength,
      this.keyLength,
      bytes,
      start + groupLength + ridSize,
      end,
    );
  }

  #bodyAt = 0;
  #bodySize = 0;

  #enterGroup(): void {
    const bytes = this.#bytes;
    const shared = this.#varint();
    const further = this.#varint();
    for (let i = 0; i < further; i += 1) this.#key[shared + i] = bytes[this.#at + i] as number;
    this.#at += further;
    this.groupLength = shared + further;
    this.#left = this.#varint();
    this.#tailSize = (bytes[this.#at++] as number) - 1;
    this.#common = bytes[this.#at++] as number;
    for (let i = 0; i < this.#common; i += 1)
      this.#key[this.groupLength + i] = bytes[this.#at + i] as number;
    this.#at += this.#common;
    this.#bodySize = this.#varint();
    this.#bodyAt = this.#at;
    this.#isFirst = true;
  }

  #varint(): number {
    const bytes = this.#bytes;
    let byte = bytes[this.#at++] as number;
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    for (let factor = 128; ; factor *= 128) {
      byte = bytes[this.#at++] as number;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  }
}

/** As the order of keys in LMDB. */
export function compareBytes(
  a: Uint8Array,
  aStart: number,
  aEnd: number,
  b: Uint8Array,
  bStart: number,
  bEnd: number,
): number {
  let j = bStart;
  for (let i = aStart; i < aEnd && j < bEnd; i += 1, j += 1) {
    const difference = (a[i] as number) - (b[j] as number);
    if (difference !== 0) return difference;
  }
  return aEnd - aStart - (bEnd - bStart);
}
