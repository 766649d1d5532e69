import { DatabaseError } from '#core/errors.ts';
import { allocateBytes, type Bytes, viewOf } from '../format/bytes.ts';
import {
  type Block,
  blockBytesMax,
  blockFormat,
  blockHeaderSize,
  liveRowsOffset,
  occupancyOffset,
  rowOffsetsOffset,
  usedEndOffset,
} from '../format/block.ts';
import { rowVersionOffset } from '../format/shape.ts';

const slotsMax = 64;
/** Up to here a loop copies faster than a view and a call. */
const copiedMax = 256;

/** Rows that are overwritten leave holes; above this many bytes the block is packed before it grows further. */
const holesMax = blockBytesMax / 2;

/**
 * A block under change. Starts as a copy of an image or empty; what it wrote becomes an image by `copyTo`, after which it
 * may be reused for another block.
 */
export class BlockBuilder {
  #bytes: Bytes = allocateBytes(16 * 1024);
  #view: DataView = viewOf(this.#bytes);
  #end = blockHeaderSize;
  #holes = 0;

  /** Begins with an empty block. */
  startEmpty(): void {
    this.#bytes.fill(0, 0, blockHeaderSize);
    this.#bytes[0] = blockFormat;
    this.#end = blockHeaderSize;
    this.#holes = 0;
  }

  /** Begins with the rows of an image. */
  startFrom(block: Block): void {
    this.startFromBytes(block.bytes, block.base, block.usedBytes);
  }

  /** Begins with the rows of the image of `length` bytes that starts at `start`. */
  startFromBytes(bytes: Bytes, start: number, length: number): void {
    this.#end = 0;
    this.#reserve(length);
    bytes.copy(this.#bytes, 0, start, start + length);
    this.#end = length;
    this.#holes = length - blockHeaderSize - this.#liveBytes();
  }

  /** What the rows take. An image has the holes that were not worth packing when it was made. */
  #liveBytes(): number {
    const view = this.#view;
    let bytes = 0;
    for (let slot = 0; slot < slotsMax; slot += 1) {
      const at = view.getUint16(rowOffsetsOffset + slot * 2, true) * 8;
      if (at !== 0) bytes += padded(view.getUint32(at, true));
    }
    return bytes;
  }

  get rowCount(): number {
    return this.#view.getUint16(liveRowsOffset, true);
  }

  /** Bytes the image will take, without checksum. */
  get usedBytes(): number {
    return this.#end - (this.#isWorthPacking() ? this.#holes : 0);
  }

  get bytes(): Bytes {
    return this.#bytes;
  }

  get view(): DataView {
    return this.#view;
  }

  /** Where the row of the slot starts in `bytes`; 0 when there is none. Valid until the next change. */
  rowOffset(slot: number): number {
    return this.#view.getUint16(rowOffsetsOffset + slot * 2, true) * 8;
  }

  /** Puts a row in place of what the slot held, with this version. */
  put(slot: number, row: Uint8Array, version: number): void {
    const old = this.rowOffset(slot);
    const size = padded(row.length);
    let at = old;
    if (old === 0) this.#occupy(slot);
    else {
      const oldSize = padded(this.#view.getUint32(old, true));
      if (oldSize < size) {
        this.#holes += oldSize;
        at = 0;
      } else this.#holes += oldSize - size;
    }
    if (at === 0) at = this.#append(slot, size);
    const bytes = this.#bytes;
    bytes.set(row, at);
    for (let end = at + row.length; end < at + size; end += 1) bytes[end] = 0;
    this.#view.setFloat64(at + rowVersionOffset, version, true);
  }

  /** Puts a row that lies somewhere in other bytes into an empty slot, with version 0. */
  lay(slot: number, source: Uint8Array, start: number, length: number): void {
    this.#occupy(slot);
    const size = padded(length);
    const at = this.#append(slot, size);
    const bytes = this.#bytes;
    if (length > copiedMax) bytes.set(source.subarray(start, start + length), at);
    else for (let i = 0; i < length; i += 1) bytes[at + i] = source[start + i] as number;
    for (let end = at + length; end < at + size; end += 1) bytes[end] = 0;
    this.#view.setFloat64(at + rowVersionOffset, 0, true);
  }

  /** Makes room for a row in an empty slot; its bytes are zero and to be written at the offset that is returned. */
  place(slot: number, length: number): number {
    this.#occupy(slot);
    const size = padded(length);
    const at = this.#append(slot, size);
    const view = this.#view;
    for (let offset = at; offset < at + size; offset += 8) view.setFloat64(offset, 0, true);
    return at;
  }

  remove(slot: number): void {
    const old = this.rowOffset(slot);
    if (old === 0) return;
    this.#holes += padded(this.#view.getUint32(old, true));
    this.#view.setUint16(rowOffsetsOffset + slot * 2, 0, true);
    const byte = occupancyOffset + (slot >>> 3);
    this.#bytes[byte] = (this.#bytes[byte] as number) & ~(1 << (slot & 7));
    this.#view.setUint16(liveRowsOffset, this.rowCount - 1, true);
  }

  /** Writes the finished image at `start`; `usedBytes` long. */
  copyTo(target: Uint8Array, start: number): void {
    if (this.#isWorthPacking()) this.#pack();
    this.#view.setUint32(usedEndOffset, this.#end, true);
    this.#bytes.copy(target, start, 0, this.#end);
  }

  #occupy(slot: number): void {
    const byte = occupancyOffset + (slot >>> 3);
    this.#bytes[byte] = (this.#bytes[byte] as number) | (1 << (slot & 7));
    this.#view.setUint16(liveRowsOffset, this.rowCount + 1, true);
  }

  #append(slot: number, size: number): number {
    const isFull = this.#end > blockBytesMax && this.#holes > 0;
    if (this.#holes > holesMax || isFull) {
      // The slot's old row must not be carried along.
      this.#view.setUint16(rowOffsetsOffset + slot * 2, 0, true);
      this.#pack();
    }
    this.#reserve(size);
    const at = this.#end;
    if (at > blockBytesMax) throw tooLarge(at);
    this.#view.setUint16(rowOffsetsOffset + slot * 2, at / 8, true);
    this.#end = at + size;
    return at;
  }

  #isWorthPacking(): boolean {
    return this.#holes > this.#end / 4;
  }

  #pack(): void {
    const from = Buffer.from(this.#bytes.subarray(0, this.#end));
    const fromView = viewOf(from);
    let end = blockHeaderSize;
    for (let slot = 0; slot < slotsMax; slot++) {
      const old = this.rowOffset(slot);
      if (old === 0) continue;
      const size = padded(fromView.getUint32(old, true));
      from.copy(this.#bytes, end, old, old + size);
      this.#view.setUint16(rowOffsetsOffset + slot * 2, end / 8, true);
      end += size;
    }
    this.#end = end;
    this.#holes = 0;
  }

  #reserve(count: number): void {
    const needed = this.#end + count;
    if (needed <= this.#bytes.length) return;
    const grown = allocateBytes(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#end);
    this.#bytes = grown;
    this.#view = viewOf(grown);
  }
}

/** Rows of hundreds of short properties, put in the places of small ones. The commit is refused, others go on. */
function tooLarge(bytes: number): DatabaseError {
  return new DatabaseError(
    'IllegalArgument',
    `neighbouring records have ${bytes} bytes together, and at most ${blockBytesMax} fit in a block; use fewer or larger properties`,
  );
}

function padded(length: number): number {
  return (length + 7) & ~7;
}
