import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { type Entry, manifest, zip } from '../support/hostile-zip.ts';
import { root, openTestDatabase, type TestDatabase } from '../support/open-test-database.ts';

const asker = { principal: root, signal: new AbortController().signal };

interface Fixture {
  readonly test: TestDatabase;
  /** The environment of a good archive. */
  readonly data: Buffer;
  /** Tries to restore an archive. @returns the refusal */
  refused(archive: Uint8Array): Promise<Error>;
}

async function open(
  context: TestContext,
  settings: Readonly<Record<string, string>> = {},
): Promise<Fixture> {
  const database = await openTestDatabase({ settings });
  context.after(() => database.close());
  await database.run('CREATE DOCUMENT TYPE D');
  await database.run('INSERT INTO D SET a = 1');
  const directory = join(database.directory, '.copy');
  await database.database.engine.copyTo(directory);
  const path = join(database.directory, '.archive.zip');
  return {
    test: database,
    data: readFileSync(join(directory, 'data.mdb')),
    refused: async (archive) => {
      writeFileSync(path, archive);
      const before = readdirSync(database.directory);
      let refusal: unknown;
      await database.operations.restore('copy', { url: path }, asker).catch((error: unknown) => {
        refusal = error;
      });
      assert.ok(refusal instanceof Error, 'the archive was taken');
      assert.equal(database.databases.exists('copy'), false);
      assert.deepEqual(readdirSync(database.directory), before, 'something was left behind');
      return refusal;
    },
  };
}

test('a good archive made by hand is restored', async (context) => {
  const { test: database, data } = await open(context);
  const path = join(database.directory, '.archive.zip');
  writeFileSync(path, zip([{ name: 'data.mdb', content: data }, manifest(data)]));
  await database.operations.restore('copy', { url: path }, asker);
  assert.deepEqual(await database.runOn('copy', 'SELECT a FROM D'), [{ a: 1 }]);
});

test('entries with paths, links, doubles and strangers are refused, and nothing is left', async (context) => {
  const { refused, data, test: database } = await open(context);
  const good = [{ name: 'data.mdb', content: data }, manifest(data)];
  const content = Buffer.from('x');
  for (const name of [
    '../x',
    '/x',
    'C:\\x',
    'a/../../x',
    '..',
    '.',
    'data.mdb/../x',
    'sub/data.mdb',
    '.hidden',
    'closed',
    'x\u0000y',
    '',
  ])
    assert.match((await refused(zip([...good, { name, content }]))).message, /archive/, name);
  await refused(
    zip([
      { name: 'data.mdb', content: Buffer.from('/etc/passwd'), mode: 0o120777 },
      manifest(data),
    ]),
  );
  await refused(zip([...good, { name: 'data.mdb', content }]));
  await refused(zip([...good, { name: 'DATA.MDB', content }]));
  assert.equal(existsSync(join(database.directory, 'x')), false);
});

test('wrong checksums, digests, sizes and manifests are refused', async (context) => {
  const { refused, data } = await open(context);
  const file = { name: 'data.mdb', content: data };
  const changed = Buffer.from(data);
  changed[changed.length - 4000] = (changed[changed.length - 4000] ?? 0) ^ 1;
  const wrong: readonly (readonly Entry[])[] = [
    [{ ...file, checksum: 1 }, manifest(data)],
    [{ name: 'data.mdb', content: changed }, manifest(data)],
    [{ ...file, claimedSize: data.length + 1 }, manifest(data)],
    [{ ...file, claimedSize: 10 }, manifest(data)],
    [file],
    [manifest(data)],
    [],
    [file, { name: 'manifest.json', content: Buffer.from('{') }],
    [file, manifest(data, { format: 'other' })],
    [file, manifest(data, { version: 2 })],
    [file, manifest(data, { files: [] })],
    [file, manifest(data, { files: [{ name: '../x', size: 1, sha256: '0'.repeat(64) }] })],
  ];
  for (const entries of wrong) await refused(zip(entries));
  await refused(zip([file, manifest(data)]).subarray(0, 600));
  await refused(Buffer.from('no archive at all'));
  await refused(Buffer.alloc(0));
});

test('an environment that is forged with all digests right does not end the server', async (context) => {
  const { refused, data } = await open(context);
  const archive = (content: Buffer) => zip([{ name: 'data.mdb', content }, manifest(content)]);
  await refused(archive(Buffer.from('not an environment')));
  await refused(archive(data.subarray(0, 8192)));
  for (const page of [2, 3]) {
    const forged = Buffer.from(data);
    forged.fill(0xff, page * 4096 + 8, page * 4096 + 400);
    const error = await refused(archive(forged)).catch((fault: Error) => fault);
    // A page that nothing refers to may hold anything.
    assert.match(error.message, /damaged|archive was taken/);
  }
});

test('bombs stop at the bounds of the settings', async (context) => {
  const { refused } = await open(context, { 'server.restoreMaxEntrySize': '1MB' });
  const large = Buffer.alloc(2 * 1024 * 1024);
  assert.match(
    (await refused(zip([{ name: 'data.mdb', content: large }, manifest(large)]))).message,
    /service\.server\.restoreMaxEntrySize/,
  );
  await refused(zip([{ name: 'data.mdb', content: large, claimedSize: 1000 }, manifest(large)]));
  const many = Array.from({ length: 50 }, (_, at) => ({
    name: `f${at}`,
    content: Buffer.from(''),
  }));
  await refused(zip(many));
});

test('local sources stay where the settings allow, symbolic links included', async (context) => {
  const allowed = '/tmp/polyad-no-such-directory';
  const { test: database } = await open(context, {
    'server.security.importAllowedLocalPaths': allowed,
  });
  const outside = join(database.directory, '.outside.csv');
  writeFileSync(outside, 'a,b\n1,2\n');
  for (const url of [
    outside,
    `file://${outside}`,
    `file://${allowed}/../../${outside}`,
    '/etc/passwd',
  ])
    await assert.rejects(database.run(`IMPORT DATABASE '${url}'`), { code: 'Forbidden' }, url);
});

test('a link inside of an allowed directory leads nowhere else', async (context) => {
  const base = await openTestDatabase();
  context.after(() => base.close());
  const allowed = join(base.directory, '.allowed');
  mkdirSync(allowed);
  symlinkSync('/etc/hostname', join(allowed, 'link.csv'));
  writeFileSync(join(allowed, 'good.csv'), 'a,b\n1,2\n');
  const { test: database } = await open(context, {
    'server.security.importAllowedLocalPaths': allowed,
  });
  await assert.rejects(database.run(`IMPORT DATABASE '${join(allowed, 'link.csv')}'`), {
    code: 'Forbidden',
  });
  const [row] = await database.run(`IMPORT DATABASE '${join(allowed, 'good.csv')}'`);
  assert.equal(row?.['createdDocuments'], 1);
});

test("what the system shows as files is nobody's import", async (context) => {
  const { test: database } = await open(context);
  for (const url of [
    '/proc/self/environ',
    'file:///proc/self/maps',
    '/dev/zero',
    '/sys/kernel/mm/ksm/run',
  ])
    await assert.rejects(
      database.run(`IMPORT DATABASE '${url}' WITH format = 'csv'`),
      { code: 'Forbidden' },
      url,
    );
});

test('a database whose replacement was interrupted is the old or the new one', async (context) => {
  const { test: database } = await open(context);
  const inside = join(database.directory, '.replacing-test');
  // Both are there: the swap had not begun.
  await database.database.engine.copyTo(inside);
  await database.run('INSERT INTO D SET a = 2');
  await database.reopen();
  assert.equal((await database.run('SELECT FROM D')).length, 2);
  // The old one is gone: the new one is whole and takes its place.
  await database.database.engine.copyTo(inside);
  await database.run('INSERT INTO D SET a = 3');
  await database.databases.shutdown();
  renameSync(join(database.directory, 'test'), join(database.directory, '.trash-test-1'));
  await database.reopen();
  assert.equal((await database.run('SELECT FROM D')).length, 2);
  await database.run('INSERT INTO D SET a = 4');
});
