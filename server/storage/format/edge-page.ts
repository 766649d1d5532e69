import { bucketOf, noRid, positionOf, type Rid } from '#core/value/rid.ts';
import { allocateBytes, type Bytes, type Image, viewOf } from './bytes.ts';
import { checksumSize } from './checksum.ts';
import { entrySizeOf, readEntry, writeEntry, writeNarrow } from './adjacency-chunk.ts';
import { basesMax, type PackedRids, readBases, unpacked, writeBases } from './packed-rids.ts';

// Pages of an edge run: edges of a load, sorted by the vertex in whose list they will be. The vertices of a page ascend and are of
// one bucket; the key names the first of them.
//
//   0  u8 form of the entries: 0 and 1 as the width flag of adjacency chunks, 2 packed; u8 buckets of packed ones, u16 vertices
//   4  of packed entries: the base of each bucket, a record id
//   .. of each vertex: varint position minus that of the vertex before (the first: 0), varint entries, then these in the order
//      they were added: edge and other end as in adjacency chunks, or packed (`packed-rids.ts`), u32 each
//
// A vertex is in one page, unless it has more than `partEntriesMax` entries: then each of its pages holds nothing else.

/** With its checksum a page fills two pages of LMDB. */
const pageBytesMax = 2 * 4096 - 16 - checksumSize;
const pageHeaderSize = 4;
const packedForm = 2;
const packedEntrySize = 8;
/** Entries of one vertex in a page. */
export const partEntriesMax = 576;
/** Positions below fit narrow entries, and those of a bucket in packed ones are not further than 2^24 from its base. */
const narrowBaseMax = 2 ** 32 - 2 ** 24;
/** Positions between neighbours in a page, so that four bytes take their distance. */
const distanceMax = 2 ** 28;
/** What a vertex may take beside its entries. */
const vertexBytesMax = 6;

/** A page that is being filled. */
export class EdgePageWriter {
  readonly bytes: Bytes = allocateBytes(pageBytesMax);
  /** Bytes so far. */
  length = 0;
  first: Rid = noRid;
  readonly #view = viewOf(this.bytes);
  readonly #packed: PackedRids | undefined;
  readonly #isWide: boolean;
  readonly #entrySize: number;
  readonly #entriesStart: number;
  #vertexCount = 0;
  #last: Rid = noRid;

  /** @param form of all entries: as the width flag of adjacency chunks says, unless they can be packed */
  constructor({ packed, isWide }: { readonly packed: PackedRids | undefined; isWide: boolean }) {
    this.#packed = packed;
    this.#isWide = isWide;
    this.#entrySize = packed === undefined ? entrySizeOf(isWide) : packedEntrySize;
    this.bytes[0] = packed === undefined ? Number(isWide) : packedForm;
    this.bytes[1] = packed?.bases.length ?? 0;
    this.#entriesStart = writeBases(this.bytes, pageHeaderSize, packed?.bases ?? []);
  }

  get isEmpty(): boolean {
    return this.#vertexCount === 0;
  }

  /** Whether the vertex and so many entries go into this page, too. */
  hasRoomFor(vertex: Rid, entryCount: number): boolean {
    return (
      bucketOf(vertex) === bucketOf(this.first) &&
      vertex - this.#last < distanceMax &&
      this.length + vertexBytesMax + entryCount * this.#entrySize <= pageBytesMax
    );
  }

  /** The page is over: it has no first vertex. */
  clear(): void {
    this.first = noRid;
    this.#vertexCount = 0;
  }

  /** Begins a page. */
  start(vertex: Rid): void {
    this.first = vertex;
    this.#last = vertex;
    this.#vertexCount = 0;
    this.length = this.#entriesStart;
    this.#view.setUint16(2, 0, true);
  }

  /** The entries follow. */
  startVertex(vertex: Rid, entryCount: number): void {
    this.#varint(vertex - this.#last);
    this.#varint(entryCount);
    this.#last = vertex;
    this.#vertexCount += 1;
    this.#view.setUint16(2, this.#vertexCount, true);
  }

  add(edge: Rid, other: Rid): void {
    const packed = this.#packed;
    if (packed === undefined) writeEntry(this.#view, this.length, edge, other, this.#isWide);
    else {
      this.#view.setUint32(this.length, packed.pack(edge), true);
      this.#view.setUint32(this.length + 4, packed.pack(other), true);
    }
    this.length += this.#entrySize;
  }

  #varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.bytes[this.length++] = rest | 0x80;
      rest >>>= 7;
    }
    this.bytes[this.length++] = rest;
  }
}

/** Goes through a page. */
export class EdgePageReader {
  vertex: Rid = noRid;
  entryCount = 0;
  /** All entries of the page fit narrow ones. */
  areNarrow = false;
  /** Where the entries of the vertex begin. */
  #entries = 0;
  #form = 0;
  #entrySize = 0;
  readonly #bases = new Float64Array(basesMax);
  #bytes: Bytes = allocateBytes(0);
  #view = viewOf(this.#bytes);
  #left = 0;
  #at = 0;

  /** @param first the vertex that the key names */
  open({ bytes, view }: Image, base: number, first: Rid): void {
    this.#bytes = bytes;
    this.#view = view;
    this.vertex = first;
    this.#form = view.getUint8(base);
    this.#left = view.getUint16(base + 2, true);
    const count = view.getUint8(base + 1);
    this.#at = readBases(bytes, base + pageHeaderSize, { into: this.#bases, count });
    const isPacked = this.#form === packedForm;
    this.#entrySize = isPacked ? packedEntrySize : entrySizeOf(this.#form === 1);
    this.areNarrow = this.#form !== 1;
    for (let number = 0; number < count; number += 1)
      if (positionOf(this.#bases[number] as Rid) >= narrowBaseMax) this.areNarrow = false;
  }

  /** To the next vertex. @returns false at the end */
  next(): boolean {
    if (this.#left === 0) return false;
    this.#left -= 1;
    this.vertex = (this.vertex + this.#varint()) as Rid;
    this.entryCount = this.#varint();
    this.#entries = this.#at;
    this.#at += this.entryCount * this.#entrySize;
    return true;
  }

  /** Adds edges and other ends of the vertex to the arrays. */
  readInto(edges: number[], vertices: number[]): void {
    const size = this.#entrySize;
    const end = this.#entries + this.entryCount * size;
    for (let at = this.#entries; at < end; at += size) {
      edges.push(this.#ridAt(at));
      vertices.push(this.#ridAt(at + size / 2));
    }
  }

  /** Lays the entries of the vertex as narrow ones, which they must fit. */
  layNarrow(target: Image, start: number): void {
    const size = this.#entrySize;
    const end = this.#entries + this.entryCount * size;
    if (this.#form !== packedForm) {
      this.#bytes.copy(target.bytes, start, this.#entries, end);
      return;
    }
    const view = this.#view;
    const bases = this.#bases;
    for (let at = this.#entries, to = start; at < end; at += 4, to += 6)
      writeNarrow(target.view, to, unpacked(view.getUint32(at, true), bases));
  }

  #ridAt(at: number): Rid {
    if (this.#form !== packedForm) return readEntry(this.#view, at, this.#form === 1);
    return unpacked(this.#view.getUint32(at, true), this.#bases);
  }

  #varint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#view.getUint8(this.#at++);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
}
