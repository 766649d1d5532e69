import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Database, RangeOptions, RootDatabase } from 'lmdb';
import type { LogIndex } from '#core/value/rid.ts';
import { openRaw, rawStore } from '../environment/check.ts';
import { environmentFileName } from '../environment/file.ts';
import { checksumSize } from '../format/checksum.ts';
import { decodeApplied } from '../format/counters.ts';
import type { ReadTransaction } from '../format/sub-databases.ts';
import {
  entryHeadBytes,
  manifestPart,
  partBytes,
  partHeadBytes,
  type PartManifest,
  sealPart,
  sentStores,
} from './part-format.ts';

/** Where a part begins. */
interface Start {
  /** Place of the sub-database. */
  readonly store: number;
  /** Absent: with its first key. */
  readonly key?: Buffer | undefined;
  /** In the parts before. */
  readonly valueCount: number;
}

/**
 * One state of an environment, in parts. The state is that of the moment when this was made, pinned by a read transaction: the same part
 * is the same bytes, whatever is written meanwhile. It runs in a process of its own, beside the server that has the environment open.
 */
export class EnvironmentParts {
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #stores: readonly Database<Buffer, Buffer>[];
  readonly #transaction: ReadTransaction;
  readonly #about: Pick<PartManifest, 'database' | 'uuid' | 'appliedIndex'>;
  /** Of the parts that were asked for so far, and of the next one. */
  readonly #starts: Start[] = [{ store: 0, valueCount: 0 }];
  readonly lastTxId: number;

  constructor(directory: string, about: Pick<PartManifest, 'database' | 'uuid' | 'appliedIndex'>) {
    this.#about = about;
    // The binding makes a directory that is not there, as of a database that was dropped meanwhile.
    if (!existsSync(join(directory, environmentFileName)))
      throw new Error(`there is no database in '${directory}' any more`);
    this.#root = openRaw(directory, { readOnly: true });
    this.#stores = sentStores.map((name) => rawStore(this.#root, name));
    this.#root.resetReadTxn();
    this.#transaction = this.#root.useReadTransaction();
    this.lastTxId = this.#applied().txId;
  }

  /** @returns undefined behind the manifest @throws Error for a part whose predecessor was not asked for yet */
  part(number: number): Buffer | undefined {
    const start = this.#starts[number];
    if (start === undefined) throw new Error(`there is no part ${number} yet`);
    if (start.store > sentStores.length) return undefined;
    if (start.store === sentStores.length) return this.#manifest(number, start);
    const { entries, next, size } = this.#entries(start);
    if (entries.length === 0) {
      // The next sub-database takes the place of one that ends here.
      this.#starts[number] = next;
      return this.part(number);
    }
    this.#starts[number + 1] = next;
    return sealPart(packed(start.store, entries, size));
  }

  async close(): Promise<void> {
    this.#transaction.done();
    await this.#root.close();
  }

  #applied() {
    const key = Buffer.from('applied', 'latin1');
    const range: RangeOptions = { start: key, transaction: this.#transaction, limit: 1 };
    for (const { key: found, value } of (this.#stores[0] as Database<Buffer, Buffer>).getRange(
      range,
    ))
      if (found.equals(key)) return decodeApplied(value.subarray(0, value.length - checksumSize));
    return { index: 0 as LogIndex, term: 0, txId: 0 };
  }

  #manifest(number: number, start: Start): Buffer {
    this.#starts[number + 1] = { ...start, store: start.store + 1 };
    const { lastTxId } = this;
    const { valueCount } = start;
    return manifestPart({
      version: 1,
      ...this.#about,
      lastTxId,
      partCount: number,
      valueCount,
    });
  }

  #entries(start: Start): {
    readonly entries: readonly Entry[];
    readonly next: Start;
    readonly size: number;
  } {
    const entries: Entry[] = [];
    let size = 0;
    const store = this.#stores[start.store] as Database<Buffer, Buffer>;
    const range: RangeOptions = { transaction: this.#transaction };
    if (start.key !== undefined) range.start = start.key;
    for (const entry of store.getRange(range)) {
      const length = entryHeadBytes + entry.key.length + entry.value.length;
      if (size > 0 && size + length > partBytes) {
        const valueCount = start.valueCount + entries.length;
        return { entries, next: { store: start.store, key: entry.key, valueCount }, size };
      }
      size += length;
      entries.push(entry);
    }
    const valueCount = start.valueCount + entries.length;
    return { entries, next: { store: start.store + 1, valueCount }, size };
  }
}

interface Entry {
  readonly key: Buffer;
  readonly value: Buffer;
}

function packed(store: number, entries: readonly Entry[], size: number): Buffer {
  const part = Buffer.allocUnsafeSlow(partHeadBytes + 1 + size);
  part[partHeadBytes] = store;
  let at = partHeadBytes + 1;
  for (const { key, value } of entries) {
    part.writeUInt16LE(key.length, at);
    part.writeUInt32LE(value.length, at + 2);
    part.set(key, at + entryHeadBytes);
    part.set(value, at + entryHeadBytes + key.length);
    at += entryHeadBytes + key.length + value.length;
  }
  return part;
}
