import type { BucketId, Rid } from '#core/value/rid.ts';
import type { Timers } from '#core/runtime.ts';
import type { BulkBlocks } from './blocks.ts';
import { BulkEdges } from './edges.ts';
import type { BulkMark } from './writer.ts';
import type { LargeCell } from '../format/row.ts';

/** What a bulk writer holds of one commit. */
export class PendingLoad {
  readonly blocks = new Map<BucketId, BulkBlocks>();
  readonly edges = new BulkEdges();
  readonly largeCells: { readonly rid: Rid; readonly cell: LargeCell }[] = [];
  readonly shapes = new Set<number>();
  /** Some row needs the feature `extendedValues` of the format. */
  hasExtendedValues = false;
  bytes = 0;

  mark(): BulkMark {
    const next = new Map<BucketId, number>();
    for (const [bucket, blocks] of this.blocks) next.set(bucket, blocks.next);
    const { bytes, largeCells } = this;
    return { bytes, next, edges: this.edges.counts(), largeCellCount: largeCells.length };
  }

  /**
   * Moves what came behind the mark into another load. Nothing may be added to this one after that.
   *
   * Cost: a copy of those rows, in turns.
   */
  async split(mark: BulkMark, timers: Pick<Timers, 'yield'>): Promise<PendingLoad> {
    const rest = new PendingLoad();
    for (const [bucket, blocks] of this.blocks) {
      const start = mark.next.get(bucket) ?? 0;
      if (blocks.next > start) rest.blocks.set(bucket, await blocks.copyFrom(start, timers));
    }
    this.edges.moveBehind(mark.edges, rest.edges);
    for (const large of this.largeCells.slice(mark.largeCellCount)) rest.largeCells.push(large);
    for (const shape of this.shapes) rest.shapes.add(shape);
    rest.hasExtendedValues = this.hasExtendedValues;
    rest.bytes = this.bytes - mark.bytes;
    this.cutAt(mark);
    return rest;
  }

  /** Forgets what came behind the mark. Nothing may be added after that. */
  cutAt(mark: BulkMark): void {
    for (const [bucket, blocks] of this.blocks) {
      const next = mark.next.get(bucket);
      if (next === undefined) this.blocks.delete(bucket);
      else if (next < blocks.next) blocks.cutAt(next);
    }
    this.edges.cutAt(mark.edges);
    this.largeCells.length = mark.largeCellCount;
    this.bytes = mark.bytes;
  }

  /** The commit is over, whatever became of it. */
  release(): void {
    this.edges.release();
    for (const blocks of this.blocks.values()) blocks.release();
  }
}
