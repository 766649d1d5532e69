import { write, writeSync } from 'node:fs';
import { type FileHandle, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { assert } from '#core/assert.ts';
import type { DatabaseError } from '#core/errors.ts';
import type { LogIndex } from '#core/value/rid.ts';
import type { Histogram } from '#core/instruments.ts';
import type { Clock } from '#core/runtime.ts';
import { ByteWriter } from '../format/byte-writer.ts';
import { isDiskFull, storageFailed } from '../storage-failure.ts';
import { readLog, type ReadSegment, segmentFileName } from './recovery.ts';
import {
  type LogRecord,
  recordFlag,
  recordHeaderSize,
  recordSize,
  recordType,
  sealRecord,
  segmentHeaderSize,
  writeSegmentHeader,
} from './segment.ts';
import { eraseFrom, makeSpare, removeFile, useSpare } from './segment-files.ts';
import { WritePlace } from './write-place.ts';

/** A database that writes little needs no more; the segments after the first one are larger. */
const firstSegmentBytes = 1024 * 1024;
const segmentBytesDefault = 4 * 1024 * 1024;
/** Larger groups do not go through the log: writing them to LMDB at once costs less than writing them twice. */
export const logGroupBytesMax = 512 * 1024;
/** Above this, writers wait for a checkpoint. */
const logBytesMax = 64 * 1024 * 1024;

interface Active {
  readonly path: string;
  readonly file: FileHandle;
  readonly size: number;
  /** CRC of its header, which the headers of its records continue. */
  readonly seed: number;
}

interface ClosedSegment extends ReadSegment {
  /** Full size, so that writing into it again allocates nothing. */
  readonly isReusable: boolean;
}

/** A write that failed: what it has left of itself must not be found. */
interface TornWrite {
  /** Where it began in the active segment; 0 when the header of the segment was part of it. */
  readonly start: number;
  readonly length: number;
  /** As they were before. */
  readonly chain: number;
  readonly image: LogIndex | undefined;
}

export interface CommitLogOptions {
  readonly segmentBytes?: number;
  /** Without it no write is made in place. */
  readonly clock?: Pick<Clock, 'monotonicMs'> | undefined;
  /** Told of each write that succeeded, in seconds; needs the clock. */
  readonly flushSeconds?: Histogram | undefined;
  /** Tests make a write fail with it. */
  readonly write?: typeof write;
}

/**
 * The commit log of one database (storage.md 5, ha.md 3): what is written here is durable, and LMDB follows with its
 * checkpoints. One write is in flight at a time; it is one asynchronous call that is on the disk when it returns (O_DSYNC
 * into a file filled before). Segments are used again once a checkpoint covers them, and removed when the log is closed.
 */
export class CommitLog {
  /** Of the database. */
  readonly #home: string;
  readonly #directory: string;
  readonly #segmentBytes: number;
  readonly #writeFile: typeof write;
  readonly #place: WritePlace | undefined;
  readonly #clock: Pick<Clock, 'monotonicMs'> | undefined;
  readonly #flushSeconds: Histogram | undefined;
  /** Filled segments, oldest first, and what recovery found. */
  readonly #closed: ClosedSegment[] = [];
  #active: Active | undefined;
  #end = 0;
  #chain: number;
  #generation: number;
  #lastIndex: number;
  #checkpointed: LogIndex;
  #records: readonly LogRecord[];
  readonly #spares: string[] = [];
  #spareNumber = 1;
  /** Making and removing files in the background, one thing after the other. */
  #upkeep: Promise<void> = Promise.resolve();
  #isMakingSpare = false;
  #image: LogIndex | undefined;
  readonly #out = new ByteWriter(16 * 1024);
  #isWriting = false;
  #failure: DatabaseError | undefined;
  #torn: TornWrite | undefined;
  #writeCount = 0;
  #writtenBytes = 0;

  /**
   * Reads what the log holds; nothing is written before the first `append`.
   * @param directory of the database
   * @param applied what LMDB holds
   * @throws DatabaseError `CorruptedRecord` when acknowledged entries are damaged or missing
   */
  constructor(directory: string, applied: LogIndex, options: CommitLogOptions = {}) {
    this.#home = directory;
    this.#directory = join(directory, 'commit-log');
    this.#segmentBytes = options.segmentBytes ?? segmentBytesDefault;
    this.#writeFile = options.write ?? write;
    this.#place = options.clock && new WritePlace(options.clock);
    this.#clock = options.clock;
    this.#flushSeconds = options.flushSeconds;
    const found = readLog(this.#directory, applied);
    for (const segment of found.segments) this.#closed.push({ ...segment, isReusable: false });
    this.#records = found.records;
    this.#chain = found.chain;
    this.#generation = found.generation;
    this.#lastIndex = found.segments.length > 0 ? found.lastIndex : applied;
    this.#checkpointed = applied;
    if (applied > this.#lastIndex) this.#image = applied;
  }

  /** Writes to the disk so far, each of them one flush. */
  get writeCount(): number {
    return this.#writeCount;
  }

  /** Bytes of these writes. */
  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  /** The entries behind `applied`, in order. Given once. */
  recover(): readonly LogRecord[] {
    const records = this.#records;
    this.#records = [];
    return records;
  }

  /** Bytes that the records take in the log. */
  static sizeOf(records: readonly LogRecord[]): number {
    let bytes = 0;
    for (const { payload } of records) bytes += recordSize(payload.length);
    return bytes;
  }

  /** False when the group must wait for a checkpoint. */
  hasRoomFor(bytes: number): boolean {
    return this.#closed.length * this.#segmentBytes + bytes <= logBytesMax;
  }

  /**
   * Notes that everything up to `index` is in LMDB and was not in the log as a whole. Travels with the next write: recovery
   * then refuses a data file from before.
   */
  marker(index: LogIndex): void {
    this.#image = index;
  }

  /**
   * Resolves when the records are on the disk.
   * @param isAlone nobody else has wanted to commit since the write before
   * @param isDiskBusy writes take longer than usual for a while
   * @throws DatabaseError `Internal` (rejects) when they could not be written; it is open then whether they are found again,
   *   and nothing can be appended any more, unless `mend` succeeds
   */
  append(records: readonly LogRecord[], isAlone = false, isDiskBusy = false): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    assert(!this.#isWriting, 'one write to the log is in flight at a time');
    this.#isWriting = true;
    const bytes = CommitLog.sizeOf(records) + recordHeaderSize;
    const { index } = records[0] as LogRecord;
    if (this.#active !== undefined && this.#end + bytes <= this.#active.size) {
      return this.#write(records, 0, this.#place?.begin(isAlone, isDiskBusy) ?? false);
    }
    return this.#begin(index, bytes).then(
      () => this.#write(records, segmentHeaderSize, this.#place?.begin(false) ?? false),
      (error: unknown) => {
        throw this.#failed(error);
      },
    );
  }

  /**
   * After an `append` that met a full disk: what it left is erased, and the log goes on where it was before.
   * @throws what keeps it from going on; any other failed write is final
   */
  async mend(): Promise<void> {
    if (this.#failure === undefined) return;
    if (!isDiskFull(this.#failure, this.#home)) throw this.#failure;
    const torn = this.#torn;
    const active = this.#active;
    if (torn !== undefined && active !== undefined) {
      await eraseFrom(active.path, torn.start, torn.length);
      if (torn.start === 0) {
        this.#active = undefined;
        await active.file.close();
        await removeFile(active.path);
      }
    }
    if (torn !== undefined) {
      this.#chain = torn.chain;
      this.#image = torn.image;
    }
    this.#torn = undefined;
    this.#failure = undefined;
  }

  /** Everything up to `index` is in LMDB: segments that hold nothing else are used again or removed. */
  checkpointed(index: LogIndex): void {
    this.#checkpointed = index;
    if (this.#closed.length > 0 && (this.#closed[0] as ClosedSegment).lastIndex <= index) {
      this.#inBackground(() => this.#release());
    }
  }

  /** Removes what LMDB holds; all of it when the last checkpoint was complete. */
  async close(): Promise<void> {
    await this.#upkeep;
    const active = this.#active;
    this.#active = undefined;
    await active?.file.close();
    if (active !== undefined) {
      this.#closed.push({ path: active.path, lastIndex: this.#lastIndex, isReusable: false });
    }
    if (this.#failure !== undefined || this.#lastIndex > this.#checkpointed) return;
    for (const { path } of this.#closed) await removeFile(path);
    for (const path of this.#spares) await removeFile(path);
  }

  // --- writing

  /** @param head bytes at the start of the buffer that are laid already */
  #write(records: readonly LogRecord[], head: number, inPlace: boolean): Promise<void> {
    const active = this.#active as Active;
    const out = this.#out;
    const start = head > 0 ? 0 : this.#end;
    const before = { chain: this.#chain, image: this.#image };
    out.position = head;
    let flags: number = recordFlag.startsWrite;
    if (this.#image !== undefined) {
      const frame = { type: recordType.image, flags, index: this.#image, term: 0 };
      this.#lay(frame, undefined, active.seed);
      this.#image = undefined;
      flags = 0;
    }
    for (const { index, term, payload } of records) {
      this.#lay({ type: recordType.entry, flags, index, term }, payload, active.seed);
      flags = 0;
    }
    const lastIndex = (records.at(-1) as LogRecord).index;
    const startMs = this.#clock?.monotonicMs() ?? 0;
    const ended = (error: Error | null): DatabaseError | undefined => {
      this.#isWriting = false;
      if (inPlace) this.#place?.end();
      if (error !== null) {
        this.#torn = { start, length: out.position, ...before };
        return this.#failed(error);
      }
      this.#end = start + out.position;
      this.#lastIndex = lastIndex;
      this.#writeCount += 1;
      if (this.#clock) this.#flushSeconds?.observe((this.#clock.monotonicMs() - startMs) / 1000);
      this.#writtenBytes += out.position;
      if (this.#end * 2 > active.size) this.#prepareSpare();
      return undefined;
    };
    if (inPlace) {
      const failure = ended(this.#writeInPlace(active.file.fd, start));
      return failure === undefined ? Promise.resolve() : Promise.reject(failure);
    }
    return new Promise((resolve, reject) => {
      this.#writeFrom(active.file.fd, 0, start, (error) => {
        const failure = ended(error);
        if (failure === undefined) resolve();
        else reject(failure);
      });
    });
  }

  #writeInPlace(fd: number, start: number): Error | null {
    const { bytes, position } = this.#out;
    try {
      for (let done = 0; done < position; ) {
        done += writeSync(fd, bytes, done, position - done, start + done);
      }
      return null;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  #lay(
    frame: { type: number; flags: number; index: number; term: number },
    payload: Uint8Array | undefined,
    seed: number,
  ): void {
    const out = this.#out;
    const at = out.position;
    const length = payload?.length ?? 0;
    out.reserve(recordSize(length));
    if (payload !== undefined) out.bytes.set(payload, at + recordHeaderSize);
    this.#chain = sealRecord(out.bytes, out.view, at, length, frame, { seed, chain: this.#chain });
    out.position = at + recordSize(length);
  }

  /** Short writes are normal. */
  #writeFrom(fd: number, from: number, start: number, done: (error: Error | null) => void): void {
    const length = this.#out.position - from;
    this.#writeFile(fd, this.#out.bytes, from, length, start + from, (error, count) => {
      if (error !== null) done(error);
      else if (count < length) this.#writeFrom(fd, from + count, start, done);
      else done(null);
    });
  }

  #failed(error: unknown): DatabaseError {
    this.#isWriting = false;
    this.#failure = storageFailed(error, this.#home, this.#active?.path ?? this.#directory);
    return this.#failure;
  }

  // --- segments

  /** Makes a new segment the active one, its header laid at the start of the buffer. */
  async #begin(firstIndex: LogIndex, bytes: number): Promise<void> {
    // A spare that is being made, or a segment that is being given back, is worth waiting for.
    await this.#upkeep;
    const old = this.#active;
    if (old !== undefined) {
      this.#active = undefined;
      await old.file.close();
      const isReusable = old.size >= this.#segmentBytes;
      this.#closed.push({ path: old.path, lastIndex: this.#lastIndex, isReusable });
    }
    const isFirst = old === undefined;
    const size = isFirst ? Math.min(firstSegmentBytes, this.#segmentBytes) : this.#segmentBytes;
    const needed = Math.max(size, segmentHeaderSize + bytes);
    let spare = this.#spares.shift();
    if (spare === undefined || needed > size) {
      spare = this.#newSparePath();
      await makeSpare(spare, needed);
    }
    const path = join(this.#directory, segmentFileName(firstIndex));
    const file = await useSpare(spare, path);
    const { size: length } = await file.stat();
    this.#generation += 1;
    this.#out.reset();
    this.#out.zeros(segmentHeaderSize);
    const seed = writeSegmentHeader(this.#out.bytes, {
      generation: this.#generation,
      firstIndex,
      previousIndex: this.#lastIndex,
      chain: this.#chain,
    });
    this.#active = { path, file, size: length, seed };
  }

  #newSparePath(): string {
    return join(this.#directory, `seg-spare-${this.#generation}${this.#spareNumber++}.log`);
  }

  #prepareSpare(): void {
    if (this.#isMakingSpare || this.#spares.length > 0 || this.#closed.length > 0) return;
    this.#isMakingSpare = true;
    this.#inBackground(async () => {
      try {
        const path = this.#newSparePath();
        await makeSpare(path, this.#segmentBytes);
        this.#spares.push(path);
      } finally {
        this.#isMakingSpare = false;
      }
    });
  }

  /** A failure here is no failure of a commit: the next segment is then made when it is needed. */
  #inBackground(work: () => Promise<void>): void {
    this.#upkeep = this.#upkeep.then(work).catch(() => {});
  }

  async #release(): Promise<void> {
    while (this.#closed.length > 0) {
      const { path, lastIndex, isReusable } = this.#closed[0] as ClosedSegment;
      if (lastIndex > this.#checkpointed) return;
      this.#closed.shift();
      if (this.#spares.length === 0 && isReusable) {
        const spare = this.#newSparePath();
        await rename(path, spare);
        this.#spares.push(spare);
      } else await removeFile(path);
    }
  }
}
