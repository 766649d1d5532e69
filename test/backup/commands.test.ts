import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { AutoBackup } from '#backup/plugin.ts';
import { Settings } from '#config/effective-settings.ts';
import { runControlCommand } from '#control/commands.ts';
import type { CommandTargets } from '#control/control-command.ts';
import { ServerEvents } from '#control/event-log.ts';
import { parseJson } from '#core/value/json-value.ts';
import { silentLog } from '#core/log.ts';
import type { ValueMap } from '#core/value/value.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { openTestDatabase, root } from '../database/support/open-test-database.ts';
import { stoppedTimers } from '../security/fixtures.ts';

/** Control commands over real databases, without a door. */
async function open(context: TestContext) {
  const database = await openTestDatabase();
  const directory = mkdtempSync(join(tmpdir(), 'polyad-backup-commands-'));
  mkdirSync(join(directory, 'config'));
  const events = new ServerEvents({
    directory: join(directory, 'log'),
    settings: new Settings(),
    clock: systemRuntime.clock,
    log: silentLog,
  });
  const backups = new AutoBackup({
    configDirectory: join(directory, 'config'),
    rootPath: directory,
    settingDirectory: join(directory, 'by-setting'),
    serverName: 'Service_0',
    operations: database.operations,
    databases: database.databases,
    events,
    runtime: { ...systemRuntime, timers: stoppedTimers },
    log: silentLog,
  });
  context.after(async () => {
    await backups.close();
    await database.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const { databases, operations } = database;
  const targets = { databases, operations, backups, events, runtime: systemRuntime };
  const told: object[] = [];
  const run = async (command: string, body: object = {}): Promise<Record<string, unknown>> => {
    const answer = await runControlCommand(command, root, targets as unknown as CommandTargets, {
      body: parseJson(JSON.stringify(body)) as ValueMap,
      signal: new AbortController().signal,
      report: (event) => told.push(event),
      requestId: 'test',
    });
    assert.ok(answer !== undefined, `'${command}' is no command`);
    return answer as Record<string, unknown>;
  };
  return { run, database, directory, events, told };
}

test('a database is backed up, listed, restored beside itself and over itself, and its archive deleted', async (context) => {
  const { run, database, directory, events } = await open(context);
  await database.run('CREATE DOCUMENT TYPE D');
  await database.run('INSERT INTO D SET a = 1');
  assert.deepEqual((await run('list backups test'))['backups'], []);
  const { result, backupFile } = await run('trigger backup test');
  assert.equal(result, 'ok');
  assert.ok(existsSync(join(directory, 'by-setting', 'test', String(backupFile))));
  assert.match(
    events.recent().find(({ component }) => component === 'Auto-Backup')?.message ?? '',
    /-backup-/,
  );
  const listed = await run('list backups test');
  const [entry] = listed['backups'] as { fileName: string; timestamp: string; size: number }[];
  assert.equal(entry?.fileName, backupFile);
  assert.match(entry?.timestamp ?? '', /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}$/);
  assert.deepEqual(
    [listed['totalCount'], listed['totalSize'], listed['database']],
    [1, entry?.size, 'test'],
  );
  assert.deepEqual(listed['result'], listed['backups']);

  await run(`restore backup test ${backupFile} as copy`);
  assert.deepEqual(await database.runOn('copy', 'SELECT a FROM D'), [{ a: 1 }]);
  await database.run('INSERT INTO D SET a = 2');
  const again = `restore backup test ${backupFile}`;
  await assert.rejects(run(again), { code: 'DatabaseExists' });
  await assert.rejects(run(again, { overwrite: 'true' }), { code: 'DatabaseExists' });
  await run(again, { overwrite: true });
  assert.deepEqual(await database.run('SELECT a FROM D'), [{ a: 1 }]);
  await database.databases.drop('test');
  await run(again);
  assert.deepEqual(await database.run('SELECT a FROM D'), [{ a: 1 }]);

  await run(`delete backup test ${backupFile}`);
  await assert.rejects(run(`delete backup test ${backupFile}`), { code: 'BackupNotFound' });
  await assert.rejects(run(again, { overwrite: true }), { code: 'BackupNotFound' });
  assert.deepEqual(
    await database.run('SELECT a FROM D'),
    [{ a: 1 }],
    'a missing archive changes nothing',
  );
});

test('names that could leave the directory of archives are refused', async (context) => {
  const { run } = await open(context);
  const names = [
    '../../x.zip',
    '/etc/x.zip',
    'test-backup-../x.zip',
    'x.zip',
    'other-backup-20260101-000000000.zip',
    'test-backup-20260101-000000000.tar',
    'test-backup-%2e%2e%2f.zip/..',
    'test-backup-a\\b.zip',
  ];
  for (const name of names) {
    await assert.rejects(run(`delete backup test ${name}`), { code: 'IllegalArgument' }, name);
    await assert.rejects(
      run(`restore backup test ${name} as z`),
      { code: 'IllegalArgument' },
      name,
    );
  }
  for (const database of ['..', '.x', 'a/b', '../config'])
    await assert.rejects(run(`list backups ${database}`), { code: 'IllegalArgument' });
  for (const command of [
    'trigger backup',
    'trigger backup test more',
    'list backups',
    'delete backup test',
    'get backup config x',
    'set backup config',
    'restore backup test test-backup-1.zip to x',
    'restore database',
    'restore database z',
    'import database z file:///a b',
    'trigger backup missing',
  ])
    await assert.rejects(run(command, {}), { code: 'IllegalArgument' }, command);
});

test('databases are imported and restored by URL, and tell their progress', async (context) => {
  const { run, database, directory, told } = await open(context);
  const file = join(directory, 'people.csv');
  writeFileSync(file, 'id,name\n1,Ada\n2,Bob\n');
  assert.deepEqual(
    await run(`import database people file://${file}`, { settings: { documentType: 'Person' } }),
    {
      result: 'ok',
      parsedRecords: 2,
      createdDocuments: 2,
      createdVertices: 0,
      createdEdges: 0,
      errors: 0,
      warnings: 0,
    },
  );
  assert.deepEqual(await database.runOn('people', 'SELECT name FROM Person'), [
    { name: 'Ada' },
    { name: 'Bob' },
  ]);
  assert.ok(
    told.length > 0 && told.every((event) => 'status' in event && event.status === 'progress'),
  );
  await assert.rejects(run(`import database people file://${file}`), { code: 'DatabaseExists' });
  await assert.rejects(run(`import database bad file://${join(directory, 'missing.csv')}`), {
    code: 'IllegalArgument',
  });
  // A file that is wrong is no wrong command: 500, whatever its format, and nothing is left (http-api.md 12).
  for (const [name, text] of [
    ['bad.graphson', '{"id":1'],
    ['bad.jsonl', '{"t":"info","c":{}}\n{"t"'],
    ['bad.json', '{"info":{},"schema":{"classes":[}},"records":[]}'],
    ['bad.json', '{"a":'],
    ['bad.graphml', '<graphml><graph>'],
  ] as const) {
    writeFileSync(join(directory, name), text);
    await assert.rejects(run(`import database bad file://${join(directory, name)}`), {
      code: 'Validation',
    });
    assert.equal(database.databases.exists('bad'), false, name);
  }
  await assert.rejects(run('import database bad http://127.0.0.1:1/x.csv'), { code: 'Forbidden' });
  await assert.rejects(run('import database bad ftp://host/x.csv'), { code: 'Forbidden' });
  assert.equal(database.databases.exists('bad'), false);
  const { backupFile } = await run('trigger backup people');
  await run(
    `restore database again file://${join(directory, 'by-setting', 'people', String(backupFile))}`,
  );
  assert.equal((await database.runOn('again', 'SELECT FROM Person')).length, 2);
});
