import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { DirectoryStore } from '../../../operator/pod/stream/directory-store.ts';
import { S3Store } from '../../../operator/pod/stream/s3-store.ts';
import { signedHeaders } from '../../../operator/pod/stream/signature.ts';
import {
  runBackupStream,
  runDeleteArchives,
  runFetchArchive,
} from '../../../operator/pod/stream/stream-commands.ts';
import { keys, S3Double } from './s3-double.ts';

const double = new S3Double();
let endpoint = '';
let directory = '';

before(async () => {
  endpoint = await double.start();
  directory = await mkdtemp(join(tmpdir(), 'polyad-stream-'));
});

after(async () => {
  await double.stop();
  await rm(directory, { recursive: true, force: true });
});

beforeEach(() => {
  double.objects.clear();
  double.log.length = 0;
});

function storeOf(partBytes: number, credentials: typeof keys = keys): S3Store {
  const now = () => Date.now();
  return new S3Store({ endpoint, bucket: 'kept', credentials, now, partBytes, pauseMs: 1 });
}

async function* piecesOf(content: Buffer, size: number): AsyncIterable<Uint8Array> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size);
}

async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const piece of pieces) parts.push(piece);
  return Buffer.concat(parts).toString('latin1');
}

test('a signature is the one of the public example', () => {
  // "Example: GET Object" of the description of version 4.
  const headers = signedHeaders(
    {
      method: 'GET',
      url: new URL('https://examplebucket.s3.amazonaws.com/test.txt'),
      headers: { Range: 'bytes=0-9' },
      contentHash: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    },
    {
      accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
      secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
      region: 'us-east-1',
    },
    Date.parse('2013-05-24T00:00:00Z'),
  );
  assert.match(
    headers['authorization'] ?? '',
    /SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41$/,
  );
});

test('a storage takes content of every size, in one piece or in parts, under any name', async () => {
  const store = storeOf(1000);
  for (const bytes of [0, 1, 999, 1000, 1001, 2000, 4567]) {
    const content = Buffer.from(Array.from({ length: bytes }, (_, place) => place % 251));
    const name = `shop/orders/nightly+1 ä(2)!*'/${bytes}.zip`;
    await store.write(name, piecesOf(content, 333));
    assert.deepEqual(double.objects.get(`/kept/${name}`), content, `${bytes} bytes`);
    assert.equal(await textOf(await store.read(name)), content.toString('latin1'));
    await store.delete(name);
    await store.delete(name);
    assert.equal(double.objects.size, 0);
  }
  assert.equal(double.uploads.size, 0);
});

test('a wrong key is refused by its name and nothing is tried again', async () => {
  const store = storeOf(1000, { ...keys, secretAccessKey: 'wrong' });
  await assert.rejects(
    store.write('a.zip', piecesOf(Buffer.from('abc'), 2)),
    /answered 403 to PUT a\.zip: SignatureDoesNotMatch: another signature/,
  );
  assert.equal(double.log.length, 1);
});

test('what fails in passing is asked again; what does not end leaves no parts behind', async () => {
  const store = storeOf(1000);
  double.faults.push(503, 'cut', 500);
  await store.write('a.zip', piecesOf(Buffer.alloc(2500, 7), 100));
  assert.equal(double.objects.get('/kept/a.zip')?.length, 2500);
  async function* breaking() {
    yield Buffer.alloc(2500);
    throw new Error('the member is gone');
  }
  await assert.rejects(store.write('b.zip', breaking()), /the member is gone/);
  assert.deepEqual([double.objects.has('/kept/b.zip'), double.uploads.size], [false, 0]);
});

test('a directory holds whole archives only, and no name leads out of it', async () => {
  const root = join(directory, 'claim');
  const store = new DirectoryStore(root);
  await store.write('shop/orders/a.zip', piecesOf(Buffer.from('content'), 3));
  assert.equal(await textOf(await store.read('shop/orders/a.zip')), 'content');
  async function* breaking() {
    yield Buffer.from('half');
    throw new Error('cut off');
  }
  await assert.rejects(store.write('shop/orders/b.zip', breaking()), /cut off/);
  assert.deepEqual(await readdir(join(root, 'shop/orders')), ['a.zip']);
  for (const name of ['../a', 'a/../../b', '', 'a\0b'])
    await assert.rejects(store.write(name, piecesOf(Buffer.from('x'), 1)), /is no name/);
});

/** A member that leads, or does not. */
async function memberThat(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ readonly address: string; close(): Promise<void> }> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** The last record of a ZIP archive without entries. */
const archive = Buffer.concat([
  Buffer.alloc(5000, 1),
  Buffer.from('504b0506', 'hex'),
  Buffer.alloc(18),
]);

async function surroundings(name: string) {
  const root = join(directory, name);
  const places = {
    token: join(root, 'token'),
    authority: join(root, 'none'),
    credentials: join(root, 's3'),
    archives: join(root, 'archives'),
    target: join(root, 'backups'),
    message: join(root, 'message'),
  };
  await mkdir(places.credentials, { recursive: true });
  await writeFile(places.token, 'first-token\nsecond-token\n');
  for (const [key, value] of Object.entries(keys))
    await writeFile(join(places.credentials, key), `${value}\n`);
  return { now: () => Date.now(), write: () => {}, places, pauseMs: 1 };
}

test('the snapshot of whoever leads is kept in a bucket, with its digest, and comes back as it was', async () => {
  const around = await surroundings('bucket');
  const seen: string[] = [];
  let busy = 1;
  const follower = await memberThat((request, response) => {
    seen.push(`follower ${String(request.headers['x-service-cluster-token'])}`);
    response.writeHead(409).end('{"error":"not the leader"}');
  });
  const leader = await memberThat((request, response) => {
    seen.push(`leader ${request.url ?? ''}`);
    if (busy-- > 0) response.writeHead(503).end('{"error":"Too many concurrent snapshots"}');
    else
      response
        .writeHead(200, { 'X-Service-Snapshot-Manifest': '1', 'X-Service-Snapshot-Index': '42' })
        .end(archive);
  });
  const storage = [`--endpoint=${endpoint}`, '--bucket=kept'];
  const name = 'backups/shop/orders/nightly/orders-backup-20261124-020000000.zip';
  try {
    const members = [follower, leader].map(({ address }) => `--member=${address}`);
    const words = [...members, '--database=orders', `--name=${name}`, '--verify=true', ...storage];
    assert.equal(await runBackupStream(words, around), 0);
  } finally {
    await Promise.all([follower.close(), leader.close()]);
  }
  assert.deepEqual(seen, [
    'follower first-token',
    'leader /api/v1/ha/snapshot/orders',
    'follower first-token',
    'leader /api/v1/ha/snapshot/orders',
  ]);
  const told = JSON.parse(await readFile(around.places.message, 'utf8')) as Record<string, unknown>;
  assert.deepEqual(
    [told['database'], told['bytes'], told['commitIndex']],
    ['orders', archive.length, 42],
  );
  const sha256 = String(told['sha256']);
  assert.deepEqual(double.objects.get(`/kept/${name}`), archive);
  const description = JSON.parse(double.objects.get(`/kept/${name}.json`)?.toString() ?? '{}');
  assert.deepEqual(description, {
    database: 'orders',
    commitIndex: 42,
    bytes: archive.length,
    sha256,
  });
  const file = '--file=orders/orders-backup-20261124-020000000.zip';
  await runFetchArchive([`--name=${name}`, file, `--digest=${sha256}`, ...storage], around);
  const path = join(around.places.target, 'orders/orders-backup-20261124-020000000.zip');
  assert.deepEqual(await readFile(path), archive);
  // By its address too, and compared with the description beside it.
  await rm(path);
  await runFetchArchive([`--url=${endpoint}/kept/${name}`, file], around);
  assert.deepEqual(await readFile(path), archive);
  // A damaged one never takes its place.
  await rm(path);
  double.objects.set(`/kept/${name}`, Buffer.from('damaged'));
  await assert.rejects(runFetchArchive([`--name=${name}`, file, ...storage], around), /is damaged/);
  assert.deepEqual(await readdir(join(around.places.target, 'orders')), []);
  await runDeleteArchives([`--name=${name}`, ...storage], around);
  assert.equal(double.objects.size, 0);
});

test('on a claim it is the same, and a snapshot that is cut off is none', async () => {
  const around = await surroundings('claim');
  let cuts = 1;
  const leader = await memberThat((_, response) => {
    response.writeHead(200, { 'X-Service-Snapshot-Manifest': '1' });
    response.write(archive.subarray(0, 100));
    if (cuts-- > 0) response.end();
    else response.end(archive.subarray(100));
  });
  const words = [`--member=${leader.address}`, '--database=orders', '--name=shop/a.zip'];
  try {
    await assert.rejects(runBackupStream(words, around), /cut the snapshot off/);
    assert.deepEqual(await readdir(join(around.places.archives, 'shop')), []);
    await runBackupStream(words, around);
  } finally {
    await leader.close();
  }
  assert.deepEqual(await readdir(join(around.places.archives, 'shop')), ['a.zip', 'a.zip.json']);
});

test('a token that is refused is said, without the token', async () => {
  const around = await surroundings('refused');
  const leader = await memberThat((request, response) => {
    response.writeHead(403).end(`no ${String(request.headers['x-service-cluster-token'])}`);
  });
  const words = [`--member=${leader.address}`, '--database=orders', '--name=a.zip'];
  try {
    await assert.rejects(runBackupStream(words, around), (error: Error) => {
      assert.match(error.message, /answered 403: no …$/);
      return true;
    });
  } finally {
    await leader.close();
  }
});
