import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
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
import { manifest, zip } from '../../../database/support/hostile-zip.ts';
import {
  openTestDatabase,
  type TestDatabase,
} from '../../../database/support/open-test-database.ts';

interface Pair {
  readonly from: TestDatabase;
  readonly to: TestDatabase;
  readonly archives: DatabaseArchives;
  readonly root: string;
  installer(open: (asked: Asked) => Promise<SnapshotArchive>): SnapshotInstaller;
  close(): Promise<void>;
}

/** What the receiver says that it has. */
interface Asked {
  readonly from?: number;
  readonly index?: number;
}

interface Changes {
  readonly settings?: Settings;
  readonly silentMsMax?: number;
  /** Lines of the log go here, with every piece told. */
  readonly told?: string[];
  readonly lag?: () => number;
  readonly availableBytes?: () => Promise<number>;
  readonly purgeLog?: () => Promise<void>;
}

const noSizes = { archiveBytes: 0, databaseBytes: 0 };

async function pair(changes: Changes = {}): Promise<Pair> {
  const [from, to] = [await openTestDatabase(), await openTestDatabase()];
  const root = mkdtempSync(join(tmpdir(), 'polyad-snapshots-'));
  const archives = new DatabaseArchives({
    directory: join(root, 'sent'),
    operated: () => ({ engine: from.database.engine, settings: new Settings(new Map()) }) as never,
    applied: () => 7,
    uuidOf: () => 'u-1',
    concurrentMax: () => 2,
    progress: from.progress,
    runtime: systemRuntime,
  });
  await archives.prepare();
  const installer = (open: (asked: Asked) => Promise<SnapshotArchive>) =>
    new SnapshotInstaller({
      directory: join(root, 'fetched'),
      databases: () => to.databases,
      dial: () => ({ kind: 'address', peer: 'one', host: '127.0.0.1', port: 1, isSecure: false }),
      http: () => ({
        ask: async (_, { path }) => {
          const query = new URL(path, 'http://x').searchParams;
          const asked = Object.fromEntries([...query].map(([name, text]) => [name, Number(text)]));
          const archive = await open(asked);
          const { pieces, from = 0 } = archive;
          const stream = pieces instanceof Readable ? pieces : Readable.from(pieces);
          const body = stream as unknown as IncomingMessage;
          body.once('close', () => archive.close());
          const { sizes } = archive;
          const told: Record<string, string | undefined> = {
            'x-service-snapshot-uuid': archive.uuid,
            'x-service-snapshot-index': String(archive.appliedIndex),
            'x-service-snapshot-from': String(from),
            'x-service-snapshot-size': String(sizes.databaseBytes),
            'content-length': String(sizes.archiveBytes - from),
          };
          const header = (name: string) => (name in told ? told[name] : '1');
          return { status: 200, headers: [], header, body };
        },
      }),
      token: () => 'secret',
      uuidOf: () => 'u-1',
      silentMsMax: () => changes.silentMsMax ?? 10_000,
      progressEveryMs: () => (changes.told === undefined ? 0 : 0.001),
      caughtUpWithin: () => 10,
      lag: changes.lag ?? (() => 0),
      purgeLog: changes.purgeLog ?? (async () => {}),
      ...(changes.availableBytes && { availableBytes: changes.availableBytes }),
      retries: () => 1,
      retryBaseMs: () => 1,
      progress: to.progress,
      settings: changes.settings ?? new Settings(new Map()),
      // Pauses before another attempt or look are over at once.
      runtime: {
        ...systemRuntime,
        timers: { ...systemRuntime.timers, sleep: () => Promise.resolve() },
      },
      log: { ...silentLog, info: (text) => void changes.told?.push(text) },
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
    assert.equal(fetching.acquisitionOf('test'), undefined);
    await fetching.install('test', () => 'other_1');
    assert.equal(fetching.acquisitionOf('test')?.acquireStatus, 'ACQUIRED');
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
    const failed = fetching.acquisitionOf('test');
    assert.equal(failed?.acquireStatus, 'FAILED');
    assert.ok((failed?.acquireError ?? '') !== '' && (failed?.acquireTimestamp ?? 0) > 0);
    assert.deepEqual(await to.runOn('test', 'SELECT FROM Old'), []);
    assert.equal(fetching.isRunning, false);
  } finally {
    await close();
  }
});

test('an archive that breaks off is gone on with where it broke, or begun anew where nobody has it any more', async () => {
  const { from, to, archives, root, installer, close } = await pair();
  try {
    await from.run('CREATE DOCUMENT TYPE Note');
    for (let i = 0; i < 40; i++)
      await from.run('INSERT INTO Note SET text = ?', [randomBytes(30_000).toString('base64')]);
    for (const isKept of [true, false]) {
      const asked: Asked[] = [];
      let [sent, archiveBytes] = [0, 0];
      const fetching = installer(async (part) => {
        asked.push(part);
        if (!isKept) rmSync(join(root, 'sent'), { recursive: true });
        if (!isKept) await archives.prepare();
        const archive = await archives.open('test', isKept ? part : {});
        ({ archiveBytes } = archive.sizes);
        const isFirst = asked.length === 1;
        async function* some() {
          for await (const piece of archive.pieces) {
            sent += piece.length;
            yield piece;
            if (isFirst && sent > 500_000) throw new Error('the connection is lost');
          }
        }
        return { ...archive, pieces: some() };
      });
      await fetching.prepare();
      await fetching.install('test', () => 'other_1');
      const [first, second] = asked;
      assert.deepEqual([asked.length, first, second?.index], [2, {}, 7]);
      const broke = second?.from ?? 0;
      assert.ok(broke > 400_000 && broke < archiveBytes, String(broke));
      if (isKept) assert.ok(sent - archiveBytes <= 300_000, `${sent} of ${archiveBytes} were sent`);
      else assert.ok(sent > archiveBytes + 400_000, 'all of it once more');
      const [row] = await to.runOn('test', 'SELECT count(*) AS n FROM Note');
      assert.equal(row?.['n'], 40);
      const left = ['sent', 'fetched'].flatMap((name) => readdirSync(join(root, name)));
      assert.deepEqual(left, []);
    }
  } finally {
    await close();
  }
});

test('a sender that falls silent is given up, and a database with a file above the bound is not taken', async () => {
  const { from, archives, installer, close } = await pair({
    silentMsMax: 1000,
    settings: new Settings(new Map([['service.ha.snapshotMaxEntrySize', '1MB']])),
  });
  try {
    await from.run('CREATE DOCUMENT TYPE Note');
    const silent = async () => {
      const archive = await archives.open('test');
      const pieces = new Readable({ read() {} });
      pieces.push('PK');
      return { ...archive, pieces };
    };
    const fetching = installer(silent);
    await fetching.prepare();
    await assert.rejects(
      fetching.install('test', () => 'other_1'),
      /nothing came for 1000 ms/,
    );
    for (let i = 0; i < 3; i++)
      await from.run('INSERT INTO Note SET text = ?', [String(i).repeat(600_000)]);
    const whole = installer(() => archives.open('test'));
    await assert.rejects(
      whole.install('test', () => 'other_1'),
      /service\.ha\.snapshotMaxEntrySize/,
    );
  } finally {
    await close();
  }
});

test('without room nothing is fetched: the own log goes first, and the refusal names both numbers', async () => {
  let available = 1000;
  let freed = 0;
  let purges = 0;
  let taken = 0;
  const { from, to, archives, root, installer, close } = await pair({
    availableBytes: async () => available,
    purgeLog: async () => {
      purges += 1;
      available += freed;
    },
  });
  try {
    await from.run('CREATE DOCUMENT TYPE Fresh');
    await to.run('CREATE DOCUMENT TYPE Old');
    let sizes: SnapshotArchive['sizes'] = noSizes;
    const fetching = installer(async () => {
      const archive = await archives.open('test');
      ({ sizes } = archive);
      async function* counted() {
        for await (const piece of archive.pieces) {
          taken += 1;
          yield piece;
        }
      }
      return { ...archive, pieces: counted() };
    });
    await fetching.prepare();
    const refused = await fetching.install('test', () => 'other_1').catch((error: Error) => error);
    const { archiveBytes, databaseBytes } = sizes;
    assert.ok(databaseBytes > 0 && archiveBytes > databaseBytes);
    const needed = archiveBytes + Math.ceil(databaseBytes * 1.2);
    const text = `the volume has 1000 bytes available, the snapshot needs ${needed}`;
    assert.equal((refused as Error).message, text);
    assert.deepEqual([purges, taken], [2, 0]);
    assert.deepEqual(await to.runOn('test', 'SELECT FROM Old'), []);
    // What is created, restored or imported comes the same way.
    const staged = { uuid: 'u-1', name: 'test' };
    const place = { from: () => 'other_1', directory: mkdtempSync(join(root, 'staged-')) };
    await assert.rejects(fetching.stage(staged, place), /the volume has 1000 bytes available/);
    assert.deepEqual([purges, taken, readdirSync(place.directory)], [4, 0, []]);
    freed = needed;
    await fetching.install('test', () => 'other_1');
    assert.deepEqual(await to.runOn('test', 'SELECT FROM Fresh'), []);
    await fetching.stage(staged, place);
    assert.ok(readdirSync(place.directory).includes('data.mdb'));
  } finally {
    await close();
  }
});

test('the log tells how far a database is that is fetched, and when it has caught up', async () => {
  const told: string[] = [];
  const lags = [500, 10];
  const { from, archives, installer, close } = await pair({ told, lag: () => lags.shift() ?? 0 });
  try {
    await from.run('CREATE DOCUMENT TYPE Note');
    const fetching = installer(() => archives.open('test'));
    await fetching.prepare();
    await fetching.install('test', () => 'other_1');
    while (!told.some((text) => text.includes('caught up')))
      await new Promise((resolve) => setTimeout(resolve, 5));
    assert.ok(told.includes('a database is being fetched'), told.join());
    assert.ok(told.includes('a database that was fetched is catching up'), told.join());
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
    assert.equal(again.from, 0);
    again.close();
    const other = await archives.open('test', { from: 10, index: 6 });
    assert.equal(other.from, 0, 'of another state');
    other.close();
    const same = await archives.open('test', { from: 10, index: 7 });
    assert.equal(same.from, 10);
    same.close();
    const beyond = await archives.open('test', { from: 1e9, index: 7 });
    assert.equal(beyond.from, 0);
    beyond.close();
  } finally {
    await close();
  }
});

test('a hostile archive leaves what was there: traversal, bomb, cut, forged manifest, other database, other uuid', async () => {
  const { from, to, installer, close } = await pair();
  try {
    await from.run('CREATE DOCUMENT TYPE Fresh');
    await to.run('CREATE DOCUMENT TYPE Old');
    const copy = join(from.directory, '.copy');
    await from.database.engine.copyTo(copy);
    const content = readFileSync(join(copy, 'data.mdb'));
    const data = { name: 'data.mdb', content };
    const good = zip([data, manifest(content)]);
    const zeros = Buffer.alloc(64 * 1024 * 1024);
    const wrongDigest = [{ name: 'data.mdb', size: content.length, sha256: '0'.repeat(64) }];
    const archives: readonly (readonly [string, Buffer, string?])[] = [
      ['traversal', zip([{ name: '../../outside', content }, data, manifest(content)])],
      ['absolute', zip([{ name: '/tmp/outside', content }, data, manifest(content)])],
      ['another file', zip([data, { name: 'server-users.jsonl', content }, manifest(content)])],
      ['bomb', zip([{ name: 'data.mdb', content: zeros }, manifest(zeros)])],
      ['cut', good.subarray(0, good.length - 200)],
      ['cut at an entry', zip([data])],
      ['no environment', zip([manifest(content)])],
      ['forged digest', zip([data, manifest(content, { files: wrongDigest })])],
      ['forged version', zip([data, manifest(content, { version: 2 })])],
      [
        'no database',
        zip([
          { name: 'data.mdb', content: zeros.subarray(0, 9000) },
          manifest(zeros.subarray(0, 9000)),
        ]),
      ],
      ['other database', zip([data, manifest(content, { database: 'other' })])],
      ['other uuid', good, 'u-2'],
      ['nothing', Buffer.alloc(0)],
    ];
    for (const [what, archive, uuid = 'u-1'] of archives) {
      const fetching = installer(async () => ({
        appliedIndex: 0,
        uuid,
        sizes: noSizes,
        pieces: (async function* () {
          yield archive;
        })(),
        close: () => {},
      }));
      await fetching.prepare();
      await assert.rejects(
        fetching.install('test', () => 'other_1'),
        /./,
        what,
      );
      assert.deepEqual(await to.runOn('test', 'SELECT FROM Old'), [], what);
    }
    const left = readdirSync(to.directory).filter((name) => name.startsWith('.fetch-tmp'));
    assert.deepEqual(left, []);
    const fetching = installer(async () => ({
      appliedIndex: 0,
      uuid: 'u-1',
      sizes: noSizes,
      pieces: Readable.from([good]),
      close: () => {},
    }));
    await fetching.install('test', () => 'other_1');
    assert.deepEqual(await to.runOn('test', 'SELECT FROM Fresh'), []);
  } finally {
    await close();
  }
});
