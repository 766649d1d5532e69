// Writes of openCypher over a real database: what variables, lists, maps and paths show after a clause, what is refused, what is
// counted. `cypher`: one statement per line; its rows, or the error. `stats`: the counters of one statement that are not 0.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '#test/database/support/open-test-database.ts';
import { type GoldenCase, runGoldenFile } from '#test/support/datadriven.ts';

let opened: Promise<TestDatabase> | undefined;
after(async () => (await opened)?.close());

for (const file of ['statements.txt', 'paths.txt', 'forms.txt', 'constraints.txt'])
  runGoldenFile(new URL(file, import.meta.url), answersTo);

async function answersTo({ command, input }: GoldenCase): Promise<string> {
  opened ??= openTestDatabase();
  const database = await opened;
  if (command === 'stats') return statsOf(database, input);
  const answers: string[] = [];
  for (const line of input.split('\n')) answers.push(await answerOf(database, line));
  return answers.join('\n');
}

test('of 32 clients that merge one node with a unique key, one makes it', async () => {
  opened ??= openTestDatabase();
  const database = await opened;
  await database.run('CREATE VERTEX TYPE Only');
  await database.run('CREATE PROPERTY Only.k INTEGER');
  await database.run('CREATE INDEX ON Only (k) UNIQUE');
  const merge =
    'MERGE (n:Only {k: 1}) ON CREATE SET n.by = 1 ON MATCH SET n.met = coalesce(n.met, 0) + 1';
  await Promise.all(Array.from({ length: 32 }, () => database.run(merge, {}, {}, 'cypher')));
  const rows = await database.run('SELECT count(*) AS c, sum(met) AS met FROM Only');
  assert.deepEqual(rows, [{ c: 1, met: 31 }]);
});

test('of 32 clients that count one node up at once, none is lost', async () => {
  opened ??= openTestDatabase();
  const database = await opened;
  await database.run('CREATE (:Counter {k: 1, c: 0})', {}, {}, 'cypher');
  const count = 'MATCH (n:Counter {k: 1}) SET n.c = n.c + 1';
  await Promise.all(Array.from({ length: 32 }, () => database.run(count, {}, {}, 'cypher')));
  const rows = await database.run('MATCH (n:Counter) RETURN n.c AS c', {}, {}, 'cypher');
  assert.deepEqual(rows, [{ c: 32 }]);
});

test('PROFILE gives the rows and what they took, EXPLAIN the plan alone', async () => {
  opened ??= openTestDatabase();
  const database = await opened;
  await database.run('CREATE (:Profiled {k: 1})', {}, {}, 'cypher');
  const told = async (text: string) => {
    const stream = await database.stream(text, {}, {}, 'cypher');
    let count = 0;
    for (let batch = await stream.nextBatch(); batch; batch = await stream.nextBatch())
      count += batch.rowCount;
    return { count, plan: stream.summary().explain?.text ?? '' };
  };
  const profiled = await told('PROFILE MATCH (n:Profiled) RETURN n.k AS k');
  assert.equal(profiled.count, 1);
  assert.match(profiled.plan, /^OpenCypher execution plan.*\n\+ SCAN .*\(1 rows, \d/u);
  const made = await told('PROFILE CREATE (n:Profiled {k: 2}) RETURN n.k AS k');
  assert.equal(made.count, 1);
  const explained = await told('EXPLAIN MATCH (n:Profiled) RETURN n.k AS k');
  assert.equal(explained.count, 0);
  assert.match(explained.plan, /^OpenCypher execution plan.*\n\+ SCAN [^()]*$/u);
});

async function answerOf(database: TestDatabase, text: string): Promise<string> {
  try {
    const rows = await database.print(text, {}, {}, 'cypher');
    return rows === '' ? 'no rows' : rows;
  } catch (error) {
    return `error: ${error instanceof Error ? error.message : String(error)}`;
  }
}

async function statsOf(database: TestDatabase, text: string): Promise<string> {
  const stream = await database.stream(text, {}, {}, 'cypher');
  try {
    while ((await stream.nextBatch()) !== undefined);
    const counters = Object.entries(stream.summary().stats ?? {});
    return counters
      .filter(([, count]) => count !== 0)
      .map(([name, count]) => `${name} ${count}`)
      .join('\n');
  } finally {
    stream.close();
  }
}
