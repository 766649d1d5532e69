import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeRid, type Rid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import { RidFilter } from '#index/rid-filter.ts';
import type { BackgroundWork } from '#index/search-memory.ts';
import { memoryOf, nearest } from '#index/vector/vector-search.ts';
import { component, definition } from './fake-catalog.ts';
import { memoryIndex } from './memory-text-index.ts';
import { finished, seeded } from './seeded-work.ts';

const neverSpent = { isSpent: () => false };

/** So many that vectors of 16 KiB are walked to and not measured one by one, and clusters of which a filter may keep none. */
const dimensions = 4_096;
const vectorCount = 2_600;
const clusterCount = 20;

const filters: readonly (readonly [string, (n: number) => boolean])[] = [
  ['some of each cluster', (n) => n % 7 !== 0],
  ['thrice', (n) => n % 3 === 0],
  ['whole clusters', (n) => n % clusterCount >= 3],
  ['few', (n) => n % 50 === 1],
  ['what is new', (n) => n >= vectorCount],
  ['none', () => false],
];

function indexBeside(background: BackgroundWork): ReturnType<typeof memoryIndex> {
  const metadata = { dimensions, similarity: 'EUCLIDEAN', maxConnections: 16, beamWidth: 60 };
  return memoryIndex(
    definition(1, [component('v')], {
      kind: 'LSM_VECTOR',
      metadata: new Map<string, Value>(Object.entries(metadata)),
    }),
    background,
  );
}

test('a filter keeps the answer whole, whether it keeps what is near or what is far', () => {
  const random = seeded(7);
  const beside: (() => Generator<undefined, void, undefined>)[] = [];
  const index = indexBeside((begin) => beside.push(begin));
  const centres = Array.from({ length: clusterCount }, () => vectorOf(random, undefined));
  const vectors = Array.from({ length: vectorCount }, (_, n) =>
    vectorOf(random, centres[n % clusterCount]),
  );
  for (const [n, v] of vectors.entries()) index.put(makeRid(1, n), { v });
  const ask = (query: readonly number[], rids: readonly number[]) =>
    finished(
      nearest(
        index.reader,
        {
          vector: Float32Array.from(query),
          k: 10,
          efSearch: undefined,
          filter: new RidFilter(Float64Array.from(rids)),
          buckets: undefined,
        },
        neverSpent,
      ),
    ).map(({ rid }) => rid);
  ask(vectors[0] ?? [], [makeRid(1, 0)]);
  const memory = memoryOf(index.reader);
  const codedCount = () => memory.codes?.count;
  while (memory.graph.count < vectorCount) memory.graph.linkNext();
  // Some are gone since, and some were added, which the graph has not linked.
  for (let n = 0; n < vectorCount; n += 13) {
    index.put(makeRid(1, n), {});
    vectors[n] = [];
  }
  for (let at = 0; at < 300; at += 1) {
    const v = vectorOf(random, centres[at % clusterCount]);
    index.put(makeRid(1, vectors.length), { v });
    vectors.push(v);
  }
  const askAll = (recallMin: number): void => {
    for (const filter of filters) askAmong(...filter, recallMin);
  };
  const askAmong = (name: string, accepts: (n: number) => boolean, recallMin: number): void => {
    const rids = vectors.flatMap((_, n) => (accepts(n) ? [makeRid(1, n)] : []));
    // Given twice, with one that is no record; and thrice, so that fewer are wanted than it seems.
    const given = [...rids, ...rids.slice(0, 100), makeRid(9, 9)];
    if (name === 'thrice') given.push(...rids, ...rids);
    let [hits, wanted] = [0, 0];
    for (let at = 0; at < 12; at += 1) {
      const query = vectorOf(random, centres[at % clusterCount]);
      const exact = exactly(vectors, query, accepts).map((n) => makeRid(1, n));
      const found = ask(query, given);
      assert.equal(new Set(found).size, found.length);
      assert.equal(found.length, exact.length, name);
      for (const rid of found) assert.ok(rids.includes(rid as Rid), name);
      hits += found.filter((rid) => exact.includes(rid as Rid)).length;
      wanted += exact.length;
    }
    assert.ok(hits >= recallMin * wanted, `${name}: ${hits} of ${wanted}`);
  };
  // What links beside searches is not wanted here: some are to be there that the graph does not have.
  beside.length = 0;
  assert.equal(codedCount(), undefined);
  askAll(0.95);
  // A filter kept whole clusters and none near the query: the search itself made codes, which tell of most that they are too far.
  assert.equal(beside.length, 0);
  assert.equal(codedCount(), memory.slotCount);
  askAll(1);
  const bytes = memory.bytes;
  const v = vectorOf(random, centres[4]);
  index.put(makeRid(1, vectors.length), { v });
  vectors.push(v);
  askAmong('with one more', (n) => n % clusterCount >= 3, 1);
  assert.equal(codedCount(), memory.slotCount);
  assert.ok(memory.compact());
  assert.equal(codedCount(), undefined);
  assert.ok(memory.bytes < bytes);
  askAmong('moved together', (n) => n % clusterCount >= 3, 1);
});

function vectorOf(random: () => number, around: readonly number[] | undefined): readonly number[] {
  return Array.from(
    { length: dimensions },
    (_, i) => (around?.[i] ?? 0) + (random() - 0.5) * (around === undefined ? 2 : 0.6),
  );
}

function exactly(
  vectors: readonly (readonly number[])[],
  query: readonly number[],
  accepts: (n: number) => boolean,
): readonly number[] {
  const measured: { readonly n: number; readonly distance: number }[] = [];
  for (const [n, vector] of vectors.entries()) {
    if (!accepts(n) || vector.length === 0) continue;
    let distance = 0;
    for (let i = 0; i < dimensions; i += 1)
      distance += ((vector[i] as number) - (query[i] as number)) ** 2;
    measured.push({ n, distance });
  }
  return measured
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 10)
    .map(({ n }) => n);
}
