import type { StoredRecord } from '#core/value/record.ts';
import { type BucketId, makeRid, positionOf, type Rid } from '#core/value/rid.ts';
import type { Block } from '#storage/format/block.ts';
import { BlockWindow } from '#storage/read/block-window.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import { requireWholeBucket } from '#storage/read/whole-bucket.ts';
import type { OverlayEntry } from '../write/overlay.ts';
import type { RecordCursor } from './read-view.ts';

/** What a scan sees of a transaction's own writes. */
export interface ScanOverlay {
  /** A stored record as changed by the transaction, undefined when deleted, `unchanged` when it did not touch it. */
  changed(rid: Rid): StoredRecord | undefined | typeof unchanged;
  /** New records in position order, as they are when the scan begins. */
  readonly created: readonly OverlayEntry[];
  /** The record of one of these; undefined when deleted. */
  recordOf(entry: OverlayEntry): StoredRecord | undefined;
}

export const unchanged = Symbol('unchanged');

/** Where a scan begins and which way it goes. */
export interface ScanRange {
  readonly bucket: BucketId;
  readonly order: 'ascending' | 'descending';
  /** First position that may be given; the last one for descending order. */
  readonly from: number | undefined;
}

/**
 * Records of a bucket by position, block by block. Most new records have higher positions than all stored ones; but others may
 * have committed meanwhile what they made later, and a restored record has the position it had.
 */
export class RecordScan implements RecordCursor {
  readonly #snapshot: StorageSnapshot;
  readonly #overlay: ScanOverlay | undefined;
  readonly #bucket: BucketId;
  readonly #step: 1 | -1;
  readonly #createdCount: number;
  /** Place in the new records; negative or the count when they are done. */
  #createdAt = 0;
  /** Of the new record at that place; beyond all others when they are done. */
  #createdPosition = 0;
  #block: Block | undefined;
  #slot = 0;
  #nextBlock: number;
  readonly #blockCount: number;
  readonly #window = new BlockWindow();
  /** Rows of the blocks passed, or -1 when not all of them are. */
  #rowCount = 0;

  constructor(snapshot: StorageSnapshot, overlay: ScanOverlay | undefined, range: ScanRange) {
    this.#snapshot = snapshot;
    this.#overlay = overlay;
    this.#bucket = range.bucket;
    this.#step = range.order === 'ascending' ? 1 : -1;
    this.#blockCount = snapshot.blockCount(range.bucket);
    this.#createdCount = overlay?.created.length ?? 0;
    this.#nextBlock = this.#step === 1 ? 0 : this.#blockCount - 1;
    this.#goToCreated(this.#step === 1 ? 0 : this.#createdCount - 1);
    if (range.from !== undefined) this.#startAt(range.from);
  }

  next(): StoredRecord | undefined {
    return this.#nextInBlocks() ?? this.#nextCreated();
  }

  #startAt(position: number): void {
    this.#rowCount = -1;
    const perBlock = this.#snapshot.rowsPerBlock(this.#bucket);
    const number = Math.floor(position / perBlock);
    if (number < this.#blockCount) {
      this.#nextBlock = number;
      this.#openBlock(position - number * perBlock);
    } else if (this.#step === 1) {
      this.#nextBlock = this.#blockCount;
    }
    while (this.#isCreatedBefore(position)) this.#goToCreated(this.#createdAt + this.#step);
  }

  #goToCreated(at: number): void {
    this.#createdAt = at;
    const entry = this.#overlay?.created[at];
    const isOver = entry === undefined || at >= this.#createdCount;
    this.#createdPosition = isOver ? Number.POSITIVE_INFINITY * this.#step : positionOf(entry.rid);
  }

  /** Whether the next new record comes before a position on this way. */
  #isCreatedBefore(position: number): boolean {
    return (position - this.#createdPosition) * this.#step > 0;
  }

  #openBlock(slot: number | undefined): void {
    const block = this.#snapshot.passingBlock(this.#bucket, this.#nextBlock, this.#window);
    this.#nextBlock += this.#step;
    this.#block = block;
    if (block === undefined) return;
    if (this.#rowCount >= 0) this.#rowCount += block.rowCount;
    this.#slot = slot ?? (this.#step === 1 ? 0 : block.slotCount - 1);
  }

  /** The records up to the end of the blocks, new ones among them. */
  #nextInBlocks(): StoredRecord | undefined {
    const overlay = this.#overlay;
    for (;;) {
      const block = this.#block;
      if (block === undefined) {
        if (this.#nextBlock < 0 || this.#nextBlock >= this.#blockCount) return this.#endStored();
        // Of a descending scan under a limit no block may be needed.
        if (overlay === undefined || !this.#isCreatedBefore(this.#startOfNextBlock())) {
          this.#openBlock(undefined);
          continue;
        }
        const created = this.#takeCreated(overlay);
        if (created !== undefined) return created;
        continue;
      }
      const slot = this.#step === 1 ? block.nextSlot(this.#slot) : block.previousSlot(this.#slot);
      if (slot < 0) {
        this.#block = undefined;
        continue;
      }
      if (overlay !== undefined) {
        const position = block.firstPosition + slot;
        if (this.#isCreatedBefore(position)) {
          const created = this.#takeCreated(overlay);
          if (created !== undefined) return created;
          continue;
        }
        this.#slot = slot + this.#step;
        const changed = overlay.changed(makeRid(this.#bucket, position));
        if (changed === undefined) continue;
        if (changed !== unchanged) return changed;
      }
      this.#slot = slot + this.#step;
      return this.#snapshot.recordAt(block, slot);
    }
  }

  #startOfNextBlock(): number {
    const perBlock = this.#snapshot.rowsPerBlock(this.#bucket);
    return this.#nextBlock * perBlock + (this.#step === 1 ? 0 : perBlock - 1);
  }

  #endStored(): undefined {
    if (this.#rowCount >= 0) requireWholeBucket(this.#snapshot, this.#bucket, this.#rowCount);
    this.#rowCount = -1;
    return undefined;
  }

  #nextCreated(): StoredRecord | undefined {
    const overlay = this.#overlay;
    if (overlay === undefined) return undefined;
    while (this.#createdAt >= 0 && this.#createdAt < this.#createdCount) {
      const record = this.#takeCreated(overlay);
      if (record !== undefined) return record;
    }
    return undefined;
  }

  #takeCreated(overlay: ScanOverlay): StoredRecord | undefined {
    const entry = overlay.created[this.#createdAt];
    this.#goToCreated(this.#createdAt + this.#step);
    return entry && overlay.recordOf(entry);
  }
}
