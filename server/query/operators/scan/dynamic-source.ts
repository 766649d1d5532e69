import { requireType } from '#catalog/catalog-value.ts';
import type { Slot } from '../../algebra/expression.ts';
import { DatabaseError } from '#core/errors.ts';
import type { BucketId } from '#core/value/rid.ts';
import { isList, isMap, isRecord, type Value } from '#core/value/value.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { describeValue, ridOf } from '../record-identity.ts';
import { pathThrough } from './scan-path.ts';
import { RecordScanOperator } from './type-scan.ts';
import { WorkShare } from '../hold/work-share.ts';

export interface DynamicSourceOptions {
  readonly value: Evaluator;
  readonly as: Slot;
  /** What text means: the name of a type, or the name or number of a bucket. */
  readonly names: 'type' | 'bucket';
  /** Maps are rows; otherwise they stand for the record under their `@rid`. */
  readonly takesMaps: boolean;
  readonly description: string;
}

/**
 * What a value names (`FROM :p`, `FROM $x`, `FROM f()`): record ids are looked up, records and row maps are given as they are,
 * text that is no record id is the name of a type that is scanned; lists element by element; null gives nothing.
 */
export class DynamicSourceOperator implements PhysicalOperator {
  readonly name = 'Rows of a value';
  readonly inputs: readonly PhysicalOperator[] = [];
  readonly description: string;
  readonly #value: Evaluator;
  readonly #as: Slot;
  readonly #names: 'type' | 'bucket';
  readonly #takesMaps: boolean;
  #context: ExecutionContext | undefined;
  #isList = false;
  #elements: readonly Value[] = [];
  #position = 0;
  #scan: RecordScanOperator | undefined;
  readonly #share = new WorkShare();

  constructor(options: DynamicSourceOptions) {
    this.#value = options.value;
    this.#as = options.as;
    this.#names = options.names;
    this.#takesMaps = options.takesMaps;
    this.description = options.description;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    const value = this.#value(context);
    this.#isList = isList(value);
    this.#elements = isList(value) ? value : [value];
    this.#position = 0;
    this.#scan = undefined;
  }

  next(): Pulled {
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      if (this.#scan !== undefined) {
        const pulled = this.#scan.next();
        if (pulled !== END) return pulled;
        this.#scan.close();
        this.#scan = undefined;
      }
      if (this.#position >= this.#elements.length) return END;
      const element = this.#elements[this.#position] as Value;
      this.#position += 1;
      if (this.#give(element)) return ROW;
    }
  }

  #give(element: Value): boolean {
    const context = this.#context as ExecutionContext;
    if (element === null) return false;
    if (this.#names === 'bucket') {
      this.#startScan([bucketNamed(element, context)]);
      return false;
    }
    if (isRecord(element) || (this.#takesMaps && isMap(element))) {
      context.frame[this.#as] = element;
      return true;
    }
    const rid = ridOf(element);
    if (rid !== undefined) {
      const record = rid < 0 ? undefined : context.view.record(rid);
      if (record === undefined || record.isLightweight === true) return false;
      context.frame[this.#as] = record;
      return true;
    }
    // Type names stand alone; in a list they are no target.
    if (typeof element === 'string' && !this.#isList) {
      this.#startScan(bucketsOfType(element, context));
      return false;
    }
    throw new DatabaseError('IllegalArgument', `Invalid target: ${describeValue(element)}`);
  }

  #startScan(buckets: readonly BucketId[]): void {
    this.#scan = new RecordScanOperator({
      path: pathThrough(buckets, undefined),
      as: this.#as,
      range: undefined,
      description: this.description,
    });
    this.#scan.open(this.#context as ExecutionContext);
  }

  close(): void {
    this.#scan?.close();
    this.#scan = undefined;
    this.#elements = [];
    this.#context = undefined;
  }
}

function bucketsOfType(name: string, context: ExecutionContext): readonly BucketId[] {
  const { catalog } = context.view;
  return catalog
    .withSubtypes(requireType(catalog, name).id)
    .map((id) => catalog.typeWithId(id))
    .filter((subtype) => !subtype.lightweight)
    .flatMap((subtype) => subtype.buckets);
}

function bucketNamed(value: Value, context: ExecutionContext): BucketId {
  const { catalog } = context.view;
  const bucket =
    typeof value === 'number'
      ? catalog.bucketWithId(value as BucketId)
      : typeof value === 'string'
        ? catalog.bucketNamed(value)
        : undefined;
  if (bucket === undefined)
    throw new DatabaseError('Schema', `Bucket with name '${describeValue(value)}' was not found`);
  return bucket.id;
}
