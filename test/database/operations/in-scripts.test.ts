import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import type { Authorizer, Principal } from '#core/principal.ts';
import { openTestDatabase, type TestDatabase } from '../support/open-test-database.ts';

// BACKUP, EXPORT and IMPORT DATABASE as statements of a script (sql.md 16.4, 16.5, 17.1).

async function open(context: TestContext): Promise<TestDatabase> {
  const test = await openTestDatabase();
  context.after(() => test.close());
  await test.run('CREATE DOCUMENT TYPE City');
  await test.run("INSERT INTO City SET name = 'Ulm'");
  return test;
}

test('an operation runs among the statements of a script, and the last one gives its row', async (context) => {
  const test = await open(context);
  assert.deepEqual(await test.run('BACKUP DATABASE; SELECT 1 AS one', {}, {}, 'sqlscript'), [
    { one: 1 },
  ]);
  const [backup] = await test.run(
    "INSERT INTO City SET name = 'Bonn'; BACKUP DATABASE",
    {},
    {},
    'sqlscript',
  );
  assert.equal(backup?.['operation'], 'backup database');
  // sql.md 16.4: what was not committed is rolled back.
  assert.deepEqual(await test.run('SELECT count(*) AS n FROM City'), [{ n: 1 }]);
  const [row] = await test.run(
    "BEGIN; INSERT INTO City SET name = 'Bonn'; COMMIT; LET f = 'jsonl'; IF (1 = 1) { EXPORT DATABASE WITH format = $f; }",
    {},
    {},
    'sqlscript',
  );
  assert.equal(row?.['operation'], 'export database');
  assert.equal(row?.['result'], 'OK');
  assert.deepEqual(await test.run('SELECT count(*) AS n FROM City'), [{ n: 2 }]);
});

test('what an operation refuses ends the script', async (context) => {
  const test = await open(context);
  await assert.rejects(
    test.run(
      "BACKUP DATABASE WITH speed = 1; INSERT INTO City SET name = 'Bonn'",
      {},
      {},
      'sqlscript',
    ),
    (error) =>
      error instanceof DatabaseError && /Unsupported backup setting 'speed'/.test(error.message),
  );
  assert.deepEqual(await test.run('SELECT count(*) AS n FROM City'), [{ n: 1 }]);
});

test('an operation is no sub-query', async (context) => {
  const test = await open(context);
  await assert.rejects(test.run('LET b = (BACKUP DATABASE); RETURN $b', {}, {}, 'sqlscript'), {
    message: 'not supported inside another statement: BACKUP DATABASE',
  });
});

test('a script with an operation asks for the right to it before its first statement', async (context) => {
  const clerk: Principal = { name: 'clerk', isRoot: false, via: 'password' };
  const authorizer: Authorizer = {
    require: ({ name }, _database, { effects }) => {
      if (effects.has('security')) throw new DatabaseError('Forbidden', `${name} security`);
    },
    canAccess: () => true,
    canRead: () => true,
  };
  const test = await openTestDatabase({ authorizer });
  context.after(() => test.close());
  const script = 'CREATE DOCUMENT TYPE City; IF (1 = 2) { BACKUP DATABASE; }';
  await assert.rejects(test.run(script, {}, { principal: clerk }, 'sqlscript'), {
    code: 'Forbidden',
  });
  assert.deepEqual(await test.run('SELECT name FROM schema:types'), []);
});
