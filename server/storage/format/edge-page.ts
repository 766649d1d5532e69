import { bucketOf, noRid, type Rid } from '#core/value/rid.ts';
import { allocateBytes, type Bytes, viewOf } from './bytes.ts';
import { checksumSize } from './checksum.ts';
import { entrySizeOf, readEntry, writeEntry } from './adjacency-chunk.ts';

// Pages of an edge run: edges of a load, sorted by the vertex in whose list they will be. The vertices of a page ascend and are of
// one bucket; the key names the first of them.
//
//   0  u8 width flag as in adjacency chunks, u8 0, u16 vertices
//   4  of each vertex: varint position minus that of the vertex before (the first: 0), varint entries, then these as in
//      adjacency chunks, in the order they were added
//
// A vertex is in one page, unless it has more than `partEntriesMax` entries: then each of its pages holds nothing else.

/** With its checksum a page fills two pages of LMDB. */
const pageBytesMax = 2 * 4096 - 16 - checksumSize;
const pageHeaderSize = 4;
/** Entries of one vertex in a page. */
export const partEntriesMax = 576;
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
  readonly #isWide: boolean;
  readonly #entrySize: number;
  #vertexCount = 0;
  #last: Rid = noRid;

  /** @param isWide as the width flag of adjacency chunks */
  constructor(isWide: boolean) {
    this.#isWide = isWide;
    this.#entrySize = entrySizeOf(isWide);
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
    this.length = pageHeaderSize;
    this.#view.setUint32(0, this.#isWide ? 1 : 0, true);
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
    writeEntry(this.#view, this.length, edge, other, this.#isWide);
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
  /** Where the entries of the vertex begin. */
  entries = 0;
  isWide = false;
  view: DataView = new DataView(new ArrayBuffer(0));
  #left = 0;
  #at = 0;

  /** @param first the vertex that the key names */
  open(view: DataView, base: number, first: Rid): void {
    this.view = view;
    this.vertex = first;
    this.isWide = view.getUint8(base) !== 0;
    this.#left = view.getUint16(base + 2, true);
    this.#at = base + pageHeaderSize;
  }

  /** To the next vertex. @returns false at the end */
  next(): boolean {
    if (this.#left === 0) return false;
    this.#left -= 1;
    this.vertex = (this.vertex + this.#varint()) as Rid;
    this.entryCount = this.#varint();
    this.entries = this.#at;
    this.#at += this.entryCount * entrySizeOf(this.isWide);
    return true;
  }

  /** Adds edges and other ends of the vertex to the arrays. */
  readInto(edges: number[], vertices: number[]): void {
    const size = entrySizeOf(this.isWide);
    const end = this.entries + this.entryCount * size;
    for (let at = this.entries; at < end; at += size) {
      edges.push(readEntry(this.view, at, this.isWide));
      vertices.push(readEntry(this.view, at + size / 2, this.isWide));
    }
  }

  #varint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.view.getUint8(this.#at++);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
}
