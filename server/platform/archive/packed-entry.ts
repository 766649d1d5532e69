import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { promisify } from 'node:util';
import { constants, crc32, deflateRaw } from 'node:zlib';
import type yazl from 'yazl';

/*
 * An entry of a ZIP archive that is deflated on several threads. The package deflates in one stream, one piece at a time, and reckons
 * checksums in JavaScript; so here its entry is written by us, and told what came of it. This file alone knows how it does that
 * (its version is pinned).
 */

/** Deflated at the same time, or waiting for those before. */
const piecesAhead = 3;
/** The end of a stream of blocks: an empty last one. */
const lastBlock = Buffer.from([3, 0]);

const deflate = promisify<Uint8Array, object, Buffer>(deflateRaw);

/** What the package keeps of an entry whose bytes are not known before. */
interface Entry {
  crc32: number | null;
  uncompressedSize: number | null;
  compressedSize: number | null;
  state: number;
  getDataDescriptor(): Buffer;
}

interface Archive {
  readonly entries: readonly Entry[];
  readonly outputStream: Writable;
  outputStreamCursor: number;
}

const dataIsDone = 3;

export interface PackedEntry {
  readonly name: string;
  /** 0: as they are. */
  readonly compressionLevel: number;
  /** Not changed any more once they are given. */
  readonly pieces: AsyncIterable<Uint8Array>;
  readonly mode: number;
  /** Nobody takes the archive any more. */
  readonly signal: AbortSignal;
}

/**
 * Writes an entry as fast as the archive is taken. The next one, or the end of the archive, may be asked for once it resolves.
 * Memory: some pieces.
 */
export async function addPackedEntry(
  archive: yazl.ZipFile,
  { name, compressionLevel, pieces, mode, signal }: PackedEntry,
): Promise<void> {
  const inner = archive as unknown as Archive;
  await new Promise<void>((begun) => {
    archive.addReadStreamLazy(name, { compressionLevel, mode }, () => begun());
  });
  const entry = inner.entries.at(-1) as Entry;
  let size = 0;
  let checksum = 0;
  async function* read(): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      size += piece.length;
      checksum = crc32(piece, checksum);
      yield piece;
    }
  }
  const write = async (bytes: Uint8Array): Promise<void> => {
    signal.throwIfAborted();
    inner.outputStreamCursor += bytes.length;
    if (!inner.outputStream.write(bytes)) await once(inner.outputStream, 'drain', { signal });
  };
  const start = inner.outputStreamCursor;
  const packed = compressionLevel === 0 ? read() : deflated(read(), compressionLevel);
  for await (const bytes of packed) await write(bytes);
  entry.crc32 = checksum;
  entry.uncompressedSize = size;
  entry.compressedSize = inner.outputStreamCursor - start;
  await write(entry.getDataDescriptor());
  entry.state = dataIsDone;
}

/** Each piece by itself, ended at a whole byte: one stream of deflated blocks together. */
async function* deflated(
  pieces: AsyncIterable<Uint8Array>,
  level: number,
): AsyncGenerator<Uint8Array> {
  const options = { level, memLevel: 9, finishFlush: constants.Z_SYNC_FLUSH };
  const underWay: Promise<Buffer>[] = [];
  try {
    for await (const piece of pieces) {
      underWay.push(deflate(piece, { ...options, chunkSize: piece.length + 1024 }));
      if (underWay.length >= piecesAhead) yield (await underWay.shift()) as Buffer;
    }
    for (;;) {
      const next = underWay.shift();
      if (next === undefined) break;
      yield await next;
    }
    yield lastBlock;
  } finally {
    await Promise.allSettled(underWay);
  }
}
