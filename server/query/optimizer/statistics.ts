import type { Catalog } from '#catalog/catalog.ts';
import type { BucketId, IndexId, TypeId } from '#core/rid.ts';
import type { Value } from '#core/value.ts';
import type { ReadView } from '#transaction/read-view.ts';

import { holdsEveryRecord } from '../operators/index-coverage.ts';
import { shareOfRange } from '../operators/range-share.ts';

/** Sizes that the optimizer asks for. All of them are counters: an answer costs next to nothing. */
export interface Statistics {
  /** Live records of the types, subtypes not included. */
  recordCount(types: readonly TypeId[]): number;
  bucketRecordCount(buckets: readonly BucketId[]): number;
  entryCount(index: IndexId): number;
  /** Every record of the index's types stands in it. */
  holdsEveryRecord(index: IndexId): boolean;
  /** The share of the entries between two values of the first component; undefined when it cannot be told. */
  rangeShare(index: IndexId, low: Value | undefined, high: Value | undefined): number | undefined;
  /** Average number of rows that a step from one vertex gives, for edges of the types (all when undefined). */
  averageDegree(types: readonly TypeId[] | undefined, from: readonly TypeId[] | undefined): number;
}

/** The counters of a view. */
export function statisticsOf(view: ReadView): Statistics {
  return new ViewStatistics(view);
}

/**
 * Types are never planned as smaller than this. Plans are kept while data grows, and on few records every plan is fast, so a
 * plan that suits a thousand records is the better bet for an empty type too.
 */
const recordCountMin = 1000;

class ViewStatistics implements Statistics {
  readonly #view: ReadView;
  readonly #catalog: Catalog;

  constructor(view: ReadView) {
    this.#view = view;
    this.#catalog = view.catalog;
  }

  recordCount(types: readonly TypeId[]): number {
    return this.bucketRecordCount(types.flatMap((type) => this.#catalog.typeWithId(type).buckets));
  }

  bucketRecordCount(buckets: readonly BucketId[]): number {
    let count = 0;
    for (const bucket of buckets) count += this.#view.recordCount(bucket);
    return buckets.length === 0 ? 0 : Math.max(recordCountMin, count);
  }

  entryCount(index: IndexId): number {
    return this.#view.index(index).entryCount;
  }

  holdsEveryRecord(index: IndexId): boolean {
    return holdsEveryRecord(this.#view, index);
  }

  rangeShare(index: IndexId, low: Value | undefined, high: Value | undefined): number | undefined {
    const reader = this.#view.index(index);
    return reader.entryCount < recordCountMin ? undefined : shareOfRange(reader, low, high);
  }

  averageDegree(types: readonly TypeId[] | undefined, from: readonly TypeId[] | undefined): number {
    const edges = this.recordCount(types ?? this.#typesOf('edge'));
    const vertices = this.recordCount(from ?? this.#typesOf('vertex'));
    return edges / Math.max(1, vertices);
  }

  #typesOf(kind: 'vertex' | 'edge'): readonly TypeId[] {
    return this.#catalog
      .types()
      .filter((type) => type.kind === kind)
      .map((type) => type.id);
  }
}
