import { type BucketId, makeRid, positionOf } from '#core/value/rid.ts';
import type { Timers } from '#core/runtime.ts';
import { BlockBuilder } from '../commit/block-builder.ts';
import { Block } from '../format/block.ts';
import { checksumSize } from '../format/checksum.ts';
import { rowsPerBlockFor } from '../format/counters.ts';
import { ImageMemory, type Slab } from '../checkpoint/image-memory.ts';

/** A block image of a bulk load, complete but for versions and checksum. */
export interface BulkBlock {
  readonly block: Block;
  readonly slab: Slab;
  /** Bytes of the image with room for its checksum. */
  readonly size: number;
}

const rowsPerFirstBlock = 64;
/** Blocks that are copied between two turns of the event loop. */
const blocksPerSlice = 4;

/** The rows of one bucket in ascending positions, laid into block images as they come. */
export class BulkBlocks {
  readonly bucket: BucketId;
  readonly finished: BulkBlock[] = [];
  readonly #memory = new ImageMemory();
  readonly #builder = new BlockBuilder();
  /** Rows that come before the rows per block are known. */
  #early: { readonly position: number; readonly row: Uint8Array }[] | undefined;
  #slotCount: number;
  #number = -1;
  /** One past the last position. */
  next = 0;

  /** @param slotCount undefined when the bucket has not settled on its rows per block */
  constructor(bucket: BucketId, slotCount: number | undefined) {
    this.bucket = bucket;
    this.#slotCount = slotCount ?? rowsPerFirstBlock;
    if (slotCount === undefined) this.#early = [];
  }

  get slotCount(): number {
    return this.#slotCount;
  }

  /** False while it has too few rows to say how many a block should hold. */
  get isSized(): boolean {
    return this.#early === undefined;
  }

  /** Copies the row. */
  add(position: number, row: Uint8Array): void {
    this.addFrom(position, row, 0, row.length);
  }

  /** Copies the row of `length` bytes that begins at `start`. */
  addFrom(position: number, bytes: Uint8Array, start: number, length: number): void {
    this.next = position + 1;
    if (this.#early !== undefined) {
      // Of a Buffer `slice` would be a view.
      const row = new Uint8Array(bytes.subarray(start, start + length));
      this.#early.push({ position, row });
      if (this.#early.length >= rowsPerFirstBlock) this.#settle();
    } else this.#builder.lay(this.#openSlot(position), bytes, start, length);
  }

  /** The block being filled, whose `place` made room for a row. */
  get builder(): BlockBuilder {
    return this.#builder;
  }

  /** Makes room for a row of zeros, once the bucket is sized. @returns where it begins in the bytes of `builder` */
  place(position: number, length: number): number {
    this.next = position + 1;
    return this.#builder.place(this.#openSlot(position), length);
  }

  /** Copies the rows from `position` on, in turns. Rows may be added to the copy, but no more here. */
  async copyFrom(position: number, timers: Pick<Timers, 'yield'>): Promise<BulkBlocks> {
    // Both lay their rows in blocks of the same size.
    if (this.#early !== undefined) this.#settle();
    this.end();
    const copy = new BulkBlocks(this.bucket, this.#slotCount);
    let untilYield = blocksPerSlice;
    for (let at = this.#firstWith(position); at < this.finished.length; at += 1) {
      const { block } = this.finished[at] as BulkBlock;
      forEachRow(block, (rid, row) => {
        if (positionOf(rid) >= position) copy.add(positionOf(rid), rowBytes(block, row));
      });
      if (--untilYield > 0) continue;
      untilYield = blocksPerSlice;
      await timers.yield();
    }
    return copy;
  }

  /** Forgets the rows from `position` on; none may be added after that. */
  cutAt(position: number): void {
    this.end();
    const first = this.#firstWith(position);
    const parted = this.finished[first];
    this.finished.length = first;
    this.next = position;
    if (parted === undefined) return;
    forEachRow(parted.block, (rid, row) => {
      if (positionOf(rid) < position) this.#lay(positionOf(rid), rowBytes(parted.block, row));
    });
    this.#finishBlock();
  }

  /** The finished block that the position lies in, or the first behind it. */
  #firstWith(position: number): number {
    const { finished } = this;
    let at = finished.length;
    while (at > 0 && endOf(finished[at - 1] as BulkBlock) > position) at -= 1;
    return at;
  }

  /** The commit is over, whatever became of it: the images are in LMDB or nowhere, and their memory is given back at once. */
  release(): void {
    for (const { slab } of this.finished) slab.release();
    this.finished.length = 0;
  }

  /** A bucket that stays within its first block need not decide. */
  end(): void {
    if (this.#early !== undefined && this.next > rowsPerFirstBlock) this.#settle();
    else if (this.#early !== undefined) {
      this.#layEarly();
      this.#early = [];
    }
    this.#finishBlock();
  }

  #settle(): void {
    const early = this.#early ?? [];
    const bytes = early.reduce((sum, { row }) => sum + ((row.length + 7) & ~7), 0);
    this.#slotCount = rowsPerBlockFor(bytes / early.length);
    this.#layEarly();
    this.#early = undefined;
  }

  #layEarly(): void {
    for (const { position, row } of this.#early ?? []) this.#lay(position, row);
  }

  #lay(position: number, row: Uint8Array): void {
    this.#builder.lay(this.#openSlot(position), row, 0, row.length);
  }

  /** Slot of the position in the block that is being filled. */
  #openSlot(position: number): number {
    const slot = position % this.#slotCount;
    const number = (position - slot) / this.#slotCount;
    if (number !== this.#number) {
      this.#finishBlock();
      this.#number = number;
      this.#builder.startEmpty();
    }
    return slot;
  }

  #finishBlock(): void {
    if (this.#number < 0) return;
    const size = this.#builder.usedBytes + checksumSize;
    const start = this.#memory.take(size);
    const { slab } = this.#memory;
    this.#builder.copyTo(slab.bytes, start);
    const block = new Block(slab, start, this.bucket, this.#number, this.#slotCount);
    this.finished.push({ block, slab, size });
    this.#number = -1;
  }
}

/** One past the last position that the block has room for. */
function endOf({ block }: BulkBlock): number {
  return block.firstPosition + block.slotCount;
}

function rowBytes(block: Block, row: number): Uint8Array {
  return block.bytes.subarray(row, row + block.view.getUint32(row, true));
}

/** Calls `visit` for each row of the image with its record id and place. */
export function forEachRow(
  block: Block,
  visit: (rid: ReturnType<typeof makeRid>, row: number) => void,
): void {
  for (let slot = block.nextSlot(0); slot >= 0; slot = block.nextSlot(slot + 1)) {
    visit(makeRid(block.bucket, block.firstPosition + slot), block.rowOffset(slot));
  }
}
