import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BucketId, bucketOf, makeRid, type Rid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import { RidFilter } from '#index/rid-filter.ts';
import { BoundOrder } from '#index/sparse/bound-order.ts';
import { sparseNearest } from '#index/sparse/sparse-search.ts';
import { weightCode } from '#index/sparse/weight-codes.ts';
import { WeightListBuilder } from '#index/sparse/weight-list.ts';
import { component, definition } from './fake-catalog.ts';
import { memoryIndex } from './memory-text-index.ts';
import { finished, seeded } from './seeded-work.ts';

/** Asks for a pause at each look. */
const alwaysSpent = { isSpent: () => true };

type SparseVector = ReadonlyMap<number, number>;

/** An index of these vectors, its weights in one byte each. */
function indexOf(vectors: ReadonlyMap<Rid, SparseVector>) {
  const index = memoryIndex({
    ...definition(1, [component('i'), component('w')]),
    kind: 'LSM_SPARSE_VECTOR',
    metadata: new Map<string, Value>(),
  });
  for (const [rid, vector] of vectors)
    index.put(rid, { i: [...vector.keys()], w: [...vector.values()] });
  return index;
}

interface Asked {
  readonly vector: SparseVector;
  readonly k: number;
  readonly rids?: readonly Rid[];
  readonly buckets?: ReadonlySet<BucketId>;
}

function nearest(index: ReturnType<typeof indexOf>, { vector, k, rids, buckets }: Asked) {
  const filter = rids === undefined ? undefined : new RidFilter(Float64Array.from(rids));
  const request = { vector, k, minScore: undefined, filter, buckets };
  return finished(sparseNearest(index.reader, request, alwaysSpent));
}

/** Of all vectors that share a dimension with the query. */
function exactly(
  vectors: ReadonlyMap<Rid, SparseVector>,
  { vector: query, k, rids, buckets }: Asked,
) {
  const wanted = rids === undefined ? undefined : new Set(rids);
  const all: { readonly rid: Rid; readonly score: number }[] = [];
  for (const [rid, vector] of vectors) {
    if (wanted !== undefined && !wanted.has(rid)) continue;
    if (buckets !== undefined && !buckets.has(bucketOf(rid))) continue;
    let score = 0;
    let isFound = false;
    for (const [dimension, weight] of query) {
      const own = vector.get(dimension) ?? 0;
      isFound ||= weight !== 0 && own !== 0;
      score += weight * own;
    }
    if (isFound) all.push({ rid, score });
  }
  all.sort((a, b) => b.score - a.score || a.rid - b.rid);
  return all.slice(0, k);
}

function vectorOf(random: () => number, dimensions: number, count: number): SparseVector {
  const vector = new Map<number, number>();
  while (vector.size < count)
    vector.set(Math.floor(dimensions * random() ** 2), Math.fround(2 * random() ** 3 - 0.2));
  return vector;
}

test('the best k are those of a scan, in buckets far apart and with gaps between records', () => {
  const random = seeded(11);
  const vectors = new Map<Rid, SparseVector>();
  for (const [bucket, gap, count] of [
    [2, 1, 700],
    // Twice this is the size of a window.
    [3, 4_096, 60],
    [900, 37, 700],
  ] as const)
    for (let n = 0; n < count; n += 1)
      vectors.set(makeRid(bucket, n * gap), vectorOf(random, 200, 12));
  const index = indexOf(vectors);
  const all = [...vectors.keys()];
  for (let round = 0; round < 60; round += 1) {
    const asked: Asked = {
      vector: vectorOf(random, 220, 1 + Math.floor(random() * 12)),
      k: [1, 5, 40, 3_000][round % 4] as number,
      ...(round % 3 === 1 && { rids: all.filter(() => random() < 0.3) }),
      ...(round % 5 === 2 && { buckets: new Set([3, 900] as BucketId[]) }),
    };
    assert.deepEqual(nearest(index, asked), exactly(vectors, asked));
  }
});

test('the best is found where hundreds of others have higher bounds', () => {
  const random = seeded(12);
  const [low, high] = [1, Math.fround(1.2499)];
  const dimensions = Array.from({ length: 30 }, (_, i) => i);
  const vectors = new Map<Rid, SparseVector>();
  // Weights share a code with others a quarter higher. Sums of bounds differ by a further weight.
  for (let n = 0; n < 500; n += 1) {
    const vector = new Map<number, number>();
    for (const dimension of dimensions) vector.set(dimension, random() < 0.5 ? low : high);
    vector.set(30, Math.fround(0.01 + n / 1_000));
    vectors.set(makeRid(1, n), vector);
  }
  const hidden = new Map(dimensions.map((dimension) => [dimension, high] as const));
  vectors.set(makeRid(1, 500), hidden);
  const index = indexOf(vectors);
  const vector = new Map([...dimensions, 30].map((dimension) => [dimension, 1] as const));
  const [best] = nearest(index, { vector, k: 1 });
  assert.equal(best?.rid, makeRid(1, 500));
  for (const k of [1, 7]) {
    const asked = { vector, k };
    assert.deepEqual(nearest(index, asked), exactly(vectors, asked));
  }
});

test('an order of bounds gives each once, the highest first, in batches of equals', () => {
  const random = seeded(13);
  for (const length of [0, 1, 5, 40_000]) {
    const bounds = Float64Array.from({ length }, () => Math.floor(random() * 300) - 20);
    const order = new BoundOrder(bounds);
    const given: number[] = [];
    for (let wanted = 1; ; wanted *= 3) {
      const batch = finished(order.next(wanted, alwaysSpent));
      if (batch.size === 0) break;
      assert.ok(batch.size >= Math.min(wanted, length - given.length));
      for (; batch.size > 0; batch.pop()) {
        assert.equal(-batch.topKey, bounds[batch.topSlot]);
        given.push(batch.topSlot);
      }
    }
    assert.equal(new Set(given).size, length);
    const sorted = given.map((place) => bounds[place] as number);
    assert.deepEqual(
      sorted,
      [...bounds].sort((a, b) => b - a),
    );
  }
});

test('a list of weights is in the order of records, whatever runs it came in', () => {
  const random = seeded(14);
  for (const runCount of [0, 1, 2, 3, 7, 64, 500]) {
    const list = new WeightListBuilder();
    const expected: (readonly [number, number, number])[] = [];
    for (let run = 0; run < runCount; run += 1) {
      let rid = 2 ** 40;
      for (let n = Math.floor(random() * 9); n >= 0; n -= 1) {
        rid += 1 + Math.floor(random() * 1e6);
        list.push(rid, run, run + n);
        expected.push([rid, run, run + n]);
      }
    }
    expected.sort(([a], [b]) => a - b);
    const { rids, low, high } = list.sorted();
    assert.deepEqual(
      Array.from(rids, (rid, i) => [rid, low[i], high[i]]),
      expected,
    );
  }
});

test('a code of a weight tells between which float32 numbers it lies', () => {
  const random = seeded(15);
  const view = new DataView(new ArrayBuffer(4));
  const largest = (2 - 2 ** -23) * 2 ** 127;
  const weights = [largest, 2 ** -149, 2 ** -16, 2 ** 16, 1, 1.25, Math.fround(1.2499999)];
  for (let n = 0; n < 5_000; n += 1)
    weights.push(Math.fround((1 + random()) * 2 ** Math.floor(random() * 250 - 125)));
  for (const name of ['FP32', 'FP16', 'INT8'])
    for (const weight of weights.flatMap((positive) => [positive, -positive])) {
      const code = weightCode(name);
      code.write(view, 0, weight);
      const [low, high] = [code.low(view, 0), code.high(view, 0)];
      assert.ok(low <= weight && weight <= high, `${name} ${weight}`);
      assert.ok(Object.is(low, Math.fround(low)) && Object.is(high, Math.fround(high)), name);
      // Below and above its range a code tells no more than that.
      const [least, bound] = name === 'INT8' ? [2 ** -15, 2 ** 15] : [2 ** -126, Infinity];
      const isTold = Math.abs(weight) >= least && Math.abs(weight) < bound;
      if (isTold) assert.ok(high - low <= 0.25 * Math.abs(weight), `${name} ${weight}`);
    }
});
