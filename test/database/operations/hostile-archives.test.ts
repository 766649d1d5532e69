import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
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
import { crc32, deflateRawSync } from 'node:zlib';
import { root, openTestDatabase, type TestDatabase } from '../support/open-test-database.ts';

const asker = { principal: root, signal: new AbortController().signal };

interface Entry {
  readonly name: string;
  readonly content: Uint8Array;
  /** Unix mode. */
  readonly mode?: number;
  readonly checksum?: number;
  /** What the headers say instead of the truth. */
  readonly claimedSize?: number;
}

/** A ZIP archive, byte by byte, so that it can say what no library would write. */
function zip(entries: readonly Entry[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, mode = 0o100644, checksum, claimedSize } of entries) {
    const packed = deflateRawSync(content);
    const nameBytes = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x800, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(checksum ?? crc32(content), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(claimedSize ?? content.length, 18);
    common.writeUInt16LE(nameBytes.length, 22);
    const local = Buffer.concat([
      Buffer.from('PK\u0003\u0004', 'latin1'),
      common,
      nameBytes,
      packed,
    ]);
    const central = Buffer.alloc(16);
    central.writeUInt32LE((mode << 16) >>> 0, 8);
    central.writeUInt32LE(offset, 12);
    const version = Buffer.from([20, 3]);
    directory.push(
      Buffer.concat([
        Buffer.from('PK\u0001\u0002', 'latin1'),
        version,
        common,
        central.subarray(2),
        nameBytes,
      ]),
    );
    parts.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006', 0, 'latin1');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, central, end]);
}

interface Fixture {
  readonly test: TestDatabase;
  /** The environment of a good archive. */
  readonly data: Buffer;
  /** Tries to restore an archive. @returns the refusal */
  refused(archive: Uint8Array): Promise<Error>;
}

function manifest(data: Uint8Array, changes: object = {}): Entry {
  const sha256 = createHash('sha256').update(data).digest('hex');
  const files = [{ name: 'data.mdb', size: data.length, sha256 }];
  const about = {
    format: 'service-backup',
    version: 1,
    database: 'test',
    createdAt: 1,
    lastTxId: 1,
  };
  const content = JSON.stringify({ ...about, engine: 'lmdb', files, ...changes });
  return { name: 'manifest.json', content: Buffer.from(content) };
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
