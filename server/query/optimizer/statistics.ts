import type { Catalog } from '#catalog/catalog.ts';
import { bucketOf, makeRid, type BucketId, type IndexId, type TypeId } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { Direction } from '#storage/engine.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import { holdsEveryRecord } from '../operators/index-read/index-coverage.ts';
import { shareOfRange } from '../operators/index-read/range-share.ts';

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
  /** Average number of edges of the types (all when undefined) that one vertex of the types `of` has at this end. */
  averageDegree(
    types: readonly TypeId[] | undefined,
    of: readonly TypeId[] | undefined,
    end: Direction,
  ): number;
  /** The share of the edges of the types (all when undefined) that have a vertex of the types `of` at this end; sampled. */
  endShare(types: readonly TypeId[] | undefined, end: Direction, of: readonly TypeId[]): number;
}

/** The counters of a view. @param catalog may have types that the view does not know: they are empty */
export function statisticsOf(view: ReadView, catalog: Catalog = view.catalog): Statistics {
  return new ViewStatistics(view, catalog);
}

/**
 * Types are never planned as smaller than this. Plans are kept while data grows, and on few records every plan is fast, so a
 * plan that suits a thousand records is the better bet for an empty type too.
 */
const recordCountMin = 1000;

/** Edges looked at to learn between which types of vertices a type of edges runs. */
const sampleSize = 32;

/** The buckets in which the ends of some edges of one type stand. */
interface EndSample {
  readonly out: BucketId[];
  readonly in: BucketId[];
}

class ViewStatistics implements Statistics {
  readonly #view: ReadView;
  readonly #samples = new Map<TypeId, EndSample>();
  readonly #catalog: Catalog;

  constructor(view: ReadView, catalog: Catalog) {
    this.#view = view;
    this.#catalog = catalog;
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

  averageDegree(
    types: readonly TypeId[] | undefined,
    of: readonly TypeId[] | undefined,
    end: Direction,
  ): number {
    const edgeTypes = types ?? this.#typesOf('edge');
    const vertexTypes = of ?? this.#typesOf('vertex');
    const edges = this.#exactCount(edgeTypes);
    if (edges < recordCountMin)
      return this.recordCount(edgeTypes) / Math.max(1, this.recordCount(vertexTypes));
    const share = of === undefined ? 1 : this.endShare(types, end, of);
    return (edges * share) / Math.max(1, this.#exactCount(vertexTypes));
  }

  endShare(types: readonly TypeId[] | undefined, end: Direction, of: readonly TypeId[]): number {
    const buckets = new Set(of.flatMap((type) => this.#catalog.typeWithId(type).buckets));
    let edges = 0;
    let ending = 0;
    for (const type of types ?? this.#typesOf('edge')) {
      const count = this.#exactCount([type]);
      const sample = count < recordCountMin ? [] : this.#sampleOf(type)[end];
      edges += count;
      ending +=
        sample.length === 0
          ? count
          : (count * sample.filter((bucket) => buckets.has(bucket)).length) / sample.length;
    }
    // What did not turn up in the sample may be there all the same.
    return edges === 0 ? 1 : Math.max(ending / edges, 0.5 / sampleSize);
  }

  #exactCount(types: readonly TypeId[]): number {
    let count = 0;
    for (const type of types)
      for (const bucket of this.#catalog.typeWithId(type).buckets)
        count += this.#view.recordCount(bucket);
    return count;
  }

  /** Cost: `sampleSize` records read, once while a program is planned. */
  #sampleOf(type: TypeId): EndSample {
    const known = this.#samples.get(type);
    if (known !== undefined) return known;
    const sample: EndSample = { out: [], in: [] };
    const { buckets } = this.#catalog.typeWithId(type);
    const wanted = Math.max(1, Math.floor(sampleSize / Math.max(1, buckets.length)));
    for (const bucket of buckets) {
      const end = this.#view.snapshot.nextPosition(bucket);
      for (let at = 0; at < wanted; at += 1) {
        const edge = this.#view.record(makeRid(bucket, Math.floor(((at + 0.5) * end) / wanted)));
        if (edge?.kind !== 'edge') continue;
        sample.out.push(bucketOf(edge.out));
        sample.in.push(bucketOf(edge.in));
      }
    }
    this.#samples.set(type, sample);
    return sample;
  }

  #typesOf(kind: 'vertex' | 'edge'): readonly TypeId[] {
    return this.#catalog
      .types()
      .filter((type) => type.kind === kind)
      .map((type) => type.id);
  }
}
