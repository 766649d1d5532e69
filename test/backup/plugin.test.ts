import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { AutoBackup } from '#backup/plugin.ts';
import { Settings } from '#config/effective-settings.ts';
import { ServerEvents } from '#control/event-log.ts';
import { silentLog } from '#core/log.ts';
import type { Value } from '#core/value/value.ts';
import { parseJson } from '#core/value/json-value.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { openTestDatabase } from '../database/support/open-test-database.ts';
import { ManualClock, stoppedTimers } from '../security/fixtures.ts';

async function open(context: TestContext) {
  const database = await openTestDatabase();
  const root = mkdtempSync(join(tmpdir(), 'polyad-auto-backup-'));
  const config = join(root, 'config');
  mkdirSync(config);
  const clock = new ManualClock();
  const events = new ServerEvents({
    directory: join(root, 'log'),
    settings: new Settings(),
    clock,
    log: silentLog,
  });
  const backups = new AutoBackup({
    configDirectory: config,
    rootPath: root,
    settingDirectory: join(root, 'by-setting'),
    serverName: 'Service_0',
    operations: database.operations,
    databases: database.databases,
    events,
    runtime: { ...systemRuntime, clock, timers: stoppedTimers },
    log: silentLog,
  });
  context.after(async () => {
    await backups.close();
    await database.close();
    rmSync(root, { recursive: true, force: true });
  });
  const pass = async (ms: number) => {
    clock.ms += ms;
    backups.tick();
    await backups.settled();
  };
  const archives = (name: string) => {
    try {
      return readdirSync(join(root, 'backups', name));
    } catch {
      return [];
    }
  };
  return { root, config, backups, database, events, pass, archives };
}

function config(text: object): Value {
  return parseJson(JSON.stringify(text));
}

test('databases are backed up when their time has come, and the oldest archives go', async (context) => {
  const { backups, pass, archives, database, events } = await open(context);
  await backups.start(1000);
  await backups.replace(
    config({ defaults: { schedule: { frequencyMinutes: 1 }, retention: { maxFiles: 2 } } }),
  );
  await pass(59_000);
  assert.deepEqual(archives('test'), []);
  for (let run = 0; run < 3; run += 1) await pass(60_000);
  assert.equal(archives('test').length, 2);
  await database.databases.create('other');
  await pass(1_000);
  await pass(60_000);
  assert.equal(archives('other').length, 1);
  await database.databases.close('other');
  await pass(60_000);
  assert.equal(archives('other').length, 1);
  await database.databases.drop('test');
  await pass(60_000);
  assert.equal(archives('test').length, 2, 'archives outlive their database');
  const made = events.recent().filter(({ component, db }) => component === 'Auto-Backup' && db);
  assert.ok(made.every(({ type, message }) => type === 'INFO' && message.includes('-backup-')));
});

test('a failed backup is told as critical and takes no archive away', async (context) => {
  const { backups, pass, events, root } = await open(context);
  await backups.start(1000);
  await backups.replace(config({ defaults: { schedule: { frequencyMinutes: 1 } } }));
  writeFileSync(join(root, 'backups'), 'a file where the directory should be');
  await pass(61_000);
  assert.equal(events.recent().at(-1)?.type, 'CRITICAL');
  assert.match(events.recent().at(-1)?.message ?? '', /^Backup failed: /);
});

test('the file is taken up while the server runs, and a wrong one changes nothing', async (context) => {
  const { backups, config: directory, events, root } = await open(context);
  await backups.start(1000);
  assert.deepEqual(await backups.describe(), {
    enabled: false,
    config: null,
    directory: join(root, 'by-setting'),
    directoryError: undefined,
    message: 'Auto-backup is not configured',
  });
  const path = join(directory, 'backup.json');
  writeFileSync(path, JSON.stringify({ version: 1, backupDirectory: 'elsewhere', enabled: false }));
  assert.equal(await backups.directory(), join(root, 'elsewhere'));
  assert.equal((await backups.describe()).enabled, false);
  writeFileSync(path, '{"version": 1, "retentoin": {}}');
  assert.equal(await backups.directory(), join(root, 'elsewhere'));
  assert.match(events.recent().at(-1)?.message ?? '', /retentoin: unknown field; what held before/);
  rmSync(path);
  assert.equal(await backups.directory(), join(root, 'by-setting'));
});

test('a directory that leads out of the root path is named by every use of it', async (context) => {
  const { backups, config: directory } = await open(context);
  await backups.start(1000);
  for (const backupDirectory of ['/srv/backups', '../backups', 'a/../../b']) {
    const text = { version: 1, backupDirectory };
    await assert.rejects(backups.replace(config(text)), { code: 'IllegalArgument' });
    writeFileSync(join(directory, 'backup.json'), JSON.stringify(text));
    await assert.rejects(backups.directory(), (error: Error) =>
      error.message.includes(backupDirectory),
    );
    const described = await backups.describe();
    assert.equal(described.directory, undefined);
    assert.match(described.directoryError ?? '', /backupDirectory '.*' must be relative/);
  }
});

test('fields of the configuration are refused by name', async (context) => {
  const { backups } = await open(context);
  const wrong: readonly [object, RegExp][] = [
    [{ version: 2 }, /version/],
    [{ enabled: 'yes' }, /enabled/],
    [{ defaults: { schedule: { type: 'cron' } } }, /defaults\.schedule\.expression/],
    [{ defaults: { schedule: { type: 'hourly' } } }, /defaults\.schedule\.type/],
    [{ defaults: { schedule: { timeWindow: { start: '8:00', end: '25:00' } } } }, /timeWindow/],
    [{ defaults: { retention: { maxFiles: 0 } } }, /maxFiles/],
    [{ defaults: { retention: { tiered: { minutely: 3 } } } }, /minutely: unknown field/],
    [{ databases: { school: { frequency: 3 } } }, /databases\.school\.frequency: unknown field/],
    [{ databases: { s: { schedule: { type: 'cron' } } } }, /databases\.s\.schedule\.expression/],
    [[], /object/],
  ];
  for (const [text, message] of wrong)
    await assert.rejects(backups.replace(config(text)), { code: 'IllegalArgument', message });
});

test('a schedule that no date fulfils is told of and leaves out its databases only', async (context) => {
  const { backups, config: directory, events, pass, archives } = await open(context);
  const text = {
    defaults: { schedule: { type: 'frequency', frequencyMinutes: 1 } },
    databases: { other: { schedule: { type: 'cron', expression: '0 0 0 30 2 ?' } } },
  };
  writeFileSync(join(directory, 'backup.json'), JSON.stringify(text));
  await backups.start(1000);
  const told = events.recent().map(({ message }) => message);
  assert.ok(told.some((line) => /databases\.other\.schedule\.expression: no date/.test(line)));
  await pass(60_000);
  assert.equal(archives('test').length, 1);
  // A command is answered, so it is refused as a whole.
  await assert.rejects(backups.replace(config(text)), { code: 'IllegalArgument' });
});

test('a file that is written again does not begin its schedules anew, a clock set back does not stop them', async (context) => {
  const { backups, config: directory, pass, archives } = await open(context);
  const path = join(directory, 'backup.json');
  const text = { defaults: { schedule: { type: 'frequency', frequencyMinutes: 60 } } };
  writeFileSync(path, JSON.stringify(text));
  await backups.start(1000);
  await pass(45 * 60_000);
  writeFileSync(path, JSON.stringify({ ...text, databases: { other: { enabled: false } } }));
  await backups.poll();
  await pass(15 * 60_000);
  assert.equal(archives('test').length, 1);
  await pass(-24 * 3600_000);
  await pass(60 * 60_000);
  assert.equal(archives('test').length, 2);
});

test('a file that cannot be read is told of once and changes nothing, also at start', async (context) => {
  const { backups, config: directory, events, root } = await open(context);
  const path = join(directory, 'backup.json');
  mkdirSync(path);
  const tellings = () =>
    events.recent().filter(({ message }) => /backup\.json cannot be read/.test(message)).length;
  await backups.start(1000);
  await backups.poll();
  assert.equal(tellings(), 1);
  rmSync(path, { recursive: true });
  writeFileSync(path, JSON.stringify({ backupDirectory: 'elsewhere' }));
  assert.equal(await backups.directory(), join(root, 'elsewhere'));
  rmSync(path);
  mkdirSync(path);
  assert.equal(await backups.directory(), join(root, 'elsewhere'));
  assert.equal(tellings(), 2);
});
