import { formatRid, type Rid } from '#core/value/rid.ts';
import { allocateBytes, type Bytes, viewOf } from './bytes.ts';
import { checksumSize } from './checksum.ts';
import type { Direction } from './direction.ts';

// Adjacency chunks (storage.md 3.3): the edges of one vertex, direction and edge type, in the order they were added.
//
//   0   u32 degree and 4 u32 last chunk number (kept in chunk 0 only)   8  u16 entries   10  u8 width flag   11  u8 0
//   12  u32 number of the last edge run that the list holds (chunk 0 only; it tells nothing when no run of its type waits)
//   16  entries: edge bucket u16, edge position u32, neighbour bucket u16, neighbour position u32 (12 bytes);
//       with the width flag positions are u40 (14 bytes): low u32, then the high byte

export const chunkHeaderSize = 16;
const narrowEntry = 12;
const wideEntry = 14;
/** So that a chunk with its checksum fills one 4 KB page. */
export const narrowEntriesMax = 336;
export const wideEntriesMax = 288;
/** Bytes of the largest chunk, without checksum. */
export const chunkBytesMax = chunkHeaderSize + narrowEntriesMax * narrowEntry;

const positionLimit = 2 ** 37;
const narrowPosition = 2 ** 32;

/** Reads fields of a chunk that starts at `base` of `view`. */
export function chunkDegree(view: DataView, base: number): number {
  return view.getUint32(base, true);
}

export function chunkLast(view: DataView, base: number): number {
  return view.getUint32(base + 4, true);
}

export function chunkEntryCount(view: DataView, base: number): number {
  return view.getUint16(base + 8, true);
}

/** Runs up to this number are in the list of the chunk 0 that starts at `base`. */
export function chunkMergedRun(view: DataView, base: number): number {
  return view.getUint32(base + 12, true);
}

export function isWideChunk(view: DataView, base: number): boolean {
  return view.getUint8(base + 10) !== 0;
}

export function entrySizeOf(isWide: boolean): number {
  return isWide ? wideEntry : narrowEntry;
}

/** One of the two record ids of an entry. */
export function readEntry(view: DataView, at: number, isWide: boolean): Rid {
  const rid = isWide
    ? readWide(view, at)
    : view.getUint16(at, true) * positionLimit + view.getUint32(at + 2, true);
  return rid as Rid;
}

export function writeEntry(
  view: DataView,
  at: number,
  edge: Rid,
  vertex: Rid,
  isWide: boolean,
): void {
  if (isWide) {
    writeWide(view, at, edge);
    writeWide(view, at + 7, vertex);
  } else {
    writeNarrow(view, at, edge);
    writeNarrow(view, at + 6, vertex);
  }
}

/** Copies the entries of a chunk into parallel arrays from `at` on. @returns where the next entry goes */
export function readEntries(
  view: DataView,
  base: number,
  edges: Float64Array,
  vertices: Float64Array,
  at: number,
): number {
  const count = chunkEntryCount(view, base);
  let offset = base + chunkHeaderSize;
  if (view.getUint8(base + 10) === 0) {
    for (let i = 0; i < count; i++) {
      edges[at + i] =
        view.getUint16(offset, true) * positionLimit + view.getUint32(offset + 2, true);
      vertices[at + i] =
        view.getUint16(offset + 6, true) * positionLimit + view.getUint32(offset + 8, true);
      offset += narrowEntry;
    }
    return at + count;
  }
  for (let i = 0; i < count; i++) {
    edges[at + i] = readWide(view, offset);
    vertices[at + i] = readWide(view, offset + 7);
    offset += wideEntry;
  }
  return at + count;
}

function readWide(view: DataView, at: number): number {
  const position = view.getUint8(at + 6) * narrowPosition + view.getUint32(at + 2, true);
  return view.getUint16(at, true) * positionLimit + position;
}

/** What chunk 0 says of the whole list. */
export interface ListHeader {
  readonly degree: number;
  readonly last: number;
  readonly mergedRun: number;
}

/** Of the other chunks. */
export const noListHeader: ListHeader = { degree: 0, last: 0, mergedRun: 0 };

/** A chunk under change. */
export class ChunkBuilder {
  #bytes: Bytes;
  #view: DataView;
  #count: number;
  #isWide: boolean;

  private constructor(bytes: Bytes, count: number, isWide: boolean) {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
    this.#count = count;
    this.#isWide = isWide;
  }

  static empty(): ChunkBuilder {
    return new ChunkBuilder(allocateBytes(chunkHeaderSize + 8 * narrowEntry), 0, false);
  }

  /** A copy of a stored chunk, with room for some more entries. */
  static from(view: DataView, base: number): ChunkBuilder {
    const count = chunkEntryCount(view, base);
    const isWide = view.getUint8(base + 10) !== 0;
    const length = chunkHeaderSize + count * (isWide ? wideEntry : narrowEntry);
    const bytes = allocateBytes(length + 4 * wideEntry);
    bytes.set(new Uint8Array(view.buffer, view.byteOffset + base, length));
    return new ChunkBuilder(bytes, count, isWide);
  }

  get count(): number {
    return this.#count;
  }

  /** Appends an entry. @returns false when it does not fit into this chunk */
  add(edge: Rid, vertex: Rid): boolean {
    const needsWide =
      edge % positionLimit >= narrowPosition || vertex % positionLimit >= narrowPosition;
    if (this.#count === 0) this.#isWide = needsWide;
    else if (needsWide && !this.#isWide) return false;
    if (this.#count >= (this.#isWide ? wideEntriesMax : narrowEntriesMax)) return false;
    const size = this.#isWide ? wideEntry : narrowEntry;
    const at = chunkHeaderSize + this.#count * size;
    this.#reserve(at + size);
    writeEntry(this.#view, at, edge, vertex, this.#isWide);
    this.#count += 1;
    return true;
  }

  /**
   * Takes the entries of the edges out, and out of the set; the others keep their order. Cost: one pass, whatever their number.
   * @returns how many were here
   */
  remove(edges: Set<Rid>): number {
    const size = this.#isWide ? wideEntry : narrowEntry;
    const end = chunkHeaderSize + this.#count * size;
    let found = 0;
    // Entries from here on stay, and go to `to`.
    let from = chunkHeaderSize;
    let to = chunkHeaderSize;
    for (let at = chunkHeaderSize; at < end && edges.size > 0; at += size) {
      const edge = this.#isWide
        ? readWide(this.#view, at)
        : this.#view.getUint16(at, true) * positionLimit + this.#view.getUint32(at + 2, true);
      if (!edges.delete(edge as Rid)) continue;
      found += 1;
      if (to < from) this.#bytes.copyWithin(to, from, at);
      to += at - from;
      from = at + size;
    }
    if (to < from) this.#bytes.copyWithin(to, from, end);
    this.#count -= found;
    return found;
  }

  /** Bytes that `write` takes, with room for the checksum. */
  get sealedSize(): number {
    return chunkHeaderSize + this.#count * (this.#isWide ? wideEntry : narrowEntry) + checksumSize;
  }

  /** Writes the chunk, all but the checksum, at `start`; what `of` says of the list only into chunk 0. */
  write(target: Uint8Array, start: number, of: ListHeader): void {
    const view = this.#view;
    view.setUint32(0, of.degree, true);
    view.setUint32(4, of.last, true);
    view.setUint16(8, this.#count, true);
    view.setUint16(10, this.#isWide ? 1 : 0, true);
    view.setUint32(12, of.mergedRun, true);
    this.#bytes.copy(target, start, 0, this.sealedSize - checksumSize);
  }

  #reserve(length: number): void {
    if (length <= this.#bytes.length) return;
    const grown = allocateBytes(Math.min(Math.max(length, this.#bytes.length * 2), chunkBytesMax));
    this.#bytes.copy(grown, 0, 0);
    this.#bytes = grown;
    this.#view = viewOf(grown);
  }
}

function writeWide(view: DataView, at: number, rid: Rid): void {
  const position = rid % positionLimit;
  view.setUint16(at, Math.floor(rid / positionLimit), true);
  view.setUint32(at + 2, position % narrowPosition, true);
  view.setUint8(at + 6, Math.floor(position / narrowPosition));
}

export function describeChunk(vertex: Rid, direction: Direction): string {
  return `the ${direction} edges of ${formatRid(vertex)}`;
}

/** bucket u16, position u32 */
export function writeNarrow(view: DataView, at: number, rid: Rid): void {
  // Both setters take whole parts, and the lower 32 bits of a record id are those of its position.
  view.setUint16(at, rid / positionLimit, true);
  view.setUint32(at + 2, rid, true);
}
