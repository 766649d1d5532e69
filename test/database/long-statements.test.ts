import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Runtime } from '#core/runtime.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { openTestDatabase } from './support/open-test-database.ts';

const terms = Array.from({ length: 12_000 }, (_, at) => `name = 'n${at}'`);
const longText = `SELECT FROM Person WHERE ${terms.join(' OR ')}`;

async function setUp(
  context: TestContext,
  onYield: () => void = () => {},
  clock: Runtime['clock'] = systemRuntime.clock,
) {
  const { timers } = systemRuntime;
  const runtime: Runtime = {
    ...systemRuntime,
    clock,
    timers: {
      ...timers,
      yield: () => {
        onYield();
        return timers.yield();
      },
    },
  };
  const database = await openTestDatabase({ runtime });
  context.after(() => database.close());
  await database.run('CREATE VERTEX TYPE Person');
  await database.run("INSERT INTO Person SET name = 'n2999'");
  return database;
}

test('a long statement gives others a turn between the steps of its compilation', async (context) => {
  let turnCount = 0;
  const database = await setUp(context, () => {
    turnCount += 1;
  });
  turnCount = 0;
  const rows = await database.run(longText);
  assert.equal(rows.length, 1);
  assert.ok(turnCount >= 4, `${turnCount} turns`);
});

test('a long statement of a script does so, too', async (context) => {
  let turnCount = 0;
  const database = await setUp(context, () => {
    turnCount += 1;
  });
  // Parsing a script is one step, and so is its first statement without pauses.
  turnCount = 0;
  const rows = await database.run(`LET $a = ${longText}; RETURN $a;`, {}, {}, 'sqlscript');
  assert.equal(rows.length, 1);
  assert.ok(turnCount >= 4, `${turnCount} turns`);
});

test('a long statement that writes is executed once', async (context) => {
  const database = await setUp(context);
  await database.run(`UPDATE Person SET n = ifnull(n, 0) + 1 WHERE ${terms.join(' OR ')}`);
  assert.deepEqual(
    (await database.run('SELECT n FROM Person')).map((row) => row['n']),
    [1],
  );
});

for (const text of ['SELECT 1 AS n', 'INSERT INTO Person SET n = 1'])
  test(`a statement begins in another turn than its compilation, when that took long: ${text}`, async (context) => {
    let [turnCount, nowMs, lookMs] = [0, 0, 0];
    const onYield = (): void => {
      turnCount += 1;
    };
    const monotonicMs = (): number => (nowMs += lookMs);
    const database = await setUp(context, onYield, { ...systemRuntime.clock, monotonicMs });
    const turnsOf = async (asked: string): Promise<number> => {
      turnCount = 0;
      await database.run(asked);
      return turnCount;
    };
    await turnsOf(text);
    // Each look at the clock finds that so much time has passed.
    lookMs = 3;
    // What goes on behind a commit gives turns now and then, too.
    const turns: number[] = [];
    for (let run = 0; run < 10; run += 1) turns.push(await turnsOf(text));
    assert.ok(turns.includes(0), `${turns}`);
    assert.ok((await turnsOf(`${text} `)) > 0);
  });

test('a client that leaves while its statement is compiled is not waited for', async (context) => {
  const leaving = new AbortController();
  let isCompiling = false;
  const database = await setUp(context, () => {
    if (isCompiling) leaving.abort();
  });
  isCompiling = true;
  await assert.rejects(database.run(longText, {}, { signal: leaving.signal }), {
    code: 'Cancelled',
  });
});

test('statements that would end the call stack are refused and name a limit', async (context) => {
  const database = await setUp(context);
  const lets = Array.from({ length: 4000 }, (_, at) => `$a${at} = (SELECT count(*) FROM Person)`);
  const texts = [
    `SELECT $a0 LET ${lets.join(', ')}`,
    `SELECT FROM ${'(SELECT FROM '.repeat(500)}Person${')'.repeat(500)}`,
  ];
  for (const text of texts)
    await assert.rejects(database.run(text), /sql\.maxExpressionDepth/, text.slice(0, 40));
});

test('patterns have as many nodes as expressions may have levels', async (context) => {
  const database = await setUp(context);
  await database.run('CREATE EDGE TYPE Knows');
  const pattern = (stepCount: number) =>
    `MATCH {type: Person, as: first}${'-Knows->{}'.repeat(stepCount)} RETURN first`;
  assert.deepEqual(await database.run(pattern(199)), []);
  await assert.rejects(
    database.run(pattern(200)),
    /Pattern has more than 200 nodes .*sql\.maxExpressionDepth/,
  );
});

test('as many columns are unwound as expressions may have levels', async (context) => {
  const database = await setUp(context);
  const columns = (count: number, text: (at: number) => string): string =>
    Array.from({ length: count }, (_, at) => text(at)).join(', ');
  const statement = (count: number): string =>
    `SELECT ${columns(count, (at) => `[${at}] AS u${at}`)} UNWIND ${columns(count, (at) => `u${at}`)}`;
  const [row] = await database.run(statement(200));
  assert.equal(row?.['u199'], 199);
  await assert.rejects(
    database.run(statement(201)),
    /UNWIND has more than 200 columns .*sql\.maxExpressionDepth/,
  );
});

test('right sides of many assignments see what those before them gave, and what they left', async (context) => {
  const database = await setUp(context);
  await database.run('UPDATE Person SET a0 = 1, kept = 7');
  const items = Array.from({ length: 40 }, (_, at) => `a${at + 1} = a${at} + kept`);
  await database.run(`UPDATE Person SET ${items.join(', ')}, names = @this.keys().size()`);
  const [row] = await database.run('SELECT a0, a1, a40, kept, names FROM Person');
  assert.deepEqual({ ...row }, { a0: 1, a1: 8, a40: 281, kept: 7, names: 43 });
});
