import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Value } from '#core/value/value.ts';
import { openTestDatabase, type TestDatabase } from '../support/open-test-database.ts';

// All vectors are replaced ten times over. After COMPACT INDEX memory and disk are as of a database that got only the last ones.

const vectorCount = 2_500;
const batch = 500;
// Of embeddings: their cells stand outside of rows (storage.md 3.1).
const dimensions = 160;

function vectorOf(round: number, n: number): number[] {
  let state = Math.imul(round * vectorCount + n + 1, 0x9e3779b1) >>> 0;
  return Array.from({ length: dimensions }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32 - 0.5;
  });
}

async function load(database: TestDatabase, round: number, quantization: string): Promise<void> {
  await database.run('CREATE DOCUMENT TYPE A');
  await database.run('CREATE PROPERTY A.v ARRAY_OF_FLOATS');
  await database.run('CREATE PROPERTY A.n INTEGER');
  await database.run('CREATE INDEX ON A (n) UNIQUE');
  for (let at = 0; at < vectorCount; at += batch) {
    const rows = Array.from(
      { length: batch },
      (_, i) =>
        new Map<string, Value>([
          ['n', at + i],
          ['v', vectorOf(round, at + i)],
        ]),
    );
    await database.run('INSERT INTO A CONTENT :rows', { rows });
  }
  const metadata = { dimensions, quantization, maxConnections: 16 };
  await database.run(`CREATE INDEX ON A (v) LSM_VECTOR METADATA ${JSON.stringify(metadata)}`);
}

async function find(database: TestDatabase, vector: readonly number[]): Promise<number> {
  const [row] = (await database.run("SELECT vector.neighbors('A[v]', :v, 1).n AS found", {
    v: [...vector],
  })) as unknown as { readonly found: readonly number[] }[];
  return row?.found[0] ?? -1;
}

/** Once all vectors are linked. */
async function sizes(database: TestDatabase) {
  for (;;) {
    await find(database, vectorOf(0, 0));
    const [index] = (await database.run('SELECT FROM schema:index:`A[v]`')) as unknown as [
      { readonly memoryBytes: number; readonly vectorsLinked: number },
    ];
    const [facts] = (await database.run('SELECT FROM schema:database')) as unknown as [
      { readonly size: number },
    ];
    if (index.vectorsLinked === vectorCount)
      return { memoryBytes: index.memoryBytes, diskBytes: facts.size };
    await new Promise((done) => setTimeout(done, 10));
  }
}

for (const quantization of ['NONE', 'PRODUCT'])
  test(`memory and disk of ${quantization} after all vectors were replaced ten times`, async () => {
    const rounds = 10;
    const fresh = await openTestDatabase();
    const database = await openTestDatabase();
    try {
      await load(fresh, rounds, quantization);
      await load(database, 0, quantization);
      for (let round = 1; round <= rounds; round += 1) {
        for (let at = 0; at < vectorCount; at += batch) {
          const vectors = Array.from({ length: batch }, (_, i) => vectorOf(round, at + i));
          const parameters = { vectors, at, end: at + batch };
          const text = 'UPDATE A SET v = :vectors[n - :at] WHERE n >= :at AND n < :end';
          await database.run(text, parameters as never);
        }
        assert.equal(await find(database, vectorOf(round, 7)), 7);
      }
      await database.run('COMPACT INDEX `A[v]`');
      const [once, often] = [await sizes(fresh), await sizes(database)];
      for (const key of ['memoryBytes', 'diskBytes'] as const)
        assert.ok(often[key] <= once[key] * 1.5, `${key}: ${often[key]} beside ${once[key]}`);
      let hits = 0;
      for (let n = 0; n < vectorCount; n += vectorCount / 50)
        if ((await find(database, vectorOf(rounds, n))) === n) hits += 1;
      assert.ok(hits >= 45, `${hits} of 50`);
    } finally {
      await fresh.close();
      await database.close();
    }
  });
