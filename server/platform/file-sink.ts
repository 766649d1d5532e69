import { type FileHandle, open } from 'node:fs/promises';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';

const highWaterMark = 256 * 1024;

/** A stream that ends in an open file. The caller closes the file. */
export function fileSink(file: FileHandle, onWrite: (bytes: number) => void = () => {}): Writable {
  return new Writable({
    highWaterMark,
    write(piece: Uint8Array, _encoding, done) {
      writeAll(file, piece).then(() => {
        onWrite(piece.length);
        done();
      }, done);
    },
  });
}

async function writeAll(file: FileHandle, piece: Uint8Array): Promise<void> {
  for (let at = 0; at < piece.length; ) {
    const { bytesWritten } = await file.write(piece, at);
    at += bytesWritten;
  }
}

/**
 * Writes pieces to a new file, packed with gzip when asked for; the next piece is taken when there is room. The file is on the
 * disk when this resolves, and may be there in part when it rejects.
 * @returns bytes of the file
 */
export async function writePieces(
  path: string,
  pieces: AsyncIterable<Uint8Array | string>,
  options: { readonly isPacked: boolean; readonly signal: AbortSignal },
): Promise<number> {
  const file = await open(path, 'wx', 0o600);
  let size = 0;
  try {
    const source = Readable.from(pieces, { objectMode: false });
    const stages = options.isPacked ? [createGzip({ level: constants.Z_BEST_SPEED })] : [];
    const sink = fileSink(file, (bytes) => {
      size += bytes;
    });
    await pipeline([source, ...stages, sink], { signal: options.signal });
    await file.sync();
  } finally {
    await file.close();
  }
  return size;
}
