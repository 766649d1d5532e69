import type { Value } from '#core/value/value.ts';
import { openTestDatabase, type TestDatabase } from '../../database/support/open-test-database.ts';
import { type Comparison, elapsedMs, median, percentile } from '../measure.ts';

// Dense vectors through the engine: clustered ones, their graph linked by the thread, every answer held against the exact one.

const vectorCount = Number(process.env['BENCH_VECTORS'] ?? 100_000);
const dimensions = 128;
const queryCount = 200;
const k = 10;

/** Milliseconds of a search and its recall, of the build, of the first search after a start. */
export async function benchDense(rounds: number): Promise<Comparison[]> {
  const database = await openTestDatabase();
  try {
    const random = seeded();
    const centres = Array.from({ length: 100 }, () => vectorOf(random, undefined));
    const vectors = Array.from({ length: vectorCount }, (_, i) =>
      vectorOf(random, centres[i % centres.length]),
    );
    const queries = Array.from({ length: queryCount }, (_, i) =>
      vectorOf(random, centres[(i * 7) % centres.length]),
    );
    const all = () => true;
    const exact = queries.map((query) => nearestOf(vectors, query, all));
    for (const type of ['A', 'B']) await load(database, type, vectors);
    const full = await build(database, 'A', 'NONE');
    const narrow = await measure(database, { type: 'A', efSearch: 40, queries, exact, rounds });
    const plain = await measure(database, { type: 'A', efSearch: 100, queries, exact, rounds });
    const rows = [
      row('dense, recall >= 0.95', narrow, 0.95, 0.3),
      row('dense, recall >= 0.99', plain, 0.99, 0.4),
      limit('their build by a thread, default METADATA', full.ms / 1000, 60, 's'),
      limit('first answer after a start', full.firstMs, 2000, 'ms'),
    ];
    for (const share of [0.01, 0.1, 0.5])
      for (const isFar of [false, true])
        rows.push(await filtered(database, { vectors, queries, share, isFar }));
    for (const quantization of ['INT8', 'PRODUCT']) {
      const packed = await build(database, 'B', quantization);
      const codes = await measure(database, { type: 'B', efSearch: 100, queries, exact, rounds });
      rows.push(row(`dense as ${quantization}, recall >= 0.94`, codes, 0.94, plain.p50));
      rows.push(
        limit(`memory of ${quantization} against full`, packed.bytes / full.bytes, 0.35, 'ratio'),
        limit(`build of ${quantization}`, packed.ms / 1000, 60, 's'),
      );
      await database.run('DROP INDEX `B[v]`');
    }
    return rows;
  } finally {
    await database.close();
  }
}

interface Found {
  readonly p50: number;
  readonly p99: number;
  readonly recall: number;
}

async function load(
  database: TestDatabase,
  type: string,
  vectors: readonly Float32Array[],
): Promise<void> {
  await database.run(`CREATE DOCUMENT TYPE ${type}`);
  await database.run(`CREATE PROPERTY ${type}.v ARRAY_OF_FLOATS`);
  for (let at = 0; at < vectors.length; at += 1000) {
    const rows = vectors.slice(at, at + 1000).map(
      (vector, i) =>
        new Map<string, Value>([
          ['n', at + i],
          ['v', [...vector]],
        ]),
    );
    await database.run(`INSERT INTO ${type} CONTENT :rows`, { rows });
  }
}

/** From CREATE INDEX, over a start in between, until all vectors are linked. */
async function build(database: TestDatabase, type: string, quantization: string) {
  const metadata = { dimensions, similarity: 'EUCLIDEAN', quantization };
  let firstMs = Number.NaN;
  const facts = async () => {
    const [index] = await database.run(`SELECT FROM schema:index:\`${type}[v]\``);
    return index as unknown as { readonly vectorsLinked?: number; readonly memoryBytes: number };
  };
  const ms = await elapsedMs(async () => {
    await database.run(
      `CREATE INDEX ON ${type} (v) LSM_VECTOR METADATA ${JSON.stringify(metadata)}`,
    );
    await database.reopen();
    firstMs = await elapsedMs(() =>
      ask(database, type, new Float32Array(dimensions).fill(0.1), new Map()),
    );
    while (((await facts()).vectorsLinked ?? 0) < vectorCount)
      await new Promise((done) => setTimeout(done, 100));
  });
  return { ms, firstMs, bytes: (await facts()).memoryBytes };
}

async function ask(
  database: TestDatabase,
  type: string,
  vector: Float32Array,
  options: ReadonlyMap<string, Value>,
): Promise<readonly number[]> {
  // The numbers only: how long ten records are as text is no matter of the search.
  const text = `SELECT vector.neighbors('${type}[v]', :v, ${k}, :o).n AS found`;
  const [found] = (await database.run(text, {
    v: [...vector],
    o: options,
  })) as unknown as [{ readonly found: readonly number[] }];
  return found.found;
}

async function measure(
  database: TestDatabase,
  asked: {
    readonly type: string;
    readonly efSearch: number;
    readonly queries: readonly Float32Array[];
    readonly exact: readonly (readonly number[])[];
    readonly rounds: number;
  },
): Promise<Found> {
  const times: number[] = [];
  const options = new Map([['efSearch', asked.efSearch]]);
  let hits = 0;
  for (let round = -1; round < asked.rounds; round += 1) {
    hits = 0;
    for (const [at, query] of asked.queries.entries()) {
      let found: readonly number[] = [];
      const ms = await elapsedMs(async () => {
        found = await ask(database, asked.type, query, options);
      });
      if (round >= 0) times.push(ms);
      hits += found.filter((n) => asked.exact[at]?.includes(n)).length;
    }
  }
  const recall = hits / (asked.queries.length * k);
  return { p50: median(times), p99: percentile(times, 0.99), recall };
}

/**
 * Only records of which the filter keeps a share.
 * @param isFar whole clusters are kept, none of them that of a query; else some of each
 */
async function filtered(
  database: TestDatabase,
  asked: {
    readonly vectors: readonly Float32Array[];
    readonly queries: readonly Float32Array[];
    readonly share: number;
    readonly isFar: boolean;
  },
): Promise<Comparison> {
  const { vectors, share, isFar } = asked;
  const every = Math.round(1 / share);
  const keeps = (n: number) => (isFar ? n : Math.imul(n + 1, 0x9e3779b1) >>> 7) % every === 0;
  const records = (await database.run('SELECT @rid AS r, n FROM A')) as unknown as readonly {
    readonly r: Value;
    readonly n: number;
  }[];
  const links = records.filter(({ n }) => keeps(n)).map(({ r }) => r);
  const options = new Map<string, Value>([['filter', links]]);
  const queries = asked.queries.filter((_, i) => !isFar || !keeps(i * 7)).slice(0, 50);
  const exact = queries.map((query) => nearestOf(vectors, query, keeps));
  const times: number[] = [];
  let hits = 0;
  for (const [at, query] of queries.entries()) {
    let numbers: readonly number[] = [];
    const ms = await elapsedMs(async () => {
      numbers = await ask(database, 'A', query, options);
    });
    if (at > 5) times.push(ms);
    hits += numbers.filter((n) => exact[at]?.includes(n)).length;
  }
  const recall = hits / (queries.length * k);
  const found = { recall, p50: median(times), p99: percentile(times, 0.99) };
  const kept = isFar ? ' of whole clusters, others than that of the query' : '';
  return row(`a filter that keeps ${share * 100} %${kept}`, found, 0.95, 3);
}

function nearestOf(
  vectors: readonly Float32Array[],
  query: Float32Array,
  accept: (n: number) => boolean,
): readonly number[] {
  const best: { n: number; distance: number }[] = [];
  for (const [n, vector] of vectors.entries()) {
    if (!accept(n)) continue;
    let distance = 0;
    for (let i = 0; i < dimensions; i += 1) {
      const step = (vector[i] as number) - (query[i] as number);
      distance += step * step;
    }
    if (best.length === k && distance >= (best[k - 1]?.distance ?? 0)) continue;
    best.push({ n, distance });
    best.sort((a, b) => a.distance - b.distance);
    if (best.length > k) best.pop();
  }
  return best.map(({ n }) => n);
}

function row(name: string, found: Found, recallMin: number, msMax: number): Comparison {
  return {
    name,
    medians: new Map([['polyad', found.p50]]),
    unit: 'ms',
    ratio: found.p50 / msMax,
    target: `<= ${msMax.toPrecision(2)} ms`,
    isReached: found.p50 <= msMax && found.recall >= recallMin,
    remarks: `recall ${found.recall.toFixed(3)}, p99 ${found.p99.toPrecision(2)} ms`,
  };
}

function limit(name: string, value: number, target: number, unit: string): Comparison {
  return {
    name,
    medians: new Map([['polyad', value]]),
    unit,
    ratio: value / target,
    target: `<= ${target}`,
    isReached: value <= target,
    remarks: '',
  };
}

function seeded(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function vectorOf(random: () => number, around: Float32Array | undefined): Float32Array {
  return Float32Array.from({ length: dimensions }, (_, i) =>
    Math.fround((around?.[i] ?? 0) + (random() - 0.5) * (around === undefined ? 2 : 0.6)),
  );
}
