import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { BatchImport } from '#database/bulk/batch-import.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { openTestDatabase, root, type TestDatabase } from '../support/open-test-database.ts';

// Every operation on tables and databases, with every kind of search index: afterwards each index answers what its records say.

const kinds = [
  'FULL_TEXT',
  'LSM_VECTOR',
  'LSM_VECTOR of PRODUCT',
  'LSM_SPARSE_VECTOR',
  'GEOSPATIAL',
] as const;
type Kind = (typeof kinds)[number];

const indexes: Readonly<Record<Kind, { readonly name: string; readonly ddl: string }>> = {
  FULL_TEXT: { name: 'V[t]', ddl: 'CREATE INDEX ON V (t) FULL_TEXT' },
  LSM_VECTOR: {
    name: 'V[v]',
    ddl: 'CREATE INDEX vv ON V (v) LSM_VECTOR METADATA {"dimensions": 2, "similarity": "EUCLIDEAN"}',
  },
  'LSM_VECTOR of PRODUCT': {
    name: 'V[p]',
    ddl: 'CREATE INDEX vp ON V (p) LSM_VECTOR METADATA {"dimensions": 2, "similarity": "EUCLIDEAN", "quantization": "PRODUCT"}',
  },
  LSM_SPARSE_VECTOR: { name: 'V[i,w]', ddl: 'CREATE INDEX ON V (i, w) LSM_SPARSE_VECTOR' },
  GEOSPATIAL: { name: 'V[g]', ddl: 'CREATE INDEX ON V (g) GEOSPATIAL' },
};

const searches: Readonly<Record<Kind, string>> = {
  FULL_TEXT: "SELECT n FROM V WHERE search_index('V[t]', 'common')",
  LSM_VECTOR: "SELECT n FROM (SELECT expand(vector.neighbors('vv', [0, 0], 100)))",
  'LSM_VECTOR of PRODUCT': "SELECT n FROM (SELECT expand(vector.neighbors('vp', [0, 0], 100)))",
  LSM_SPARSE_VECTOR:
    "SELECT n FROM (SELECT expand(vector.sparseNeighbors('V[i,w]', [1], [1.0], 100)))",
  GEOSPATIAL:
    "SELECT n FROM V WHERE geo.within(g, 'POLYGON ((-1 -1, 99 -1, 99 99, -1 99, -1 -1))')",
};

const values = (n: number) =>
  `n = ${n}, t = 'common w${n}', v = [${n}, 0], p = [${n}, 0], i = [1, ${n + 2}], w = [1.0, 2.0], g = 'POINT (${n} ${n})'`;

function indexTypeOf(kind: Kind): string {
  return kind.split(' ')[0] ?? kind;
}

async function found(database: TestDatabase, kind: Kind, name = 'test'): Promise<number[]> {
  const rows = await database.runOn(name, searches[kind]);
  return rows.map((row) => Number(row['n'])).sort((a, b) => a - b);
}

async function requireFound(
  database: TestDatabase,
  wanted: readonly number[],
  name = 'test',
): Promise<void> {
  for (const kind of kinds) assert.deepEqual(await found(database, kind, name), wanted, kind);
  const [checked] = await database.runOn(name, 'CHECK DATABASE');
  assert.equal(checked?.['totalErrors'], 0);
}

async function withGraph(run: (database: TestDatabase) => Promise<void>): Promise<void> {
  const database = await openTestDatabase();
  try {
    for (const statement of [
      'CREATE VERTEX TYPE V',
      'CREATE VERTEX TYPE Sub EXTENDS V',
      'CREATE VERTEX TYPE Other',
      'CREATE EDGE TYPE E',
      'CREATE PROPERTY V.n INTEGER',
      'CREATE PROPERTY V.t STRING',
      'CREATE PROPERTY V.v ARRAY_OF_FLOATS',
      'CREATE PROPERTY V.p ARRAY_OF_FLOATS',
      'CREATE PROPERTY V.i ARRAY_OF_INTEGERS',
      'CREATE PROPERTY V.w ARRAY_OF_FLOATS',
      'CREATE PROPERTY V.g STRING',
      `INSERT INTO V SET ${values(1)}`,
      ...kinds.map((kind) => indexes[kind].ddl),
      `INSERT INTO V SET ${values(2)}`,
      `INSERT INTO Sub SET ${values(3)}`,
    ])
      await database.run(statement);
    await run(database);
  } finally {
    await database.close();
  }
}

interface Operation {
  readonly name: string;
  readonly run: (database: TestDatabase) => Promise<void>;
  readonly wanted: readonly number[];
}

const operations: readonly Operation[] = [
  { name: 'nothing', run: async () => {}, wanted: [1, 2, 3] },
  { name: 'a stop and a start', run: (db) => db.reopen(), wanted: [1, 2, 3] },
  statements('REBUILD INDEX *', ['REBUILD INDEX *'], [1, 2, 3]),
  statements(
    'REBUILD INDEX of each',
    [
      'REBUILD INDEX `V[t]`',
      'REBUILD INDEX vv',
      'REBUILD INDEX vp',
      'REBUILD INDEX `V[i,w]`',
      'REBUILD INDEX `V[g]`',
    ],
    [1, 2, 3],
  ),
  statements('COMPACT INDEX', ['DELETE FROM V WHERE n = 2', 'COMPACT INDEX *'], [1, 3]),
  statements('REBUILD TYPE', ['REBUILD TYPE V'], [1, 2, 3]),
  statements('CHECK DATABASE FIX', ['CHECK DATABASE FIX'], [1, 2, 3]),
  statements('TRUNCATE TYPE', ['TRUNCATE TYPE Sub UNSAFE'], [1, 2]),
  statements('TRUNCATE BUCKET', ['TRUNCATE BUCKET Sub_0 UNSAFE'], [1, 2]),
  statements('DROP TYPE', ['DROP TYPE Sub UNSAFE'], [1, 2]),
  statements('MOVE VERTEX in', ['MOVE VERTEX (SELECT FROM V WHERE n = 1) TO TYPE:Sub'], [1, 2, 3]),
  statements('MOVE VERTEX out', ['MOVE VERTEX (SELECT FROM V WHERE n = 1) TO TYPE:Other'], [2, 3]),
  statements(
    'UPDATE away',
    ['UPDATE V SET t = null, v = null, p = null, i = null, w = null, g = null WHERE n = 2'],
    [1, 3],
  ),
  statements('UPDATE REMOVE', ['UPDATE V REMOVE t, v, p, i, w, g WHERE n = 2'], [1, 3]),
  statements(
    'UPSERT',
    ['CREATE INDEX ON V (n) UNIQUE', `UPDATE V SET ${values(7)} UPSERT WHERE n = 7`],
    [1, 2, 3, 7],
  ),
  statements('a rolled back script', ['BEGIN; DELETE FROM V; ROLLBACK;'], [1, 2, 3], 'sqlscript'),
  statements('a script', ['BEGIN; DELETE FROM V WHERE n < 3; COMMIT;'], [3], 'sqlscript'),
  statements(
    'ALTER TYPE',
    ['ALTER TYPE Sub SUPERTYPE -V', 'ALTER TYPE Sub SUPERTYPE +V'],
    [1, 2, 3],
  ),
  statements(
    'a new supertype',
    ['INSERT INTO Other SET n = 9', 'ALTER TYPE Other SUPERTYPE +V'],
    [1, 2, 3],
  ),
  statements('ALTER TYPE NAME', ['ALTER TYPE Sub NAME Sub2'], [1, 2, 3]),
  {
    name: 'DROP and CREATE INDEX',
    run: async (db) => {
      for (const row of await db.run('SELECT name FROM schema:indexes'))
        await db.run(`DROP INDEX \`${String(row['name'])}\``);
      for (const kind of kinds) {
        if (kind !== 'GEOSPATIAL') await assert.rejects(found(db, kind));
        await db.run(indexes[kind].ddl);
      }
    },
    wanted: [1, 2, 3],
  },
];

function statements(
  name: string,
  texts: readonly string[],
  wanted: readonly number[],
  language = 'sql',
): Operation {
  return {
    name,
    wanted,
    run: async (db) => {
      for (const text of texts) await db.run(text, {}, {}, language);
    },
  };
}

for (const { name, run, wanted } of operations)
  test(`search indexes after ${name}`, () =>
    withGraph(async (database) => {
      await requireFound(database, [1, 2, 3]);
      await run(database);
      await requireFound(database, wanted);
      await database.reopen();
      await requireFound(database, wanted);
    }));

test('an index that is built beside writers, in several rounds, holds what the records say', async () => {
  const database = await openTestDatabase();
  try {
    await database.run('CREATE DOCUMENT TYPE T');
    await database.run('CREATE PROPERTY T.t STRING');
    await database.run('CREATE PROPERTY T.n INTEGER');
    await database.run('CREATE INDEX ON T (n) NOTUNIQUE');
    const text = (n: number) => Array.from({ length: 200 }, (_, i) => `w${n * i}`).join(' ');
    const rows = Array.from(
      { length: 700 },
      (_, n) =>
        new Map<string, unknown>([
          ['n', n],
          ['t', text(n)],
        ]),
    );
    await database.run('INSERT INTO T CONTENT :rows', { rows } as never);
    let isBuilding = true;
    let changed = 0;
    const write = async () => {
      for (let n = 0; isBuilding && changed < 30; n = (n + 37) % 700) {
        await database.run(`UPDATE T SET t = t || ' changed' WHERE n = ${n}`);
        await database.run(`DELETE FROM T WHERE n = ${(n + 1) % 700}`);
        await database.run('INSERT INTO T SET n = -1, t = :t', { t: text(n) });
        changed += 1;
      }
    };
    const writing = write();
    await database.run('CREATE INDEX ON T (t) FULL_TEXT');
    isBuilding = false;
    await writing;
    assert.ok(changed > 0);
    const [checked] = await database.run('CHECK DATABASE');
    assert.equal(checked?.['totalErrors'], 0, JSON.stringify(checked));
    const [found] = await database.run(
      "SELECT count(*) AS n FROM T WHERE search_index('T[t]', 'changed')",
    );
    const [scanned] = await database.run("SELECT count(*) AS n FROM T WHERE t LIKE '%changed%'");
    assert.deepEqual(found, scanned);
  } finally {
    await database.close();
  }
});

test('a backup restores search indexes, an export brings them along', () =>
  withGraph(async (database) => {
    const asker = { principal: root, signal: new AbortController().signal };
    const [row] = await database.run('BACKUP DATABASE');
    const name = String(row?.['backupFile']);
    const path = join(database.directory, '.backups', 'test', name);
    await database.operations.restore('copy', { url: `file://${path}` }, asker);
    await requireFound(database, [1, 2, 3], 'copy');
    await database.run('EXPORT DATABASE file://all.jsonl.tgz');
    const url = join(database.directory, '.exports', 'all.jsonl.tgz');
    await database.operations.importNew('imported', { url, settings: undefined }, asker);
    await requireFound(database, [1, 2, 3], 'imported');
  }));

test('a batch is found by the next search', () =>
  withGraph(async (database) => {
    const batch = new BatchImport({
      loader: database.database.bulkLoader({ principal: root }),
      format: 'jsonl',
      commitEvery: 100,
      ordinalBase: undefined,
      depthMax: 512,
      lineBytesMax: 1024 * 1024,
      runtime: systemRuntime,
      onCommit: () => {},
    });
    const line = (n: number) =>
      JSON.stringify({
        '@type': 'vertex',
        '@class': 'V',
        n,
        t: `common w${n}`,
        v: [n, 0],
        p: [n, 0],
        i: [1, n + 2],
        w: [1, 2],
        g: `POINT (${n} ${n})`,
      });
    await requireFound(database, [1, 2, 3]);
    await batch.write(Buffer.from([4, 5].map(line).join('\n')));
    await batch.end();
    await requireFound(database, [1, 2, 3, 4, 5]);
  }));

test('what an index is made of cannot be dropped or become something else beneath it', () =>
  withGraph(async ({ run }) => {
    for (const property of ['t', 'v', 'p', 'i', 'w', 'g'])
      await assert.rejects(run(`DROP PROPERTY V.${property}`), /index/iu, property);
    await assert.rejects(run('ALTER PROPERTY V.v TYPE STRING'));
  }));

test('materialized views are made of searches', () =>
  withGraph(async ({ run }) => {
    await run(`CREATE MATERIALIZED VIEW Found AS ${searches.FULL_TEXT}`);
    assert.deepEqual((await run('SELECT n FROM Found ORDER BY n')).length, 3);
    await run('DELETE FROM V WHERE n = 1');
    await run('REFRESH MATERIALIZED VIEW Found');
    assert.deepEqual((await run('SELECT n FROM Found ORDER BY n')).length, 2);
  }));

test('schema:indexes names every kind', () =>
  withGraph(async ({ run }) => {
    const rows = await run('SELECT name, indexType, valid FROM schema:indexes ORDER BY indexType');
    assert.deepEqual(
      rows.map((row) => row['indexType']),
      kinds.map(indexTypeOf).sort(),
    );
    assert.ok(rows.every((row) => row['valid'] === true));
    for (const kind of kinds) {
      const name = /INDEX (v.) /.exec(indexes[kind].ddl)?.[1] ?? indexes[kind].name;
      const [row] = await run(`SELECT FROM schema:index:\`${name}\``);
      assert.equal(row?.['indexType'], indexTypeOf(kind));
    }
  }));
