import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { partsHeader, type SnapshotArchive } from '#cluster/cluster-view.ts';
import { DatabaseArchives } from '#cluster/snapshot/database-archives.ts';
import { SnapshotInstaller } from '#cluster/snapshot/snapshot-installer.ts';
import { Settings } from '#config/effective-settings.ts';
import { silentLog } from '#core/log.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import {
  manifestPart,
  type PartManifest,
  partHeadBytes,
  readManifestPart,
  sealPart,
} from '#storage/parts/part-format.ts';
import { partsOf } from '../../support/parts.ts';
import { manifest, zip } from '../../../database/support/hostile-zip.ts';
import {
  openTestDatabase,
  type TestDatabase,
} from '../../../database/support/open-test-database.ts';

interface Pair {
  readonly from: TestDatabase;
  readonly to: TestDatabase;
  readonly archives: DatabaseArchives;
  /** As members fetch it. */
  parts(part?: Asked): Promise<SnapshotArchive>;
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
  let last: Promise<void> = Promise.resolve();
  const installer = (open: (asked: Asked) => Promise<SnapshotArchive>) =>
    new SnapshotInstaller({
      directory: join(root, 'fetched'),
      databases: () => to.databases,
      dial: () => ({ kind: 'address', peer: 'one', host: '127.0.0.1', port: 1, isSecure: false }),
      http: () => ({
        ask: async (_, { path }) => {
          const query = new URL(path, 'http://x').searchParams;
          const asked = Object.fromEntries([...query].map(([name, text]) => [name, Number(text)]));
          // A sender notices that a receiver has left before that one is back.
          await last;
          const archive = await open(asked);
          const { pieces, from = 0 } = archive;
          const stream = pieces instanceof Readable ? pieces : Readable.from(pieces);
          const body = stream as unknown as IncomingMessage;
          last = new Promise((resolve) => {
            body.once('close', () => resolve(archive.close()));
          });
          const { sizes, form } = archive;
          const told: Record<string, string | undefined> = {
            [form === 'parts' ? partsHeader : 'x-service-snapshot-manifest']: '1',
            'x-service-snapshot-uuid': archive.uuid,
            'x-service-snapshot-index': String(archive.appliedIndex),
            'x-service-snapshot-from': String(from),
            'x-service-snapshot-size': String(sizes.databaseBytes),
            ...(sizes.archiveBytes && { 'content-length': String(sizes.archiveBytes) }),
          };
          const header = (name: string) => told[name];
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
  const parts = (part: Asked = {}) => archives.open('test', { ...part, isInParts: true });
  return { from, to, archives, parts, root, installer, close };
}

test('a fetched database has the rows, the schema and the position of the other one, over what was there', async () => {
  const { from, to, archives, parts, root, installer, close } = await pair();
  try {
    await from.run('CREATE VERTEX TYPE Person');
    await from.run('CREATE PROPERTY Person.name STRING');
    await from.run('CREATE INDEX ON Person (name) UNIQUE');
    for (let i = 0; i < 50; i++) await from.run('INSERT INTO Person SET name = ?', [`p${i}`]);
    await to.run('CREATE DOCUMENT TYPE Old');
    // Members of older builds send archives.
    for (const open of [parts, () => archives.open('test')]) {
      const fetching = installer(open);
      await fetching.prepare();
      assert.equal(fetching.acquisitionOf('test'), undefined);
      await fetching.install('test', () => 'other_1');
      assert.equal(fetching.acquisitionOf('test')?.acquireStatus, 'ACQUIRED');
      const rows = await to.runOn('test', "SELECT count(*) AS n FROM Person WHERE name >= 'p'");
      assert.deepEqual(rows, [{ n: 50 }]);
      await assert.rejects(to.runOn('test', 'SELECT FROM Old'), /Old/);
      await assert.rejects(to.runOn('test', "INSERT INTO Person SET name = 'p1'"), /p1/);
      await to.runOn('test', "INSERT INTO Person SET name = 'new'");
      const left = ['sent', 'fetched'].flatMap((name) => readdirSync(join(root, name)));
      assert.deepEqual(left, []);
    }
  } finally {
    await close();
  }
});

test('an archive that breaks off leaves what was there, and is asked for again', async () => {
  const { from, to, parts, installer, close } = await pair();
  try {
    await from.run('CREATE DOCUMENT TYPE Fresh');
    await to.run('CREATE DOCUMENT TYPE Old');
    let asked = 0;
    const cut = async (part: Asked) => {
      asked += 1;
      const archive = await parts(part);
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

test('a database that breaks off is gone on with where it broke and as it was, or begun anew where nobody holds its state any more', async () => {
  const { from, to, parts, root, installer, close } = await pair();
  try {
    await from.run('CREATE DOCUMENT TYPE Note');
    for (let i = 0; i < 200; i++)
      await from.run('INSERT INTO Note SET text = ?', [randomBytes(30_000).toString('base64')]);
    for (const isKept of [true, false]) {
      const asked: Asked[] = [];
      const sent: number[] = [];
      const fetching = installer(async (part) => {
        asked.push(part);
        const archive = await parts(isKept ? part : {});
        const nth = asked.length - 1;
        sent[nth] = 0;
        async function* some() {
          for await (const piece of archive.pieces) {
            sent[nth] = (sent[nth] ?? 0) + piece.length;
            // Amid a part.
            const isLast = nth === 0 && (sent[nth] ?? 0) > 4_500_000;
            yield isLast ? piece.subarray(0, 1000) : piece;
            if (!isLast) continue;
            await from.run("INSERT INTO Note SET text = 'it came later'");
            throw new Error('the connection is lost');
          }
        }
        return { ...archive, pieces: some() };
      });
      await fetching.prepare();
      await fetching.install('test', () => 'other_1');
      const [first, second] = asked;
      assert.deepEqual([asked.length, first, second?.index], [2, {}, 7]);
      assert.ok((second?.from ?? 0) >= 4, JSON.stringify(asked));
      const [before = 0, behind = 0] = sent;
      if (isKept) assert.ok(behind < 5_000_000, `${before} and ${behind} were sent`);
      else assert.ok(behind > 8_000_000, 'all of it once more');
      const [row] = await to.runOn('test', 'SELECT count(*) AS n FROM Note');
      assert.equal(row?.['n'], isKept ? 200 : 202);
      const left = ['sent', 'fetched'].flatMap((name) => readdirSync(join(root, name)));
      assert.deepEqual(left, []);
    }
  } finally {
    await close();
  }
});

test('a sender that falls silent is given up, and a database with a file above the bound is not taken', async () => {
  const { from, parts, installer, close } = await pair({
    silentMsMax: 1000,
    settings: new Settings(new Map([['service.ha.snapshotMaxEntrySize', '1MB']])),
  });
  try {
    await from.run('CREATE DOCUMENT TYPE Note');
    const silent = async () => {
      const archive = await parts();
      const pieces = new Readable({ read() {} });
      pieces.push('no');
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
    const whole = installer(parts);
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
  const { from, to, archives, parts, root, installer, close } = await pair({
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
    const fetching = installer(async (asked) => {
      // What is staged is an archive.
      const archive = await ('stage' in asked ? archives.open('test') : parts());
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
    const { databaseBytes } = sizes;
    assert.ok(databaseBytes > 0 && sizes.archiveBytes === undefined);
    const needed = Math.ceil(databaseBytes * 1.2);
    const text = `the volume has 1000 bytes available, the snapshot needs ${needed}`;
    assert.equal((refused as Error).message, text);
    assert.deepEqual([purges, taken], [2, 0]);
    assert.deepEqual(await to.runOn('test', 'SELECT FROM Old'), []);
    // What is created, restored or imported comes the same way.
    const staged = { uuid: 'u-1', name: 'test' };
    const place = { from: () => 'other_1', directory: mkdtempSync(join(root, 'staged-')) };
    await assert.rejects(fetching.stage(staged, place), /the volume has 1000 bytes available/);
    assert.deepEqual([purges, taken, readdirSync(place.directory)], [4, 0, []]);
    assert.ok((sizes.archiveBytes ?? 0) > sizes.databaseBytes);
    freed = needed + (sizes.archiveBytes ?? 0);
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
  const { from, parts, installer, close } = await pair({ told, lag: () => lags.shift() ?? 0 });
  try {
    await from.run('CREATE DOCUMENT TYPE Note');
    const fetching = installer(parts);
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

test('one receiver of a database at a time, and so many in all; who comes back goes on with the state that it has the beginning of', async () => {
  const { from, archives, parts, close } = await pair();
  try {
    await from.run('CREATE DOCUMENT TYPE Note');
    for (let i = 0; i < 50; i++)
      await from.run('INSERT INTO Note SET text = ?', [randomBytes(60_000).toString('base64')]);
    const first = await parts();
    for (const open of [parts, () => archives.open('test')])
      await assert.rejects(open(), /Too many concurrent snapshots/);
    const read: string[] = [];
    for await (const piece of first.pieces) {
      read.push(createHash('sha256').update(piece).digest('hex'));
      if (read.length === 3) break;
    }
    first.close();
    const again = await parts({ from: 2, index: 7 });
    assert.equal(again.from, 2);
    await from.run('DELETE FROM Note');
    for await (const piece of again.pieces) {
      assert.equal(createHash('sha256').update(piece).digest('hex'), read[2]);
      break;
    }
    again.close();
    for (const part of [{ from: 2, index: 6 }, { from: 1e9, index: 7 }, {}]) {
      const anew = await parts(part);
      assert.equal(anew.from, 0, JSON.stringify(part));
      anew.close();
    }
    const zip = await archives.open('test', { from: 2, index: 7 });
    assert.deepEqual([zip.form, zip.from], ['zip', undefined]);
    zip.close();
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
        form: 'zip',
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
      form: 'zip',
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

/** A part with other content that is sealed as a sender would. */
function forged(part: Buffer, change: (content: Buffer) => unknown): Buffer {
  const content = Buffer.from(part.subarray(partHeadBytes));
  const changed = change(content);
  const all = changed instanceof Buffer ? changed : content;
  return sealPart(Buffer.concat([Buffer.alloc(partHeadBytes), all]));
}

type Hostile = readonly (readonly [string, readonly Buffer[], RegExp?])[];

/** What a member that lies, or a broken connection, could send in place of them. */
function hostileOf(good: readonly Buffer[]): Hostile {
  const [meta, last] = [good[0] as Buffer, good.at(-1) as Buffer];
  assert.ok(good.length >= 4 && meta[partHeadBytes] === 0);
  const manifest = readManifestPart(last);
  const body = good.slice(0, -1);
  const withManifest = (changes: Partial<PartManifest>) => [
    ...body,
    manifestPart({ ...manifest, ...changes }),
  ];
  const head = (length: number) => {
    const bytes = Buffer.alloc(partHeadBytes);
    bytes.writeUInt32LE(length);
    return bytes;
  };
  return [
    ['nothing', []],
    ['cut amid a part', [...body.slice(0, -1), (body.at(-1) as Buffer).subarray(0, 50)]],
    ['cut behind a part', body],
    ['a part is missing', [meta, ...good.slice(2)], /parts and/],
    ['a changed byte', [flipped(meta), ...good.slice(1)], /checksum of part 0/],
    ['a changed value', [forged(meta, flipped), ...good.slice(1)], /checksum of a value in 'meta'/],
    ['a part twice', [meta, ...good], /do not rise/],
    ['out of order', [...body].reverse().concat(last), /may come here|do not rise/],
    ['an unknown place', [forged(meta, (bytes) => bytes.fill(99, 0, 1)), ...good], /may come here/],
    ['an endless part', [head(2 ** 32 - 1)], /a part has/],
    ['an empty part', [head(0)], /a part has/],
    [
      'a key beyond its part',
      [forged(meta, (bytes) => bytes.writeUInt16LE(65_535, 1)), ...good],
      /cut|a key has/,
    ],
    [
      'a value beyond its part',
      [forged(meta, (bytes) => bytes.writeUInt32LE(2 ** 31, 3)), ...good],
      /cut/,
    ],
    ['a cut entry', [forged(meta, (bytes) => bytes.subarray(0, -2)), ...good], /cut/],
    ['no key', [forged(meta, (bytes) => bytes.writeUInt16LE(0, 1)), ...good], /a key has 0 bytes/],
    ['something behind the manifest', [...good, last], /follows/],
    ['a manifest of noise', [...body, forged(last, (bytes) => bytes.fill('x', 1))], /refused/],
    [
      'a manifest of another version',
      [
        ...body,
        forged(last, (bytes) =>
          Buffer.from(bytes.toString('latin1').replace('"version":1', '"version":2'), 'latin1'),
        ),
      ],
      /none of this version/,
    ],
    ['forged counts', withManifest({ valueCount: manifest.valueCount + 1 }), /values/],
    ['a forged position', withManifest({ lastTxId: manifest.lastTxId + 1 }), /position/],
    [
      'no database',
      [manifestPart({ ...manifest, partCount: 0, valueCount: 0 })],
      /no database of this server/,
    ],
    ['another database', withManifest({ database: 'other' }), /'other' and not 'test'/],
    ['another uuid', withManifest({ uuid: 'u-2' }), /another database of this name/],
  ];
}

test('hostile parts leave what was there: cut, changed, doubled, out of order, forged counts and values, of another database', async () => {
  const { from, to, root, installer, close } = await pair();
  try {
    await from.run('CREATE DOCUMENT TYPE Fresh');
    await from.run('INSERT INTO Fresh SET text = ?', [randomBytes(900_000).toString('base64')]);
    await to.run('CREATE DOCUMENT TYPE Old');
    const copy = join(from.directory, '.copy');
    await from.database.engine.copyTo(copy);
    const good = partsOf(copy);
    const send = (parts: readonly Buffer[]) =>
      installer(async () => ({
        form: 'parts',
        appliedIndex: 0,
        uuid: 'u-1',
        sizes: { archiveBytes: undefined, databaseBytes: 0 },
        pieces: Readable.from(parts),
        close: () => {},
      }));
    for (const [what, parts, reason = /./] of hostileOf(good)) {
      const fetching = send(parts);
      await fetching.prepare();
      await assert.rejects(
        fetching.install('test', () => 'other_1'),
        reason,
        what,
      );
      assert.deepEqual(await to.runOn('test', 'SELECT FROM Old'), [], what);
      assert.deepEqual(readdirSync(join(root, 'fetched')), [], what);
    }
    const left = readdirSync(to.directory).filter((name) => name.startsWith('.fetch-tmp'));
    assert.deepEqual(left, []);
    await send(good).install('test', () => 'other_1');
    const [row] = await to.runOn('test', 'SELECT count(*) AS n FROM Fresh');
    assert.equal(row?.['n'], 1);
  } finally {
    await close();
  }
});

function flipped(bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes);
  const at = changed.length - 1;
  changed[at] = (changed[at] as number) ^ 1;
  return changed;
}
