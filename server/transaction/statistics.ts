import type { IndexId, TypeId } from '#core/rid.ts';
import type { ReadView } from './read-view.ts';

/**
 * Numbers for the optimizer, from counters that storage keeps: exact for the state of the view, and O(buckets) or O(1).
 */

/** Records of the given types (already expanded to subtypes), this transaction's writes included. */
export function recordCountOf(view: ReadView, types: readonly TypeId[]): number {
  let count = 0;
  for (const id of types) {
    for (const bucket of view.catalog.typeWithId(id).buckets) count += view.recordCount(bucket);
  }
  return count;
}

/** Entries of an index, this transaction's writes included; exact, but O(changes) after writes. */
export function entryCountOf(view: ReadView, index: IndexId): number {
  return view.index(index).entryCount;
}

/**
 * Edges that a vertex of some types has on average: edges of the edge types over vertices. Without vertices 0; an upper bound
 * when the edge types also connect vertices of other types.
 */
export function averageDegree(
  view: ReadView,
  edgeTypes: readonly TypeId[],
  vertexTypes: readonly TypeId[],
): number {
  const vertices = recordCountOf(view, vertexTypes);
  return vertices === 0 ? 0 : recordCountOf(view, edgeTypes) / vertices;
}
