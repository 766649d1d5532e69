import type { StoredRecord } from '#core/record.ts';
import { type BucketId, positionOf, type Rid } from '#core/rid.ts';
import type { Block } from '#storage/block.ts';
import { BlockWindow } from '#storage/block-window.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import { requireWholeBucket } from '#storage/whole-bucket.ts';
import type { RecordCursor } from './read-view.ts';

/** What a scan sees of a transaction's own writes; undefined fields mean there are none in the bucket. */
export interface ScanOverlay {
  /** The record as changed by the transaction, undefined when deleted, `unchanged` when it did not touch it. */
  recordOf(rid: Rid): StoredRecord | undefined | typeof unchanged;
  /** New records in position order, as they are when the scan begins. */
  readonly inserted: readonly Rid[];
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
 * Records of a bucket, block by block. Ascending order gives the stored records and then the new ones, descending order the
 * other way round: new records have the highest positions.
 */
export class RecordScan implements RecordCursor {
  readonly #snapshot: StorageSnapshot;
  readonly #overlay: ScanOverlay | undefined;
  readonly #bucket: BucketId;
  readonly #step: 1 | -1;
  readonly #insertedCount: number;
  /** Place in the new records; negative or the count when they are done. */
  #insertedAt: number;
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
    this.#insertedCount = overlay?.inserted.length ?? 0;
    this.#insertedAt = this.#step === 1 ? 0 : this.#insertedCount - 1;
    this.#nextBlock = this.#step === 1 ? 0 : this.#blockCount - 1;
    if (range.from !== undefined) this.#startAt(range.from);
  }

  next(): StoredRecord | undefined {
    if (this.#step === 1) return this.#nextStored() ?? this.#nextInserted();
    return this.#nextInserted() ?? this.#nextStored();
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
    const inserted = this.#overlay?.inserted ?? [];
    while (
      this.#insertedAt >= 0 &&
      this.#insertedAt < this.#insertedCount &&
      (position - positionOf(inserted[this.#insertedAt] as Rid)) * this.#step > 0
    ) {
      this.#insertedAt += this.#step;
    }
  }

  #openBlock(slot: number | undefined): void {
    const block = this.#snapshot.passingBlock(this.#bucket, this.#nextBlock, this.#window);
    this.#nextBlock += this.#step;
    this.#block = block;
    if (block === undefined) return;
    if (this.#rowCount >= 0) this.#rowCount += block.rowCount;
    this.#slot = slot ?? (this.#step === 1 ? 0 : block.slotCount - 1);
  }

  #nextStored(): StoredRecord | undefined {
    for (;;) {
      const block = this.#block;
      if (block === undefined) {
        if (this.#nextBlock < 0 || this.#nextBlock >= this.#blockCount) return this.#endStored();
        this.#openBlock(undefined);
        continue;
      }
      const slot = this.#step === 1 ? block.nextSlot(this.#slot) : block.previousSlot(this.#slot);
      if (slot < 0) {
        this.#block = undefined;
        continue;
      }
      this.#slot = slot + this.#step;
      const stored = this.#snapshot.recordAt(block, slot);
      if (this.#overlay === undefined) return stored;
      const changed = this.#overlay.recordOf(stored.rid);
      if (changed === unchanged) return stored;
      if (changed !== undefined) return changed;
    }
  }

  #endStored(): undefined {
    if (this.#rowCount >= 0) requireWholeBucket(this.#snapshot, this.#bucket, this.#rowCount);
    this.#rowCount = -1;
    return undefined;
  }

  #nextInserted(): StoredRecord | undefined {
    const overlay = this.#overlay;
    if (overlay === undefined) return undefined;
    while (this.#insertedAt >= 0 && this.#insertedAt < this.#insertedCount) {
      const rid = overlay.inserted[this.#insertedAt] as Rid;
      this.#insertedAt += this.#step;
      const record = overlay.recordOf(rid);
      if (record !== undefined && record !== unchanged) return record;
    }
    return undefined;
  }
}
