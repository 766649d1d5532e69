import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Entry, HardState, Index, Term } from '#raft/vocabulary.ts';
import {
  decodeSegmentHeader,
  encodeSegmentHeader,
  type LogRecord,
  readRecord,
  recordBytes,
  recordType,
  segmentHeaderBytes,
  writeRecord,
} from './frame.ts';

/** One write, in order, durable as a whole. */
export interface LogJob {
  readonly entries: readonly Entry[];
  readonly hardState: HardState | undefined;
  readonly mustSync: boolean;
}

export interface Recovered {
  readonly hardState: HardState;
  /** Index and term of every entry, oldest first; data of the newest ones only. */
  readonly terms: readonly { readonly index: Index; readonly term: Term }[];
  readonly newest: readonly Entry[];
  readonly confEntries: readonly Entry[];
}

interface Place {
  readonly segment: Segment;
  readonly at: number;
  readonly term: Term;
}

interface Segment {
  readonly path: string;
  readonly firstIndex: Index;
  /** Index of the last entry; below the first one: none. */
  lastIndex: Index;
}

/** Zeros are written ahead in steps of this size: a write into them changes no metadata and cannot meet a full disk. */
const zeroStepBytes = 4 * 1024 * 1024;

/**
 * Segment files of one directory, by blocking calls: it lives in the log worker (ha.md 1.3, 3). A full disk or a failed write
 * throws; the log must then be opened anew.
 */
export class SegmentLog {
  readonly #directory: string;
  readonly #storageId: string;
  readonly #segmentBytes: number;
  #segments: Segment[] = [];
  #places = new Map<Index, Place>();
  #last: Index = 0;
  #first: Index = 1;
  #file = -1;
  #at = 0;
  #zeroedTo = 0;
  #running = 0;
  #hardState: HardState = { term: 0, vote: null, commit: 0 };
  flushes = 0;

  /** @throws Error that says which file is damaged and how */
  static open(
    directory: string,
    storageId: string,
    after: Index,
    segmentBytes: number,
    newestBytesMax: number,
  ): { readonly log: SegmentLog; readonly recovered: Recovered } {
    mkdirSync(directory, { recursive: true });
    const log = new SegmentLog(directory, storageId, segmentBytes);
    return { log, recovered: log.#recover(after, newestBytesMax) };
  }

  private constructor(directory: string, storageId: string, segmentBytes: number) {
    this.#directory = directory;
    this.#storageId = storageId;
    this.#segmentBytes = segmentBytes;
  }

  append(job: LogJob): void {
    this.#hardState = job.hardState ?? this.#hardState;
    const records = recordsOf(job, this.#last);
    let bytes = 0;
    for (const { payload } of records) bytes += recordBytes(payload.length);
    if (bytes === 0) return;
    const isFull = this.#at + bytes > this.#segmentBytes && this.#at > segmentHeaderBytes;
    if (this.#file < 0 || isFull) this.#beginSegment(job.entries[0]?.index ?? this.#last + 1);
    const buffer = Buffer.allocUnsafe(bytes);
    let at = 0;
    for (const record of records) {
      this.#running = writeRecord(buffer, at, record, this.#running);
      this.#note(record, this.#at + at);
      at += recordBytes(record.payload.length);
    }
    this.#writeZerosAhead(this.#at + bytes);
    writeAll(this.#file, buffer, this.#at);
    this.#at += bytes;
    if (job.mustSync) this.sync();
  }

  sync(): void {
    if (this.#file < 0) return;
    fdatasyncSync(this.#file);
    this.flushes += 1;
  }

  /** Entries from `low`, below `high`, at least one. */
  read(low: Index, high: Index, bytesMax: number): readonly Entry[] {
    const found: Entry[] = [];
    let bytes = 0;
    let file = -1;
    let path = '';
    try {
      for (let index = low; index < high; index++) {
        const place = this.#places.get(index);
        if (place === undefined) break;
        if (place.segment.path !== path) {
          if (file >= 0) closeSync(file);
          path = place.segment.path;
          file = openSync(path, 'r');
        }
        const entry = readEntry(file, place.at);
        bytes += entry.data.length;
        if (found.length > 0 && bytes > bytesMax) break;
        found.push(entry);
      }
    } finally {
      if (file >= 0) closeSync(file);
    }
    return found;
  }

  /** Whole segments that hold nothing above `index` go. */
  purgeTo(index: Index): void {
    while (this.#segments.length > 1 && (this.#segments[0]?.lastIndex ?? index + 1) <= index) {
      const segment = this.#segments.shift() as Segment;
      unlinkSync(segment.path);
      for (let at = segment.firstIndex; at <= segment.lastIndex; at++)
        if (this.#places.get(at)?.segment === segment) this.#places.delete(at);
    }
    this.#first = Math.max(this.#first, index + 1);
    syncDirectory(this.#directory);
  }

  /** A snapshot takes the place of everything. */
  reset(index: Index, hardState: HardState): void {
    this.close();
    for (const { path } of this.#segments) unlinkSync(path);
    this.#segments = [];
    this.#places.clear();
    this.#last = index;
    this.#first = index + 1;
    this.append({ entries: [], hardState, mustSync: true });
  }

  close(): void {
    if (this.#file < 0) return;
    fdatasyncSync(this.#file);
    closeSync(this.#file);
    this.#file = -1;
  }

  #note(record: LogRecord, at: number): void {
    const segment = this.#segments.at(-1) as Segment;
    if (record.type === recordType.truncate) this.#forgetFrom(record.index);
    if (record.type !== recordType.entry) return;
    this.#places.set(record.index, { segment, at, term: record.term });
    this.#last = record.index;
    segment.lastIndex = Math.max(segment.lastIndex, record.index);
  }

  #forgetFrom(index: Index): void {
    for (let at = index; at <= this.#last; at++) this.#places.delete(at);
    this.#last = Math.min(this.#last, index - 1);
  }

  /** The hard state opens each segment, since older ones go. */
  #beginSegment(firstIndex: Index): void {
    this.close();
    const number = String(this.#nextNumber()).padStart(16, '0');
    const path = join(this.#directory, `seg-${number}.log`);
    this.#file = openSync(path, 'wx', 0o600);
    this.#segments.push({ path, firstIndex, lastIndex: firstIndex - 1 });
    this.#at = segmentHeaderBytes;
    this.#zeroedTo = 0;
    this.#running = 0;
    this.#writeZerosAhead(segmentHeaderBytes);
    writeAll(this.#file, encodeSegmentHeader({ storageId: this.#storageId, firstIndex }), 0);
    const record = hardStateRecord(this.#hardState);
    const buffer = Buffer.alloc(recordBytes(record.payload.length));
    this.#running = writeRecord(buffer, 0, record, this.#running);
    writeAll(this.#file, buffer, this.#at);
    this.#at += buffer.length;
    fdatasyncSync(this.#file);
    syncDirectory(this.#directory);
  }

  #nextNumber(): number {
    const last = this.#segments.at(-1)?.path;
    return last === undefined ? 1 : numberOf(last) + 1;
  }

  #writeZerosAhead(end: number): void {
    while (end > this.#zeroedTo) {
      const zeros = Buffer.alloc(Math.min(zeroStepBytes, this.#segmentBytes));
      writeAll(this.#file, zeros, this.#zeroedTo);
      this.#zeroedTo += zeros.length;
      fsyncSync(this.#file);
    }
  }

  #recover(after: Index, newestBytesMax: number): Recovered {
    const names = readdirSync(this.#directory).filter((name) => /^seg-\d{16}\.log$/.test(name));
    const newest = new Map<Index, Entry>();
    const confs = new Map<Index, Entry>();
    this.#last = after;
    this.#first = after + 1;
    names.sort().forEach((name, i) => {
      const path = join(this.#directory, name);
      const isLast = i === names.length - 1;
      this.#readSegment(path, isLast, (record) => {
        if (record.type === recordType.hardState) this.#hardState = decodeHardState(record);
        if (record.type === recordType.truncate) {
          for (const map of [newest, confs])
            for (const index of map.keys()) if (index >= record.index) map.delete(index);
        }
        if (record.type !== recordType.entry) return;
        const entry = { ...record, data: Uint8Array.from(record.payload) };
        newest.set(record.index, entryOf(entry));
        if (record.kind === 'conf') confs.set(record.index, entryOf(entry));
      });
    });
    const terms = [...this.#places]
      .filter(([index]) => index > after)
      .sort(([a], [b]) => a - b)
      .map(([index, { term }]) => ({ index, term }));
    terms.forEach(({ index }, i) => {
      if (index !== after + 1 + i)
        throw new Error(`the Raft log has no entry ${after + 1 + i} but one ${index}`);
    });
    if (terms.length === 0) this.#last = after;
    return {
      hardState: this.#hardState,
      terms,
      newest: tailOf(
        [...newest.values()].filter(({ index }) => index > after),
        newestBytesMax,
      ),
      confEntries: [...confs.values()].filter(({ index }) => index > after),
    };
  }

  #readSegment(path: string, isLast: boolean, take: (record: LogRecord) => void): void {
    const bytes = readFileSync(path);
    const header = decodeSegmentHeader(bytes);
    if (typeof header === 'string') {
      // Named and never written: the crash came in between.
      if (isLast) {
        unlinkSync(path);
        return;
      }
      throw new Error(`${path} cannot be read: ${header}`);
    }
    if (header.storageId !== this.#storageId)
      throw new Error(`${path} belongs to another storage (${header.storageId})`);
    this.#segments.push({ path, firstIndex: header.firstIndex, lastIndex: header.firstIndex - 1 });
    let at = segmentHeaderBytes;
    let running = 0;
    for (let record = readRecord(bytes, at, running); record !== undefined; ) {
      this.#note(record, at);
      take(record);
      at = record.nextAt;
      running = record.running;
      record = readRecord(bytes, at, running);
    }
    const isTorn = bytes.subarray(at).some((byte) => byte !== 0);
    if (isTorn && !isLast) throw new Error(`${path} is damaged at byte ${at}`);
    if (!isLast) return;
    this.#file = openSync(path, 'r+');
    this.#at = at;
    this.#running = running;
    this.#zeroedTo = bytes.length;
    if (!isTorn) return;
    // The write that the crash tore was never acknowledged.
    writeAll(this.#file, Buffer.alloc(bytes.length - at), at);
    fdatasyncSync(this.#file);
  }
}

function recordsOf({ entries, hardState }: LogJob, last: Index): LogRecord[] {
  const records: LogRecord[] = [];
  const first = entries[0]?.index ?? Number.POSITIVE_INFINITY;
  const nothing = new Uint8Array(0);
  if (first <= last)
    records.push({
      type: recordType.truncate,
      kind: 'normal',
      index: first,
      term: 0,
      payload: nothing,
    });
  for (const { index, term, kind, data } of entries)
    records.push({ type: recordType.entry, kind, index, term, payload: data });
  if (hardState !== undefined) records.push(hardStateRecord(hardState));
  return records;
}

function hardStateRecord({ term, vote, commit }: HardState): LogRecord {
  const payload = Buffer.from(JSON.stringify({ vote }));
  return { type: recordType.hardState, kind: 'normal', index: commit, term, payload };
}

function decodeHardState({ term, index, payload }: LogRecord): HardState {
  const { vote } = JSON.parse(Buffer.from(payload).toString()) as Pick<HardState, 'vote'>;
  return { term, vote, commit: index };
}

function entryOf({ index, term, kind, data }: Entry): Entry {
  return { index, term, kind, data };
}

function tailOf(entries: readonly Entry[], bytesMax: number): readonly Entry[] {
  let bytes = 0;
  let from = entries.length;
  while (from > 0 && bytes <= bytesMax) {
    from -= 1;
    bytes += entries[from]?.data.length ?? 0;
  }
  return entries.slice(from);
}

function readEntry(file: number, at: number): Entry {
  const header = Buffer.allocUnsafe(8);
  readSync(file, header, 0, 8, at);
  const whole = Buffer.allocUnsafe(recordBytes(header.readUInt32LE(0)));
  readSync(file, whole, 0, whole.length, at);
  const kinds = ['normal', 'conf', 'noop'] as const;
  return {
    index: Number(whole.readBigUInt64LE(8)),
    term: Number(whole.readBigUInt64LE(16)),
    kind: kinds[whole.readUInt8(5)] ?? 'normal',
    data: Uint8Array.from(whole.subarray(32, 32 + whole.readUInt32LE(0))),
  };
}

function writeAll(file: number, bytes: Uint8Array, at: number): void {
  for (let done = 0; done < bytes.length; )
    done += writeSync(file, bytes, done, bytes.length - done, at + done);
}

function numberOf(path: string): number {
  return Number(/seg-(\d{16})\.log$/.exec(path)?.[1] ?? 0);
}

export function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** Replaces a file as a whole, durable when it returns. */
export function replaceFileNow(directory: string, name: string, text: string): void {
  const path = join(directory, name);
  const beside = `${path}.tmp`;
  writeFileSync(beside, text, { mode: 0o600, flush: true });
  renameSync(beside, path);
  syncDirectory(directory);
}

export function readTextIfThere(directory: string, name: string): string | undefined {
  const path = join(directory, name);
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}
