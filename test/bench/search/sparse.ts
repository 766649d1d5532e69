import type { Value } from '#core/value/value.ts';
import { openTestDatabase } from '../../database/support/open-test-database.ts';
import { alternate, type Comparison, elapsedMs } from '../measure.ts';

// Sparse vectors through the engine: weights of few frequent and many rare dimensions, as learnt terms have them, every answer held
// against the exact one.

const vectorCount = Number(process.env['BENCH_VECTORS'] ?? 100_000);
const dimensionCount = 30_000;
const termsPerVector = 120;
const queryCount = 50;
const termsPerQuery = 20;
const k = 10;
const targetMs = 5;

interface SparseVector {
  readonly indices: Int32Array;
  readonly weights: Float32Array;
}

/** Milliseconds of a search for the ten nearest, and whether each found the exact ones. */
export async function benchSparse(rounds: number): Promise<Comparison[]> {
  const database = await openTestDatabase();
  try {
    const random = seeded();
    const vectors = Array.from({ length: vectorCount }, () => vectorOf(random, termsPerVector));
    const queries = Array.from({ length: queryCount }, () => vectorOf(random, termsPerQuery));
    for (const statement of [
      'CREATE DOCUMENT TYPE A',
      'CREATE PROPERTY A.i ARRAY_OF_INTEGERS',
      'CREATE PROPERTY A.w ARRAY_OF_FLOATS',
    ])
      await database.run(statement);
    for (let at = 0; at < vectorCount; at += 1_000) {
      const rows = vectors.slice(at, at + 1_000).map(
        ({ indices, weights }) =>
          new Map<string, Value>([
            ['i', [...indices]],
            ['w', [...weights]],
          ]),
      );
      await database.run('INSERT INTO A CONTENT :rows', { rows });
    }
    await database.run(
      `CREATE INDEX ON A (i, w) LSM_SPARSE_VECTOR METADATA {"dimensions": ${dimensionCount}}`,
    );
    const text = `SELECT vector.sparseNeighbors('A[i,w]', :i, :w, ${k}).score AS scores`;
    const ask = async ({ indices, weights }: SparseVector): Promise<readonly number[]> => {
      const parameters = { i: [...indices], w: [...weights] };
      const [found] = await database.run(text, parameters);
      return (found as unknown as { readonly scores: readonly number[] }).scores;
    };
    let wrong = 0;
    for (const query of queries)
      if (!areEqual(await ask(query), exactScores(vectors, query))) wrong += 1;
    const perQuery = async () => {
      const ms = await elapsedMs(async () => {
        for (const query of queries) await ask(query);
      });
      return ms / queryCount;
    };
    const medians = await alternate({ polyad: perQuery }, rounds);
    const ratio = (medians.get('polyad') ?? Number.NaN) / targetMs;
    return [
      {
        name: `sparse, ${termsPerQuery} dimensions asked, ten nearest`,
        medians,
        unit: 'ms',
        ratio,
        target: `<= ${targetMs} ms, exact`,
        isReached: ratio <= 1 && wrong === 0,
        remarks: `${wrong} of ${queryCount} answers are not the exact one`,
      },
    ];
  } finally {
    await database.close();
  }
}

/** Scores of the best of all vectors. */
function exactScores(vectors: readonly SparseVector[], query: SparseVector): readonly number[] {
  const asked = new Float64Array(dimensionCount);
  for (const [i, index] of query.indices.entries()) asked[index] = query.weights[i] as number;
  const sums = Float64Array.from(vectors, ({ indices, weights }) => {
    let sum = 0;
    for (let i = 0; i < indices.length; i += 1)
      sum += (weights[i] as number) * (asked[indices[i] as number] as number);
    return sum;
  });
  return Array.from(sums.sort().subarray(-k)).reverse();
}

/** But for the order in which they are summed. */
function areEqual(a: readonly number[], b: readonly number[]): boolean {
  return (
    a.length === b.length && a.every((score, i) => Math.abs(score - (b[i] ?? 0)) <= 1e-5 * score)
  );
}

function seeded(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Distinct dimensions, the first of them the most frequent. */
function vectorOf(random: () => number, count: number): SparseVector {
  const indices = new Set<number>();
  while (indices.size < count) indices.add(Math.floor(dimensionCount * random() ** 2));
  const weights = Float32Array.from(indices, () => 0.05 + 2 * random() ** 3);
  return { indices: Int32Array.from(indices), weights };
}
