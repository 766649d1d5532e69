import { join } from 'node:path';
import type { Entry, HardState, Index, Term } from '#raft/vocabulary.ts';
import {
  decodeSegmentHeader,
  hasLaterFlush,
  type LogRecord,
  readRecord,
  recordType,
  type SegmentHeader,
  seedOf,
  segmentHeaderBytes,
} from './frame.ts';
import type { LogDisk } from './log-disk.ts';
import { LogLayout, type TermRun } from './log-layout.ts';

// What a log holds when it is opened (ha.md 3.5). Each flush is over before the next write begins, so a crash leaves behind one
// torn write at the very end, which nobody was promised: it is cut off. Anything else that does not check is damage.

export interface Recovered {
  readonly hardState: HardState;
  /** The log begins behind this entry. */
  readonly before: { readonly index: Index; readonly term: Term };
  readonly last: Index;
  readonly terms: readonly TermRun[];
  /** The newest entries, up to the last one. */
  readonly newest: readonly Entry[];
  /** Changes of membership behind the snapshot. */
  readonly confEntries: readonly Entry[];
}

export interface RecoveryOptions {
  readonly disk: LogDisk;
  readonly directory: string;
  readonly storageId: string;
  readonly clusterId: string | undefined;
  /** Ids that the group had before it. */
  readonly earlierClusterIds?: readonly string[] | undefined;
  readonly newestBytesMax: number;
}

/** Where writing goes on. */
export interface ActiveEnd {
  readonly at: number;
  /** Everything before was on the disk when what follows was written. */
  readonly flushedTo: number;
  readonly chain: number;
  readonly fileBytes: number;
  readonly isTorn: boolean;
  readonly bytes: Buffer;
}

export function segmentName(number: number): string {
  return `seg-${number.toString(16).padStart(16, '0')}.log`;
}

const segmentPattern = /^seg-([0-9a-f]{16})\.log$/;

/** Reads the segments of a directory, oldest first. */
export class LogRecovery {
  readonly layout = new LogLayout();
  hardState: HardState = { term: 0, vote: null, commit: 0 };
  active: ActiveEnd | undefined;
  chain = 0;
  readonly #options: RecoveryOptions;
  #newest: Entry[] = [];
  #newestBytes = 0;
  #confs: Entry[] = [];
  #isFirst = true;

  /** @throws Error that says which file is damaged and how */
  constructor(options: RecoveryOptions) {
    this.#options = options;
    const { disk, directory } = options;
    const names = disk.names(directory).filter((name) => segmentPattern.test(name));
    const numbers = names.map((name) => Number.parseInt(name.slice(4, 20), 16)).sort(ascending);
    this.#dropUnwritten(numbers);
    numbers.forEach((number, i) => {
      if (i > 0 && number !== (numbers[i - 1] ?? 0) + 1)
        throw new Error(`${join(directory, segmentName(number - 1))} is missing`);
      this.#read(number, i === numbers.length - 1);
    });
  }

  get newest(): readonly Entry[] {
    return this.#newest;
  }

  confEntriesBehind(index: Index): readonly Entry[] {
    return this.#confs.filter((entry) => entry.index > index);
  }

  /** The newest file may have been named and never written: the crash came in between. */
  #dropUnwritten(numbers: number[]): void {
    const { disk, directory, storageId } = this.#options;
    const number = numbers.at(-1);
    if (number === undefined) return;
    const path = join(directory, segmentName(number));
    const bytes = disk.readWhole(path);
    const header = decodeSegmentHeader(bytes);
    const seed = seedOf(storageId, number);
    if (typeof header !== 'string') {
      const isBegun = readRecord(bytes, segmentHeaderBytes, seed, seed) !== undefined;
      if (isBegun || header.storageId !== storageId || hasLaterFlush(bytes, 64, seed)) return;
    } else if (header.includes('format') || hasLaterFlush(bytes, 64, seed)) return;
    disk.remove(path);
    disk.flushDirectory(directory);
    numbers.pop();
  }

  #read(number: number, isNewest: boolean): void {
    const { disk, directory, storageId } = this.#options;
    const path = join(directory, segmentName(number));
    const bytes = disk.readWhole(path);
    const header = this.#checkedHeader(path, bytes, number);
    const seed = seedOf(storageId, number);
    const { firstIndex } = header;
    this.layout.segments.push({ number, path, firstIndex, starts: [] });
    let at = segmentHeaderBytes;
    let flushedTo = 0;
    this.chain = seed;
    for (let record = readRecord(bytes, at, seed, this.chain); record !== undefined; ) {
      this.#take(path, at, record);
      if (record.isFlushedBefore) flushedTo = at;
      at = record.nextAt;
      this.chain = record.chain;
      record = readRecord(bytes, at, seed, this.chain);
    }
    const isTorn = bytes.subarray(at).some((byte) => byte !== 0);
    if (isTorn && (!isNewest || hasLaterFlush(bytes, at + 8, seed)))
      throw new Error(`${path} is damaged at byte ${at}`);
    if (isNewest)
      this.active = { at, flushedTo, chain: this.chain, fileBytes: bytes.length, isTorn, bytes };
  }

  #checkedHeader(path: string, bytes: Buffer, number: number): SegmentHeader {
    const { storageId, clusterId, earlierClusterIds = [] } = this.#options;
    const header = decodeSegmentHeader(bytes);
    if (typeof header === 'string') throw new Error(`${path} cannot be read: ${header}`);
    if (header.storageId !== storageId)
      throw new Error(`${path} belongs to another storage (${header.storageId})`);
    const isKnown = ['', clusterId, ...earlierClusterIds].includes(header.clusterId);
    if (clusterId !== undefined && !isKnown)
      throw new Error(`${path} belongs to another cluster (${header.clusterId})`);
    if (header.number !== number) throw new Error(`${path} says it is number ${header.number}`);
    if (!this.#isFirst && header.chain !== this.chain)
      throw new Error(`${path} does not go on from the file before it, which has lost its end`);
    if (this.#isFirst) this.layout.last = header.firstIndex - 1;
    this.#isFirst = false;
    return header;
  }

  #take(path: string, at: number, record: LogRecord): void {
    const { layout } = this;
    switch (record.type) {
      case recordType.hardState:
        this.hardState = decodeHardState(record);
        return;
      case recordType.truncate:
        layout.cutFrom(record.index);
        this.#forgetFrom(record.index);
        return;
      case recordType.restart:
        layout.restart(record.index);
        this.#forgetFrom(0);
        return;
      case recordType.end:
        return;
      case recordType.entry:
        if (record.index !== layout.last + 1)
          throw new Error(`${path} goes from entry ${layout.last} to ${record.index}`);
        layout.add(at, record.term);
        this.#keep(record);
    }
  }

  #keep({ index, term, kind, payload }: LogRecord): void {
    const entry = { index, term, kind, data: Uint8Array.from(payload) };
    if (kind === 'conf') this.#confs.push(entry);
    this.#newest.push(entry);
    this.#newestBytes += payload.length;
    const { newestBytesMax } = this.#options;
    // A quarter more than allowed goes at once.
    if (this.#newestBytes <= newestBytesMax * 1.25 || this.#newest.length < 2) return;
    let from = 0;
    while (this.#newestBytes > newestBytesMax && from < this.#newest.length - 1) {
      this.#newestBytes -= this.#newest[from]?.data.length ?? 0;
      from += 1;
    }
    this.#newest = this.#newest.slice(from);
  }

  #forgetFrom(index: Index): void {
    while ((this.#newest.at(-1)?.index ?? -1) >= index)
      this.#newestBytes -= this.#newest.pop()?.data.length ?? 0;
    while ((this.#confs.at(-1)?.index ?? -1) >= index) this.#confs.pop();
  }
}

function ascending(a: number, b: number): number {
  return a - b;
}

export function hardStateRecord({ term, vote, commit }: HardState): LogRecord {
  const payload = Buffer.from(JSON.stringify({ vote }));
  return { type: recordType.hardState, kind: 'normal', index: commit, term, payload };
}

function decodeHardState({ term, index, payload }: LogRecord): HardState {
  const { vote } = JSON.parse(Buffer.from(payload).toString()) as Pick<HardState, 'vote'>;
  return { term, vote, commit: index };
}
