import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { readArchive } from '#platform/archive/reader.ts';
import { writeArchive } from '#platform/archive/writer.ts';

// What is written in pieces on several threads is read by a package that knows nothing of that.

const limits = {
  entryCountMax: 10,
  entryBytesMax: 2 ** 30,
  ratioMax: 1_000,
  entryBytesSetting: 'bytes',
  ratioSetting: 'ratio',
};
const pieceBytes = 256 * 1024;

function temporaryDirectory(context: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'polyad.archive-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Half of it packs well, half of it does not at all. */
function contents(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let state = 7;
  for (let at = 0; at < length; at += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    bytes[at] = at % 8_192 < 4_096 ? at % 7 : state >>> 24;
  }
  return bytes;
}

const given = (directory: string, sizes: readonly number[]) =>
  sizes.map((sizeBytes, at) => {
    const path = join(directory, `in-${at}`);
    writeFileSync(path, contents(sizeBytes));
    return { name: `f${at}`, path, sizeBytes };
  });

for (const compressionLevel of [0, 1, 9]) {
  test(`files of any length come back, at level ${compressionLevel}`, async (context) => {
    const directory = temporaryDirectory(context);
    const sizes = [0, 1, pieceBytes, pieceBytes + 1, 9 * pieceBytes + 77];
    const files = given(directory, sizes);
    const path = join(directory, 'a.zip');
    const { signal } = new AbortController();
    const size = await writeArchive({
      ...{ path, files, compressionLevel, signal, onRead: () => {} },
      manifest: async (done) => ({ name: 'manifest', content: JSON.stringify(done) }),
    });
    assert.equal(size, statSync(path).size);
    const packed = compressionLevel > 0;
    const total = sizes.reduce((sum, each) => sum + each, 0);
    assert.equal(packed, size < total * 0.6, `${size} of ${total} bytes`);
    const out = mkdtempSync(join(directory, 'out-'));
    const reading = { path, directory: out, accepts: () => true, limits, signal, onRead: () => {} };
    const found = await readArchive(reading);
    assert.equal(found.length, files.length + 1);
    for (const [at, { name, path: from }] of files.entries()) {
      const bytes = readFileSync(from);
      assert.ok(bytes.equals(readFileSync(join(out, name))), `${name} comes back`);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      assert.deepEqual(found[at], { name, size: bytes.length, sha256 });
    }
    const told = JSON.parse(readFileSync(join(out, 'manifest'), 'utf8'));
    assert.deepEqual(told, found.slice(0, -1));
  });
}

/** Files of the directory that this process has open (Linux). */
function openFiles(directory: string): string[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(directory);
    } catch {
      return false;
    }
  });
}

test('a writing that is cancelled, or whose file becomes shorter, fails and leaves no file open', async (context) => {
  const directory = temporaryDirectory(context);
  const files = given(directory, [20 * pieceBytes]);
  const manifest = async () => ({ name: 'manifest', content: '' });
  const cancelled = new AbortController();
  let read = 0;
  const onRead = () => {
    read += 1;
    if (read === 5) cancelled.abort(new Error('no more'));
  };
  const one = { path: join(directory, 'a.zip'), files, compressionLevel: 1, manifest };
  await assert.rejects(writeArchive({ ...one, signal: cancelled.signal, onRead }), /no more|abort/);
  const longer = files.map((file) => ({ ...file, sizeBytes: file.sizeBytes + 1 }));
  const { signal } = new AbortController();
  const two = { ...one, path: join(directory, 'b.zip'), files: longer, signal, onRead: () => {} };
  await assert.rejects(writeArchive(two), /became shorter/);
  assert.deepEqual(openFiles(directory), []);
});
