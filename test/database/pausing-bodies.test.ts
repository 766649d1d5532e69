import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { systemRuntime } from '#platform/system-runtime.ts';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';

// Bodies of triggers and functions take turns with everything else, wherever they are called.

let db: TestDatabase;

/** Time passes with each look at the clock, so slices hold the same amount of work on every machine. */
let nowMs = 0;
const runtime = {
  ...systemRuntime,
  clock: {
    now: () => systemRuntime.clock.now(),
    monotonicMs: () => {
      nowMs += 0.3;
      return nowMs;
    },
  },
};

before(async () => {
  const settings = { 'sql.maxBodyTime': '60000', 'command.timeout': '0' };
  db = await openTestDatabase({ runtime, settings });
  for (const text of [
    'CREATE DOCUMENT TYPE Base',
    'CREATE DOCUMENT TYPE T',
    'CREATE DOCUMENT TYPE Log',
    'CREATE VERTEX TYPE V',
    'CREATE EDGE TYPE E',
    `INSERT INTO Base (n) VALUES ${Array.from({ length: 400 }, (_, n) => `(${n})`).join()}`,
    'INSERT INTO T (n) VALUES (1), (2)',
    'INSERT INTO V (n) VALUES (1), (2)',
  ])
    await db.run(text);
  await db.run(
    'DEFINE FUNCTION lib.slow "MATCH {type: Base, as: a, where: (n < 60)}, {type: Base, as: b} RETURN count(*) + :n AS result" PARAMETERS [n]',
  );
});
after(() => db.close());

/** How many other statements came to their end while this one ran. */
async function othersDuring(text: string): Promise<{ rows: readonly unknown[]; others: number }> {
  let isOver = false;
  const run = db.run(text).finally(() => {
    isOver = true;
  });
  run.catch(() => undefined);
  let others = 0;
  while (!isOver) {
    await db.run('SELECT 1 AS one');
    others += 1;
    await runtime.timers.yield();
  }
  return { rows: await run, others };
}

const slow = 24_000;

const calls: readonly (readonly [text: string, rows: unknown])[] = [
  ['SELECT `lib.slow`(1) AS v', [{ v: slow + 1 }]],
  ['SELECT `lib.slow`(n) + `lib.slow`(n) AS v FROM T WHERE n = 2', [{ v: 2 * slow + 4 }]],
  [`SELECT n FROM T WHERE \`lib.slow\`(n) = ${slow + 2}`, [{ n: 2 }]],
  ['SELECT n, $v AS v FROM T LET $v = `lib.slow`(n) WHERE n = 1', [{ n: 1, v: slow + 1 }]],
  ['SELECT n FROM T ORDER BY `lib.slow`(0 - n)', [{ n: 2 }, { n: 1 }]],
  ['SELECT sum(`lib.slow`(n)) AS s FROM T', [{ s: 2 * slow + 3 }]],
  ['SELECT `lib.slow`(0) AS k, count(*) AS c FROM T GROUP BY k', [{ k: slow, c: 2 }]],
  [
    'SELECT CASE WHEN n = 1 THEN `lib.slow`(n) ELSE 0 END AS v FROM T WHERE n = 1',
    [{ v: slow + 1 }],
  ],
  ['UPDATE T SET a = 1, b = `lib.slow`(a) RETURN AFTER b WHERE n = 1', [{ b: slow + 1 }]],
  ['INSERT INTO T SET n = 7, b = `lib.slow`(1) RETURN b', [{ b: slow + 1 }]],
  ['DELETE FROM T RETURN BEFORE WHERE n = 7 AND `lib.slow`(1) > 0', undefined],
  [
    'CREATE EDGE E FROM (SELECT FROM V WHERE n = 1) TO (SELECT FROM V WHERE n = 2) SET w = `lib.slow`(3)',
    undefined,
  ],
];

test('a function of the schema pauses wherever an expression is allowed', async () => {
  for (const [text, rows] of calls) {
    const done = await othersDuring(text);
    if (rows !== undefined) assert.deepEqual(done.rows, rows, text);
    assert.ok(done.others > 5, `${text}: ${done.others} others`);
  }
});

test('triggers pause in every kind of write, and their statement is whole or not at all', async () => {
  await db.run('CREATE DOCUMENT TYPE W');
  await db.run('CREATE PROPERTY W.n INTEGER');
  await db.run('CREATE INDEX ON W (n) UNIQUE');
  for (const [timing, event] of [
    ['BEFORE', 'CREATE'],
    ['AFTER', 'CREATE'],
    ['BEFORE', 'UPDATE'],
    ['AFTER', 'UPDATE'],
    ['BEFORE', 'DELETE'],
    ['AFTER', 'DELETE'],
  ])
    await db.run(
      `CREATE TRIGGER t${timing}${event} ${timing} ${event} ON W EXECUTE SQL "INSERT INTO Log SET what = '${timing} ${event}', n = $record.n, s = \`lib.slow\`(0)"`,
    );
  const logged = async (): Promise<unknown> => {
    const rows = await db.run('SELECT what, n FROM Log');
    await db.run('DELETE FROM Log');
    return rows.map(({ what, n }) => `${what} ${n}`);
  };
  for (const [text, expected] of [
    [
      'INSERT INTO W (n) VALUES (1), (2)',
      ['BEFORE CREATE 1', 'AFTER CREATE 1', 'BEFORE CREATE 2', 'AFTER CREATE 2'],
    ],
    ['UPDATE W SET n = n + 10 WHERE n = 1', ['BEFORE UPDATE 11', 'AFTER UPDATE 11']],
    ['UPDATE W SET n = 5 UPSERT WHERE n = 5', ['BEFORE CREATE 5', 'AFTER CREATE 5']],
    ['DELETE FROM W WHERE n = 11', ['BEFORE DELETE 11', 'AFTER DELETE 11']],
  ] as const) {
    const { others } = await othersDuring(text);
    assert.ok(others > 5, `${text}: ${others} others`);
    assert.deepEqual(await logged(), expected, text);
  }
  await db.run('CREATE DOCUMENT TYPE X');
  await db.run('INSERT INTO X (n) VALUES (1), (2), (3)');
  await db.run(
    'CREATE TRIGGER xs AFTER UPDATE ON X EXECUTE SQL "INSERT INTO Log SET n = $record.n, s = `lib.slow`(0)"',
  );
  await db.run('CREATE PROPERTY Log.n INTEGER (MAX 11)');
  await assert.rejects(othersDuring('UPDATE X SET n = n + 10'));
  assert.deepEqual(await db.run('SELECT n FROM X'), [{ n: 1 }, { n: 2 }, { n: 3 }]);
  assert.deepEqual(await db.run('SELECT count(*) AS c FROM Log'), [{ c: 0 }]);
});

test('a body is ended with its statement, and nothing of it goes on', async () => {
  await db.run(
    'DEFINE FUNCTION lib.endless "MATCH {type: Base, as: a}, {type: Base, as: b}, {type: Base, as: c}, {type: Base, as: d} RETURN count(*) AS n"',
  );
  const controller = new AbortController();
  const run = db.run('SELECT `lib.endless`() AS v', {}, { signal: controller.signal });
  for (let at = 0; at < 5; at += 1) assert.equal((await db.run('SELECT 1 AS one')).length, 1);
  controller.abort();
  await assert.rejects(run);
  assert.deepEqual(await db.run('SELECT `lib.slow`(1) AS v'), [{ v: slow + 1 }]);
});

test('what an expression draws at random it draws once, however often it pauses', async () => {
  const rows = await db.run(
    'SELECT $r.asSet().size() AS n LET $r = [uuid(), `lib.slow`(1), uuid()]',
  );
  assert.deepEqual(rows, [{ n: 3 }]);
});

test('scripts in JavaScript run beside everything else, several at a time', async () => {
  await db.run('DEFINE FUNCTION js.spin "for (let n = 0; n < 1e6; n++); return 1" LANGUAGE js');
  const { rows, others } = await othersDuring('SELECT `js.spin`() AS v');
  assert.deepEqual(rows, [{ v: 1 }]);
  assert.ok(others > 1, `${others} others`);
  const all = await Promise.all(
    Array.from({ length: 6 }, (_, n) => db.run(`SELECT \`js.spin\`() + ${n} AS v`)),
  );
  assert.deepEqual(
    all.flat(),
    Array.from({ length: 6 }, (_, n) => ({ v: n + 1 })),
  );
});

/** By counted steps: a busy machine refuses nothing that an idle one does (house decision 76). */
const tooLong = { code: 'TooLarge', message: /takes more than 20000 steps/ };

test('where nobody can pause, a body is short or refused', async () => {
  await db.run('CREATE DOCUMENT TYPE D');
  await db.run("DEFINE FUNCTION lib.short 'SELECT 5 AS result'");
  await db.run('CREATE PROPERTY D.a INTEGER (DEFAULT `lib.short`())');
  await db.run('CREATE PROPERTY D.b INTEGER (DEFAULT `lib.slow`(1))');
  assert.deepEqual(await db.run('INSERT INTO D SET b = 1 RETURN a'), [{ a: 5 }]);
  await assert.rejects(db.run('INSERT INTO D SET a = 1'), tooLong);
  assert.deepEqual(await db.run('SELECT count(*) AS n FROM D'), [{ n: 1 }]);
  await db.run(
    'CREATE TRIGGER short BEFORE READ ON D EXECUTE SQL "SELECT (`lib.short`() > 1) AS ok"',
  );
  assert.deepEqual(await db.run('SELECT a FROM D'), [{ a: 5 }]);
  await db.run(
    'CREATE TRIGGER long BEFORE READ ON D EXECUTE SQL "SELECT (`lib.slow`(1) > 1) AS ok"',
  );
  await assert.rejects(db.run('SELECT a FROM D'), tooLong);
});

test('what nobody can pause does not depend on how busy the machine is', async (context) => {
  let leapMs = 0;
  const clock = {
    now: () => systemRuntime.clock.now(),
    // Between two looks others had the processor.
    monotonicMs: () => {
      leapMs += 50;
      return leapMs;
    },
  };
  const settings = { 'sql.maxBodyTime': '60000', 'command.timeout': '0' };
  const busy = await openTestDatabase({ runtime: { ...systemRuntime, clock }, settings });
  context.after(() => busy.close());
  for (const text of [
    'CREATE DOCUMENT TYPE B',
    'CREATE DOCUMENT TYPE D',
    'INSERT INTO B (n) VALUES (1), (2), (3)',
    "DEFINE FUNCTION lib.count 'SELECT count(*) AS result FROM B WHERE n > 0'",
    'CREATE PROPERTY D.a INTEGER (DEFAULT `lib.count`())',
    'INSERT INTO D SET b = 1',
    'CREATE TRIGGER rd BEFORE READ ON D EXECUTE SQL "SELECT (`lib.count`() = 3) AS ok"',
  ])
    await busy.run(text);
  assert.deepEqual(await busy.run("SELECT a, eval('b = 1') AS c FROM D"), [{ a: 3, c: true }]);
});

test('scans pause while triggers on READ work, also where these hide everything', async () => {
  await db.run('CREATE DOCUMENT TYPE R');
  await db.run(`INSERT INTO R (n) VALUES ${Array.from({ length: 60 }, (_, n) => `(${n})`).join()}`);
  await db.run('CREATE TRIGGER hide BEFORE READ ON R EXECUTE SQL "SELECT (1 > 2) AS ok"');
  for (const text of [
    'SELECT FROM R',
    'SELECT FROM R WHERE n > 3',
    'SELECT count(*) AS c FROM R WHERE n > 3',
  ]) {
    const { rows, others } = await othersDuring(text);
    assert.ok(others > 5, `${text}: ${others} others`);
    assert.deepEqual(rows, text.includes('count') ? [{ c: 0 }] : []);
  }
});

test('a call that writes is made once, also when it changes what its expression branches on', async () => {
  for (const text of [
    'CREATE DOCUMENT TYPE Flag',
    'CREATE DOCUMENT TYPE Told',
    'CREATE DOCUMENT TYPE P',
    'INSERT INTO Flag (n, up) VALUES (1, false), (2, false), (3, false)',
    'INSERT INTO P SET n = 1, flag = (SELECT @rid FROM Flag WHERE n = 1)[0].`@rid`',
    'DEFINE FUNCTION lib.tell "INSERT INTO Told SET n = :n RETURN n AS result" PARAMETERS [n]',
    "DEFINE FUNCTION lib.raise 'UPDATE Flag SET up = true RETURN COUNT WHERE n < 3'",
    // So it has written the first record when it pauses.
    'CREATE TRIGGER raised AFTER UPDATE ON Flag EXECUTE SQL "INSERT INTO Told SET n = $record.n, s = `lib.slow`(0)"',
  ])
    await db.run(text);
  assert.deepEqual(await db.run('SELECT flag.up AS up FROM P'), [{ up: false }]);
  for (const expression of [
    'CASE WHEN flag.up = true THEN `lib.tell`(9) ELSE `lib.raise`() END',
    'CASE WHEN flag.up = false THEN `lib.raise`() ELSE `lib.tell`(9) END',
    '[flag.up, `lib.raise`(), flag.up].asString()',
  ]) {
    await db.run('UPDATE Flag SET up = false');
    await db.run('DELETE FROM Told');
    const { rows, others } = await othersDuring(`SELECT ${expression} AS v FROM P`);
    assert.ok(others > 5, `${expression}: ${others} others`);
    const told = await db.run('SELECT n FROM Told ORDER BY n');
    assert.deepEqual(told, [{ n: 1 }, { n: 2 }], expression);
    assert.equal(rows.length, 1);
    if (expression.startsWith('[')) assert.deepEqual(rows, [{ v: '[false,2,true]' }], expression);
    else assert.deepEqual(rows, [{ v: 2 }], expression);
  }
});

test('a record that its own assignment deletes is gone, and the statement says so', async () => {
  await db.run('CREATE DOCUMENT TYPE Gone');
  await db.run('INSERT INTO Gone SET n = 1, m = 1');
  await db.run("DEFINE FUNCTION lib.drop 'DELETE FROM Gone WHERE n = :n' PARAMETERS [n]");
  await assert.rejects(db.run('UPDATE Gone SET n = 1, m = `lib.drop`(n)'), {
    code: 'RecordNotFound',
  });
  assert.deepEqual(await db.run('SELECT n, m FROM Gone'), [{ n: 1, m: 1 }]);
});
