import { createHash, type Hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import yazl from 'yazl';
import { fileSink } from '../file-sink.ts';
import { addPackedEntry } from './packed-entry.ts';

/** A file that goes into an archive. */
export interface ArchiveInput {
  /** Name of the entry. */
  readonly name: string;
  readonly path: string;
  readonly sizeBytes: number;
}

/** What was written of one file. */
export interface ArchivedFile {
  readonly name: string;
  readonly size: number;
  /** Lower-case hexadecimal digits. */
  readonly sha256: string;
}

export interface ArchiveWriting {
  /** Must not exist. */
  readonly path: string;
  readonly files: readonly ArchiveInput[];
  /** 0 (stored) to 9. */
  readonly compressionLevel: number;
  /** Makes the last entry from what the entries before turned out to be. */
  readonly manifest: (files: readonly ArchivedFile[]) => Promise<{
    readonly name: string;
    readonly content: string;
  }>;
  readonly signal: AbortSignal;
  /** Called with each piece that was read; the next is read when it resolves. */
  readonly onRead: (bytes: number) => void | Promise<void>;
}

const pieceBytes = 256 * 1024;

/**
 * Writes a ZIP archive with memory for a few pieces, whatever its size; some of them are deflated at once, on the thread pool. The
 * file is on the disk when this resolves. After an error the file may be there in part; the caller deletes it.
 * @returns bytes of the archive
 */
export async function writeArchive(writing: ArchiveWriting): Promise<number> {
  const { path, files, compressionLevel, signal } = writing;
  const archive = new yazl.ZipFile();
  const failed = new Promise<never>((_, reject) => archive.on('error', reject));
  failed.catch(() => {});
  const output = await open(path, 'wx', 0o600);
  const ended = new AbortController();
  let adding: Promise<void> | undefined;
  let size = 0;
  try {
    const sink = fileSink(output, (bytes) => {
      size += bytes;
    });
    const written = pipeline(archive.outputStream, sink, { signal });
    written.catch(() => {});
    const done: ArchivedFile[] = [];
    for (const file of files) {
      const hash = createHash('sha256');
      const pieces = piecesOf(file, writing, hash);
      const { name } = file;
      const entry = { name, compressionLevel, pieces, mode: 0o100600, signal: ended.signal };
      adding = addPackedEntry(archive, entry);
      await Promise.race([adding, failed, written.then(() => adding)]);
      done.push({ name, size: file.sizeBytes, sha256: hash.digest('hex') });
    }
    const manifest = await writing.manifest(done);
    archive.addBuffer(Buffer.from(manifest.content), manifest.name, { mode: 0o100600 });
    archive.end();
    await Promise.race([written, failed]);
    await output.sync();
  } finally {
    ended.abort();
    await adding?.catch(() => {});
    await output.close();
  }
  return size;
}

export interface StoredArchive {
  /** Of the whole archive, before any of it is read. */
  readonly sizeBytes: number;
  readonly stream: Readable;
}

export interface ArchiveStreaming {
  readonly file: ArchiveInput;
  readonly manifest: {
    readonly name: string;
    /** Of its entry: what is shorter is filled up with spaces. */
    readonly sizeBytes: number;
    /** Asked for behind the file. */
    readonly content: (file: ArchivedFile) => Promise<string>;
  };
  /** Of both entries: the same file at the same time is the same archive, byte by byte. */
  readonly modifiedAt: Date;
}

/**
 * A ZIP archive of one file and its manifest that is nowhere on a disk: stored, since deflating takes longer than a network. Whoever
 * reads the stream destroys it when it wants no more.
 */
export async function storedArchive(given: ArchiveStreaming): Promise<StoredArchive> {
  const { file, manifest, modifiedAt } = given;
  const ended = new AbortController();
  const archive = new yazl.ZipFile();
  const stream = archive.outputStream as Readable;
  archive.on('error', (error) => stream.destroy(error as Error));
  const { entry, digest } = measured(file, { signal: ended.signal, onRead: () => {} });
  stream.once('close', () => {
    ended.abort();
    entry.destroy();
  });
  const options = { compressionLevel: 0, mode: 0o100600, mtime: modifiedAt };
  archive.addReadStream(entry, file.name, { ...options, size: file.sizeBytes });
  async function* content(): AsyncGenerator<Uint8Array> {
    const done = { name: file.name, size: file.sizeBytes, sha256: await digest };
    const bytes = Buffer.alloc(manifest.sizeBytes, ' ');
    bytes.write(await manifest.content(done));
    yield bytes;
  }
  archive.addReadStreamLazy(
    manifest.name,
    { ...options, size: manifest.sizeBytes },
    (give: (error: unknown, from: Readable) => void) =>
      give(null, Readable.from(content(), { objectMode: false })),
  );
  const sizeBytes = await new Promise<number>((told) => {
    // Its types leave out what it is called with.
    archive.end({ forceZip64Format: false, comment: '' }, told as () => void);
  });
  return { sizeBytes, stream };
}

/** The bytes of a file, with the digest of what was read. */
function measured(
  file: ArchiveInput,
  { onRead, signal }: Pick<ArchiveWriting, 'onRead' | 'signal'>,
): { readonly entry: Readable; readonly digest: Promise<string> } {
  const hash = createHash('sha256');
  let resolve: (digest: string) => void = () => {};
  const digest = new Promise<string>((done) => {
    resolve = done;
  });
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield* piecesOf(file, { onRead, signal }, hash);
    resolve(hash.digest('hex'));
  }
  return { entry: Readable.from(pieces(), { objectMode: false }), digest };
}

/** The bytes of a file, which the hash is told of. */
async function* piecesOf(
  file: ArchiveInput,
  { onRead, signal }: Pick<ArchiveWriting, 'onRead' | 'signal'>,
  hash: Hash,
): AsyncGenerator<Uint8Array> {
  const input = await open(file.path, 'r');
  try {
    for (let left = file.sizeBytes; left > 0; ) {
      signal.throwIfAborted();
      const piece = Buffer.allocUnsafe(Math.min(pieceBytes, left));
      const { bytesRead } = await input.read(piece, 0, piece.length);
      if (bytesRead === 0) throw new Error(`'${file.name}' became shorter while it was read`);
      const read = piece.subarray(0, bytesRead);
      hash.update(read);
      left -= bytesRead;
      await onRead(bytesRead);
      yield read;
    }
  } finally {
    await input.close();
  }
}
