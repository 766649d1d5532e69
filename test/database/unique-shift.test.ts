import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import fc from 'fast-check';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';

// Goal: a statement may give unique keys in any order, as long as they are unique when it ends (sql.md 13.10 rule 6), and what it
// may not do leaves nothing. Method: shifts and swaps by hand, then any new keys against the set of them.

async function keyed(context: TestContext, ...keys: readonly number[]): Promise<TestDatabase> {
  const data = await openTestDatabase();
  context.after(() => data.close());
  await data.run('CREATE VERTEX TYPE T');
  await data.run('CREATE PROPERTY T.k INTEGER');
  await data.run('CREATE INDEX ON T (k) UNIQUE');
  if (keys.length > 0)
    await data.run(`INSERT INTO T (k, n) VALUES ${keys.map((k) => `(${k}, ${k})`).join()}`);
  return data;
}

/** By their first keys; read from the records and found by the index. */
async function keysOf(data: TestDatabase): Promise<Readonly<Record<number, number>>> {
  const rows = await data.run('SELECT n, k FROM T ORDER BY n');
  for (const { n, k } of rows)
    assert.deepEqual(await data.run(`SELECT n FROM T WHERE k = ${k}`), [{ n }]);
  const [count] = await data.run('SELECT count(*) AS c FROM T WHERE k > -1000');
  assert.deepEqual(count, { c: rows.length });
  return Object.fromEntries(rows.map(({ n, k }) => [Number(n), Number(k)]));
}

const duplicated = { code: 'DuplicatedKey' };

test('keys may be shifted and swapped by one statement', async (context) => {
  const data = await keyed(context, 1, 2, 3);
  assert.deepEqual(await data.run('UPDATE T SET k = k + 1'), [{ count: 3 }]);
  assert.deepEqual(await keysOf(data), { 1: 2, 2: 3, 3: 4 });
  await data.run('UPDATE T SET k = k - 1');
  await data.run('UPDATE T SET k = 4 - k RETURN AFTER k');
  assert.deepEqual(await keysOf(data), { 1: 3, 2: 2, 3: 1 });
  await data.run('UPDATE T SET k = k % 3 + 1');
  assert.deepEqual(await keysOf(data), { 1: 1, 2: 3, 3: 2 });
  await data.reopen();
  assert.deepEqual(await keysOf(data), { 1: 1, 2: 3, 3: 2 });
});

test('a key that two records have at the end is refused, and nothing of the statement stays', async (context) => {
  const data = await keyed(context, 1, 2, 3);
  for (const text of [
    'UPDATE T SET k = 7',
    'UPDATE T SET k = k + 1 WHERE k < 3',
    'UPDATE T SET k = 3 WHERE n = 1',
    'UPDATE T SET k = k / 2 + 1',
  ]) {
    await assert.rejects(data.run(text), duplicated, text);
    assert.deepEqual(await keysOf(data), { 1: 1, 2: 2, 3: 3 });
  }
  const error: unknown = await data.run('UPDATE T SET k = 3 WHERE n = 1').catch((e) => e);
  assert.match(
    String(error),
    /Duplicated key \[3\] found on index 'T\[k\]' already assigned to record/,
  );
});

test('thousands of keys are judged in turns, and a duplicate behind the first turn is refused', async (context) => {
  const count = 1500;
  const numbers = Array.from({ length: count }, (_, at) => at + 1);
  const data = await keyed(context, ...numbers);
  let turnCount = 0;
  let isOver = false;
  const turn = (): void => {
    turnCount += 1;
    if (!isOver) setImmediate(turn);
  };
  turn();
  assert.deepEqual(await data.run('UPDATE T SET k = k + 1'), [{ count }]);
  isOver = true;
  assert.ok(turnCount > count / 256, `${turnCount} turns`);
  await assert.rejects(data.run(`UPDATE T SET k = if((n = ${count - 1}), 7, k + 1)`), duplicated);
  const [sum] = await data.run('SELECT count(*) AS c, min(k) AS low, max(k) AS high FROM T');
  assert.deepEqual(sum, { c: count, low: 2, high: count + 1 });
});

test('BATCH commits when the keys that it has given are free', async (context) => {
  const numbers = Array.from({ length: 23 }, (_, at) => at + 1);
  const data = await keyed(context, ...numbers);
  const shown = (keyOf: (n: number) => number) =>
    Object.fromEntries(numbers.map((n) => [n, keyOf(n)]));
  for (const size of [1, 2, 5, 23, 100]) {
    assert.deepEqual(await data.run(`UPDATE T SET k = k + 1 BATCH ${size}`), [{ count: 23 }]);
    assert.deepEqual(
      await keysOf(data),
      shown((n) => n + 1),
    );
    await data.run(`UPDATE T SET k = k - 1 BATCH ${size}`);
    await data.run(`UPDATE T SET k = 24 - k BATCH ${size}`);
    assert.deepEqual(
      await keysOf(data),
      shown((n) => 24 - n),
    );
    await data.run(`UPDATE T SET k = k % 23 + 1 BATCH ${size}`);
    await data.run(`UPDATE T SET k = n BATCH ${size}`);
    assert.deepEqual(
      await keysOf(data),
      shown((n) => n),
    );
  }
  // What is committed before a refusal stays (sql.md 9 rule 11).
  const doubled = data.run('UPDATE T SET k = if((n = 7), 101, k + 100) BATCH 3');
  await assert.rejects(doubled, /Duplicated key \[101\].* committed before is stored/);
  assert.deepEqual(
    await keysOf(data),
    shown((n) => (n <= 6 ? n + 100 : n)),
  );
});

test('the statement of a script is refused when it ends, not at the commit', async (context) => {
  const data = await keyed(context, 1, 2, 3);
  const script = (...lines: string[]) => data.run(lines.join(';'), {}, {}, 'sqlscript');
  await script('BEGIN', 'UPDATE T SET k = k + 1', 'UPDATE T SET k = k + 1', 'COMMIT');
  assert.deepEqual(await keysOf(data), { 1: 3, 2: 4, 3: 5 });
  await assert.rejects(
    script('BEGIN', 'UPDATE T SET k = 4 WHERE n = 1', 'DELETE FROM T WHERE n = 2', 'COMMIT'),
    duplicated,
  );
  await script(
    'BEGIN',
    'UPDATE T SET k = 9 WHERE n = 1',
    'UPDATE T SET k = 3 WHERE n = 2',
    'COMMIT',
  );
  assert.deepEqual(await keysOf(data), { 1: 9, 2: 3, 3: 5 });
});

test('keys are shifted while triggers of the same statement update other records', async (context) => {
  for (const timing of ['BEFORE', 'AFTER']) {
    const data = await keyed(context, 1, 2, 3);
    await data.run('CREATE DOCUMENT TYPE Log');
    await data.run('INSERT INTO Log SET n = 0');
    await data.run(
      `CREATE TRIGGER counts ${timing} UPDATE ON TYPE T EXECUTE SQL "UPDATE Log SET n = n + 1"`,
    );
    await data.run('UPDATE T SET k = k + 1');
    assert.deepEqual(await keysOf(data), { 1: 2, 2: 3, 3: 4 }, timing);
    assert.deepEqual(await data.run('SELECT n FROM Log'), [{ n: 3 }], timing);
    await assert.rejects(data.run('UPDATE T SET k = 7'), duplicated);
    assert.deepEqual(await keysOf(data), { 1: 2, 2: 3, 3: 4 }, timing);
  }
});

function trigger(body: string): string {
  const line = body.replaceAll(/\n */g, ' ');
  return `CREATE TRIGGER tries AFTER CREATE ON TYPE Log EXECUTE JAVASCRIPT "${line}"`;
}

test('functions of an update may update the same keys and records', async (context) => {
  const data = await keyed(context, 1, 2, 3);
  for (const text of [
    'DEFINE FUNCTION f.next "UPDATE T SET k = k + 1 WHERE n = :a" PARAMETERS [a]',
    'DEFINE FUNCTION f.touch "UPDATE T SET seen = :a, x = 0, l = [:a] WHERE n = :a" PARAMETERS [a]',
    'DEFINE FUNCTION f.drop "DELETE FROM T WHERE n = :a" PARAMETERS [a]',
  ])
    await data.run(text);
  await data.run('UPDATE T SET q = n, z = `f.next`(q)');
  assert.deepEqual(await keysOf(data), { 1: 2, 2: 3, 3: 4 });
  await assert.rejects(data.run('UPDATE T SET q = n, z = `f.next`(1)'), duplicated);
  assert.deepEqual(await keysOf(data), { 1: 2, 2: 3, 3: 4 });
  // What the function did to other properties stays; what the statement assigns is what it computed.
  await data.run('UPDATE T SET q = n, x = `f.touch`(q) WHERE n = 1');
  await data.run('UPDATE T SET q = n, x = `f.touch`(q), l[1] = 5 REMOVE z WHERE n = 2');
  assert.deepEqual(await data.run('SELECT seen, x, l, z FROM T WHERE n < 3 ORDER BY n'), [
    { seen: 1, x: 1, l: [1], z: 1 },
    { seen: 2, x: 1, l: [2], z: null },
  ]);
  await data.run('UPDATE T SET q = n CONTENT {k: 9, n: 3, x: `f.touch`(3)} WHERE n = 3');
  assert.deepEqual(await data.run('SELECT FROM T WHERE k = 9'), [
    { '@rid': '#1:2', '@type': 'T', '@cat': 'v', k: 9, n: 3, x: 1 },
  ]);
  await assert.rejects(data.run('UPDATE T SET q = n, x = `f.drop`(q) WHERE n = 1'), {
    code: 'RecordNotFound',
  });
  assert.deepEqual(await keysOf(data), { 1: 2, 2: 3, 3: 9 });
});

test('a script that catches a refusal goes on as if the statement had not been there', async (context) => {
  const data = await keyed(context, 1, 2, 3);
  await data.run('CREATE DOCUMENT TYPE Log');
  const tried = [
    'UPDATE T SET k = 7',
    'UPDATE T SET k = k + 1 WHERE k < 3',
    'INSERT INTO T (k, n) VALUES (8, 8), (3, 9)',
    'UPDATE T SET k = k + 1, n = n / (3 - k)',
  ];
  const attempts = tried.map(
    (text) => `try { database.command('sql', '${text}') } catch (e) { seen += 1 }`,
  );
  await data.run(
    trigger(`let seen = 0;
      database.command('sql', 'UPDATE T SET n = n * 10 WHERE k = 1');
      ${attempts.join('; ')};
      database.command('sql', 'UPDATE T SET k = k + 1');
      if (seen !== ${tried.length}) throw new Error('refused: ' + seen)`),
  );
  await data.run('INSERT INTO Log SET n = 1');
  assert.deepEqual(await keysOf(data), { 2: 3, 3: 4, 10: 2 });
  assert.deepEqual(await data.run('SELECT n FROM Log'), [{ n: 1 }]);
  await data.reopen();
  assert.deepEqual(await keysOf(data), { 2: 3, 3: 4, 10: 2 });
});

test('what a caught statement did to other records and edges is gone, too', async (context) => {
  const data = await keyed(context, 1, 2, 3);
  await data.run('CREATE EDGE TYPE E');
  await data.run('CREATE EDGE E FROM (SELECT FROM T WHERE k = 1) TO (SELECT FROM T WHERE k = 2)');
  await data.run('CREATE VERTEX TYPE Log');
  const refused = 'DELETE FROM T WHERE n / (2 - k) > -9';
  await data.run(
    trigger(`try { database.command('sql', '${refused}'); return } catch (e) {}
      const [row] = database.query('sql', 'SELECT count(*) AS c, sum(out().size()) AS o FROM T');
      database.command('sql', 'UPDATE Log SET c = ' + row.c + ', o = ' + row.o)`),
  );
  await data.run('INSERT INTO Log SET n = 1');
  assert.deepEqual(await data.run('SELECT c, o FROM Log'), [{ c: 3, o: 1 }]);
  assert.deepEqual(await data.run('SELECT k, both().size() AS b FROM T ORDER BY k'), [
    { k: 1, b: 1 },
    { k: 2, b: 1 },
    { k: 3, b: 0 },
  ]);
});

test('any new keys are taken exactly when they are unique', async (context) => {
  const data = await keyed(context);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 5, maxLength: 5 }), {
        minLength: 1,
        maxLength: 4,
      }),
      async (rounds) => {
        await data.run('DELETE FROM T');
        await data.run(
          `INSERT INTO T (k, n) VALUES ${[0, 1, 2, 3, 4].map((n) => `(${n}, ${n})`).join()}`,
        );
        let expected = [0, 1, 2, 3, 4];
        for (const keys of rounds) {
          const isUnique = new Set(keys).size === keys.length;
          const done = data.run('UPDATE T SET k = :keys[n]', { keys });
          if (isUnique) {
            await done;
            expected = keys;
          } else await assert.rejects(done, duplicated);
          assert.deepEqual(Object.values(await keysOf(data)), expected);
        }
      },
    ),
    { numRuns: 12 },
  );
});
