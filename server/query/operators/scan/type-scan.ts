import type { Slot } from '../../algebra/expression.ts';
import type { RidOrder } from '../../algebra/plan.ts';
import { bucketOf, positionOf, type BucketId, type Rid } from '#core/value/rid.ts';
import type { RecordCursor } from '#transaction/read/read-view.ts';
import { vetoed } from '#transaction/trigger/trigger-runner.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { ridOf } from '../record-identity.ts';
import { createdBehind, type ScanPath } from './scan-path.ts';
import { WorkShare } from '../hold/work-share.ts';

export interface CompiledRidRange {
  readonly low: { readonly value: Evaluator; readonly inclusive: boolean } | undefined;
  readonly high: { readonly value: Evaluator; readonly inclusive: boolean } | undefined;
}

export interface RecordScanOptions {
  readonly path: ScanPath;
  readonly as: Slot;
  /** Only where the path goes by record id. */
  readonly range: CompiledRidRange | undefined;
  readonly description: string;
}

/** Record ids within which a scan stays, both ends included. */
interface RidBounds {
  readonly low: number;
  readonly high: number;
}

/** All records of some buckets, one by one. */
export class RecordScanOperator implements PhysicalOperator {
  readonly name = 'Scan';
  readonly inputs: readonly PhysicalOperator[] = [];
  readonly description: string;
  readonly #options: RecordScanOptions;
  #context: ExecutionContext | undefined;
  #bounds: RidBounds = { low: 0, high: Number.POSITIVE_INFINITY };
  #cursor: RecordCursor | undefined;
  #bucketNumber = 0;
  /** What comes behind the buckets. */
  #created: RecordCursor | undefined;
  readonly #share = new WorkShare();

  constructor(options: RecordScanOptions) {
    this.description = options.description;
    this.#options = options;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#bucketNumber = 0;
    this.#cursor = undefined;
    this.#bounds = boundsOf(this.#options.range, context);
    this.#created = createdBehind(this.#options.path, context.view);
  }

  next(): Pulled {
    const { frame } = this.#context as ExecutionContext;
    const { as, range } = this.#options;
    for (;;) {
      if (this.#share.isSpent() || this.#cursor?.isPauseDue?.() === true) return PAUSE;
      if (this.#cursor === undefined) {
        this.#cursor = this.#nextCursor();
        if (this.#cursor === undefined) return END;
      }
      const record = this.#cursor.next();
      if (record === undefined) {
        this.#cursor = undefined;
        continue;
      }
      if (record === vetoed) continue;
      if (range !== undefined && !this.#isWithin(record.rid)) {
        this.#cursor = undefined;
        continue;
      }
      frame[as] = record;
      return ROW;
    }
  }

  #nextCursor(): RecordCursor | undefined {
    const { view } = this.#context as ExecutionContext;
    const { order } = this.#options.path;
    const bucket = this.#nextBucket();
    if (bucket !== undefined)
      return order === 'scan order'
        ? view.scanStored(bucket)
        : view.scan(bucket, order, this.#startPosition(bucket, order));
    const created = this.#created;
    this.#created = undefined;
    return created;
  }

  #nextBucket(): BucketId | undefined {
    const { buckets } = this.#options.path;
    while (this.#bucketNumber < buckets.length) {
      const bucket = buckets[this.#bucketNumber] as BucketId;
      this.#bucketNumber += 1;
      if (this.#overlaps(bucket)) return bucket;
    }
    return undefined;
  }

  #overlaps(bucket: BucketId): boolean {
    const { low, high } = this.#bounds;
    return low <= high && bucketOf(low as Rid) <= bucket && bucketOf(high as Rid) >= bucket;
  }

  #startPosition(bucket: BucketId, order: RidOrder): number | undefined {
    const { low, high } = this.#bounds;
    if (order === 'ascending')
      return bucketOf(low as Rid) === bucket ? positionOf(low as Rid) : undefined;
    return bucketOf(high as Rid) === bucket ? positionOf(high as Rid) : undefined;
  }

  /** The scan started within the bounds, so leaving them means that the rest of the bucket is outside. */
  #isWithin(rid: Rid): boolean {
    return rid >= this.#bounds.low && rid <= this.#bounds.high;
  }

  close(): void {
    this.#cursor = undefined;
    this.#created = undefined;
    this.#context = undefined;
  }
}

/** Bounds that are no record ids leave nothing: the comparison with them is never true. */
function boundsOf(range: CompiledRidRange | undefined, context: ExecutionContext): RidBounds {
  let low = 0;
  let high = Number.POSITIVE_INFINITY;
  if (range?.low) {
    const rid = ridOf(range.low.value(context));
    if (rid === undefined) return { low: 1, high: 0 };
    low = Math.max(0, range.low.inclusive ? rid : rid + 1);
  }
  if (range?.high) {
    const rid = ridOf(range.high.value(context));
    if (rid === undefined) return { low: 1, high: 0 };
    high = range.high.inclusive ? rid : rid - 1;
  }
  return { low, high };
}
