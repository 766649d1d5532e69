import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import { openTestDatabase, root, type TestDatabase } from '../support/open-test-database.ts';

// Random writers and readers of all four kinds of search index at once. One statement asks every index and reads all records
// besides, in one snapshot and with its session's own writes: what was found must be what a slow scan of those records finds.

const words = ['ash', 'bay', 'cod', 'dew', 'elm', 'fig'];

interface Row {
  readonly n: number;
  readonly t: string | null;
  readonly v: readonly number[] | null;
  readonly i: readonly number[] | null;
  readonly w: readonly number[] | null;
  readonly g: string | null;
}

const question =
  "SELECT (SELECT n FROM T WHERE search_index('T[t]', :q)) AS text, " +
  "vector.neighbors('T[v]', :v, 4) AS dense, " +
  "vector.sparseNeighbors('T[i,w]', :i, :w, 4) AS sparse, " +
  '(SELECT n FROM T WHERE geo.within(g, :area)) AS geo, ' +
  '(SELECT n, t, v, i, w, g FROM T) AS rows';

class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  next(): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#state / 2 ** 32;
  }

  below(count: number): number {
    return Math.floor(this.next() * count);
  }
}

function randomRow(random: Random, n: number): Record<string, unknown> {
  const some = <T>(value: T): T | null => (random.below(8) === 0 ? null : value);
  const dimensions = [...new Set([random.below(6), random.below(6), random.below(6)])];
  const i = some(dimensions);
  return {
    n,
    t: some(Array.from({ length: 1 + random.below(4) }, () => words[random.below(6)]).join(' ')),
    v: some([random.below(9) - 4.5, random.below(9) - 4.5, random.below(9) - 4.5]),
    i,
    w: i === null ? null : i.map(() => random.below(16) / 4 - 1.125),
    g: some(`POINT (${random.below(40) - 20} ${random.below(40) - 20})`),
  };
}

async function set(
  database: TestDatabase,
  statement: string,
  row: Record<string, unknown>,
  options: object,
): Promise<void> {
  await database.run(
    `${statement} SET t = :t, v = :v, i = :i, w = :w, g = :g${statement.startsWith('INSERT') ? ', n = :n' : ' WHERE n = :n'}`,
    row as never,
    options,
  );
}

async function write(database: TestDatabase, random: Random, options: object): Promise<void> {
  const row = randomRow(random, random.below(40));
  const kind = random.below(6);
  if (kind < 3) await set(database, 'INSERT INTO T', row, options);
  else if (kind < 5) await set(database, 'UPDATE T', row, options);
  else await database.run('DELETE FROM T WHERE n = :n', { n: row['n'] as number }, options);
}

async function read(database: TestDatabase, random: Random, options: object): Promise<void> {
  const [a, b] = [words[random.below(6)] as string, words[random.below(6)] as string];
  const v = [random.below(9) - 4.25, random.below(9) - 4.25, 0.5];
  const [x, y] = [random.below(30) - 20, random.below(30) - 20];
  const area = `POLYGON ((${x} ${y}, ${x + 15} ${y}, ${x + 15} ${y + 15}, ${x} ${y + 15}, ${x} ${y}))`;
  const i = [0, 1, 2];
  const w = [1, -0.5, 2];
  const parameters = { q: `+${a} -${b}`, v, i, w, area };
  const [answer] = await database.run(question, parameters as never, options);
  const got = answer as unknown as {
    readonly text: readonly { readonly n: number }[];
    readonly dense: readonly { readonly distance: number }[];
    readonly sparse: readonly { readonly score: number }[];
    readonly geo: readonly { readonly n: number }[];
    readonly rows: readonly Row[];
  };
  const { rows } = got;
  const numbers = (found: readonly { readonly n: number }[]) => found.map(({ n }) => n).sort();
  const has = (row: Row, word: string) => row.t?.split(' ').includes(word) ?? false;
  assert.deepEqual(
    numbers(got.text),
    numbers(rows.filter((row) => has(row, a) && !has(row, b))),
    'full text',
  );
  const far = rows
    .filter((row) => row.v !== null)
    .map((row) => (row.v as number[]).reduce((sum, c, at) => sum + (c - (v[at] ?? 0)) ** 2, 0));
  far.sort((p, q) => p - q);
  assert.deepEqual(
    got.dense.map(({ distance }) => Math.fround(distance)),
    far.slice(0, 4).map(Math.fround),
    'dense',
  );
  const scores = rows
    .filter((row) => row.i?.some((dimension, at) => dimension < 3 && row.w?.[at] !== 0) ?? false)
    .map((row) =>
      (row.i as number[]).reduce((sum, d, at) => sum + (row.w?.[at] ?? 0) * (w[d] ?? 0), 0),
    );
  scores.sort((p, q) => q - p);
  assert.deepEqual(
    got.sparse.map(({ score }) => Math.fround(score)),
    scores.slice(0, 4).map(Math.fround),
    'sparse',
  );
  const inside = rows.filter(({ g }) => {
    const [px = NaN, py = NaN] = g?.match(/-?\d+/g)?.map(Number) ?? [];
    return px > x && px < x + 15 && py > y && py < y + 15;
  });
  assert.deepEqual(numbers(got.geo), numbers(inside), 'geo');
}

/**
 * A record that a READ_COMMITTED transaction has changed and another one has deleted meanwhile is in the indexes of the first and
 * not in its scans. Such a transaction cannot commit. @throws what was wrong, where it can
 */
async function mustBeDoomed(
  database: TestDatabase,
  { sessionId, isolation }: { readonly sessionId: string; readonly isolation: string },
  wrong: unknown,
): Promise<void> {
  if (isolation !== 'READ_COMMITTED' || !(wrong instanceof assert.AssertionError)) throw wrong;
  await database.database.commit(root, sessionId);
  throw wrong;
}

async function client(database: TestDatabase, seed: number, count: number): Promise<void> {
  const random = new Random(seed);
  for (let at = 0; at < count; at += 1) {
    const mode = random.below(3);
    try {
      if (mode === 0) {
        await write(database, random, {});
        await read(database, random, {});
        continue;
      }
      const isolation = mode === 1 ? 'READ_COMMITTED' : 'REPEATABLE_READ';
      const sessionId = database.database.begin(root, isolation);
      for (let step = 0; step < 4; step += 1) {
        if (random.below(2) === 0) await write(database, random, { sessionId });
        await read(database, random, { sessionId }).catch((error: unknown) =>
          mustBeDoomed(database, { sessionId, isolation }, error),
        );
        await new Promise((resolve) => setImmediate(resolve));
      }
      if (random.below(3) === 0) await database.database.rollback(root, sessionId);
      else await database.database.commit(root, sessionId);
    } catch (error) {
      const isExpected =
        error instanceof DatabaseError &&
        ['ConcurrentModification', 'LockTimeout'].includes(error.code);
      if (!isExpected) throw error;
    }
  }
}

async function setUp(database: TestDatabase): Promise<void> {
  for (const statement of [
    'CREATE DOCUMENT TYPE T BUCKETS 2',
    'CREATE PROPERTY T.n INTEGER',
    'CREATE PROPERTY T.t STRING',
    'CREATE PROPERTY T.v ARRAY_OF_FLOATS',
    'CREATE PROPERTY T.i ARRAY_OF_INTEGERS',
    'CREATE PROPERTY T.w ARRAY_OF_FLOATS',
    'CREATE PROPERTY T.g STRING',
    'CREATE INDEX ON T (t) FULL_TEXT',
    'CREATE INDEX ON T (v) LSM_VECTOR METADATA {"dimensions": 3, "similarity": "EUCLIDEAN"}',
    'CREATE INDEX ON T (i, w) LSM_SPARSE_VECTOR',
    'CREATE INDEX ON T (g) GEOSPATIAL METADATA {"precision": 5}',
  ])
    await database.run(statement);
}

const runs = Number(process.env['SEARCH_RUNS'] ?? 2);
const firstSeed = Number(process.env['SEARCH_SEED'] ?? 1);

for (let run = 0; run < runs; run += 1) {
  const seed = firstSeed + run;
  test(`every search finds what a scan finds, seed ${seed}`, async () => {
    const database = await openTestDatabase();
    try {
      await setUp(database);
      await Promise.all([1, 2, 3].map((own) => client(database, seed * 100 + own, 12)));
      await database.reopen();
      await read(database, new Random(seed), {});
      const [checked] = await database.run('CHECK DATABASE');
      assert.equal(checked?.['totalErrors'], 0);
      await client(database, seed * 100 + 9, 4);
    } finally {
      await database.close();
    }
  });
}
