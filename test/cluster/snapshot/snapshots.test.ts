import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import type { SnapshotArchive } from '#cluster/cluster-view.ts';
import { DatabaseArchives } from '#cluster/snapshot/database-archives.ts';
import { SnapshotInstaller } from '#cluster/snapshot/snapshot-installer.ts';
import { Settings } from '#config/effective-settings.ts';
import { silentLog } from '#core/log.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { openTestDatabase, type TestDatabase } from '../../database/support/open-test-database.ts';

interface Pair {
  readonly from: TestDatabase;
  readonly to: TestDatabase;
  readonly archives: DatabaseArchives;
  readonly root: string;
  installer(open: () => Promise<SnapshotArchive>): SnapshotInstaller;
  close(): Promise<void>;
}

async function pair(): Promise<Pair> {
  const [from, to] = [await openTestDatabase(), await openTestDatabase()];
  const root = mkdtempSync(join(tmpdir(), 'polyad-snapshots-'));
  const archives = new DatabaseArchives({
    directory: join(root, 'sent'),
    operated: () => ({ engine: from.database.engine, settings: new Settings(new Map()) }) as never,
    applied: () => 0,
    concurrentMax: () => 2,
    progress: from.progress,
    runtime: systemRuntime,
  });
  await archives.prepare();
  const installer = (open: () => Promise<SnapshotArchive>) =>
    new SnapshotInstaller({
      directory: join(root, 'fetched'),
      databases: () => to.databases,
      dial: () => ({ kind: 'address', host: '127.0.0.1', port: 1, isSecure: false }),
      http: () => ({
        ask: async () => {
          const archive = await open();
          const body = Readable.from(archive.pieces) as unknown as IncomingMessage;
          body.once('close', () => archive.close());
          return { status: 200, headers: [], header: () => '1', body };
        },
      }),
      token: () => 'secret',
      retries: () => 1,
      retryBaseMs: () => 1,
      progress: to.progress,
      settings: new Settings(new Map()),
      runtime: systemRuntime,
      log: silentLog,
    });
  const close = async () => {
    await Promise.all([from.close(), to.close()]);
    rmSync(root, { recursive: true, force: true });
  };
  return { from, to, archives, root, installer, close };
}

test('a fetched database has the rows, the schema and the position of the other one, over what was there', async () => {
  const { from, to, archives, root, installer, close } = await pair();
  try {
    await from.run('CREATE VERTEX TYPE Person');
    await from.run('CREATE PROPERTY Person.name STRING');
    await from.run('CREATE INDEX ON Person (name) UNIQUE');
    for (let i = 0; i < 50; i++) await from.run('INSERT INTO Person SET name = ?', [`p${i}`]);
    await to.run('CREATE DOCUMENT TYPE Old');
    const fetching = installer(() => archives.open('test'));
    await fetching.prepare();
    await fetching.install('test', () => 'other_1');
    const rows = await to.runOn('test', "SELECT count(*) AS n FROM Person WHERE name >= 'p'");
    assert.deepEqual(rows, [{ n: 50 }]);
    await assert.rejects(to.runOn('test', 'SELECT FROM Old'), /Old/);
    await assert.rejects(to.runOn('test', "INSERT INTO Person SET name = 'p1'"), /p1/);
    await to.runOn('test', "INSERT INTO Person SET name = 'new'");
    assert.deepEqual(
      [...readdirSync(join(root, 'sent')), ...readdirSync(join(root, 'fetched'))],
      [],
    );
  } finally {
    await close();
  }
});

test('an archive that breaks off leaves what was there, and is asked for again', async () => {
  const { from, to, archives, installer, close } = await pair();
  try {
    await from.run('CREATE DOCUMENT TYPE Fresh');
    await to.run('CREATE DOCUMENT TYPE Old');
    let asked = 0;
    const cut = async () => {
      asked += 1;
      const archive = await archives.open('test');
      async function* some() {
        let left = 500;
        for await (const piece of archive.pieces) {
          yield piece.subarray(0, left);
          left -= piece.length;
          if (left <= 0) return;
        }
      }
      return { ...archive, pieces: some() };
    };
    const fetching = installer(cut);
    await fetching.prepare();
    await assert.rejects(fetching.install('test', () => 'other_1'));
    assert.equal(asked, 2);
    assert.deepEqual(await to.runOn('test', 'SELECT FROM Old'), []);
    assert.equal(fetching.isRunning, false);
  } finally {
    await close();
  }
});

test('one archive of a database at a time, and so many in all', async () => {
  const { archives, close } = await pair();
  try {
    const first = await archives.open('test');
    await assert.rejects(archives.open('test'), /Too many concurrent snapshots/);
    first.close();
    const again = await archives.open('test');
    again.close();
  } finally {
    await close();
  }
});
