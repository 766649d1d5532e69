import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { DatabaseError } from '#core/errors.ts';
import { Histogram } from '#core/instruments.ts';
import { silentLog } from '#core/log.ts';
import { ActiveStatements } from '#database/bounds/active-statements.ts';
import { DatabaseDirectory, requireDatabaseName } from '#database/catalogue/database-directory.ts';
import { Databases, type OpenDatabase } from '#database/catalogue/databases.ts';
import { ProgressRegistry } from '#database/progress/progress-registry.ts';
import { ManualRuntime, settle } from './support/manual-runtime.ts';

const made: string[] = [];
after(() => {
  for (const root of made) rmSync(root, { recursive: true, force: true });
});

function temporaryRoot(): string {
  const root = mkdtempSync(join(tmpdir(), 'polyad-databases-'));
  made.push(root);
  return root;
}

/** Databases whose content is one empty file; opening fails for names in `broken`. */
function setUp(
  root = temporaryRoot(),
  options: { countMax?: number; broken?: Set<string>; loadsAtStart?: boolean } = {},
) {
  const closed: string[] = [];
  const directory = new DatabaseDirectory({
    root,
    random: new ManualRuntime().random,
    log: silentLog,
  });
  const databases = new Databases({
    directory,
    initialize: async (path) => writeFileSync(join(path, 'data.mdb'), ''),
    openDatabase: async (name) => {
      if (options.broken?.has(name)) throw new Error('page 1 is damaged');
      return {
        name,
        close: async (why: string) => void closed.push(`${name} ${why}`),
      } as OpenDatabase;
    },
    loadsAtStart: () => options.loadsAtStart ?? true,
    countMax: () => options.countMax ?? 100,
    languages: () => ['sql'],
    counters: () => ({
      writeTx: 0,
      readTx: 0,
      txRollbacks: 0,
      queries: 0,
      concurrentModificationExceptions: 0,
      asyncActive: 0,
      asyncQueued: 0,
      asyncCompleted: 0,
      openSessions: 0,
      commitSeconds: new Histogram(),
      flushSeconds: new Histogram(),
    }),
    storage: () => [],
    running: {
      statements: new ActiveStatements(new ManualRuntime()),
      operations: new ProgressRegistry(new ManualRuntime().clock),
    },
    endSessionsOfUser: () => {},
    log: silentLog,
  });
  return { root, directory, databases, closed };
}

test('a database name is one path segment of 1 to 128 letters, digits, _ - and .', () => {
  for (const name of ['a', 'A-b_c.9', '-', 'x'.repeat(128)]) requireDatabaseName(name);
  const refused = [
    '',
    '  ',
    '.',
    '..',
    '.hidden',
    'a..b',
    '../up',
    'a/b',
    'a\\b',
    'a\0b',
    'a b',
    'gr\u00f6\u00dfe',
    'x'.repeat(129),
  ];
  for (const name of refused) {
    assert.throws(
      () => requireDatabaseName(name),
      { code: 'IllegalArgument' },
      JSON.stringify(name),
    );
  }
});

test('a created database is open, listed and on disk; a dropped one is none of it', async () => {
  const { root, databases, directory, closed } = setUp();
  await databases.start();
  await databases.create('school');
  await databases.create('Beer');
  assert.deepEqual(databases.names(), ['Beer', 'school']);
  assert.ok(databases.exists('school'));
  assert.equal(databases.open('Beer').name, 'Beer');
  assert.deepEqual(readdirSync(root).sort(), ['Beer', 'school']);
  await databases.drop('school');
  await directory.settled();
  assert.deepEqual(closed, ['school dropped']);
  assert.deepEqual(readdirSync(root), ['Beer']);
  assert.throws(() => databases.open('school'), { code: 'DatabaseNotFound' });
  await assert.rejects(databases.drop('school'), { code: 'DatabaseNotFound' });
  await databases.create('school');
  assert.ok(databases.exists('school'));
});

test('a name that differs in case only is taken, and names no database', async () => {
  const { databases } = setUp();
  await databases.start();
  await databases.create('school');
  await assert.rejects(databases.create('School'), { code: 'DatabaseExists' });
  await assert.rejects(databases.create('school'), {
    code: 'DatabaseExists',
    message: "Database 'school' already exists",
  });
  assert.ok(!databases.exists('SCHOOL'));
  assert.throws(() => databases.open('SCHOOL'), { code: 'DatabaseNotFound' });
  await assert.rejects(databases.drop('SCHOOL'), { code: 'DatabaseNotFound' });
});

test('of two creations of one name at the same time one is refused', async () => {
  const { databases } = setUp();
  await databases.start();
  const outcomes = await Promise.allSettled([databases.create('a'), databases.create('a')]);
  assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  assert.ok(databases.exists('a'));
});

test('a database that is being made or dropped is not there yet, or no more', async () => {
  const { databases } = setUp();
  await databases.start();
  const codeOf = () => {
    try {
      databases.open('a');
      return 'open';
    } catch (error) {
      return (error as DatabaseError).code;
    }
  };
  const creating = databases.create('a');
  assert.equal(codeOf(), 'DatabaseNotFound');
  await creating;
  assert.equal(codeOf(), 'open');
  const codes = new Set<string>();
  let isDropped = false;
  const dropping = databases.drop('a').then(() => {
    isDropped = true;
  });
  while (!isDropped) {
    await Promise.resolve();
    codes.add(codeOf());
    await new Promise((done) => setImmediate(done));
  }
  await dropping;
  codes.delete('open');
  assert.deepEqual([...codes], ['DatabaseNotFound']);
});

test('one database more than maxDatabases is refused', async () => {
  const { databases } = setUp(temporaryRoot(), { countMax: 2 });
  await databases.start();
  await databases.create('a');
  await databases.create('b');
  await assert.rejects(databases.create('c'), {
    code: 'IllegalArgument',
    message: /service\.server\.maxDatabases \(2\)/,
  });
});

test('a closed database is listed, refuses use, stays closed over a restart and opens when asked', async () => {
  const first = setUp();
  await first.databases.start();
  await first.databases.create('school');
  await first.databases.close('school');
  await first.databases.close('school');
  assert.deepEqual(first.closed, ['school closed']);
  assert.deepEqual(first.databases.names(), ['school']);
  assert.throws(() => first.databases.open('school'), { code: 'DatabaseClosed' });

  const second = setUp(first.root);
  await second.databases.start();
  assert.throws(() => second.databases.open('school'), { code: 'DatabaseClosed' });
  await second.databases.openClosed('school');
  await second.databases.openClosed('school');
  assert.equal(second.databases.open('school').name, 'school');
  await second.databases.shutdown();

  const third = setUp(first.root);
  await third.databases.start();
  assert.equal(third.databases.open('school').name, 'school');
});

test('a database that cannot be opened does not keep the others away', async () => {
  const first = setUp();
  await first.databases.start();
  for (const name of ['a', 'b', 'c']) await first.databases.create(name);
  const broken = new Set(['b']);
  const { databases } = setUp(first.root, { broken });
  assert.ok(!databases.isRecovered());
  await databases.start();
  assert.ok(databases.isRecovered());
  assert.deepEqual(databases.names(), ['a', 'b', 'c']);
  assert.equal(databases.counters().openDatabases, 2);
  assert.throws(() => databases.open('b'), { code: 'DatabaseInstalling' });
  await assert.rejects(databases.openClosed('b'), /page 1 is damaged/);
  broken.clear();
  await databases.openClosed('b');
  assert.equal(databases.open('b').name, 'b');
});

test('a database that waits for its files is not made empty when the log writes to it', async () => {
  const { root, databases } = setUp();
  await databases.start();
  await databases.awaitHere('away');
  await databases.openForLog('away');
  assert.deepEqual(databases.failed(), ['away']);
  assert.throws(() => databases.open('away'), { code: 'DatabaseInstalling' });
  assert.equal(existsSync(join(root, 'away')), false);

  await databases.replaceHere('away', async (path) => writeFileSync(join(path, 'data.mdb'), ''));
  assert.equal(databases.open('away').name, 'away');
  assert.deepEqual(databases.failed(), []);
});

test('a database that is opened anew for its writer stays closed to people, and is no more when its files are not here', async () => {
  const { databases, closed } = setUp();
  await databases.start();
  for (const name of ['open', 'shut']) await databases.create(name);
  await databases.close('shut');
  assert.equal((await databases.openForLog('shut'))?.name, 'shut');
  await databases.awaitHere('away');
  closed.length = 0;
  for (const name of ['open', 'shut', 'away']) await databases.reopenHere(name);
  assert.deepEqual(closed, ['open closed', 'shut closed']);
  assert.equal(databases.open('open').name, 'open');
  assert.throws(() => databases.open('shut'), { code: 'DatabaseClosed' });
  assert.deepEqual(databases.names(), ['open', 'shut']);
});

test('a database whose files are taken away while it is closed is refused, not made empty', async () => {
  const { root, databases } = setUp();
  await databases.start();
  await databases.create('shop');
  await databases.close('shop');
  rmSync(join(root, 'shop'), { recursive: true });
  await assert.rejects(databases.openForLog('shop'), /its files are not there/);
  assert.deepEqual(databases.failed(), ['shop']);
});

test('a start finishes interrupted work and ignores what is no database', async () => {
  const root = temporaryRoot();
  for (const name of ['.trash-old-1', '.creating-new-2', 'lost+found', 'empty', 'good']) {
    mkdirSync(join(root, name));
  }
  writeFileSync(join(root, 'good', 'data.mdb'), '');
  writeFileSync(join(root, 'file'), '');
  const { databases, directory } = setUp(root);
  await databases.start();
  await directory.settled();
  assert.deepEqual(databases.names(), ['good']);
  assert.ok(!existsSync(join(root, '.trash-old-1')));
  assert.ok(!existsSync(join(root, '.creating-new-2')));
  assert.ok(existsSync(join(root, 'lost+found')));
});

test('a creation that fails leaves nothing behind', async () => {
  const { root, databases } = setUp(temporaryRoot(), { broken: new Set() });
  await databases.start();
  rmSync(root, { recursive: true });
  await assert.rejects(databases.create('a'));
  assert.ok(!databases.exists('a'));
  mkdirSync(root);
  await databases.create('a');
  assert.ok(databases.exists('a'));
});

test('databases that are not loaded at start are opened at their first use', async () => {
  const first = setUp();
  await first.databases.start();
  await first.databases.create('school');
  const { databases } = setUp(first.root, { loadsAtStart: false });
  await databases.start();
  assert.deepEqual(databases.names(), ['school']);
  assert.equal(databases.counters().openDatabases, 0);
  assert.throws(() => databases.open('school'), { code: 'DatabaseInstalling' });
  // The disk takes its own time.
  while (databases.counters().openDatabases === 0) await settle();
  assert.equal(databases.open('school').name, 'school');
});
