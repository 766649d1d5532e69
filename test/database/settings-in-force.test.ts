import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { openTestDatabase } from './support/open-test-database.ts';

// Settings that bound statements: at the bound, and one beyond it (limits.md).

async function database(context: TestContext, settings: Readonly<Record<string, string>>) {
  const opened = await openTestDatabase({ settings });
  context.after(() => opened.close());
  return opened;
}

test('queryMaxNumberDigits and queryMaxNumberExponent bound the literals of a statement', async (context) => {
  const { run } = await database(context, {
    queryMaxNumberDigits: '40',
    queryMaxNumberExponent: '310',
  });
  const rows = await run(`SELECT 0.${'1'.repeat(38)} AS n, 0e310 AS e`);
  assert.equal(rows.length, 1);
  await assert.rejects(run(`SELECT 0.${'1'.repeat(39)} AS n`), /service\.queryMaxNumberDigits/);
  await assert.rejects(run('SELECT 0e311 AS e'), /service\.queryMaxNumberExponent/);
});

test('command.regexMaxSize bounds the patterns of a statement', async (context) => {
  const { run } = await database(context, { 'command.regexMaxSize': '10' });
  const within = "SELECT ('aaaaaaaaaa' MATCHES 'aaaaaaaaaa') AS matched";
  assert.deepEqual(await run(within), [{ matched: true }]);
  const beyond = "SELECT ('aaaaaaaaaaa' MATCHES 'aaaaaaaaaaa') AS matched";
  await assert.rejects(run(beyond), /pattern of 11 characters.*service\.command\.regexMaxSize/);
});

test('command.maxSleep bounds SLEEP', async (context) => {
  const { run } = await database(context, { 'command.maxSleep': '5' });
  await run('SLEEP 5', {}, {}, 'sqlscript');
  await assert.rejects(run('SLEEP 6', {}, {}, 'sqlscript'), /service\.command\.maxSleep/);
});
