import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { toEnd } from '#core/pausing-work.ts';
import { codeKernels } from '#index/vector/code-kernels.ts';
import { graphOptions, listWidth, VectorGraph } from '#index/vector/graph.ts';
import { graphLinker } from '#index/vector/graph-linker.ts';
import { kernels as kernelModule } from '#index/vector/kernels.ts';
import { SlotBlock } from '#index/vector/slot-block.ts';
import { newSpace, vectorForm } from '#index/vector/space.ts';
import type { Quantization, Similarity, VectorSettings } from '#index/vector/vector-settings.ts';
import type { Value } from '#core/value/value.ts';
import { newMemory } from '#index/vector/web-assembly.ts';
import { openTestDatabase } from '../database/support/open-test-database.ts';

const dimensions = 24;

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function settingsOf(quantization: Quantization, similarity: Similarity): VectorSettings {
  return {
    property: 'v',
    dimensions,
    similarity,
    quantization,
    maxConnections: 16,
    beamWidth: 60,
    efSearch: 60,
    neighborOverflowFactor: 1.2,
    alphaDiversityRelaxation: 1.2,
    idPropertyName: 'id',
    addHierarchy: false,
    mutationsBeforeRebuild: undefined,
    pqSubspaces: undefined,
    pqClusters: 256,
    pqCenterGlobally: true,
    pqTrainingLimit: 128_000,
  };
}

/** Vectors in clusters, so that a search has to find the right one. */
function clustered(count: number, random: () => number): Float32Array[] {
  const centres = Array.from({ length: 20 }, () =>
    Array.from({ length: dimensions }, () => random() * 2 - 1),
  );
  return Array.from({ length: count }, (_, i) =>
    Float32Array.from(centres[i % 20] ?? [], (x) => x + (random() - 0.5) * 0.5),
  );
}

const neverSpent = { isSpent: () => false };

function inOne(vectors: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(vectors.length * dimensions);
  for (const [at, vector] of vectors.entries()) all.set(vector, at * dimensions);
  return all;
}

function graphOver(settings: VectorSettings, vectors: readonly Float32Array[]) {
  const options = graphOptions(settings);
  const block = new SlotBlock({ ...vectorForm(settings), width: listWidth(options) });
  block.grow(vectors.length);
  const space = newSpace(block, settings);
  toEnd(space.train(inOne(vectors.slice(0, space.trainingCount)), neverSpent));
  for (const [slot, vector] of vectors.entries()) space.put(slot, vector);
  return { block, space, graph: new VectorGraph(block, space, options) };
}

test('kernels compute what the loops compute', () => {
  const memory = newMemory();
  const kernels = kernelModule.over(memory);
  const floats = new Float32Array(memory.buffer);
  const bytes = new Int8Array(memory.buffer);
  const random = seeded(3);
  for (const length of [8, 16, 64, 1024]) {
    const other = 2048;
    for (let i = 0; i < length; i += 1) {
      floats[i] = random() * 2 - 1;
      floats[other + i] = random() * 2 - 1;
    }
    let [squares, products] = [0, 0];
    for (let i = 0; i < length; i += 1) {
      const [x, y] = [floats[i] ?? 0, floats[other + i] ?? 0];
      squares += (x - y) ** 2;
      products += x * y;
    }
    const close = (actual: number, expected: number) =>
      assert.ok(Math.abs(actual - expected) < 1e-4 * length, `${actual} for ${expected}`);
    close(kernels.squaredDistance(0, other * 4, length * 4), squares);
    close(kernels.product(0, other * 4, length * 4), products);
    for (let i = 0; i < length * 4; i += 1) {
      bytes[i] = Math.floor(random() * 255) - 127;
      bytes[8192 + i] = Math.floor(random() * 255) - 127;
    }
    let [sum, bits] = [0, 0];
    for (let i = 0; i < length * 4; i += 1) {
      const [x, y] = [bytes[i] ?? 0, bytes[8192 + i] ?? 0];
      sum += x * y;
      for (let rest = (x ^ y) & 255; rest > 0; rest &= rest - 1) bits += 1;
    }
    assert.equal(kernels.byteProduct(0, 8192, length * 4), sum);
    const list = new Int32Array(memory.buffer, 32_768, 3);
    list.set([1, 0, 2]);
    kernels.listedByteProducts(0, 32_768, 32_768 + 12, 8192, length * 4);
    const runs = [1, 0, 2].map((place) => 8192 + place * length * 4);
    assert.deepEqual(
      [...list],
      runs.map((run) => kernels.byteProduct(0, run, length * 4)),
    );
    assert.equal(kernels.differingBits(0, 8192, length * 4), bits);
  }
});

test('kernels of codes compute what the loops compute', () => {
  const memory = newMemory();
  memory.grow(2);
  const kernels = codeKernels.over(memory);
  const floats = new Float32Array(memory.buffer);
  const bytes = new Uint8Array(memory.buffer);
  const random = seeded(13);
  const close = (actual: number, expected: number) =>
    assert.ok(Math.abs(actual - expected) < 1e-3, `${actual} for ${expected}`);
  for (let i = 0; i < 4_096; i += 1) floats[i] = random();
  const [column, component, table] = [0, 5_000, 16_384];
  floats[component / 4] = 0.25;
  const before = floats.slice(table / 4, table / 4 + 256);
  kernels.addSquares(table, column, component);
  for (let code = 0; code < 256; code += 1)
    close(floats[table / 4 + code] ?? 0, (before[code] ?? 0) + ((floats[code] ?? 0) - 0.25) ** 2);
  const [codes, others] = [100_000, 100_100];
  for (let i = 0; i < 12; i += 1) {
    bytes[codes + i] = Math.floor(random() * 256);
    bytes[others + i] = Math.floor(random() * 256);
  }
  let sum = 0;
  for (let i = 0; i < 12; i += 1) sum += floats[i * 256 + (bytes[codes + i] ?? 0)] ?? 0;
  close(kernels.tableSum(0, codes, 12), sum);
  for (const rowBytes of [16, 32]) {
    const width = rowBytes / 4;
    let squares = 0;
    for (let part = 0; part < 3; part += 1)
      for (let i = 0; i < width; i += 1) {
        const at = (code: number) => floats[(part * 256 + code) * width + i] ?? 0;
        squares += (at(bytes[codes + part] ?? 0) - at(bytes[others + part] ?? 0)) ** 2;
      }
    close(kernels.codeDistance(codes, others, 3, 0, rowBytes), squares);
  }
});

test('centroids are the same whenever they are trained, whatever the parts', () => {
  const vectors = clustered(3_000, seeded(15));
  for (const own of [{}, { pqSubspaces: 7 }, { pqClusters: 16 }, { pqTrainingLimit: 100 }]) {
    const settings = { ...settingsOf('PRODUCT', 'COSINE'), ...own };
    const first = graphOver(settings, vectors);
    const second = graphOver(settings, vectors);
    assert.deepEqual(first.block.bytes, second.block.bytes);
    const highest = Math.max(...first.block.bytes.slice(first.block.address(5)).slice(0, 7));
    assert.ok(highest < Math.min(256, settings.pqClusters), `code ${highest}`);
    // What a code stands for is near to its vector: nearer than the vectors of its cluster are to each other.
    let [own1, other] = [0, 0];
    for (let slot = 0; slot < 100; slot += 1) {
      first.space.setQuery(vectors[slot] as Float32Array);
      own1 += first.space.distance(slot);
      other += first.space.distance(slot + 20);
    }
    assert.ok(own1 < other / 1.5, `${JSON.stringify(own)}: ${own1} of ${other}`);
  }
});

test('a walk finds the nearest, whatever the similarity and the codes', () => {
  const random = seeded(5);
  const vectors = clustered(2_000, random);
  const queries = clustered(40, random);
  const kinds: readonly (readonly [Quantization, Similarity, number])[] = [
    ['NONE', 'COSINE', 0.9],
    ['NONE', 'EUCLIDEAN', 0.9],
    ['NONE', 'DOT_PRODUCT', 0.6],
    ['INT8', 'EUCLIDEAN', 0.85],
    ['BINARY', 'COSINE', 0.85],
    ['PRODUCT', 'EUCLIDEAN', 0.9],
    ['PRODUCT', 'COSINE', 0.9],
    ['PRODUCT', 'DOT_PRODUCT', 0.6],
  ];
  for (const [quantization, similarity, recallMin] of kinds) {
    const { space, graph } = graphOver(settingsOf(quantization, similarity), vectors);
    while (graph.count < vectors.length) graph.linkNext();
    let hits = 0;
    for (const query of queries) {
      space.setQuery(query);
      const measured = vectors.map((_, slot) => ({ slot, distance: space.distance(slot) }));
      measured.sort((a, b) => a.distance - b.distance);
      const bound = measured[9]?.distance ?? 0;
      const found = graph.search(60, undefined, Infinity) ?? [];
      // Codes have many equal distances: any of them is right.
      hits += found.slice(0, 10).filter(({ distance }) => distance <= bound).length;
    }
    const recall = hits / (queries.length * 10);
    assert.ok(recall >= recallMin, `${quantization} ${similarity}: ${recall}`);
  }
});

test('a thread links the same graph while others search it', async () => {
  for (const quantization of ['NONE', 'PRODUCT'] as const)
    await linksTheSame(settingsOf(quantization, 'EUCLIDEAN'));
});

async function linksTheSame(settings: VectorSettings): Promise<void> {
  const vectors = clustered(2_500, seeded(9));
  const here = graphOver(settings, vectors);
  while (here.graph.count < vectors.length) here.graph.linkNext();
  const there = graphOver(settings, vectors);
  let hasEnded = false;
  graphLinker.begin(there.block.shared, settings, vectors.length, () => {
    hasEnded = true;
  });
  for (let i = 0; !hasEnded; i += 1) {
    there.space.setQuery(vectors[i % 2_500] as Float32Array);
    const found = there.graph.search(20, undefined, Infinity) ?? [];
    for (const { slot } of found) assert.ok(slot >= 0 && slot < vectors.length);
    await setImmediate();
  }
  assert.ok(graphLinker.isUsable);
  assert.equal(there.graph.count, vectors.length);
  for (let slot = 0; slot < vectors.length; slot += 1) {
    const links = ({ block }: typeof here) => {
      const list = block.listAt(slot);
      return [...block.words.subarray(list, list + 1 + (block.words[list] ?? 0))];
    };
    assert.deepEqual(links(there), links(here), `slot ${slot}`);
  }
}

test('an index is linked beside searches, follows changes and gives memory back', async (context) => {
  const database = await openTestDatabase();
  context.after(() => database.close());
  await database.run('CREATE DOCUMENT TYPE A');
  await database.run('CREATE PROPERTY A.v ARRAY_OF_FLOATS');
  const metadata = { dimensions, similarity: 'EUCLIDEAN', maxConnections: 8, beamWidth: 20 };
  await database.run(`CREATE INDEX ON A (v) LSM_VECTOR METADATA ${JSON.stringify(metadata)}`);
  const vectors = clustered(6_000, seeded(11));
  for (let at = 0; at < vectors.length; at += 1_000) {
    const rows = vectors.slice(at, at + 1_000).map((v, i) => ({ n: at + i, v: [...v] }));
    await database.run('INSERT INTO A CONTENT :rows', {
      rows: rows.map((row) => new Map(Object.entries(row))),
    });
  }
  const nearest = async (n: number): Promise<number> => {
    const [row] = (await database.run("SELECT vector.neighbors('A[v]', :v, 1) AS near", {
      v: [...(vectors[n] as Float32Array)],
    })) as unknown as { near: { record: { n: number } }[] }[];
    return row?.near[0]?.record.n ?? -1;
  };
  const facts = async () => {
    const [row] = await database.run('SELECT FROM schema:index:`A[v]`');
    return row as unknown as {
      vectorsInMemory: number;
      vectorsLinked: number;
      memoryBytes: number;
    };
  };
  let [asked, hits] = [0, 0];
  for (; asked < 200 || (await facts()).vectorsLinked < 6_000; asked += 1)
    if ((await nearest((asked * 31) % 6_000)) === (asked * 31) % 6_000) hits += 1;
  assert.ok(hits > asked * 0.9, `${hits} of ${asked}`);
  const before = (await facts()).memoryBytes;
  await database.run('DELETE FROM A WHERE n % 2 = 1');
  for (let n = 1; n < 100; n += 2) assert.equal((await nearest(n)) % 2, 0);
  assert.equal((await facts()).vectorsInMemory, 3_000);
  await database.run('COMPACT INDEX `A[v]`');
  for (let n = 0; n < 6_000; n += 500) assert.equal((await nearest(n)) % 2, 0);
  assert.ok((await facts()).memoryBytes < before * 0.75);
});

test('parts of a PRODUCT index are learnt anew as it grows, and answers stay right', async (context) => {
  const database = await openTestDatabase();
  context.after(() => database.close());
  await database.run('CREATE DOCUMENT TYPE A');
  await database.run('CREATE PROPERTY A.v ARRAY_OF_FLOATS');
  const metadata = { dimensions, similarity: 'EUCLIDEAN', quantization: 'PRODUCT' };
  await database.run(`CREATE INDEX ON A (v) LSM_VECTOR METADATA ${JSON.stringify(metadata)}`);
  const vectors = clustered(1_500, seeded(17));
  const find = async (query: Float32Array): Promise<number[]> => {
    const [row] = (await database.run("SELECT vector.neighbors('A[v]', :v, 10).n AS found", {
      v: [...query],
    })) as unknown as { found: number[] }[];
    return row?.found ?? [];
  };
  assert.deepEqual(await find(vectors[0] as Float32Array), []);
  let stored = 0;
  for (const count of [1, 5, 60, 300, 1_500]) {
    const rows = vectors.slice(stored, count).map(
      (v, i) =>
        new Map<string, Value>([
          ['n', stored + i],
          ['v', [...v]],
        ]),
    );
    await database.run('INSERT INTO A CONTENT :rows', { rows });
    stored = count;
    let [hits, wanted] = [0, 0];
    for (const query of clustered(20, seeded(18))) {
      const exact = vectors
        .slice(0, count)
        .map((vector, n) => ({
          n,
          far: vector.reduce((sum, x, i) => sum + (x - (query[i] ?? 0)) ** 2, 0),
        }))
        .sort((a, b) => a.far - b.far)
        .slice(0, 10);
      // Both in one turn: one of them makes the other one's memory anew.
      const [found] = await Promise.all([find(query), find(query)]);
      hits += exact.filter(({ n }) => found.includes(n)).length;
      wanted += exact.length;
    }
    assert.ok(hits >= wanted * 0.97, `${hits} of ${wanted} among ${count}`);
  }
});
