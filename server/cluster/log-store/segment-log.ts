import { join } from 'node:path';
import type { Entry, HardState, Index, Term } from '#raft/vocabulary.ts';
import {
  encodeSegmentHeader,
  type LogRecord,
  readRecord,
  recordBytes,
  recordHeaderBytes,
  recordType,
  seedOf,
  segmentHeaderBytes,
  writeRecord,
} from './frame.ts';
import { type LogDisk, type LogFile, systemLogDisk, writeAll } from './log-disk.ts';
import type { LogLayout, Segment } from './log-layout.ts';
import { hardStateRecord, LogRecovery, type Recovered, segmentName } from './log-recovery.ts';

/** One write, in order, durable as a whole. */
export interface LogJob {
  readonly entries: readonly Entry[];
  readonly hardState: HardState | undefined;
  readonly mustSync: boolean;
}

export interface SegmentLogOptions {
  readonly directory: string;
  readonly storageId: string;
  readonly clusterId?: string | undefined;
  readonly earlierClusterIds?: readonly string[] | undefined;
  /** The snapshot that the directory holds. */
  readonly after: { readonly index: Index; readonly term: Term };
  readonly segmentBytes: number;
  /** Data of the newest entries that the start hands out. */
  readonly newestBytesMax: number;
  readonly disk?: LogDisk;
}

/** Zeros are written ahead in steps of this size: a write into them changes no metadata and cannot meet a full disk. */
const zeroStepBytes = 4 * 1024 * 1024;
const spareStepBytes = 1024 * 1024;
const spareName = 'seg-spare-1.log';
const readAheadBytes = 256 * 1024;

interface Active {
  readonly file: LogFile;
  readonly segment: Segment;
  readonly seed: number;
}

/**
 * Segment files of one directory, by blocking calls: it lives in the log worker (ha.md 1.3, 3). Whatever fails throws and changes
 * nothing of what the log says; the log must then be opened anew.
 */
export class SegmentLog {
  readonly #options: SegmentLogOptions;
  readonly #disk: LogDisk;
  readonly #layout: LogLayout;
  #clusterId: string | undefined;
  #active: Active | undefined;
  #at = 0;
  /** Everything before is on the disk. */
  #flushedTo = 0;
  #zeroedTo = 0;
  #chain: number;
  #hardState: HardState;
  #spare: { file: LogFile; bytes: number } | undefined;
  #hasSpare = false;
  flushes = 0;

  /** @throws Error that says which file is damaged and how */
  static open(options: SegmentLogOptions): {
    readonly log: SegmentLog;
    readonly recovered: Recovered;
  } {
    const { directory, storageId, clusterId, earlierClusterIds, newestBytesMax, after } = options;
    const disk = options.disk ?? systemLogDisk;
    disk.makeDirectory(directory);
    const owner = { directory, storageId, clusterId, earlierClusterIds };
    const found = new LogRecovery({ disk, ...owner, newestBytesMax });
    const log = new SegmentLog(options, disk, found);
    log.#continueActive(found);
    const isSuperseded = log.#yieldTo(after);
    const { layout } = found;
    const { first, last } = layout;
    // Entries before the snapshot that are still there help followers that are a little late.
    const before =
      layout.isEmpty || first > after.index
        ? after
        : { index: first, term: layout.termOf(first) ?? 0 };
    const recovered = {
      hardState: { ...found.hardState, commit: Math.min(found.hardState.commit, last) },
      before,
      last,
      terms: [...layout.runs],
      newest: isSuperseded ? [] : found.newest.filter(({ index }) => index > before.index),
      confEntries: isSuperseded ? [] : found.confEntriesBehind(after.index),
    };
    return { log, recovered };
  }

  private constructor(options: SegmentLogOptions, disk: LogDisk, found: LogRecovery) {
    this.#options = options;
    this.#disk = disk;
    this.#layout = found.layout;
    this.#chain = found.chain;
    this.#hardState = found.hardState;
    this.#clusterId = options.clusterId;
    for (const name of disk.names(options.directory))
      if (name.startsWith('seg-spare-')) disk.remove(join(options.directory, name));
  }

  get last(): Index {
    return this.#layout.last;
  }

  get hardState(): HardState {
    return this.#hardState;
  }

  /** What segments that begin from now on say. */
  set clusterId(id: string | undefined) {
    this.#clusterId = id;
  }

  append(job: LogJob): void {
    this.#write(recordsOf(job, this.#layout.last), job.entries[0]?.index ?? this.#layout.last + 1);
    this.#hardState = job.hardState ?? this.#hardState;
    if (job.mustSync) this.sync();
  }

  /** One vote although the disk is full: what the reserve has given back is enough for it (ha.md 3.7). */
  appendVote(hardState: HardState): void {
    if (this.#active === undefined) throw new Error('no segment is open');
    this.#put([hardStateRecord(hardState)], this.#active);
    this.#hardState = hardState;
    this.sync();
  }

  sync(): void {
    if (this.#active === undefined || this.#flushedTo === this.#at) return;
    this.#disk.flush(this.#active.file);
    this.#flushedTo = this.#at;
    this.flushes += 1;
  }

  /** Entries from `low`, below `high`, within `bytesMax`, but at least one. @throws Error on damage */
  read(low: Index, high: Index, bytesMax: number): readonly Entry[] {
    const found: Entry[] = [];
    let bytes = 0;
    let reader: SegmentReader | undefined;
    try {
      for (let index = low; index < high; index++) {
        const place = this.#layout.placeOf(index);
        if (place === undefined) break;
        if (reader?.segment !== place.segment) {
          reader?.close();
          const aheadBytes = Math.min(readAheadBytes, bytesMax);
          const { storageId } = this.#options;
          reader = new SegmentReader(this.#disk, place.segment, { storageId, aheadBytes });
        }
        const entry = reader.entry(place.at, index);
        bytes += entry.data.length;
        if (found.length > 0 && bytes > bytesMax) break;
        found.push(entry);
      }
    } finally {
      reader?.close();
    }
    return found;
  }

  /** Whole segments that hold nothing above `index` go. */
  purgeTo(index: Index): void {
    for (const { path } of this.#layout.takeBelow(index)) {
      this.#disk.remove(path);
      // One by one: an older file that came back without a younger one would look like a log with a hole.
      this.#disk.flushDirectory(this.#options.directory);
    }
  }

  /** A snapshot takes the place of everything. The new segment is there before the old ones go: it carries the vote. */
  reset(index: Index, hardState: HardState): void {
    this.#hardState = hardState;
    this.#begin(index + 1, restartRecord(index));
    this.#layout.restart(index);
    this.purgeTo(index);
  }

  /** Does a step of the work that is not urgent: the next segment. @returns whether there is more */
  upkeep(): boolean {
    if (this.#hasSpare || this.#active === undefined) return false;
    const { segmentBytes, directory } = this.#options;
    if (this.#at * 2 < segmentBytes) return false;
    this.#spare ??= { file: this.#disk.open(join(directory, spareName), 'new'), bytes: 0 };
    const { file, bytes } = this.#spare;
    const step = Math.min(spareStepBytes, segmentBytes - bytes);
    try {
      writeAll(this.#disk, file, Buffer.alloc(step), bytes);
      this.#disk.flush(file);
    } catch {
      // The next segment is then made when it is needed.
      this.#spare = undefined;
      this.#disk.close(file);
      this.#disk.remove(join(directory, spareName));
      return false;
    }
    this.#spare.bytes += step;
    if (this.#spare.bytes < segmentBytes) return true;
    this.#disk.close(file);
    this.#spare = undefined;
    this.#hasSpare = true;
    return false;
  }

  /** In order: what is missing of the log later on was lost by the disk. */
  close(): void {
    if (this.#spare !== undefined) this.#disk.close(this.#spare.file);
    this.#spare = undefined;
    if (this.#active === undefined) return;
    this.sync();
    this.#write([{ ...emptyRecord, type: recordType.end }], this.#layout.last + 1);
    this.sync();
    this.#release();
  }

  /** After a failure: nothing is written any more. */
  abandon(): void {
    if (this.#spare !== undefined) this.#disk.close(this.#spare.file);
    this.#spare = undefined;
    this.#release();
  }

  #release(): void {
    const active = this.#active;
    this.#active = undefined;
    if (active !== undefined) this.#disk.close(active.file);
  }

  // --- writing

  #write(records: readonly LogRecord[], firstIndex: Index): void {
    let bytes = 0;
    for (const { payload } of records) bytes += recordBytes(payload.length);
    if (bytes === 0) return;
    const isFull =
      this.#at + bytes > Math.max(this.#options.segmentBytes, this.#zeroedTo) &&
      this.#at > segmentHeaderBytes;
    if (this.#active === undefined || isFull) this.#begin(firstIndex, undefined);
    const active = this.#active as Active;
    this.#writeZerosAhead(active.file, this.#at + bytes);
    this.#put(records, active);
  }

  #put(records: readonly LogRecord[], { file, seed }: Active): void {
    const start = this.#at;
    let bytes = 0;
    for (const { payload } of records) bytes += recordBytes(payload.length);
    const buffer = Buffer.allocUnsafe(bytes);
    let at = 0;
    let chain = this.#chain;
    for (const record of records) {
      const isFlushedBefore = at === 0 && this.#flushedTo === start;
      chain = writeRecord(buffer, at, record, { seed, chain, isFlushedBefore });
      at += recordBytes(record.payload.length);
    }
    writeAll(this.#disk, file, buffer, start);
    this.#at = start + bytes;
    this.#chain = chain;
    at = start;
    for (const { type, index, term, payload } of records) {
      if (type === recordType.truncate) this.#layout.cutFrom(index);
      if (type === recordType.entry) this.#layout.add(at, term);
      at += recordBytes(payload.length);
    }
  }

  /**
   * The hard state opens each segment, since older ones go. On the disk, with its name, when it returns. When there is no room
   * for it the log is as before.
   */
  #begin(firstIndex: Index, extra: LogRecord | undefined): void {
    const { directory, segmentBytes, storageId } = this.#options;
    this.sync();
    const old = {
      active: this.#active,
      at: this.#at,
      zeroedTo: this.#zeroedTo,
      chain: this.#chain,
    };
    const number = (this.#layout.segments.at(-1)?.number ?? 0) + 1;
    const path = join(directory, segmentName(number));
    const isSpare = this.#hasSpare;
    if (isSpare) this.#disk.rename(join(directory, spareName), path);
    this.#hasSpare = false;
    const file = this.#disk.open(path, isSpare ? 'write' : 'new');
    const clusterId = this.#clusterId ?? '';
    const header = { number, storageId, clusterId, firstIndex, chain: this.#chain };
    const seed = seedOf(storageId, number);
    const segment = { number, path, firstIndex, starts: [] };
    this.#active = { file, segment, seed };
    this.#zeroedTo = isSpare ? segmentBytes : 0;
    this.#at = segmentHeaderBytes;
    this.#flushedTo = 0;
    this.#chain = seed;
    try {
      this.#writeZerosAhead(file, segmentHeaderBytes);
      writeAll(this.#disk, file, encodeSegmentHeader(header), 0);
      const records = [hardStateRecord(this.#hardState)];
      this.#put(extra === undefined ? records : [...records, extra], this.#active);
    } catch (error) {
      this.#disk.close(file);
      this.#disk.remove(path);
      this.#active = old.active;
      this.#at = old.at;
      this.#flushedTo = old.at;
      this.#zeroedTo = old.zeroedTo;
      this.#chain = old.chain;
      throw error;
    }
    this.#layout.segments.push(segment);
    if (old.active !== undefined) this.#disk.close(old.active.file);
    this.sync();
    this.#disk.flushDirectory(directory);
  }

  #writeZerosAhead(file: LogFile, end: number): void {
    while (end > this.#zeroedTo) {
      const step = Math.min(zeroStepBytes, Math.max(this.#options.segmentBytes, 4096));
      writeAll(this.#disk, file, Buffer.alloc(step), this.#zeroedTo);
      this.#disk.flush(file);
      this.#zeroedTo += step;
    }
  }

  // --- opening

  #continueActive({ active }: LogRecovery): void {
    const segment = this.#layout.segments.at(-1);
    if (active === undefined || segment === undefined) return;
    const file = this.#disk.open(segment.path, 'write');
    this.#active = { file, segment, seed: seedOf(this.#options.storageId, segment.number) };
    this.#at = active.at;
    this.#zeroedTo = active.fileBytes;
    if (active.isTorn)
      writeAll(this.#disk, file, Buffer.alloc(active.fileBytes - active.at), active.at);
    // A flush that failed may have left the end in memory only, which looks whole until the power fails: it is written again.
    const { flushedTo } = active;
    writeAll(this.#disk, file, active.bytes.subarray(flushedTo, active.at), flushedTo);
    this.#disk.flush(file);
    this.#disk.flushDirectory(this.#options.directory);
    this.#flushedTo = active.at;
  }

  /** A snapshot that was noted, and whose place in the log the crash kept from being made. @returns whether it supersedes all */
  #yieldTo({ index, term }: { readonly index: Index; readonly term: Term }): boolean {
    const layout = this.#layout;
    if (layout.isEmpty) {
      if (layout.last === index) return false;
      if (layout.last > index && layout.segments.length > 0)
        throw new Error(
          `the Raft log begins behind entry ${layout.last}, the snapshot is at ${index}`,
        );
      if (layout.segments.length > 0) this.reset(index, this.#hardState);
      else layout.last = index;
      return true;
    }
    if (layout.first > index + 1)
      throw new Error(`the Raft log has no entry ${index + 1} but one ${layout.first}`);
    const isWithin = layout.first === index + 1 || layout.termOf(index) === term;
    if (isWithin) return false;
    this.reset(index, this.#hardState);
    return true;
  }
}

/** Reads entries of one segment, several with one call. */
class SegmentReader {
  readonly segment: Segment;
  readonly #disk: LogDisk;
  readonly #file: LogFile;
  readonly #seed: number;
  readonly #aheadBytes: number;
  #bytes = Buffer.alloc(0);
  #from = 0;

  constructor(
    disk: LogDisk,
    segment: Segment,
    { storageId, aheadBytes }: { readonly storageId: string; readonly aheadBytes: number },
  ) {
    this.segment = segment;
    this.#disk = disk;
    this.#aheadBytes = aheadBytes;
    this.#file = disk.open(segment.path, 'read');
    this.#seed = seedOf(storageId, segment.number);
  }

  entry(at: number, index: Index): Entry {
    this.#bring(at, recordHeaderBytes);
    this.#bring(at, recordBytes(this.#bytes.readUInt32LE(at - this.#from)));
    const record = readRecord(this.#bytes, at - this.#from, this.#seed, undefined);
    if (record?.index !== index)
      throw new Error(`${this.segment.path} is damaged at byte ${at}, where entry ${index} was`);
    const { term, kind, payload } = record;
    // A view: whoever reads copies it on.
    const data = new Uint8Array(payload.buffer, payload.byteOffset, payload.length);
    return { index, term, kind, data };
  }

  close(): void {
    this.#disk.close(this.#file);
  }

  #bring(at: number, length: number): void {
    if (at >= this.#from && at + length <= this.#from + this.#bytes.length) return;
    const target = Buffer.allocUnsafe(Math.max(length, this.#aheadBytes));
    let done = 0;
    while (done < target.length) {
      const count = this.#disk.read(this.#file, target.subarray(done), at + done);
      if (count === 0) break;
      done += count;
    }
    if (done < length) throw new Error(`${this.segment.path} ends at byte ${at + done}`);
    this.#bytes = target.subarray(0, done);
    this.#from = at;
  }
}

const emptyRecord = { kind: 'normal', index: 0, term: 0, payload: new Uint8Array(0) } as const;

function restartRecord(index: Index): LogRecord {
  return { ...emptyRecord, type: recordType.restart, index };
}

function recordsOf({ entries, hardState }: LogJob, last: Index): LogRecord[] {
  const records: LogRecord[] = [];
  const first = entries[0]?.index ?? Number.POSITIVE_INFINITY;
  if (first <= last) records.push({ ...emptyRecord, type: recordType.truncate, index: first });
  for (const { index, term, kind, data } of entries)
    records.push({ type: recordType.entry, kind, index, term, payload: data });
  if (hardState !== undefined) records.push(hardStateRecord(hardState));
  return records;
}
