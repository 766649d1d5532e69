import { valueKey } from '#core/value/equality.ts';
import { formatRid } from '#core/value/rid.ts';
import {
  double,
  isMap,
  isRecord,
  type Value,
  type ValueList,
  type ValueMap,
} from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import {
  describe,
  integerArgument,
  isNumeric,
  listArgument,
  numberArgument,
  optionsArgument,
  refusal,
  ridArgument,
  textArgument,
  toDouble,
  wordArgument,
} from '../arguments.ts';
import { boundedList } from '../number/bounds.ts';
import { ANY_NUMBER, nullSafe } from '../define.ts';
import { propertyOf } from '../graph/navigation.ts';
import { cosineSimilarity, normalizeScores, type Vector } from './arithmetic.ts';
import { requireSameLength, vectorArgument } from './arguments.ts';

/**
 * Ranking of rows that searches gave (sql-functions.md 8.1): they look at the rows alone and need no index. A row is a
 * map with `@rid`, or a record; `score` counts for it, `distance` against it.
 */
export const rankingFunctions: readonly ScalarFunction[] = [
  nullSafe('vector.fuse(src1, src2... [, {options}])', [2, ANY_NUMBER], (args, context) =>
    fused(args, context),
  ),
  nullSafe('vector.rerank(src, queryVector, prop, k)', [4, 4], (args) => {
    const what = 'vector.rerank()';
    const query = vectorArgument(args[1], what);
    const property = textArgument(args[2], what);
    const count = integerArgument(args[3], what);
    const scored = rowsIn(args[0] as Value, what).map((row) => {
      const vector = vectorArgument(propertyIn(row, property), what);
      requireSameLength(query, vector, what);
      return { row, score: cosineSimilarity(query, vector) };
    });
    scored.sort((a, b) => b.score - a.score);
    return scored.slice(0, Math.max(0, count)).map(({ row, score }) => withScore(row, score));
  }),
  nullSafe('vector.mmr(src, prop [, {lambda, k}])', [2, 3], (args) => diversified(args)),
  nullSafe('vector.boost(src, {boosts, limit})', [2, 2], (args) => boosted(args)),
];

type Row = Value;

function rowsIn(value: Value, what: string): ValueList {
  const rows = listArgument(value, what);
  for (const row of rows)
    if (!isMap(row) && !isRecord(row)) throw refusal(`${what} requires rows, not ${describe(row)}`);
  return rows;
}

/** A column of the row, or a property of the record in it. */
function propertyIn(row: Row, name: string): Value {
  const own = propertyOf(row, name);
  if (own !== null || !isMap(row)) return own;
  return propertyOf(row.get('record') ?? null, name);
}

function ridIn(row: Row, what: string): number {
  const id = isMap(row) ? (row.get('@rid') ?? row.get('record') ?? null) : row;
  const rid = ridArgument(id);
  if (rid === undefined) throw refusal(`${what} requires rows with an @rid`);
  return rid;
}

function withScore(row: Row, score: number): Value {
  if (isMap(row)) return new Map<string, Value>([...row, ['score', double(score)]]);
  if (!isRecord(row)) return row;
  const columns = new Map<string, Value>([['record', row]]);
  for (const name of row.propertyNames()) columns.set(name, row.get(name) ?? null);
  return columns
    .set('@rid', formatRid(row.rid))
    .set('@type', row.typeName)
    .set('score', double(score));
}

/** Each boost `{field, weight}` adds `weight * field` to the relevance of a row; who has no such number gains nothing. */
function boosted([source, given]: readonly Value[]): Value {
  const what = 'vector.boost()';
  const options = optionsArgument(given ?? null, what, ['boosts', 'limit']);
  const boosts = listArgument(options.get('boosts') ?? null, what).map((boost) => {
    const { field = null, weight = 1 } = Object.fromEntries(
      optionsArgument(boost, what, ['field', 'weight']),
    );
    return { field: textArgument(field, what), weight: numberArgument(weight, what) };
  });
  const limit = options.get('limit') ?? null;
  const scored = rowsIn(source ?? null, what).map((row) => {
    let score = relevanceOf(row, what);
    for (const { field, weight } of boosts) {
      const value = propertyIn(row, field);
      if (isNumeric(value)) score += weight * toDouble(value);
    }
    return { row, score };
  });
  scored.sort((a, b) => b.score - a.score);
  const count = limit === null ? scored.length : Math.max(0, integerArgument(limit, what));
  return scored.slice(0, count).map(({ row, score }) => withScore(row, score));
}

const fusionOptions = ['fusion', 'k', 'weights', 'groupBy', 'groupSize', 'limit'];

interface Fused {
  readonly row: Row;
  score: number;
}

function fused(args: readonly Value[], context: EvaluationContext): Value {
  const what = 'vector.fuse()';
  const last = args[args.length - 1] as Value;
  const options: ValueMap = isMap(last) ? optionsArgument(last, what, fusionOptions) : new Map();
  const sources = (isMap(last) ? args.slice(0, -1) : args).map((source) => rowsIn(source, what));
  if (sources.length < 2) throw refusal(`${what} requires at least two sources`);
  const kind = wordArgument(options.get('fusion') ?? 'RRF', what, ['RRF', 'DBSF', 'LINEAR']);
  const k = numberArgument(options.get('k') ?? 60, what);
  if (!(k >= 0)) throw refusal(`${what} requires k of at least 0, not ${k}`);
  const weights = weightsIn(options.get('weights') ?? null, sources.length, what);
  const byRid = new Map<number, Fused>();
  sources.forEach((rows, source) => {
    const scores = kind === 'RRF' ? rows.map((_, rank) => 1 / (k + rank + 1)) : scaled(rows, kind);
    rows.forEach((row, i) => {
      const rid = ridIn(row, what);
      const score = (weights[source] as number) * (scores[i] as number);
      const known = byRid.get(rid);
      if (known) known.score += score;
      else byRid.set(rid, { row, score });
    });
  });
  // What scores alike goes by record id.
  const ranked = [...byRid]
    .sort(([ridA, a], [ridB, b]) => b.score - a.score || ridA - ridB)
    .map(([, found]) => found);
  const limit = options.get('limit') ?? null;
  const kept = grouped(ranked, options, what).slice(
    0,
    limit === null ? undefined : Math.max(0, integerArgument(limit, what)),
  );
  return boundedList(
    kept.map(({ row, score }) => withScore(row, score)),
    context,
  );
}

function weightsIn(value: Value, count: number, what: string): readonly number[] {
  if (value === null) return new Array<number>(count).fill(1);
  const weights = listArgument(value, what).map((weight) => numberArgument(weight, what));
  if (weights.length !== count)
    throw refusal(`${what} requires one weight per source, not ${weights.length} for ${count}`);
  return weights;
}

/** `score`, or `distance` counted negatively. */
function relevanceOf(row: Row, what: string): number {
  const score = propertyOf(row, 'score');
  if (isNumeric(score)) return toDouble(score);
  const distance = propertyOf(row, 'distance');
  if (isNumeric(distance)) return -toDouble(distance);
  throw refusal(`${what} requires rows with a numeric score or distance`);
}

/** LINEAR: min-max, 1 when all are equal. DBSF: three standard deviations about the mean, cut to 0..1. */
function scaled(rows: ValueList, kind: 'DBSF' | 'LINEAR'): readonly number[] {
  const scores = rows.map((row) => relevanceOf(row, 'vector.fuse()'));
  if (kind === 'LINEAR') {
    let low = Infinity;
    let high = -Infinity;
    for (const score of scores) {
      low = Math.min(low, score);
      high = Math.max(high, score);
    }
    return scores.map((score) => (high === low ? 1 : (score - low) / (high - low)));
  }
  const mean = scores.reduce((a, b) => a + b, 0) / scores.length;
  const variance = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.length;
  const deviation = Math.sqrt(variance);
  return scores.map((score) => {
    const place = deviation === 0 ? 0.5 : (score - (mean - 3 * deviation)) / (6 * deviation);
    return Math.min(1, Math.max(0, place));
  });
}

/** At most `groupSize` rows of each value of `groupBy`, in the order of the ranking. */
function grouped(ranked: readonly Fused[], options: ValueMap, what: string): readonly Fused[] {
  const groupBy = options.get('groupBy') ?? null;
  if (groupBy === null) return ranked;
  const property = textArgument(groupBy, what);
  const groupSize = integerArgument(options.get('groupSize') ?? 1, what);
  if (groupSize < 1) throw refusal(`${what}: groupSize must be at least 1, not ${groupSize}`);
  const counts = new Map<unknown, number>();
  return ranked.filter(({ row }) => {
    const key = valueKey(propertyIn(row, property));
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count <= groupSize;
  });
}

/** A call keeps everyone else waiting, so its work is bounded. */
const comparisonCountMax = 1_000_000;

/**
 * Maximal marginal relevance (Carbonell and Goldstein 1998): each next row is the one with the best balance of its own
 * relevance (min-max to 0..1) and the likeness to the rows taken before.
 */
function diversified(args: readonly Value[]): Value {
  const what = 'vector.mmr()';
  const options: ValueMap =
    args[2] === undefined || args[2] === null
      ? new Map()
      : optionsArgument(args[2], what, ['lambda', 'k']);
  const lambda = numberArgument(options.get('lambda') ?? 0.5, what);
  if (!(lambda >= 0 && lambda <= 1))
    throw refusal(`${what} requires lambda from 0 to 1, not ${lambda}`);
  const rows = rowsIn(args[0] as Value, what);
  const property = textArgument(args[1], what);
  const vectors = rows.map((row) => vectorArgument(propertyIn(row, property), what));
  for (const vector of vectors) requireSameLength(vectors[0] as Vector, vector, what);
  const relevance = normalizeScores(Float64Array.from(rows, (row) => relevanceOf(row, what)));
  const count = Math.min(rows.length, integerArgument(options.get('k') ?? rows.length, what));
  if (rows.length * count > comparisonCountMax)
    throw refusal(`${what} compares at most ${comparisonCountMax} pairs of rows; lower k`);
  const likeness = new Float64Array(rows.length).fill(-1);
  const taken = new Set<number>();
  const result: Value[] = [];
  while (result.length < count) {
    const next = bestOf(relevance, likeness, taken, lambda);
    taken.add(next.at);
    result.push(withScore(rows[next.at] as Row, next.score));
    for (let i = 0; i < rows.length; i++)
      likeness[i] = Math.max(
        likeness[i] as number,
        cosineSimilarity(vectors[i] as Vector, vectors[next.at] as Vector),
      );
  }
  return result;
}

function bestOf(
  relevance: Float64Array,
  likeness: Float64Array,
  taken: ReadonlySet<number>,
  lambda: number,
): { readonly at: number; readonly score: number } {
  let best = { at: -1, score: -Infinity };
  for (let i = 0; i < relevance.length; i++) {
    if (taken.has(i)) continue;
    const penalty = taken.size === 0 ? 0 : (likeness[i] as number);
    const score = lambda * (relevance[i] as number) - (1 - lambda) * penalty;
    if (score > best.score) best = { at: i, score };
  }
  return best;
}
