import type { ImageMemory } from '../checkpoint/image-memory.ts';
import { keyAfterPrefix } from '../format/ordered-key.ts';
import type { PinnedReader } from '../read/pinned-reader.ts';
import { BytesKey, type SubDatabases } from '../format/sub-databases.ts';
import { putSealed, removal, type Write } from '../checkpoint/write-batch.ts';

/** All keys of a sub-database that start with a prefix are to go: entries of a dropped index, data of a dropped bucket. */
export interface PrefixDeletion {
  readonly store: 'ix' | 'ft' | 'blk' | 'big' | 'adj';
  readonly prefix: Uint8Array;
}

interface Job extends PrefixDeletion {
  readonly key: BytesKey;
}

/** Keys deleted per commit: some hundred microseconds of the main thread. */
const keysPerSlice = 500;

/**
 * Deletions that outlast their commit. Each has a record in the sub-database `job`, written by the commit that asked for
 * it, and is worked off in small slices that ride in ordinary commits; after a stop it goes on where it was.
 */
export class DeletionJobs {
  readonly #waiting: Job[] = [];
  #nextNumber = 1;

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Takes up what is stored, and nothing else: the changes of a commit that failed are forgotten. */
  load(reader: PinnedReader): void {
    this.#waiting.length = 0;
    const { job, sink } = reader.subs;
    sink.length = 0;
    const lengths = [
      ...job.getKeys({
        start: new BytesKey(new Uint8Array(8)),
        end: new BytesKey(new Uint8Array(9).fill(0xff)),
        limit: 1_000_000,
        transaction: reader.options.transaction,
      }),
    ];
    const keys = new Uint8Array(sink.bytes.subarray(0, sink.length));
    lengths.forEach((end, i) => {
      const key = new BytesKey(keys.slice(i === 0 ? 0 : lengths[i - 1], end));
      const number = Number(Buffer.from(key.bytes).readBigUInt64BE());
      this.#nextNumber = Math.max(this.#nextNumber, number + 1);
      if (!reader.findChecked(job, key, () => `background job ${number}`)) return;
      this.#waiting.push({ ...decodeJob(reader.window.body()), key });
    });
  }

  /** The record of a new job, to be written with the commit that asks for it; `begin` follows when it is durable. */
  recordOf(deletion: PrefixDeletion, reader: PinnedReader, memory: ImageMemory): Write {
    const number = Buffer.alloc(8);
    number.writeBigUInt64BE(BigInt(this.#nextNumber++));
    const key = new BytesKey(number);
    const body = Buffer.from(
      JSON.stringify({
        store: deletion.store,
        prefix: Buffer.from(deletion.prefix).toString('hex'),
      }),
    );
    this.#waiting.push({ ...deletion, key });
    return putSealed(reader.subs.job, key, number, memory, body);
  }

  /** The next deletions of the first job; its record goes with the last of them. */
  slice(reader: PinnedReader): Write[] {
    const job = this.#waiting[0];
    if (job === undefined) return [];
    const keys = keysWithPrefix(reader, job.store, job.prefix);
    const store = reader.subs[job.store];
    const writes: Write[] = keys.map((key) => removal(store, key));
    if (keys.length < keysPerSlice) {
      this.#waiting.shift();
      writes.push(removal(reader.subs.job, job.key));
    }
    return writes;
  }
}

function decodeJob(bytes: Uint8Array): PrefixDeletion {
  const { store, prefix } = JSON.parse(Buffer.from(bytes).toString('latin1')) as {
    store: PrefixDeletion['store'];
    prefix: string;
  };
  return { store, prefix: Buffer.from(prefix, 'hex') };
}

function keysWithPrefix(
  reader: PinnedReader,
  store: keyof SubDatabases & PrefixDeletion['store'],
  prefix: Uint8Array,
): BytesKey[] {
  const { sink } = reader.subs;
  sink.length = 0;
  const lengths = [
    ...reader.subs[store].getKeys({
      start: new BytesKey(prefix),
      end: new BytesKey(keyAfterPrefix(prefix)),
      limit: keysPerSlice,
      transaction: reader.options.transaction,
    }),
  ];
  const bytes = new Uint8Array(sink.bytes.subarray(0, sink.length));
  return lengths.map((end, i) => new BytesKey(bytes.subarray(i === 0 ? 0 : lengths[i - 1], end)));
}
