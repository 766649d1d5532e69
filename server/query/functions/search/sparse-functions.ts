import { sparseVectorFrom, sparseSettings } from '#index/sparse/sparse-keys.ts';
import { sparseNearest } from '#index/sparse/sparse-search.ts';
import type { Value } from '#core/value/value.ts';
import type { EvaluationContext, LongWork, WorkMeter } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { integerArgument, refusal } from '../arguments.ts';
import { longScalar } from '../define.ts';
import { boundedList } from '../number/bounds.ts';
import { indexNamed } from './index-named.ts';
import { bucketsOf, Groups, searchOptions, searchRow } from './search-rows.ts';

/** Searches in sparse vector indexes (sql-functions.md 8.1). Rows are descending by `score`, ties by record id. */
export const sparseSearchFunctions: readonly ScalarFunction[] = [
  longScalar(
    'vector.sparseNeighbors(index, indices, values, k [, {options}])',
    [4, 5],
    function* (args, context, meter): LongWork {
      return yield* sparseRows(args, context, meter);
    },
  ),
];

function* sparseRows(
  args: readonly Value[],
  context: EvaluationContext,
  meter: WorkMeter,
): LongWork {
  const what = 'vector.sparseNeighbors()';
  const target = indexNamed(context.view.catalog, args[0], 'LSM_SPARSE_VECTOR', what);
  const { dimensions } = sparseSettings(target.index);
  const vector = sparseVectorFrom(args[1] ?? null, args[2] ?? null, dimensions);
  if (typeof vector === 'string') throw refusal(`${what}: ${vector}`);
  const options = searchOptions(args[4], what, 'minScore');
  const k = integerArgument(args[3], what);
  if (k <= 0) return [];
  const { entries } = context.view.index(target.index.id);
  // Named by a type that inherits the index, only what belongs to that type is searched.
  const { catalog } = context.view;
  const inherited = target.type === target.index.type ? undefined : target.type;
  // Rows of several types may share a bucket: then each record tells its own.
  const tellsType = inherited !== undefined && catalog.hasWindows;
  const isSearched = inherited !== undefined && !catalog.hasWindows;
  const buckets = isSearched ? bucketsOf(catalog, inherited) : undefined;
  for (let asked = options.groupBy === undefined ? k : k * (options.groupSize + 1); ; asked *= 4) {
    const { filter, limit: minScore } = options;
    const request = { vector, k: asked, minScore, filter, buckets };
    const found = yield* sparseNearest(entries, request, meter);
    const groups = new Groups(options);
    const rows: Value[] = [];
    for (const { rid, score } of found) {
      if (rows.length >= k) break;
      const record = context.view.record(rid);
      if (record === undefined) continue;
      if (tellsType && !catalog.isSubtype(record.type, inherited)) continue;
      if (groups.takes(record)) rows.push(searchRow(record, 'score', score));
    }
    if (rows.length >= k || found.length < asked) return boundedList(rows, context);
  }
}
