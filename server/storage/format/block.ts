import type { BucketId, LogIndex } from '#core/value/rid.ts';
import type { Bytes, Image } from './bytes.ts';

// Record blocks (storage.md 3.1): up to 64 rows of consecutive positions under one key.
//
//   0   u8  format = 1     1  u8 reserved     2  u16 live rows     4  u32 end of used bytes
//   8   u64 occupancy, lowest position in the lowest bit
//   16  u16[64] row offset in units of 8 bytes, 0 = no row
//   144 rows, each starting on a multiple of 8
//
// Behind the used bytes stand four bytes of checksum, which are the sub-database's business.

export const blockFormat = 1;
export const blockHeaderSize = 144;
export const liveRowsOffset = 2;
export const usedEndOffset = 4;
export const occupancyOffset = 8;
export const rowOffsetsOffset = 16;
/** Row offsets are u16 in units of 8 bytes. */
export const blockBytesMax = 0xffff * 8;

/**
 * An immutable block image inside some larger memory. Offsets that it gives are offsets into `bytes` and `view`, ready to
 * be read with a shape's columns: `view.getFloat64(block.rowOffset(slot) + column.fixedOffset, true)`.
 */
export class Block implements Image {
  readonly bytes: Bytes;
  readonly view: DataView;
  /** Where the image starts in `bytes`. */
  readonly base: number;
  // Looked at or set by each point read, so they stand beside the above: another object, or the next line of the processor's
  // cache, would take as long as the rest of the way to a row.
  /** The state from which on this has been the newest image of the block; the cache's (`BlockCache`). */
  since = 0 as LogIndex;
  /** Read again since it came into the cache: survives one round of giving up memory. */
  isUsed = false;
  /** A record was made of it, so its bytes stay as they are; set by the snapshot. See `BlockWindow`. */
  isKept = false;
  readonly bucket: BucketId;
  readonly number: number;
  /** Position of slot 0. */
  readonly firstPosition: number;
  /** Slots in use by arithmetic: 64, 32 or 16. */
  readonly slotCount: number;

  constructor(memory: Image, base: number, bucket: BucketId, number: number, slotCount: number) {
    this.bytes = memory.bytes;
    this.view = memory.view;
    this.base = base;
    this.bucket = bucket;
    this.number = number;
    this.firstPosition = number * slotCount;
    this.slotCount = slotCount;
  }

  /** Live rows. */
  get rowCount(): number {
    return this.view.getUint16(this.base + liveRowsOffset, true);
  }

  /** Bytes of the image in use, without the checksum. */
  get usedBytes(): number {
    return this.view.getUint32(this.base + usedEndOffset, true);
  }

  /** Where the row of the slot (position - firstPosition) starts in `bytes`; 0 when there is none. */
  rowOffset(slot: number): number {
    const units = this.view.getUint16(this.base + rowOffsetsOffset + slot * 2, true);
    return units === 0 ? 0 : this.base + units * 8;
  }

  /** The first slot with a row at or after `slot`; -1 at the end. */
  nextSlot(slot: number): number {
    if (slot < 32) {
      const low = this.view.getUint32(this.base + occupancyOffset, true) & (-1 << slot);
      if (low !== 0) return 31 - Math.clz32(low & -low);
      return this.nextSlot(32);
    }
    if (slot >= 64) return -1;
    const high = this.view.getUint32(this.base + occupancyOffset + 4, true) & (-1 << (slot - 32));
    return high === 0 ? -1 : 63 - Math.clz32(high & -high);
  }

  /** The last slot with a row at or before `slot`; -1 when there is none. */
  previousSlot(slot: number): number {
    if (slot >= 32) {
      const mask = slot >= 63 ? -1 : (1 << (slot - 31)) - 1;
      const high = this.view.getUint32(this.base + occupancyOffset + 4, true) & mask;
      return high !== 0 ? 63 - Math.clz32(high) : this.previousSlot(31);
    }
    if (slot < 0) return -1;
    const mask = slot === 31 ? -1 : (1 << (slot + 1)) - 1;
    const low = this.view.getUint32(this.base + occupancyOffset, true) & mask;
    return low === 0 ? -1 : 31 - Math.clz32(low);
  }
}
