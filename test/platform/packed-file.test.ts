import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import yazl from 'yazl';
import { openUnpacked } from '#platform/archive/packed-file.ts';

async function content(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const found: Uint8Array[] = [];
  for await (const piece of pieces) found.push(piece);
  return Buffer.concat(found).toString();
}

function openFiles(): number {
  return readdirSync('/proc/self/fd').length;
}

function write(context: TestContext, name: string, bytes: Uint8Array): string {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-packed-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, name);
  writeFileSync(path, bytes);
  return path;
}

async function zip(entries: Readonly<Record<string, string>>): Promise<Buffer> {
  const archive = new yazl.ZipFile();
  for (const [name, text] of Object.entries(entries)) archive.addBuffer(Buffer.from(text), name);
  archive.end();
  const parts: Uint8Array[] = [];
  for await (const part of archive.outputStream) parts.push(part as Uint8Array);
  return Buffer.concat(parts);
}

/** A tar archive of plain files. */
function tar(files: Readonly<Record<string, string>>): Buffer {
  const blocks: Buffer[] = [];
  for (const [name, text] of Object.entries(files)) {
    const header = Buffer.alloc(512);
    header.write(name, 0);
    header.write(text.length.toString(8).padStart(11, '0'), 124);
    header.write(text === '' ? '5' : '0', 156);
    header.write('ustar', 257);
    const body = Buffer.alloc(Math.ceil(text.length / 512) * 512);
    body.write(text);
    blocks.push(header, body);
  }
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

const limits = { entry: undefined, bytesMax: 1_000_000, bytesSetting: 'the.setting' };

test('plain, gzip, ZIP and tar files give their content', async (context) => {
  const large = 'x,y\n'.repeat(30_000);
  const cases: readonly [string, Uint8Array, string | undefined, string, string][] = [
    ['a.csv', Buffer.from('1'), undefined, '1', 'a.csv'],
    ['a.csv.gz', gzipSync('12'), undefined, '12', 'a.csv'],
    ['a.jsonl.tgz', gzipSync(large), undefined, large, 'a.jsonl'],
    [
      'a.csv.tgz',
      gzipSync(tar({ 'dir/': '', 'dir/a.csv': large, 'b.csv': 'no' })),
      undefined,
      large,
      'a.csv',
    ],
    ['a.zip', await zip({ 'd/x.csv': '123', 'y.json': '{}' }), undefined, '123', 'x.csv'],
    ['a.zip', await zip({ 'd/x.csv': '123', 'y.json': '{}' }), 'y.json', '{}', 'y.json'],
  ];
  for (const [name, bytes, entry, expected, innerName] of cases) {
    const path = write(context, name, bytes);
    const unpacked = await openUnpacked(name, { ...limits, path, entry });
    assert.equal(await content(unpacked.pieces), expected, name);
    assert.equal(unpacked.name, innerName);
  }
});

test('what cannot be unpacked, or grows beyond the limit, is refused and leaves no file open', async (context) => {
  const before = openFiles();
  const damaged = gzipSync('x'.repeat(10_000));
  damaged[20] = (damaged[20] ?? 0) ^ 255;
  for (const [bytes, code] of [
    [damaged, 'Validation'],
    [gzipSync(Buffer.alloc(3_000_000)), 'TooLarge'],
    [gzipSync('abc').subarray(0, 15), 'Validation'],
  ] as const) {
    const path = write(context, 'a.gz', bytes);
    const { pieces } = await openUnpacked('a.gz', { ...limits, path });
    await assert.rejects(content(pieces), { code });
  }
  const path = write(context, 'a.zip', await zip({ a: '1' }));
  await assert.rejects(openUnpacked('a.zip', { ...limits, path, entry: 'missing' }), {
    code: 'IllegalArgument',
  });
  const broken = write(context, 'b.zip', Buffer.from('PK\u0003\u0004 and nothing else'));
  await assert.rejects(openUnpacked('b.zip', { ...limits, path: broken }), { code: 'Validation' });
  const { pieces } = await openUnpacked('a.zip', { ...limits, path });
  for await (const _piece of pieces) break;
  await new Promise((done) => setImmediate(done));
  await new Promise((done) => setImmediate(done));
  assert.ok(openFiles() <= before + 1, `${openFiles()} files are open, there were ${before}`);
});
