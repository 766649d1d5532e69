import type { StoredRecord } from '#core/value/record.ts';
import type { Value } from '#core/value/value.ts';
import type { BucketId } from '#core/value/rid.ts';
import type { Block } from '#storage/format/block.ts';
import { BlockWindow } from '#storage/read/block-window.ts';
import { requireWholeBucket } from '#storage/read/whole-bucket.ts';
import { isShared } from '#transaction/read/holding-bucket.ts';
import type { ReadView, RecordCursor } from '#transaction/read/read-view.ts';
import { vetoed } from '#transaction/trigger/trigger-runner.ts';
import type { CompiledScan, RowSource } from '../../evaluate/generated/block-scan.ts';
import { Patience } from '../../evaluate/turns/patience.ts';
import type { Slot } from '../../algebra/expression.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { createdBehind, type ScanPath } from './scan-path.ts';
import { rowsPerTurn, WorkShare } from '../hold/work-share.ts';

/** Blocks that are looked through between two pauses, for each row that other operators take: some thousand rows in all. */
const blocksPerRow = 1 / 8;

export interface FusedScanOptions {
  readonly scan: CompiledScan;
  /** In the place of `scan` while something stands in the slot. */
  readonly bounded: { readonly scan: CompiledScan; readonly slot: Slot } | undefined;
  readonly path: ScanPath;
  /** Fewer than other operators take, where looking at a row costs more. */
  readonly rowsPerTurn: number;
  readonly description: string;
}

/**
 * Scan, filter and projection as one loop over the bytes of blocks. What the transaction changed or created is read record by
 * record through the view instead, with the same row code.
 */
export class FusedScanOperator implements PhysicalOperator {
  readonly name = 'Scan';
  readonly inputs: readonly PhysicalOperator[] = [];
  readonly description: string;
  readonly #scan: CompiledScan;
  readonly #bounded: FusedScanOptions['bounded'];
  /** The bound that the rows in use know. */
  #bound: Value = null;
  readonly #blocks: BlockWalk;
  #rows: RowSource | undefined;
  #slot = -1;
  /** Until the next pause. */
  #blocksLeft: number;
  readonly #blocksPerTurn: number;
  #block: Block | undefined;
  readonly #share = new WorkShare();
  #context: ExecutionContext | undefined;
  readonly #patient = new PatientRows();

  constructor(options: FusedScanOptions) {
    this.description = options.description;
    this.#scan = options.scan;
    this.#bounded = options.bounded;
    this.#blocks = new BlockWalk(options.path);
    this.#blocksPerTurn = blocksInTurn(options);
    this.#blocksLeft = this.#blocksPerTurn;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#rows = this.#scan.bind(context);
    this.#bound = null;
    this.#block = undefined;
    this.#patient.reset();
    this.#blocks.start(context);
  }

  next(): Pulled {
    const context = this.#context as ExecutionContext;
    context.mayBeSuspended = !this.#patient.isNeeded;
    try {
      return this.#next();
    } catch (error) {
      if (!this.#patient.isSuspension(error, context)) throw error;
      return PAUSE;
    } finally {
      context.mayBeSuspended = false;
    }
  }

  #next(): Pulled {
    let rows = this.#rows as RowSource;
    const { isAscending } = this.#blocks;
    for (;;) {
      const block = this.#block;
      if (block !== undefined) {
        const slot = this.#patient.isNeeded
          ? this.#patient.next(this.#context as ExecutionContext, rows, block, {
              from: this.#slot,
              isAscending,
            })
          : rows.next(block, this.#slot);
        if (slot === underway) return PAUSE;
        if (slot >= 0) {
          this.#slot = isAscending ? slot + 1 : slot - 1;
          return ROW;
        }
        this.#block = undefined;
      }
      const { records } = this.#blocks;
      if (records !== undefined) {
        const pulled = this.#nextRecord(records, rows);
        if (pulled !== END) return pulled;
      }
      const next = this.#blocks.next();
      if (next === 'end') return END;
      if (this.#bounded !== undefined) rows = this.#rowsWithin(this.#bounded);
      if (next !== 'records') {
        this.#block = next;
        this.#slot = isAscending ? 0 : next.slotCount - 1;
      }
      this.#blocksLeft -= 1;
      if (this.#blocksLeft > 0) continue;
      this.#blocksLeft = this.#blocksPerTurn;
      return PAUSE;
    }
  }

  /** Rows of the bound that stands in the slot now. */
  #rowsWithin({ scan, slot }: NonNullable<FusedScanOptions['bounded']>): RowSource {
    const context = this.#context as ExecutionContext;
    const bound = context.frame[slot] as Value;
    if (bound !== this.#bound) {
      this.#bound = bound;
      this.#rows = scan.bind(context);
    }
    return this.#rows as RowSource;
  }

  #nextRecord(records: RecordCursor, rows: RowSource): Pulled {
    const patient = this.#patient;
    for (;;) {
      if (patient.record === undefined) {
        if (this.#share.isSpent() || records.isPauseDue?.() === true) return PAUSE;
        const record = records.next();
        if (record === undefined) {
          this.#blocks.records = undefined;
          return END;
        }
        if (record === vetoed) continue;
        patient.record = record;
      }
      const isAccepted = patient.isNeeded
        ? patient.accepts(this.#context as ExecutionContext, rows)
        : rows.accept(patient.record);
      if (isAccepted === undefined) return PAUSE;
      patient.record = undefined;
      if (isAccepted) return ROW;
    }
  }

  close(): void {
    this.#context = undefined;
    this.#patient.reset();
    this.#rows = undefined;
    this.#block = undefined;
    this.#blocks.stop();
  }
}

function blocksInTurn({ rowsPerTurn: rowCount }: FusedScanOptions): number {
  return Math.max(1, Math.floor(rowCount * blocksPerRow));
}

/** In the place of a slot: the row at hand is not over. */
const underway = -2;

/**
 * Rows of which one may take turns: as soon as one met a large value, the rows of the execution are looked at one by one. Those before
 * it in the block were looked at already and did not pass; they are looked at again.
 */
class PatientRows {
  readonly #patience = new Patience();
  /** The row at hand. */
  record: StoredRecord | undefined;
  #slot: number | undefined;
  #rows: RowSource | undefined;
  #isAccepted = false;
  readonly #look = (): void => {
    this.#isAccepted = this.#rows?.accept(this.record as StoredRecord) ?? false;
  };

  get isNeeded(): boolean {
    return this.#patience.isNeeded;
  }

  isSuspension(error: unknown, context: ExecutionContext): boolean {
    return this.#patience.isSuspension(error, context);
  }

  /** Whether the row at hand passes; undefined when that goes on in the next turn. */
  accepts(context: ExecutionContext, rows: RowSource): boolean | undefined {
    this.#rows = rows;
    return this.#patience.attempt(context, this.#look) ? this.#isAccepted : undefined;
  }

  /** As `RowSource.next`, and `underway`. */
  next(
    context: ExecutionContext,
    rows: RowSource,
    block: Block,
    { from, isAscending }: { readonly from: number; readonly isAscending: boolean },
  ): number {
    let at = this.#slot ?? (isAscending ? block.nextSlot(from) : block.previousSlot(from));
    while (at >= 0) {
      this.record = context.view.snapshot.recordAt(block, at);
      const isAccepted = this.accepts(context, rows);
      if (isAccepted === undefined) {
        this.#slot = at;
        return underway;
      }
      this.#slot = undefined;
      this.record = undefined;
      if (isAccepted) return at;
      at = isAscending ? block.nextSlot(at + 1) : block.previousSlot(at - 1);
    }
    return -1;
  }

  reset(): void {
    this.#patience.reset();
    this.record = undefined;
    this.#slot = undefined;
    this.#rows = undefined;
  }
}

/** Goes through the blocks of some buckets; where they do not tell what the transaction sees, it gives records instead. */
class BlockWalk {
  readonly isAscending: boolean;
  readonly #path: ScanPath;
  /** The records of the current bucket, when it must be read through the view; behind the buckets the created ones. */
  records: RecordCursor | undefined;
  #created: RecordCursor | undefined;
  #context: ExecutionContext | undefined;
  #window: BlockWindow | undefined;
  #bucketNumber = 0;
  #bucket: BucketId | undefined;
  #blockNumber = 0;
  #blocksLeft = 0;
  #rowCount = 0;

  constructor(path: ScanPath) {
    this.isAscending = path.order !== 'descending';
    this.#path = path;
  }

  start(context: ExecutionContext): void {
    this.#context = context;
    this.#window = new BlockWindow();
    this.records = undefined;
    this.#created = createdBehind(this.#path, context.view);
    this.#bucketNumber = 0;
    this.#bucket = undefined;
    this.#blocksLeft = 0;
  }

  stop(): void {
    this.#context = undefined;
    this.#window = undefined;
    this.records = undefined;
    this.#created = undefined;
  }

  /** The next block; 'records' when `records` has been set instead; 'end'. */
  next(): Block | 'records' | 'end' {
    const { view } = this.#context as ExecutionContext;
    for (;;) {
      while (this.#blocksLeft > 0) {
        const block = view.snapshot.passingBlock(
          this.#bucket as BucketId,
          this.#blockNumber,
          this.#window as BlockWindow,
        );
        this.#blockNumber += this.isAscending ? 1 : -1;
        this.#blocksLeft -= 1;
        if (block === undefined) continue;
        this.#rowCount += block.rowCount;
        return block;
      }
      if (this.#bucket !== undefined)
        requireWholeBucket(view.snapshot, this.#bucket, this.#rowCount);
      this.#bucket = undefined;
      const bucket = this.#path.buckets[this.#bucketNumber];
      if (bucket === undefined) return this.#endOfBuckets();
      this.#bucketNumber += 1;
      this.records = this.#recordsInPlace(bucket, view);
      if (this.records !== undefined) return 'records';
      this.#bucket = bucket;
      this.#rowCount = 0;
      this.#blocksLeft = view.snapshot.blockCount(bucket);
      this.#blockNumber = this.isAscending ? 0 : this.#blocksLeft - 1;
    }
  }

  /** What to read in the place of the blocks of a bucket; undefined when these will do. */
  #recordsInPlace(bucket: BucketId, view: ReadView): RecordCursor | undefined {
    const { order } = this.#path;
    // Blocks of a shared bucket hold rows of others.
    const isShown = !isShared(view.catalog, bucket);
    if (order === 'scan order')
      return isShown && !view.hasChangedRows(bucket) ? undefined : view.scanStored(bucket);
    return isShown && !view.isChanged(bucket) ? undefined : view.scan(bucket, order);
  }

  #endOfBuckets(): 'records' | 'end' {
    this.records = this.#created;
    this.#created = undefined;
    return this.records === undefined ? 'end' : 'records';
  }
}

/** One row with the number of rows that a scan with its filter gives; counts block by block. */
export class CountScanOperator implements PhysicalOperator {
  readonly name = 'Count scan';
  readonly inputs: readonly PhysicalOperator[] = [];
  readonly description: string;
  readonly #scan: CompiledScan;
  readonly #blocks: BlockWalk;
  readonly #slots: readonly Slot[];
  readonly #blocksPerTurn: number;
  #context: ExecutionContext | undefined;
  #rows: RowSource | undefined;
  #count = 0;
  #hasEnded = false;
  readonly #patient = new PatientRows();
  /** A block that is counted row by row, and where to go on in it. */
  #block: Block | undefined;
  #slot = 0;

  constructor(options: FusedScanOptions, slots: readonly Slot[]) {
    this.description = options.description;
    this.#scan = options.scan;
    this.#blocks = new BlockWalk(options.path);
    this.#slots = slots;
    this.#blocksPerTurn = blocksInTurn(options);
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#rows = this.#scan.bind(context);
    this.#count = 0;
    this.#hasEnded = false;
    this.#block = undefined;
    this.#patient.reset();
    this.#blocks.start(context);
  }

  next(): Pulled {
    if (this.#hasEnded) return END;
    const context = this.#context as ExecutionContext;
    context.mayBeSuspended = true;
    try {
      return this.#next(context);
    } catch (error) {
      if (!this.#patient.isSuspension(error, context)) throw error;
      return PAUSE;
    } finally {
      context.mayBeSuspended = false;
    }
  }

  #next(context: ExecutionContext): Pulled {
    const rows = this.#rows as RowSource;
    for (let blockCount = 0; blockCount < this.#blocksPerTurn; blockCount += 1) {
      if (this.#block !== undefined) {
        if (!this.#countPatiently(this.#block, context, rows)) return PAUSE;
        this.#block = undefined;
      }
      if (this.#blocks.records !== undefined && !this.#countRecords(this.#blocks.records, rows))
        return PAUSE;
      const next = this.#blocks.next();
      if (next === 'end') return this.#give();
      if (next === 'records') continue;
      this.#block = next;
      this.#slot = 0;
      this.#count += rows.count(next);
      this.#block = undefined;
    }
    return PAUSE;
  }

  /** The rows of a block with one that took turns. @returns false when it goes on in the next turn */
  #countPatiently(block: Block, context: ExecutionContext, rows: RowSource): boolean {
    context.mayBeSuspended = false;
    for (;;) {
      const slot = this.#patient.next(context, rows, block, {
        from: this.#slot,
        isAscending: true,
      });
      if (slot === underway) return false;
      if (slot < 0) break;
      this.#count += 1;
      this.#slot = slot + 1;
    }
    context.mayBeSuspended = true;
    return true;
  }

  /** @returns false when the share of work is done before the records are */
  #countRecords(records: RecordCursor, rows: RowSource): boolean {
    for (let count = 0; count < rowsPerTurn; count += 1) {
      const patient = this.#patient;
      if (patient.record === undefined) {
        if (records.isPauseDue?.() === true) return false;
        const record = records.next();
        if (record === undefined) {
          this.#blocks.records = undefined;
          return true;
        }
        if (record === vetoed) continue;
        patient.record = record;
      }
      const isAccepted = patient.isNeeded
        ? patient.accepts(this.#context as ExecutionContext, rows)
        : rows.accept(patient.record);
      if (isAccepted === undefined) return false;
      patient.record = undefined;
      if (isAccepted) this.#count += 1;
    }
    return false;
  }

  #give(): Pulled {
    const { frame } = this.#context as ExecutionContext;
    this.#hasEnded = true;
    for (let at = 0; at < this.#slots.length; at += 1) frame[this.#slots[at] as Slot] = this.#count;
    return ROW;
  }

  close(): void {
    this.#context = undefined;
    this.#rows = undefined;
    this.#block = undefined;
    this.#patient.reset();
    this.#blocks.stop();
  }
}
