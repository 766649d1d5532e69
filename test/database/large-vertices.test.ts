import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';

// A vertex with many edges is deleted and moved with all of them, over several turns of the event loop.

const edgeCount = 3000;

async function withHub(context: TestContext, count = edgeCount): Promise<TestDatabase> {
  const data = await openTestDatabase();
  context.after(() => data.close());
  for (const text of ['CREATE VERTEX TYPE V', 'CREATE VERTEX TYPE W', 'CREATE EDGE TYPE E'])
    await data.run(text);
  await data.run(
    `INSERT INTO V (n) VALUES ${Array.from({ length: count }, (_, n) => `(${n})`).join()}`,
  );
  await data.run('CREATE EDGE E FROM (SELECT FROM V WHERE n = 0) TO (SELECT FROM V)');
  await data.run('CREATE EDGE E FROM (SELECT FROM V WHERE n < 500) TO (SELECT FROM V WHERE n = 0)');
  return data;
}

/** @returns how many turns the event loop had meanwhile */
async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  let count = 0;
  let isOver = false;
  const turn = (): void => {
    count += 1;
    if (!isOver) setImmediate(turn);
  };
  turn();
  await work();
  isOver = true;
  return count;
}

async function counts(data: TestDatabase): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for (const type of ['V', 'W', 'E'])
    found.push((await data.run(`SELECT count(*) AS c FROM ${type}`))[0]?.['c']);
  return found;
}

test('a vertex with thousands of edges is deleted in turns', async (context) => {
  const data = await withHub(context);
  const turnCount = await turnsOf(() => data.run('DELETE FROM V WHERE n = 0'));
  assert.ok(turnCount > edgeCount / 256, `${turnCount} turns`);
  assert.deepEqual(await counts(data), [edgeCount - 1, 0, 0]);
  const [left] = await data.run("SELECT sum(both('E').size()) AS edges FROM V");
  assert.deepEqual(left, { edges: 0 });
});

test('a vertex with thousands of edges is moved in turns, loops and both directions', async (context) => {
  const data = await withHub(context);
  const turnCount = await turnsOf(() =>
    data.run('MOVE VERTEX (SELECT FROM V WHERE n = 0) TO TYPE:W'),
  );
  assert.ok(turnCount > edgeCount / 256, `${turnCount} turns`);
  assert.deepEqual(await counts(data), [edgeCount - 1, 1, edgeCount + 500]);
  assert.deepEqual(await data.run("SELECT out('E').size() AS o, in('E').size() AS i FROM W"), [
    { o: edgeCount + 1, i: 501 },
  ]);
  await data.reopen();
  assert.deepEqual(await data.run('SELECT count(*) AS c FROM E WHERE @in.n = 0'), [{ c: 501 }]);
});

test('vertices with some edges each go, and move, in as many turns as one with all of them', async (context) => {
  const data = await openTestDatabase();
  context.after(() => data.close());
  for (const text of ['CREATE VERTEX TYPE V', 'CREATE VERTEX TYPE W', 'CREATE EDGE TYPE E'])
    await data.run(text);
  await data.run(
    `INSERT INTO V (n) VALUES ${Array.from({ length: 200 }, (_, n) => `(${n})`).join()}`,
  );
  await data.run('CREATE EDGE E FROM (SELECT FROM V WHERE n < 100) TO (SELECT FROM V)');
  const toMove = 'MOVE VERTEX (SELECT FROM V WHERE n < 40) TO TYPE:W';
  const moveTurns = await turnsOf(() => data.run(toMove));
  assert.ok(moveTurns > (40 * 200) / 256, `${moveTurns} turns`);
  const deleteTurns = await turnsOf(() => data.run('DELETE FROM V WHERE n < 100'));
  assert.ok(deleteTurns > (60 * 200) / 256, `${deleteTurns} turns`);
  assert.deepEqual(await counts(data), [100, 40, 40 * 140]);
});

test('a vertex to which others keep adding edges is moved, and deleted, all the same', async (context) => {
  const data = await withHub(context);
  let isOver = false;
  const writer = async (first: number): Promise<void> => {
    for (let n = first; !isOver; n = first + ((n + 3) % 2000)) {
      const ends = `FROM (SELECT FROM V WHERE n = ${n}) TO (SELECT FROM V WHERE n = 0)`;
      // Once the vertex is gone there is nothing to connect; a commit that waited learns that.
      await data.run(`CREATE EDGE E ${ends}`).catch(() => {});
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const writers = [1, 2, 3].map(writer);
  try {
    await data.run('MOVE VERTEX (SELECT FROM V WHERE n = 0) TO TYPE:V SET moved = true');
    await data.run('DELETE FROM V WHERE n = 0');
  } finally {
    isOver = true;
    await Promise.all(writers);
  }
  assert.deepEqual(await counts(data), [edgeCount - 1, 0, 0]);
  const [check] = await data.run('CHECK DATABASE');
  assert.deepEqual(check?.['warnings'], []);
});

test('a statement that ends amid the edges of a vertex leaves all of them', async (context) => {
  // So many that no machine is through with them in one slice.
  const count = 20 * edgeCount;
  const data = await withHub(context, count);
  const leaving = new AbortController();
  const deleted = data.run('DELETE FROM V WHERE n = 0', {}, { signal: leaving.signal });
  await new Promise((resolve) => setImmediate(resolve));
  leaving.abort();
  await assert.rejects(deleted, { code: 'Cancelled' });
  assert.deepEqual(await counts(data), [count, 0, count + 500]);
  assert.deepEqual(
    await data.run("SELECT out('E').size() AS o, in('E').size() AS i FROM V WHERE n = 0"),
    [{ o: count + 1, i: 501 }],
  );
});
