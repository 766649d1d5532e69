import { makeRid } from '#core/value/rid.ts';
import type { BucketId, PropertyId, Rid, TypeId } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import {
  Block,
  blockHeaderSize,
  occupancyOffset,
  rowOffsetsOffset,
} from '#storage/format/block.ts';
import { imageOf } from '#storage/format/bytes.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import { RowEncoder, splitRow } from '#storage/format/row.ts';
import { RowRecord } from '#storage/format/row-record.ts';
import { ShapeRegistry } from '#storage/format/shape.ts';

const bucket = 3 as BucketId;
const slotCount = 64;

/** Blocks made by hand from rows, with gaps where a row is undefined, and the part of a snapshot that reads them. */
export class MemoryBlocks {
  readonly shapes = new ShapeRegistry();
  readonly rows = new RowEncoder(this.shapes);
  readonly blocks: Block[] = [];
  readonly #large = new Map<string, Uint8Array>();

  add(rows: readonly (ReadonlyMap<string, Value> | undefined)[], type = 5 as TypeId): Block {
    const number = this.blocks.length;
    const image = Buffer.alloc(blockHeaderSize + rows.length * 4_096 + 70_000);
    const view = new DataView(image.buffer, image.byteOffset, image.byteLength);
    let end = blockHeaderSize;
    rows.forEach((properties, slot) => {
      if (properties === undefined) return;
      const encoded = this.rows.encode(type, properties);
      const shape = this.shapes.shape(
        new DataView(encoded.buffer, encoded.byteOffset).getUint16(4, true),
      );
      const split = splitRow(encoded, shape);
      const rid = makeRid(bucket, number * slotCount + slot);
      for (const cell of split.large) this.#large.set(`${rid}/${cell.property}`, cell.bytes);
      image.set(split.row, end);
      view.setUint16(rowOffsetsOffset + slot * 2, end / 8, true);
      const word = occupancyOffset + (slot >= 32 ? 4 : 0);
      view.setUint32(word, (view.getUint32(word, true) | (1 << (slot & 31))) >>> 0, true);
      view.setUint16(2, view.getUint16(2, true) + 1, true);
      end += Math.ceil(split.row.length / 8) * 8;
    });
    const block = new Block(imageOf(image), 0, bucket, number, slotCount);
    this.blocks.push(block);
    return block;
  }

  /** Only what scans ask for. */
  snapshot(): StorageSnapshot {
    const labels = () => ({ name: 'Person', kind: 'document' as const });
    const large = {
      largeCell: (rid: Rid, property: PropertyId) =>
        this.#large.get(`${rid}/${property}`) as Uint8Array,
    };
    const recordAt = (block: Block, slot: number) => {
      const row = block.rowOffset(slot);
      const shape = this.shapes.shape(block.view.getUint16(row + 4, true));
      const rid = makeRid(bucket, block.firstPosition + slot);
      return new RowRecord(rid, shape, block, row, labels, large);
    };
    return { recordAt } as unknown as StorageSnapshot;
  }
}
