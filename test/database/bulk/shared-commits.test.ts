import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { BatchImport, type CommittedChunk } from '#database/bulk/batch-import.ts';
import type { Runtime } from '#core/runtime.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { openTestDatabase, root, type TestDatabase } from '../support/open-test-database.ts';
import { importBody, RecordingLoader } from './import-fixture.ts';

// Chunks that share a commit must leave, and tell, what chunks with a commit of their own leave and tell (http-api.md 10.2, 10.6):
// whatever goes wrong, a whole number of them, and as many.

const schema = [
  'CREATE VERTEX TYPE Person',
  'CREATE VERTEX TYPE City',
  'CREATE PROPERTY City.code STRING',
  'CREATE INDEX ON City (code) UNIQUE',
  'CREATE EDGE TYPE Knows',
  'CREATE PROPERTY Knows.since INTEGER',
  'CREATE EDGE TYPE Likes',
  'CREATE EDGE TYPE Owns',
  'CREATE PROPERTY Owns.paper STRING',
  'CREATE INDEX ON Owns (paper) UNIQUE',
  'CREATE EDGE TYPE Judged',
  `CREATE PROPERTY Judged.weight INTEGER (mandatory true, max 100)`,
];
const commitEvery = 7;

async function openWithSchema(): Promise<TestDatabase> {
  const data = await openTestDatabase();
  for (const statement of schema) await data.run(statement);
  return data;
}

let shared: TestDatabase;
let apart: TestDatabase;
before(async () => {
  shared = await openWithSchema();
  apart = await openWithSchema();
});
after(async () => {
  await shared.close();
  await apart.close();
});

interface Import {
  readonly batch: BatchImport;
  readonly commits: CommittedChunk[];
}

function begin(data: TestDatabase, sharesCommits: boolean): Import {
  const commits: CommittedChunk[] = [];
  const batch = new BatchImport({
    loader: data.database.bulkLoader({ principal: root }),
    format: 'jsonl',
    commitEvery,
    sharesCommits,
    ordinalBase: undefined,
    depthMax: 512,
    lineBytesMax: 200_000,
    runtime: systemRuntime,
    onCommit: (chunk) => void commits.push(chunk),
  });
  return { batch, commits };
}

const personCount = 20;

function persons(): string {
  const lines = Array.from(
    { length: personCount },
    (_, n) => `{"@type":"v","@class":"Person","@id":"p${n}","n":${n}}\n`,
  );
  return lines.join('');
}

function edge(type: string, from: string, to: string, properties = ''): string {
  return `{"@type":"e","@class":"${type}","@from":"${from}","@to":"${to}"${properties}}\n`;
}

const name = fc.nat({ max: personCount - 1 }).map((n) => `p${n}`);
const goodLine = fc.oneof(
  { weight: 10, arbitrary: fc.tuple(name, name).map(([a, b]) => edge('Knows', a, b)) },
  { weight: 5, arbitrary: fc.tuple(name, name).map(([a, b]) => edge('Likes', a, b, ',"w":"x"')) },
  { weight: 2, arbitrary: name.map((a) => edge('Judged', a, 'p0', ',"weight":3')) },
  { weight: 1, arbitrary: fc.constant('\n') },
  // Loaded by itself, in the middle of a chunk.
  { weight: 1, arbitrary: fc.constant(edge('Likes', 'p3', 'p4', `,"w":"${'x'.repeat(140_000)}"`)) },
);
const ownsLine = fc.nat({ max: 400 }).map((n) => edge('Owns', 'p1', 'p2', `,"paper":"${n}"`));
const wrongLine = fc.constantFrom(
  'nonsense\n',
  edge('Nothing', 'p1', 'p2'),
  edge('Person', 'p1', 'p2'),
  edge('Knows', 'p1', 'missing'),
  edge('Knows', '#999:1', 'p1'),
  edge('Knows', 'p1', 'p2', ',"since":"never"'),
  edge('Judged', 'p1', 'p2', ',"weight":1000'),
  edge('Judged', 'p1', 'p2'),
  '{"@type":"v","@class":"Person"}\n',
  edge('Owns', 'p1', 'p2', ',"paper":"stored"'),
);

interface Call {
  readonly lines: readonly string[];
  /** Of the pieces that the body comes in. */
  readonly pieceLengths: readonly number[];
  /** Numbers of pieces before which the client pauses. */
  readonly pauses: readonly number[];
  /** Number of the piece that never comes. */
  readonly leaves: number | undefined;
}

const call: fc.Arbitrary<Call> = fc.record({
  lines: fc
    .tuple(
      fc.array(fc.oneof({ weight: 6, arbitrary: goodLine }, ownsLine), { maxLength: 60 }),
      fc.array(goodLine, { maxLength: 80, size: 'max' }),
      fc.option(wrongLine),
      fc.array(fc.oneof(goodLine, wrongLine), { maxLength: 20 }),
    )
    .map(([first, second, wrong, rest]) => [
      ...second,
      ...first,
      ...(wrong ? [wrong] : []),
      ...rest,
    ]),
  pieceLengths: fc.array(fc.oneof(fc.integer({ min: 1, max: 3000 }), fc.constant(150_000)), {
    minLength: 1,
    maxLength: 4,
  }),
  pauses: fc.array(fc.nat({ max: 15 }), { maxLength: 3 }),
  leaves: fc.option(fc.nat({ max: 12 }), { freq: 4, nil: undefined }),
});

/** Runs the import as the route of POST /batch does. @returns what the client and the database know afterwards */
async function outcome(data: TestDatabase, sharesCommits: boolean, { lines, ...rest }: Call) {
  for (const type of ['Person', 'City']) await data.run(`DELETE FROM ${type}`);
  await data.run("INSERT INTO Person SET n = 'a'");
  await data.run("INSERT INTO Person SET n = 'b'");
  await data.run(
    "CREATE EDGE Owns FROM (SELECT FROM Person WHERE n = 'a') TO (SELECT FROM Person WHERE n = 'b') SET paper = 'stored'",
  );
  const { batch, commits } = begin(data, sharesCommits);
  const body = Buffer.from(persons() + lines.join(''));
  let message = 'done';
  try {
    for (let at = 0, piece = 0; at < body.length; piece += 1) {
      if (piece === rest.leaves) throw new Error('left');
      if (rest.pauses.includes(piece)) await batch.commitFullChunks();
      const length = rest.pieceLengths[piece % rest.pieceLengths.length] ?? 1;
      await batch.write(Uint8Array.from(body.subarray(at, at + length)));
      at += length;
    }
    await batch.end();
  } catch (error) {
    message = ((await batch.endAfter(error)) as Error).message;
  }
  batch.close();
  const counts: unknown[] = [];
  for (const type of ['Person', 'Knows', 'Likes', 'Judged', 'Owns'])
    counts.push((await data.run(`SELECT count(*) AS n FROM ${type}`))[0]?.['n']);
  const lists = await data.run(
    "SELECT n, out().n AS o, in().n AS i FROM Person WHERE n NOT IN ['a', 'b'] ORDER BY n",
  );
  const told = commits.map(({ counts: { bytes: _, ...all }, hasEdges, ids }) => [
    all,
    hasEdges,
    ids,
  ]);
  const { vertices, edges, lines: read } = batch.counts;
  const said = message.replace(/#\d+:\d+/g, '#');
  return { told, said, counts, lists, vertices, edges, read };
}

test('chunks that share a commit leave and tell what chunks of their own do', async () => {
  await fc.assert(
    fc.asyncProperty(call, async (each) => {
      assert.deepEqual(await outcome(shared, true, each), await outcome(apart, false, each));
    }),
    { numRuns: 60 },
  );
  for (const data of [shared, apart]) {
    const [checked] = await data.run('CHECK DATABASE');
    assert.equal(checked?.['totalErrors'], 0, JSON.stringify(checked));
  }
});

test('several chunks are one commit', async () => {
  const { batch, commits } = begin(shared, true);
  const body = persons() + edge('Knows', 'p1', 'p2').repeat(50);
  await batch.write(Buffer.from(body));
  assert.equal(commits.length, 0);
  await batch.end();
  assert.equal(new Set(commits.map(({ index }) => index)).size, 1);
  assert.deepEqual(
    commits.map(({ counts }) => counts.vertices + counts.edges),
    [7, 14, 21, 28, 35, 42, 49, 56, 63, 70],
  );
});

/** Stored persons by name. @returns their record ids */
async function storedPersons(data: TestDatabase): Promise<readonly string[]> {
  await data.run('DELETE FROM Person');
  const rids: string[] = [];
  for (const n of [0, 1, 2]) {
    const [row] = await data.run(`INSERT INTO Person SET n = 'stored ${n}' RETURN @rid`);
    rids.push(String(Object.values(row ?? {})[0]));
  }
  return rids;
}

test('when a chunk cannot be committed, those before it are', async () => {
  const data = shared;
  const deleted = async () => void (await data.run("DELETE FROM Person WHERE n = 'stored 2'"));
  const altered = async () => void (await data.run('ALTER TYPE Likes CUSTOM a = 1'));
  for (const { meanwhile, code, chunks } of [
    { meanwhile: [deleted], code: 'RecordNotFound', chunks: 2 },
    { meanwhile: [altered], code: 'ConcurrentModification', chunks: 3 },
    // The chunk that comes first says why.
    { meanwhile: [altered, deleted], code: 'RecordNotFound', chunks: 2 },
  ]) {
    const [a = '', b = '', c = ''] = await storedPersons(data);
    const { batch, commits } = begin(data, true);
    const good = edge('Knows', a, b).repeat(commitEvery * 2);
    const third =
      edge('Knows', a, b).repeat(3) + edge('Knows', a, c) + edge('Knows', b, a).repeat(3);
    const fourth = edge('Likes', a, b).repeat(commitEvery);
    await batch.write(Buffer.from(good + third + fourth + edge('Knows', a, b)));
    for (const change of meanwhile) await change();
    let failure: unknown;
    await assert.rejects(batch.end(), (error: { code?: string }) => {
      failure = error;
      return error.code === code;
    });
    assert.equal(await batch.endAfter(failure), failure);
    assert.equal(commits.length, chunks);
    assert.equal(batch.counts.edges, chunks * commitEvery);
    const [stored] = await data.run('SELECT count(*) AS n FROM Knows');
    assert.deepEqual(stored, { n: chunks * commitEvery });
    assert.deepEqual(await data.run('SELECT count(*) AS n FROM Likes'), [{ n: 0 }]);
  }
});

test('a chunk with unique keys, or triggers, shares its commit with none behind it', async () => {
  const data = await openWithSchema();
  try {
    const owns = Array.from({ length: 21 }, (_, n) => edge('Owns', 'p0', 'p1', `,"paper":"${n}"`));
    const keyed = begin(data, true);
    await keyed.batch.write(Buffer.from(persons() + owns.join('')));
    assert.deepEqual(
      keyed.commits.map(({ counts }) => counts.vertices + counts.edges),
      [7, 14, 21, 28, 35],
    );
    await keyed.batch.end();
    await data.run(
      'CREATE TRIGGER even BEFORE CREATE ON Person EXECUTE SQL "SELECT ($record.n % 2 = 0)"',
    );
    const triggered = begin(data, true);
    await triggered.batch.write(Buffer.from(persons()));
    assert.deepEqual(
      triggered.commits.map(({ counts }) => counts.vertices),
      [4, 7],
    );
    await triggered.batch.end();
  } finally {
    await data.close();
  }
});

const vertexLines = '{"@type":"v","@class":"V","a":1}\n';

test('chunks share a commit as long as memory allows', async () => {
  class Heavy extends RecordingLoader {
    rowMiB = 0;
    override get pendingBytes(): number {
      return super.pendingBytes * this.rowMiB * 1024 * 1024;
    }
  }
  const body = Buffer.from(vertexLines.repeat(95));
  const options = { commitEvery: 10, sharesCommits: true };
  for (const [rowMiB, commits] of [
    [1, [95]],
    [2, [60, 95]],
    [3, [40, 80, 95]],
    // Rows so large gain nothing.
    [4, [10, 20, 30, 40, 50, 60, 70, 80, 90, 95]],
  ] as const) {
    const heavy = new Heavy();
    heavy.rowMiB = rowMiB;
    const { loader } = await importBody(body, [100], options, heavy);
    assert.deepEqual(loader.commits, commits, `${rowMiB} MiB`);
  }
});

test('what a slow client sends is committed after 5 s, at the end of a chunk', async () => {
  let now = 0;
  const clock = { ...systemRuntime.clock, monotonicMs: () => now };
  const runtime: Runtime = { ...systemRuntime, clock };
  const loader = new RecordingLoader();
  const { addRecords } = loader;
  loader.addRecords = (batch) => {
    now += 1000;
    return addRecords.call(loader, batch);
  };
  const body = Buffer.from(vertexLines.repeat(100));
  await importBody(body, [1000], { commitEvery: 10, sharesCommits: true, runtime }, loader);
  assert.deepEqual(loader.commits, [60, 100]);
});
