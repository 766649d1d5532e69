import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import { openTestDatabase, root, type TestDatabase } from '../support/open-test-database.ts';
import { turnsUntil } from '../../support/turns.ts';

async function open(context: TestContext): Promise<TestDatabase> {
  const test = await openTestDatabase();
  context.after(() => test.close());
  return test;
}

async function fill(test: TestDatabase): Promise<void> {
  await test.run('CREATE VERTEX TYPE Person');
  await test.run('CREATE PROPERTY Person.name STRING');
  await test.run('CREATE INDEX ON Person (name) UNIQUE');
  await test.run('CREATE EDGE TYPE Knows');
  for (let i = 0; i < 20; i += 1)
    await test.run('INSERT INTO Person SET name = :n', { n: `p${i}` });
  await test.run(
    "CREATE EDGE Knows FROM (SELECT FROM Person WHERE name = 'p0') TO (SELECT FROM Person WHERE name <> 'p0')",
  );
}

test('a backup has the row and the name of the reference, and restores to the same records', async (context) => {
  const test = await open(context);
  await fill(test);
  const [row] = await test.run('BACKUP DATABASE');
  assert.equal(row?.['operation'], 'backup database');
  assert.equal(row?.['result'], 'OK');
  const fileName = String(row?.['backupFile']);
  assert.match(fileName, /^test-backup-\d{8}-\d{9}\.zip$/);
  const path = join(test.directory, '.backups', 'test', fileName);
  assert.deepEqual(readdirSync(join(test.directory, '.backups', 'test')), [fileName]);
  const asker = { principal: root, signal: new AbortController().signal };
  await test.operations.restore('copy', { url: `file://${path}` }, asker);
  const text = 'SELECT name, out().name AS knows FROM Person ORDER BY name';
  assert.deepEqual(await test.runOn('copy', text), await test.run(text));
  assert.deepEqual(
    await test.runOn('copy', "SELECT FROM Person WHERE name = 'p7'"),
    await test.run("SELECT FROM Person WHERE name = 'p7'"),
  );
});

test('a backup while others write is one state: records, edges and indexes agree', async (context) => {
  const test = await open(context);
  await test.run('CREATE VERTEX TYPE Account');
  await test.run('CREATE PROPERTY Account.n LONG');
  await test.run('CREATE INDEX ON Account (n) UNIQUE');
  await test.run('CREATE EDGE TYPE Pays');
  await test.run('INSERT INTO Account SET n = 0, sum = 0');
  let isOver = false;
  // Each commit inserts a pair and moves an amount, so that any one state has an even count and a sum of zero.
  const writer = async (from: number): Promise<number> => {
    let commits = 0;
    for (let n = from; !isOver; n += 10, commits += 1)
      await test.run(
        `BEGIN; LET a = INSERT INTO Account SET n = :n, sum = 1; LET b = INSERT INTO Account SET n = :m, sum = -1;
         CREATE EDGE Pays FROM $a TO $b; COMMIT;`,
        { n, m: n + 1 },
        {},
        'sqlscript',
      );
    return commits;
  };
  const writers = [1, 3, 5].map(writer);
  const files: string[] = [];
  for (let round = 0; round < 2; round += 1) {
    const [row] = await test.run('BACKUP DATABASE');
    files.push(String(row?.['backupFile']));
  }
  isOver = true;
  const commits = await Promise.all(writers);
  assert.ok(commits.every((count) => count > 0));
  const asker = { principal: root, signal: new AbortController().signal };
  for (const [round, fileName] of files.entries()) {
    const path = join(test.directory, '.backups', 'test', fileName);
    const name = `copy${round}`;
    await test.operations.restore(name, { url: path }, asker);
    const [all] = await test.runOn(
      name,
      'SELECT count(*) AS c, sum(sum) AS s, max(n) AS m FROM Account',
    );
    assert.equal(all?.['s'], 0);
    assert.equal((Number(all?.['c']) - 1) % 2, 0);
    const [counted] = await test.runOn(
      name,
      'SELECT count(*) AS c FROM (SELECT FROM Account WHERE sum <> 99)',
    );
    assert.equal(counted?.['c'], all?.['c']);
    const byIndex = await test.runOn(name, 'SELECT n FROM Account WHERE n >= 0 ORDER BY n');
    const byScan = await test.runOn(
      name,
      'SELECT n FROM (SELECT FROM Account WHERE sum <> 99) ORDER BY n',
    );
    assert.deepEqual(byIndex, byScan);
    const [edges] = await test.runOn(name, 'SELECT count(*) AS c FROM Pays');
    assert.equal(edges?.['c'], (Number(all?.['c']) - 1) / 2);
    const ends = await test.runOn(name, 'SELECT out().n AS t, n FROM Account WHERE sum = 1');
    assert.ok(ends.every(({ t, n }) => (t as number[])[0] === Number(n) + 1));
    await test.runOn(name, 'INSERT INTO Account SET n = -5, sum = 0');
  }
});

test('EXPLAIN of an operation shows it and does nothing', async (context) => {
  const test = await open(context);
  const result = await test.stream('EXPLAIN BACKUP DATABASE', {}, { mustBeIdempotent: true });
  assert.match(result.summary().explain?.text ?? '', /backup database/);
  result.close();
  assert.equal(readdirSync(test.directory).includes('.backups'), false);
  const [row] = await test.run('BACKUP DATABASE;', {}, {}, 'sqlscript');
  assert.equal(row?.['result'], 'OK');
});

test('a second backup of the same database at a time is refused', async (context) => {
  const test = await open(context);
  await fill(test);
  const first = test.run('BACKUP DATABASE WITH compressionLevel = 0');
  await assert.rejects(test.run('BACKUP DATABASE'), {
    code: 'OperationRunning',
    message: "A backup of database 'test' is already in progress",
  });
  assert.equal(test.progress.of('test')[0]?.operation, 'backup database');
  await first;
  assert.deepEqual(test.progress.of('test'), []);
});

test('encrypted archives need their key, and a wrong one leaves nothing', async (context) => {
  const test = await open(context);
  await fill(test);
  const [row] = await test.run("BACKUP DATABASE WITH encryptionKey = 'open sesame'");
  const url = join(test.directory, '.backups', 'test', String(row?.['backupFile']));
  assert.notEqual(readFileSync(url).toString('latin1', 0, 2), 'PK');
  const asker = { principal: root, signal: new AbortController().signal };
  await assert.rejects(test.operations.restore('a', { url }, asker), /encryptionKey/);
  await assert.rejects(test.operations.restore('a', { url, passphrase: 'wrong' }, asker), {
    code: 'Validation',
  });
  assert.equal(test.databases.exists('a'), false);
  await test.operations.restore('a', { url, passphrase: 'open sesame' }, asker);
  assert.equal((await test.runOn('a', 'SELECT FROM Person')).length, 20);
});

test('a cancelled backup leaves no file behind', async (context) => {
  const test = await open(context);
  await fill(test);
  const abort = new AbortController();
  const running = test.run('BACKUP DATABASE WITH maxMBPerSecond = 0', {}, { signal: abort.signal });
  abort.abort();
  await assert.rejects(running, { code: 'Cancelled' });
  const left = readdirSync(test.directory).includes('.backups')
    ? readdirSync(join(test.directory, '.backups', 'test'))
    : [];
  assert.deepEqual(left, []);
});

test('settings that are unknown or out of range are refused by name', async (context) => {
  const test = await open(context);
  const refuse = (settings: string, message: RegExp) =>
    assert.rejects(test.run(`BACKUP DATABASE WITH ${settings}`), {
      code: 'IllegalArgument',
      message,
    });
  await refuse('foo = 1', /^Unsupported backup setting 'foo'/);
  await refuse('compressionLevel = 10', /'compressionLevel'/);
  await refuse("compressionLevel = 'high'", /'compressionLevel'/);
  await refuse('maxMBPerSecond = -1', /'maxMBPerSecond'/);
  await refuse("encryptionAlgorithm = 'ROT13', encryptionKey = 'k'", /'ROT13'/);
  await refuse("encryptionAlgorithm = 'AES'", /encryptionKey/);
  for (const url of ['file://../x.zip', 'file:///etc/x.zip', 'a/b.zip', 'x.txt', '..'])
    await assert.rejects(test.run(`BACKUP DATABASE '${url}'`), { code: 'IllegalArgument' }, url);
});

test('operations need updateSecurity, and nothing else will do', async (context) => {
  const asked: string[][] = [];
  const test = await openTestDatabase({
    authorizer: {
      require: (_who, _database, { effects }) => {
        asked.push([...effects]);
        throw new DatabaseError('Forbidden', 'no');
      },
      canAccess: () => true,
      canRead: () => true,
    },
  });
  context.after(() => test.close());
  const principal = { name: 'jay', isRoot: false, via: 'password' } as const;
  for (const text of ['BACKUP DATABASE', 'EXPORT DATABASE', "IMPORT DATABASE 'x.csv'"])
    await assert.rejects(test.run(text, {}, { principal }), { code: 'Forbidden' });
  assert.deepEqual(asked, [['security'], ['security'], ['security']]);
  await assert.rejects(test.run('BACKUP DATABASE', {}, { mustBeIdempotent: true }), {
    code: 'NotIdempotent',
  });
});

test('what was not committed in a session is rolled back before a backup, and the session goes on', async (context) => {
  const test = await open(context);
  await test.run('CREATE DOCUMENT TYPE D');
  const sessionId = test.database.begin(root, 'READ_COMMITTED');
  await test.run('INSERT INTO D SET a = 1', {}, { sessionId });
  await test.run('BACKUP DATABASE', {}, { sessionId });
  assert.deepEqual(await test.run('SELECT FROM D', {}, { sessionId }), []);
  await test.run('INSERT INTO D SET a = 2', {}, { sessionId });
  await test.database.commit(root, sessionId);
  assert.equal((await test.run('SELECT FROM D')).length, 1);
});

test('a database that is dropped or closed ends its backup, and the copy harms nobody', async (context) => {
  const test = await open(context);
  await fill(test);
  for (const end of ['close', 'drop'] as const) {
    const running = test.run('BACKUP DATABASE');
    const refused = assert.rejects(running);
    await test.databases[end]('test');
    await refused;
    if (end === 'close') await test.databases.openClosed('test');
  }
  assert.equal(test.databases.exists('test'), false);
  // A copy cannot be interrupted: what it leaves goes when it ends.
  const backups = join(test.directory, '.backups', 'test');
  await turnsUntil(() => !readdirSync(backups).some((name) => name.startsWith('.')));
});

test('a directory that cannot be used is told by its name', async (context) => {
  const test = await open(context);
  writeFileSync(join(test.directory, '.backups'), 'no directory can be made here');
  await assert.rejects(test.run('BACKUP DATABASE'), {
    code: 'CommandExecution',
    message: /^backup database failed: .*\.backups/,
  });
});
