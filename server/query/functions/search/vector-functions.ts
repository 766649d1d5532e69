import type { IndexDefinition } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { compareValues } from '#core/value/value-order.ts';
import { formatRid, type Rid } from '#core/value/rid.ts';
import { isList, type Value } from '#core/value/value.ts';
import { readVector, vectorKey } from '#index/vector/vector-keys.ts';
import { afterVectors, distanceOf, type Neighbour, nearest } from '#index/vector/vector-search.ts';
import { type VectorSettings, vectorSettings } from '#index/vector/vector-settings.ts';
import type { EvaluationContext, LongWork } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { measured } from '../../evaluate/turns/measured.ts';
import { describe, integerArgument, listArgument, refusal } from '../arguments.ts';
import { longScalar } from '../define.ts';
import { boundedList } from '../number/bounds.ts';
import { vectorOf } from '../vector/arguments.ts';
import { indexNamed } from './index-named.ts';
import {
  Groups,
  isOfSearchedType,
  ridIn,
  type SearchOptions,
  searchedBuckets,
  searchOptions,
  searchRow,
} from './search-rows.ts';

/** Searches in dense vector indexes (sql-functions.md 8.1). Rows are ascending by `distance`, ties by record id. */
export const vectorSearchFunctions: readonly ScalarFunction[] = [
  longScalar('vector.neighbors(index, key, k [, efSearch | {options}])', [3, 4], vectorNeighbours),
  longScalar(
    'vector.recommend(index, [positiveRids], [negativeRids], k [, efSearch | {options}])',
    [4, 5],
    function* (args, context, meter): LongWork {
      const what = 'vector.recommend()';
      const target = indexNamed(context.view.catalog, args[0], 'LSM_VECTOR', what);
      const options = searchOptions(args[4], what, 'maxDistance');
      const k = integerArgument(args[3], what);
      const settings = vectorSettings(target.index);
      const wanted = examplesIn(args[1] ?? null, settings, context, what);
      const unwanted = examplesIn(args[2] ?? null, settings, context, what);
      if (wanted.length === 0) throw refusal(`${what} requires at least one positive example`);
      const vector = recommended(settings.dimensions, wanted, unwanted);
      const excluded = new Set([...wanted, ...unwanted].map(({ rid }) => rid));
      const search = { target, name: args[0], options, k, vector, excluded };
      return yield* neighbourRows(search, context, meter);
    },
  ),
  longScalar(
    'vector.discover(index, target, [[positiveRid, negativeRid], ...], k [, {options}])',
    [4, 5],
    function* (args, context, meter): LongWork {
      return yield* discovered(args, context, meter);
    },
  ),
];

/** Rows of the function `vector.neighbors`. */
export function* vectorNeighbours(
  args: readonly Value[],
  context: EvaluationContext,
  meter: WorkMeter,
): LongWork {
  const what = 'vector.neighbors()';
  const target = indexNamed(context.view.catalog, args[0], 'LSM_VECTOR', what);
  const options = searchOptions(args[3], what, 'maxDistance');
  const k = integerArgument(args[2], what);
  const vector = yield* keyVector(args[1] ?? null, target.index, context, meter, what);
  const search = { target, name: args[0], options, k, vector, excluded: noRids };
  return yield* neighbourRows(search, context, meter);
}

const noRids: ReadonlySet<Rid> = new Set();

interface NeighbourSearch {
  readonly target: ReturnType<typeof indexNamed>;
  readonly name: Value | undefined;
  readonly options: SearchOptions;
  readonly k: number;
  readonly vector: Float32Array;
  readonly excluded: ReadonlySet<Rid>;
}

/** Asks for more where records of the nearest are grouped away, excluded or may not be seen. */
function* neighbourRows(
  search: NeighbourSearch,
  context: EvaluationContext,
  meter: WorkMeter,
): PausingWork<Value> {
  const { target, options, k, excluded } = search;
  if (k <= 0) return [];
  const { entries } = context.view.index(target.index.id);
  const buckets = searchedBuckets(context.view.catalog, search.name, target);
  const isGrouped = options.groupBy !== undefined;
  const late = lateVector(target.index);
  for (let asked = Math.min(k, kMax) + excluded.size, found = -1; ; asked *= 4) {
    if (isGrouped && found < 0) asked *= options.groupSize + 1;
    const { filter, efSearch } = options;
    const request = { vector: search.vector, k: asked, efSearch, filter, buckets };
    const neighbours: readonly Neighbour[] = yield* nearest(entries, request, meter);
    const groups = new Groups(options);
    const rows: Value[] = [];
    let isFar = false;
    for (const { rid, distance } of neighbours) {
      isFar = options.limit !== undefined && distance > options.limit;
      if (isFar || rows.length >= k) break;
      if (excluded.has(rid)) continue;
      const record = context.view.record(rid);
      if (record === undefined) continue;
      const { catalog } = context.view;
      if (!isOfSearchedType(catalog, search.name, target.type, record)) continue;
      if (!groups.takes(record)) continue;
      const row = searchRow(record, 'distance', distance, late);
      // In this turn, so that nobody has thousands of rows to measure later in one.
      if (rows.length >= fewRows) measured(row);
      rows.push(row);
      if (meter.isSpent(8)) yield;
    }
    const isAll = neighbours.length < asked || neighbours.length <= found;
    if (rows.length >= k || isFar || isAll) return boundedList(rows, context);
    found = neighbours.length;
  }
}

/** The vectors of what was found are read when somebody looks at them. */
function lateVector(index: IndexDefinition): { readonly property: string; readonly bytes: number } {
  const { property, dimensions } = vectorSettings(index);
  return { property, bytes: 16 + dimensions * 8 };
}

/** So many are measured soon. */
const fewRows = 256;

/** More rows than any list may have. */
const kMax = 2 ** 31;

/** A vector, or the text that stands in the id property of a record. */
function* keyVector(
  key: Value,
  index: IndexDefinition,
  context: EvaluationContext,
  meter: WorkMeter,
  what: string,
): PausingWork<Float32Array> {
  const settings = vectorSettings(index);
  if (typeof key !== 'string') return queryVector(key, settings, index, what);
  const { entries } = context.view.index(index.id);
  const { idPropertyName } = settings;
  const read = (rid: Rid): Float32Array | undefined => {
    const record = context.view.record(rid);
    const id = record?.get(idPropertyName) ?? null;
    if (record === undefined || id === null || (id !== key && !isSameNumber(id, key)))
      return undefined;
    const vector = new Float32Array(settings.dimensions);
    return readVector(record, settings.property, vector, 0, settings.dimensions)
      ? vector
      : undefined;
  };
  for (const { rid } of entries.own(vectorKey, afterVectors)) {
    const vector = read(rid);
    if (vector !== undefined) return vector;
  }
  for (const rid of ridsWithId(index, idPropertyName, key, context)) {
    const vector = read(rid);
    if (vector !== undefined) return vector;
  }
  const cursor = entries.stored(vectorKey, afterVectors);
  try {
    while (cursor.next()) {
      const vector = entries.isHidden(cursor.rid) ? undefined : read(cursor.rid);
      if (vector !== undefined) return vector;
      if (meter.isSpent(8)) yield;
    }
  } finally {
    cursor.close();
  }
  throw new DatabaseError(
    'IllegalArgument',
    `${what}: no record of index '${index.name}' has '${key.slice(0, 100)}' in '${idPropertyName}'`,
  );
}

function isSameNumber(id: Value, key: string): boolean {
  return (typeof id === 'number' || typeof id === 'bigint') && String(id) === key.trim();
}

/** Found by an ordered index of the id property, where there is one. */
function ridsWithId(
  { type }: IndexDefinition,
  property: string,
  key: string,
  { view }: EvaluationContext,
): readonly Rid[] {
  const index = view.catalog
    .indexesOn(type)
    .find(
      ({ kind, state, components: [only, ...rest] }) =>
        (kind === 'LSM_TREE' || kind === 'HASH') &&
        state === 'READY' &&
        rest.length === 0 &&
        only?.property === property &&
        only.by === 'value',
    );
  if (index === undefined) return [];
  const cursor = view.index(index.id).lookup([key]);
  const rids: Rid[] = [];
  while (cursor.next() && rids.length < 16) rids.push(cursor.rid);
  return rids;
}

/** @throws DatabaseError `IllegalArgument` for another length, NaN and infinities */
export function queryVector(
  value: Value,
  { dimensions }: Pick<VectorSettings, 'dimensions'>,
  index: IndexDefinition,
  what: string,
): Float32Array {
  if (value !== null && !isList(value) && !(value instanceof Uint8Array))
    throw refusal(`${what} requires a vector, not ${describe(value)}`);
  const vector = Float32Array.from(vectorOf(value, what));
  if (vector.length !== dimensions)
    throw refusal(
      `${what}: the vector has ${vector.length} dimensions, index '${index.name}' has ${dimensions}`,
    );
  if (!vector.every(Number.isFinite))
    throw refusal(`${what}: the vector must consist of finite numbers`);
  return vector;
}

interface Example {
  readonly rid: Rid;
  readonly vector: Float32Array;
}

function examplesIn(
  value: Value,
  settings: VectorSettings,
  context: EvaluationContext,
  what: string,
): readonly Example[] {
  if (value === null) return [];
  return listArgument(value, what).map((item) =>
    exampleOf(ridIn(item, what), settings, context, what),
  );
}

function exampleOf(
  rid: Rid,
  { property, dimensions }: VectorSettings,
  context: EvaluationContext,
  what: string,
): Example {
  const record = context.view.record(rid);
  const vector = new Float32Array(dimensions);
  if (record === undefined || !readVector(record, property, vector, 0, dimensions))
    throw refusal(`${what}: record ${formatRid(rid)} has no vector in '${property}'`);
  return { rid, vector };
}

/** The mean of the wanted, moved away from the mean of the unwanted. */
function recommended(
  dimensions: number,
  wanted: readonly Example[],
  unwanted: readonly Example[],
): Float32Array {
  const mean = (examples: readonly Example[]): Float32Array => {
    const sum = new Float32Array(dimensions);
    for (const { vector } of examples)
      for (let i = 0; i < dimensions; i += 1)
        sum[i] = (sum[i] as number) + (vector[i] as number) / examples.length;
    return sum;
  };
  const middle = mean(wanted);
  if (unwanted.length === 0) return middle;
  const other = mean(unwanted);
  return middle.map((x, i) => 2 * x - (other[i] as number));
}

/**
 * Records that are nearer to the first than to the second of as many pairs as can be, then near to the target: all vectors are
 * looked at.
 */
function* discovered(
  args: readonly Value[],
  context: EvaluationContext,
  meter: WorkMeter,
): PausingWork<Value> {
  const what = 'vector.discover()';
  const target = indexNamed(context.view.catalog, args[0], 'LSM_VECTOR', what);
  const settings = vectorSettings(target.index);
  const options = searchOptions(args[4], what, 'maxDistance');
  const k = integerArgument(args[3], what);
  const key = args[1] ?? null;
  const aim =
    isList(key) || key instanceof Uint8Array
      ? queryVector(key, settings, target.index, what)
      : exampleOf(ridIn(key, what), settings, context, what).vector;
  const pairs = listArgument(args[2], what).map((pair) => {
    const [near, far] = examplesIn(pair, settings, context, what);
    if (near === undefined || far === undefined)
      throw refusal(`${what} requires pairs of a positive and a negative record id`);
    return { near, far };
  });
  if (k <= 0) return [];
  const examples = new Set(pairs.flatMap(({ near, far }) => [near.rid, far.rid]));
  const { entries } = context.view.index(target.index.id);
  const buckets = searchedBuckets(context.view.catalog, args[0], target);
  const request = { vector: aim, k: kMax, efSearch: undefined, filter: options.filter, buckets };
  const ranked: { rid: Rid; wins: number; distance: number }[] = [];
  const vector = new Float32Array(settings.dimensions);
  for (const { rid, distance } of yield* nearest(entries, request, meter)) {
    if (options.limit !== undefined && distance > options.limit) break;
    const record = entries.record(rid);
    if (examples.has(rid) || record === undefined) continue;
    if (!isOfSearchedType(context.view.catalog, args[0], target.type, record)) continue;
    readVector(record, settings.property, vector, 0, settings.dimensions);
    let wins = 0;
    for (const { near, far } of pairs)
      wins +=
        distanceOf(vector, near.vector, settings.similarity) <
        distanceOf(vector, far.vector, settings.similarity)
          ? 1
          : 0;
    ranked.push({ rid, wins, distance });
    if (meter.isSpent(8 + pairs.length)) yield;
  }
  ranked.sort((a, b) => b.wins - a.wins || a.distance - b.distance || compareValues(a.rid, b.rid));
  const groups = new Groups(options);
  const rows: Value[] = [];
  for (const { rid, distance } of ranked) {
    if (rows.length >= k) break;
    const record = context.view.record(rid);
    if (record !== undefined && groups.takes(record))
      rows.push(searchRow(record, 'distance', distance, lateVector(target.index)));
  }
  return boundedList(rows, context);
}
