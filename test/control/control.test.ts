import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { Settings } from '#config/effective-settings.ts';
import { parseCommand, requireOneName, takeName } from '#control/command-parser.ts';
import { controlCommands } from '#control/commands.ts';
import { createDefaultDatabases, parseDefaultDatabases } from '#control/default-databases.ts';
import { ServerEvents } from '#control/event-log.ts';
import { Meters } from '#control/meters.ts';
import { ServerControl } from '#control/server-control.ts';
import { DatabaseError } from '#core/errors.ts';
import { silentLog } from '#core/log.ts';
import { ProcessLock } from '#platform/process-lock.ts';
import { FakeDatabases } from '../http/fake-databases.ts';
import { ManualClock, stoppedTimers, usersWithRoot } from '../security/fixtures.ts';

function directoryOf(context: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-control-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function eventsIn(
  directory: string,
  texts: Record<string, string> = {},
  clock = new ManualClock(),
) {
  const settings = new Settings(new Map(Object.entries(texts)));
  return new ServerEvents({ directory, settings, clock, log: silentLog });
}

test('each start and each full file begins a new event log, and old ones go', async (context) => {
  const directory = directoryOf(context);
  const texts = { 'server.eventLogFiles': '3', 'server.eventLogMaxSize': '64KB' };
  for (let start = 0; start < 4; start++) {
    const events = eventsIn(directory, texts);
    for (let i = 0; i < 30; i++) events.report('INFO', 'Server', 'x'.repeat(3000));
  }
  const names = eventsIn(directory).fileNames();
  assert.equal(names.length, 3);
  assert.match(names[0] ?? '', /^server-event-log-\d{8}-\d{6}\.7\.jsonl$/);
  const [newest] = names;
  const read = await eventsIn(directory).read(newest ?? '');
  assert.equal(read[0]?.type, 'INFO');
});

test('an event log that cannot be written does not stop the server', (context) => {
  const directory = directoryOf(context);
  const path = join(directory, 'file');
  writeFileSync(path, '');
  const events = eventsIn(join(path, 'below'));
  events.report('WARNING', 'Security', 'one');
  events.report('ERROR', 'Database', 'two', 'school');
  events.report('HINT', 'Server', 'three');
  assert.deepEqual(events.counts, { errors: 1, warnings: 1, info: 0, hints: 1 });
  assert.equal(events.recent().at(1)?.db, 'school');
  events.report('INFO', 'Security', "login of 'jay\n2026-11-22 \u001b[2J' failed");
  assert.equal(events.recent().at(3)?.message, "login of 'jay 2026-11-22  [2J' failed");
});

test('meters tell the last minute and the time since the last reading', () => {
  const meters = new Meters(stoppedTimers);
  const meter = meters.meter('http.query');
  for (let second = 0; second < 120; second++) {
    meter.mark();
    meter.sample();
  }
  assert.deepEqual(
    meters.read((meter) => meter.read(2), 'http.'),
    {
      query: { count: 120, reqPerMinLastMinute: 60, reqPerMinSinceLastTime: 60 },
    },
  );
  meter.mark();
  const [reading] = Object.values(meters.read((meter) => meter.read(0.5), 'http.'));
  assert.equal(reading?.reqPerMinSinceLastTime, 2);
  assert.equal(meters.meter('http.query'), meter);
});

test('the longest phrase wins, words count as a whole', () => {
  const phraseOf = (text: string) => {
    const parsed = parseCommand(text, controlCommands);
    return parsed && [parsed.command.phrase, parsed.argument];
  };
  assert.deepEqual(phraseOf('  Create\tDATABASE  Ab_c '), ['create database', 'Ab_c']);
  assert.deepEqual(phraseOf('restore backup x y'), ['restore backup', 'x y']);
  assert.deepEqual(phraseOf('create user{"a":1}'), ['create user', '{"a":1}']);
  assert.deepEqual(phraseOf('drop database`x y`'), ['drop database', '`x y`']);
  for (const text of ['', 'create', 'createdatabase x', 'create databasex', 'x create database y'])
    assert.equal(phraseOf(text), undefined, text);
  assert.equal(requireOneName('`x y`', 'name'), 'x y');
  assert.throws(() => requireOneName('a b', 'name'), /unexpected 'b'/);
  assert.throws(() => requireOneName('``', 'name'), /is missing/);
  assert.deepEqual(takeName('a  b c', 'name'), { name: 'a', rest: 'b c' });
});

test('default databases are taken apart up to the first broken entry', () => {
  const { entries, broken } = parseDefaultDatabases(
    'Universe[albert:einstein2024:admin]; Amiga[jay:miner2024,jack]{import:http://x/a;b,c};Empty[];broken;Later[]',
  );
  assert.deepEqual(
    entries.map(({ name }) => name),
    ['Universe', 'Amiga', 'Empty'],
  );
  assert.deepEqual(entries[0]?.credentials, [
    { user: 'albert', password: 'einstein2024', group: 'admin' },
  ]);
  assert.deepEqual(entries[1]?.credentials, [
    { user: 'jay', password: 'miner2024', group: 'admin' },
    { user: 'jack', password: undefined, group: 'admin' },
  ]);
  assert.deepEqual(entries[1]?.actions, ['import:http://x/a;b,c']);
  assert.equal(broken, 'broken');
});

const noOperations = {
  restore: () => Promise.reject(new Error('not asked for')),
  importNew: () => Promise.reject(new Error('not asked for')),
};

test('default databases are restored or imported when they are missing, and never again', async (context) => {
  const { users } = await usersWithRoot(context);
  const events = eventsIn(directoryOf(context));
  const databases = new FakeDatabases(new Settings(), ['Old']);
  const asked: string[] = [];
  const operations = {
    restore: async (name: string, { url }: { url: string }) => {
      asked.push(`restore ${name} ${url}`);
      await databases.create(name);
    },
    importNew: async (name: string, { url }: { url: string }) => {
      asked.push(`import ${name} ${url}`);
      if (url.includes('bad')) throw new DatabaseError('Validation', 'no such format');
      await databases.create(name);
      return noCounts;
    },
  };
  const text =
    'Old[]{restore:file:///x.zip};A[]{restore:file:///a.zip};B[]{import:http://h/b;c,d};C[]{import:file:///bad};D[]{drop:x}';
  const targets = { databases, users, events, operations };
  for (let start = 0; start < 2; start++) await createDefaultDatabases(text, targets);
  assert.deepEqual(asked.slice(0, 3), [
    'restore A file:///a.zip',
    'import B http://h/b;c,d',
    'import C file:///bad',
  ]);
  assert.deepEqual(databases.names(), ['A', 'B', 'Old']);
  assert.match(JSON.stringify(events.recent()), /'drop:x' is neither/);
});

const noCounts = {
  parsedRecords: 0,
  createdDocuments: 0,
  createdVertices: 0,
  createdEdges: 0,
  errors: 0,
  warnings: 0,
};

test('default databases are made once, their users granted when the password is theirs', async (context) => {
  const { users } = await usersWithRoot(context);
  await users.create('jay', { password: 'miner2024', databases: new Map() });
  await users.create('joe', { password: 'password', databases: new Map() });
  const events = eventsIn(directoryOf(context));
  const databases = new FakeDatabases(new Settings(), ['Old']);
  const text =
    'New[albert:einstein2024:reader,jay,joe:wrongone,nobody];Old[jay:miner2024];Bad[x:short]';
  for (let start = 0; start < 2; start++)
    await createDefaultDatabases(text, { databases, users, events, operations: noOperations });
  assert.deepEqual(databases.names(), ['Bad', 'New', 'Old']);
  assert.deepEqual(users.get('albert')?.databases, new Map([['New', ['reader']]]));
  assert.deepEqual(
    users.get('jay')?.databases,
    new Map([
      ['New', ['admin']],
      ['Old', ['admin']],
    ]),
  );
  assert.deepEqual(users.get('joe')?.databases, new Map());
  const messages = JSON.stringify(events.recent());
  assert.match(messages, /password of user 'joe' differs/);
  assert.match(messages, /user 'nobody' does not exist/);
  assert.match(messages, /Default database 'Bad': Password has 5/);
});

test('a stop runs once, in order, and past a step that fails', async (context) => {
  const events = eventsIn(directoryOf(context));
  const settings = new Settings();
  const control = new ServerControl({ settings, events, timers: stoppedTimers, log: silentLog });
  const order: string[] = [];
  assert.equal(control.isReady, false);
  let isRecovered = false;
  control.started(() => isRecovered);
  assert.deepEqual([control.isOnline, control.isReady], [true, false]);
  isRecovered = true;
  assert.equal(control.isReady, true);
  control.stopsBy([
    { name: 'one', run: async () => void order.push('one') },
    {
      name: 'two',
      run: async () => {
        throw new TypeError('fails');
      },
    },
    { name: 'three', run: async (timeoutMs) => void order.push(`three ${timeoutMs}`) },
  ]);
  await Promise.all([control.stop('a'), control.stop('b')]);
  assert.deepEqual(order, ['one', 'three 60000']);
  assert.deepEqual([control.isOnline, control.isReady, control.isStopping], [false, false, true]);
});

test('a directory has one living process; what a dead one left does not count', (context) => {
  const directory = directoryOf(context);
  const path = join(directory, '.lock');
  writeFileSync(path, JSON.stringify({ pid: process.ppid }));
  assert.throws(() => ProcessLock.acquire(path), { code: 'InvalidSetting' });
  for (const left of [
    JSON.stringify({ pid: process.ppid, startedAt: '1' }),
    JSON.stringify({ pid: 2 ** 22 + 1 }),
    JSON.stringify({ pid: process.pid, startedAt: '1' }),
    'nonsense',
    '',
  ]) {
    writeFileSync(path, left);
    ProcessLock.acquire(path).release();
    assert.equal(existsSync(path), false);
  }
  assert.deepEqual(readdirSync(directory), ['.lock.held']);
  chmodSync(directory, 0o700);
});
