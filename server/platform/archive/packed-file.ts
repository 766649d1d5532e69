import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import yauzl from 'yauzl';
import { DatabaseError } from '#core/errors.ts';

/** How a file is packed; tar is looked for inside of gzip. */
type Packing = 'none' | 'gzip' | 'zip';

export interface UnpackOptions {
  readonly path: string;
  /** Name of the entry of an archive; the first one when absent. */
  readonly entry: string | undefined;
  readonly bytesMax: number;
  /** The setting that `bytesMax` comes from. */
  readonly bytesSetting: string;
}

/** The content of a file, unpacked when it is packed, and the name that the content has. */
export interface Unpacked {
  /** Pieces of bytes; end it early by leaving the loop. */
  readonly pieces: AsyncIterable<Uint8Array>;
  /** Of the entry of an archive, or that of the file without the extensions of its packing. */
  readonly name: string;
}

/**
 * Opens a file that may be packed: gzip, the first or the named entry of a ZIP archive, the first file of a tar in gzip.
 * Content decides, not the name.
 * @throws DatabaseError `Validation` when it cannot be unpacked, `TooLarge` beyond `bytesMax`
 */
export async function openUnpacked(name: string, options: UnpackOptions): Promise<Unpacked> {
  const packing = await packingOf(options.path);
  if (packing === 'none') return { pieces: createReadStream(options.path), name };
  if (packing === 'gzip') {
    const stream = createGunzip();
    // Who reads `stream` hears of failures there; leaving it early closes the file, too.
    pipeline(createReadStream(options.path), stream, () => {});
    const plainName = name.replace(/\.(gz|gzip|tgz|tar)$/i, '').replace(/\.tar$/i, '');
    return { pieces: bounded(withoutTar(stream), options), name: plainName };
  }
  const { stream, entryName } = await openZipEntry(options);
  return { pieces: bounded(stream, options), name: entryName };
}

async function packingOf(path: string): Promise<Packing> {
  const head = Buffer.alloc(4);
  const file = await open(path, 'r');
  try {
    await file.read(head, 0, head.length, 0);
  } finally {
    await file.close();
  }
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip';
  return head.readUInt32BE(0) === 0x504b0304 ? 'zip' : 'none';
}

async function* bounded(
  stream: AsyncIterable<Uint8Array>,
  { bytesMax, bytesSetting }: UnpackOptions,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  try {
    for await (const piece of stream) {
      size += piece.length;
      if (size > bytesMax)
        throw new DatabaseError(
          'TooLarge',
          `the unpacked file is longer than ${bytesMax} bytes (${bytesSetting})`,
        );
      yield piece;
    }
  } catch (error) {
    if (error instanceof DatabaseError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new DatabaseError('Validation', `the file cannot be unpacked: ${reason}`, {
      cause: error,
    });
  }
}

const tarBlock = 512;

/** The first file of a tar archive, or the stream as it is when it is none. */
async function* withoutTar(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head = Buffer.alloc(0);
  /** Bytes of the file that are left; undefined before its header was read. */
  let left: number | undefined;
  let isTar: boolean | undefined;
  for await (const piece of stream) {
    if (isTar === false) {
      yield piece;
      continue;
    }
    if (left !== undefined) {
      yield piece.subarray(0, left);
      left -= Math.min(left, piece.length);
      if (left === 0) return;
      continue;
    }
    head = Buffer.concat([head, piece]);
    if (isTar === undefined && head.length >= tarBlock) isTar = isTarHeader(head);
    if (isTar === false) {
      yield head;
      continue;
    }
    while (head.length >= tarBlock && left === undefined) {
      const size = Number.parseInt(head.toString('latin1', 124, 136), 8) || 0;
      const isFile = head[156] === 0x30 || head[156] === 0;
      const skipped = tarBlock + Math.ceil(size / tarBlock) * tarBlock;
      if (isFile && size > 0) {
        const content = head.subarray(tarBlock, tarBlock + size);
        left = size - content.length;
        yield content;
        if (left === 0) return;
      } else if (head.length < skipped || size === 0) {
        if (head.length < skipped) break;
        head = head.subarray(skipped);
      } else head = head.subarray(skipped);
    }
  }
  if (isTar === undefined && head.length > 0) yield head;
}

function isTarHeader(head: Buffer): boolean {
  return head.toString('latin1', 257, 262) === 'ustar';
}

async function openZipEntry(
  options: UnpackOptions,
): Promise<{ readonly stream: Readable; readonly entryName: string }> {
  const archive = await new Promise<yauzl.ZipFile>((done, failed) => {
    yauzl.open(options.path, { lazyEntries: true, autoClose: false }, (error, opened) => {
      if (error) failed(unreadable(error));
      else done(opened);
    });
  });
  return new Promise((done, refused) => {
    const failed = (error: DatabaseError): void => {
      archive.close();
      refused(error);
    };
    archive.on('error', (error: Error) => failed(unreadable(error)));
    archive.on('end', () => {
      const which = options.entry === undefined ? 'a file' : `the entry '${options.entry}'`;
      failed(new DatabaseError('IllegalArgument', `the archive does not hold ${which}`));
    });
    archive.on('entry', (entry: yauzl.Entry) => {
      const isFile = !entry.fileName.endsWith('/');
      if (!isFile || (options.entry !== undefined && entry.fileName !== options.entry)) {
        archive.readEntry();
        return;
      }
      archive.openReadStream(entry, (error, stream) => {
        if (error) failed(unreadable(error));
        else {
          // It may fail before its reader is there, who learns of it then; without a listener the process would end.
          stream.on('error', () => {});
          stream.once('close', () => archive.close());
          done({ stream, entryName: entry.fileName.slice(entry.fileName.lastIndexOf('/') + 1) });
        }
      });
    });
    archive.readEntry();
  });
}

function unreadable(error: Error): DatabaseError {
  return new DatabaseError('Validation', `the archive cannot be read: ${error.message}`, {
    cause: error,
  });
}
