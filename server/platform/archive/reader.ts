import { createHash } from 'node:crypto';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline, type Readable } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import yauzl from 'yauzl';
import { DatabaseError } from '#core/errors.ts';
import type { ArchivedFile } from './writer.ts';

/** What is refused in an archive from elsewhere (http-api.md 18.4, security.md 8.2). */
export interface ArchiveLimits {
  readonly entryCountMax: number;
  readonly entryBytesMax: number;
  /** Unpacked bytes of all entries for each byte of the archive, above `ratioFloorBytes`. */
  readonly ratioMax: number;
  /** The settings that the bounds come from, for messages. */
  readonly entryBytesSetting: string;
  readonly ratioSetting: string;
}

export interface ArchiveReading {
  readonly path: string;
  /** Undefined: the entries are read and checked, and go nowhere. */
  readonly directory: string | undefined;
  /** Names of entries that may be there; every other one is refused. */
  readonly accepts: (name: string) => boolean;
  readonly limits: ArchiveLimits;
  readonly signal: AbortSignal;
  readonly onRead: (bytes: number) => void | Promise<void>;
}

/** Below this much no ratio is asked for: small archives of empty pages pack very well. */
export const ratioFloorBytes = 256 * 1024 * 1024;
const symlinkMode = 0o120000;
const fileTypeMask = 0o170000;

/**
 * Reads a ZIP archive entry by entry, checks what it says about itself (sizes, CRC-32) and writes the entries as files of
 * `directory`. Nothing is written outside of it: a name is one path segment that the caller accepts. Memory: a few pieces.
 * @throws DatabaseError `Validation` for an archive that is none, is damaged or refused; the files may be there in part
 */
export async function readArchive(reading: ArchiveReading): Promise<readonly ArchivedFile[]> {
  const { path, limits } = reading;
  const archiveBytes = (await stat(path)).size;
  const archive = await openArchive(path);
  const found: ArchivedFile[] = [];
  const names = new Set<string>();
  let unpackedBytes = 0;
  const unpackedMax = Math.max(ratioFloorBytes, archiveBytes * limits.ratioMax);
  try {
    for (;;) {
      const entry = await nextEntry(archive);
      if (entry === undefined) return found;
      requireEntry(entry, names, reading);
      found.push(
        await readEntry(archive, entry, reading, (bytes) => {
          unpackedBytes += bytes;
          if (unpackedBytes > unpackedMax)
            throw refused(
              `it unpacks to more than ${limits.ratioMax} times its size (${limits.ratioSetting})`,
            );
        }),
      );
    }
  } finally {
    archive.close();
  }
}

function refused(reason: string, cause?: unknown): DatabaseError {
  return new DatabaseError('Validation', `the archive is refused: ${reason}`, { cause });
}

function openArchive(path: string): Promise<yauzl.ZipFile> {
  const options = { lazyEntries: true, autoClose: false, strictFileNames: true };
  return new Promise((done, failed) => {
    yauzl.open(path, options, (error, archive) => {
      if (error) failed(refused(`it is no ZIP archive (${error.message})`, error));
      else done(archive);
    });
  });
}

function nextEntry(archive: yauzl.ZipFile): Promise<yauzl.Entry | undefined> {
  return new Promise((done, failed) => {
    const listeners = {
      entry: (entry: yauzl.Entry) => settle(() => done(entry)),
      end: () => settle(() => done(undefined)),
      error: (error: Error) => settle(() => failed(refused(error.message, error))),
    };
    const settle = (then: () => void): void => {
      for (const [name, listener] of Object.entries(listeners))
        archive.removeListener(name, listener);
      then();
    };
    for (const [name, listener] of Object.entries(listeners)) archive.on(name, listener);
    archive.readEntry();
  });
}

/** @throws DatabaseError `Validation` for what no archive of ours holds */
function requireEntry(
  entry: yauzl.Entry,
  names: Set<string>,
  { accepts, limits }: ArchiveReading,
): void {
  const name = entry.fileName;
  const shown = name.slice(0, 100).replace(/[\u0000-\u001f\u007f]/g, '?');
  if (!isPlainName(name)) throw refused(`the name '${shown}' of an entry is a path`);
  if (((entry.externalFileAttributes >>> 16) & fileTypeMask) === symlinkMode)
    throw refused(`the entry '${shown}' is a symbolic link`);
  if (entry.isEncrypted()) throw refused(`the entry '${shown}' is encrypted by itself`);
  if (names.has(name.toLowerCase())) throw refused(`the entry '${shown}' is there twice`);
  if (!accepts(name)) throw refused(`the entry '${shown}' does not belong into it`);
  names.add(name.toLowerCase());
  if (names.size > limits.entryCountMax)
    throw refused(`it has more than ${limits.entryCountMax} entries`);
  if (entry.uncompressedSize > limits.entryBytesMax)
    throw refused(
      `the entry '${shown}' has ${entry.uncompressedSize} bytes, more than ${limits.entryBytesMax} (${limits.entryBytesSetting})`,
    );
}

/** One path segment of plain characters: nothing in it may lead elsewhere. */
function isPlainName(name: string): boolean {
  return /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}$/.test(name) && !name.includes('..');
}

async function readEntry(
  archive: yauzl.ZipFile,
  entry: yauzl.Entry,
  reading: ArchiveReading,
  count: (bytes: number) => void,
): Promise<ArchivedFile> {
  const { directory, signal, limits, onRead } = reading;
  const name = entry.fileName;
  const stream = await openEntry(archive, entry);
  const hash = createHash('sha256');
  let checksum = 0;
  let size = 0;
  let output: FileHandle | undefined;
  try {
    if (directory !== undefined) output = await open(join(directory, name), 'wx', 0o600);
    for await (const piece of stream as AsyncIterable<Uint8Array>) {
      signal.throwIfAborted();
      size += piece.length;
      if (size > Math.min(limits.entryBytesMax, entry.uncompressedSize))
        throw refused(`the entry '${name}' is too long`);
      count(piece.length);
      hash.update(piece);
      checksum = crc32(piece, checksum);
      for (let at = 0; output !== undefined && at < piece.length; ) {
        const { bytesWritten } = await output.write(piece, at);
        at += bytesWritten;
      }
      await onRead(piece.length);
    }
    await output?.sync();
  } catch (error) {
    stream.destroy();
    if (signal.aborted || error instanceof DatabaseError) throw error;
    if ((error as NodeJS.ErrnoException).syscall !== undefined) throw error;
    throw refused(`the entry '${name}' is damaged (${String(error)})`, error);
  } finally {
    await output?.close();
  }
  if (size !== entry.uncompressedSize) throw refused(`the entry '${name}' is too short`);
  if (checksum !== entry.crc32) throw refused(`the checksum of the entry '${name}' is wrong`);
  return { name, size, sha256: hash.digest('hex') };
}

/** Unpacked at once: handing on pieces of 16 KiB, as the package makes them, takes longer than unpacking. */
const unpackedBytes = 256 * 1024;
const stored = 0;
const deflated = 8;

function openEntry(archive: yauzl.ZipFile, entry: yauzl.Entry): Promise<Readable> {
  const method = entry.compressionMethod;
  if (method !== stored && method !== deflated)
    throw refused(`the entry is packed by method ${method}`);
  return new Promise((done, failed) => {
    archive.openReadStream(entry, { decodeFileData: false }, (error, stream) => {
      if (error) {
        failed(refused(error.message, error));
        return;
      }
      // It reads from now on, and may fail before its reader is there, who learns of it then; without a listener the process
      // would end.
      stream.on('error', () => {});
      done(method === deflated ? unpacked(stream) : stream);
    });
  });
}

function unpacked(stream: Readable): Readable {
  const size = { chunkSize: unpackedBytes, highWaterMark: 2 * unpackedBytes };
  // Whoever reads learns of what goes wrong.
  return pipeline(stream, createInflateRaw(size), () => {});
}
