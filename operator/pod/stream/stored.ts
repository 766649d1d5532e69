import { createHash } from 'node:crypto';

/*
 * Archives outside of a Cluster: a directory of a volume, or a bucket. Beside each archive lies its description, written last, so an
 * archive that has one is whole.
 */

/** Where archives are kept. Names are paths below it, with `/`. */
export interface ArchiveStore {
  /** Keeps all pieces under the name, or nothing. */
  write(name: string, pieces: AsyncIterable<Uint8Array>): Promise<void>;
  /** @throws Error when there is none of that name */
  read(name: string): Promise<AsyncIterable<Uint8Array>>;
  /** One that is not there is as good as deleted. */
  delete(name: string): Promise<void>;
}

/** What is known of an archive. */
export interface StoredArchive {
  readonly database: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Of the log of the group: everything up to it is in the archive. */
  readonly commitIndex?: number | undefined;
}

const descriptionBytesMax = 64 * 1024;

export function descriptionName(name: string): string {
  return `${name}.json`;
}

/** Counts and digests what passes. */
export class Meter {
  bytes = 0;
  readonly #hash = createHash('sha256');

  async *through(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const piece of pieces) {
      this.bytes += piece.length;
      this.#hash.update(piece);
      yield piece;
    }
  }

  /** Once, at the end. */
  digest(): string {
    return this.#hash.digest('hex');
  }
}

/** Keeps an archive with its description. @param read its pieces; asked for again to check what was kept */
export async function keepArchive(
  store: ArchiveStore,
  name: string,
  about: { readonly database: string; readonly commitIndex?: number | undefined },
  pieces: AsyncIterable<Uint8Array>,
): Promise<StoredArchive> {
  const meter = new Meter();
  await store.write(name, meter.through(pieces));
  const archive: StoredArchive = { ...about, bytes: meter.bytes, sha256: meter.digest() };
  const description = Buffer.from(`${JSON.stringify(archive)}\n`, 'utf8');
  await store.write(descriptionName(name), once(description));
  return archive;
}

/** Reads an archive to its end. @throws Error when it is not what was kept */
export async function* checkedPieces(
  store: ArchiveStore,
  name: string,
  expected: { readonly sha256?: string | undefined },
): AsyncIterable<Uint8Array> {
  const sha256 = expected.sha256 ?? (await readDescription(store, name))?.sha256;
  const meter = new Meter();
  yield* meter.through(await store.read(name));
  const found = meter.digest();
  if (sha256 !== undefined && sha256 !== found)
    throw new Error(
      `archive ${name} is damaged: its SHA-256 is ${found}, and ${sha256} was written`,
    );
}

/** @returns undefined for an archive without one, of which nothing is known */
async function readDescription(
  store: ArchiveStore,
  name: string,
): Promise<StoredArchive | undefined> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const piece of await store.read(descriptionName(name))) {
      parts.push(piece);
      bytes += piece.length;
      if (bytes > descriptionBytesMax) return undefined;
    }
    return JSON.parse(Buffer.concat(parts).toString('utf8')) as StoredArchive;
  } catch {
    return undefined;
  }
}

export async function deleteArchive(store: ArchiveStore, name: string): Promise<void> {
  // The description goes first: what is left of a deletion that was cut off is no archive any more.
  await store.delete(descriptionName(name));
  await store.delete(name);
}

async function* once(piece: Uint8Array): AsyncIterable<Uint8Array> {
  yield piece;
}
