import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Database, RootDatabase } from 'lmdb';
import { openRaw, rawStore } from '../environment/check.ts';
import { environmentFileName } from '../environment/file.ts';
import { EnvironmentUse } from '../environment/use.ts';
import { checksumSize, isIntact } from '../format/checksum.ts';
import { decodeApplied } from '../format/counters.ts';
import {
  entryHeadBytes,
  isIntactPart,
  isManifestPart,
  partHeadBytes,
  type PartManifest,
  readManifestPart,
  sentStores,
} from './part-format.ts';

/** LMDB's, with pages of 4096 bytes. */
const keyBytesMax = 1978;

/** LMDB need not look for the place of a key. Its types do not know of it. */
const behindAll = { append: true } as unknown as number;

/**
 * Makes an environment from the parts of another server's, in order. Nothing of them is trusted: each part and value is compared with its
 * checksum, keys must rise, and at the end the manifest says how many there were. The pages are this server's own.
 * @throws Error naming what is wrong; the environment is of no use then
 */
export class EnvironmentLoader {
  readonly #directory: string;
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #stores: readonly Database<Buffer, Buffer>[];
  #store = 0;
  #lastKey: Buffer = Buffer.alloc(0);
  #partCount = 0;
  #valueCount = 0;
  #hasFormat = false;
  #lastTxId = 0;

  /** @param directory an empty one, on the volume of the databases */
  constructor(directory: string) {
    this.#directory = directory;
    // Nothing of it counts before it was flushed as a whole.
    this.#root = openRaw(directory, { noSync: true });
    this.#stores = sentStores.map((name) => rawStore(this.#root, name));
  }

  /** @returns the manifest when this was it */
  take(part: Buffer): PartManifest | undefined {
    if (!isIntactPart(part))
      throw new Error(`the checksum of part ${this.#partCount} does not match`);
    if (isManifestPart(part)) return this.#requireAll(readManifestPart(part));
    this.#root.transactionSync(() => this.#put(part));
    this.#partCount += 1;
    return undefined;
  }

  /** The files are on the disk, and nobody has them open, when this resolves. */
  async close(): Promise<void> {
    await this.#root.close();
    const file = openSync(join(this.#directory, environmentFileName), 'r+');
    try {
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    rmSync(join(this.#directory, 'lock.mdb'), { force: true });
    // Nobody else has written it: who opens it need not look at its trees.
    new EnvironmentUse(this.#directory).close();
  }

  #requireAll(manifest: PartManifest): PartManifest {
    const { partCount, valueCount, lastTxId } = manifest;
    if (partCount !== this.#partCount || valueCount !== this.#valueCount)
      throw new Error(
        `it has ${this.#partCount} parts and ${this.#valueCount} values, not ${partCount} and ${valueCount}`,
      );
    if (!this.#hasFormat) throw new Error('it holds no database of this server');
    if (lastTxId !== this.#lastTxId)
      throw new Error(`its position is ${this.#lastTxId}, not ${lastTxId}`);
    return manifest;
  }

  #put(part: Buffer): void {
    const place = part[partHeadBytes] as number;
    const store = this.#stores[place];
    if (store === undefined || place < this.#store)
      throw new Error(`part ${this.#partCount} is of no sub-database that may come here`);
    if (place > this.#store) this.#lastKey = Buffer.alloc(0);
    this.#store = place;
    for (let at = partHeadBytes + 1; at < part.length; ) {
      const keyStart = at + entryHeadBytes;
      if (keyStart > part.length) throw new Error(`part ${this.#partCount} is cut`);
      const valueStart = keyStart + part.readUInt16LE(at);
      const end = valueStart + part.readUInt32LE(at + 2);
      if (end > part.length) throw new Error(`part ${this.#partCount} is cut`);
      const key = part.subarray(keyStart, valueStart);
      if (key.length === 0 || key.length > keyBytesMax)
        throw new Error(`a key has ${key.length} bytes`);
      if (Buffer.compare(this.#lastKey, key) >= 0)
        throw new Error(`the keys of '${sentStores[place]}' do not rise`);
      const value = part.subarray(valueStart, end);
      this.#require(place, key, value);
      // Within a transaction it is there at once.
      void store.put(key, value, behindAll);
      this.#lastKey = key;
      this.#valueCount += 1;
      at = end;
    }
  }

  #require(place: number, key: Buffer, value: Buffer): void {
    const name = sentStores[place];
    if (name === 'ix') return;
    if (!isIntact(key, value, 0, value.length))
      throw new Error(`the checksum of a value in '${name}' does not match`);
    if (name !== 'meta') return;
    const metaName = key.toString('latin1');
    if (metaName === 'format') this.#hasFormat = true;
    if (metaName === 'applied')
      this.#lastTxId = decodeApplied(value.subarray(0, value.length - checksumSize)).txId;
  }
}
