import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { DatabaseError } from '#core/errors.ts';
import type { LogIndex } from '#core/value/rid.ts';
import { viewOf } from '../format/bytes.ts';
import { readU64 } from '../format/counters.ts';
import {
  type LogRecord,
  readFrame,
  readRecord,
  readSegmentHeader,
  recordFlag,
  recordHeaderSize,
  recordType,
  segmentFormat,
  segmentHeaderSize,
} from './segment.ts';

// What a log holds when it is opened (ha.md 3.5). A write is durable before the next one begins, so what a power loss can
// leave behind is one torn write at the very end: it was never acknowledged and is cut off. A record that does not check
// although a later write is there is damage, and so is a chain that does not go on from segment to segment.

/** A segment whose records are known. */
export interface ReadSegment {
  readonly path: string;
  /** Of its last record. */
  readonly lastIndex: number;
}

export interface ReadLog {
  /** Behind the position that LMDB holds, in order. */
  readonly records: readonly LogRecord[];
  /** Oldest first; those without any record are gone. */
  readonly segments: readonly ReadSegment[];
  readonly lastIndex: number;
  readonly chain: number;
  readonly generation: number;
}

const segmentName = /^seg-([0-9a-f]{16})\.log$/;
const spareName = /^seg-spare-\d+\.log$/;

export function segmentFileName(firstIndex: number): string {
  return `seg-${firstIndex.toString(16).padStart(16, '0')}.log`;
}

/**
 * Reads the segments in `directory` and cuts off a torn tail.
 * @param applied what LMDB holds
 * @throws DatabaseError `CorruptedRecord` when acknowledged entries are damaged or missing
 */
export function readLog(directory: string, applied: LogIndex): ReadLog {
  const names = existsSync(directory) ? readdirSync(directory).sort() : [];
  const paths = names.filter((name) => segmentName.test(name)).map((name) => join(directory, name));
  // They may have been made by half.
  for (const name of names) if (spareName.test(name)) rmSync(join(directory, name));
  const reader = new LogReader(applied);
  paths.forEach((path, i) => {
    reader.read(path, i === paths.length - 1);
  });
  return {
    records: reader.records,
    segments: reader.segments,
    lastIndex: reader.lastIndex,
    chain: reader.chain,
    generation: reader.generation,
  };
}

class LogReader {
  readonly records: LogRecord[] = [];
  readonly segments: ReadSegment[] = [];
  lastIndex = 0;
  chain = 0;
  generation = 0;
  readonly #applied: LogIndex;
  #isFirst = true;
  /** A segment without a header of its own, which was never written when the next one goes on where it would have begun. */
  #unwritten: string | undefined;

  constructor(applied: LogIndex) {
    this.#applied = applied;
  }

  read(path: string, isNewest: boolean): void {
    const bytes = readFileSync(path);
    const header = readSegmentHeader(bytes);
    if (header !== undefined && header.format !== segmentFormat) {
      throw damaged(path, `has format ${header.format}; this version reads ${segmentFormat}`);
    }
    // A segment that was begun and not written yet still has the header of its former use, or none.
    if (header === undefined || !path.endsWith(segmentFileName(header.firstIndex))) {
      const isUnwritten = header !== undefined || !hasFirstRecord(path, bytes);
      if (!isUnwritten || this.#unwritten !== undefined)
        throw damaged(this.#unwritten ?? path, 'has a damaged header');
      if (isNewest) rmSync(path);
      else this.#unwritten = path;
      return;
    }
    this.#requireContinuation(path, header);
    this.generation = Math.max(this.generation, header.generation);
    const end = this.#readRecords(bytes, header.crc);
    const isEmpty = end === segmentHeaderSize;
    if (!isNewest && isEmpty) throw damaged(path, 'has no readable record');
    if (hasLaterWrite(bytes, end, header.crc, this.lastIndex)) {
      throw damaged(path, `is damaged at byte ${end}, before entries that were acknowledged`);
    }
    if (isEmpty) rmSync(path);
    else this.segments.push({ path, lastIndex: this.lastIndex });
    if (isNewest && !isEmpty) cutOff(path, bytes, end);
  }

  #requireContinuation(
    path: string,
    header: { readonly previousIndex: number; readonly chain: number },
  ): void {
    // What is missing before it may have been removed in any order, when all of it is in LMDB.
    const isCovered = header.previousIndex <= this.#applied;
    const begins = this.#isFirst || (isCovered && header.previousIndex > this.lastIndex);
    const continues = header.chain === this.chain && header.previousIndex === this.lastIndex;
    if (begins ? !isCovered : !continues) {
      if (this.#unwritten !== undefined) throw damaged(this.#unwritten, 'has a damaged header');
      const what = begins
        ? `follows entry ${header.previousIndex}, but the data end with ${this.#applied}`
        : `does not follow entry ${this.lastIndex}: entries between are missing`;
      throw damaged(path, what);
    }
    if (this.#unwritten !== undefined) rmSync(this.#unwritten);
    this.#unwritten = undefined;
    this.#isFirst = false;
    this.chain = header.chain;
    this.lastIndex = header.previousIndex;
  }

  /** @returns where they end */
  #readRecords(bytes: Uint8Array, seed: number): number {
    let at = segmentHeaderSize;
    for (;;) {
      const record = readRecord(bytes, at, { seed, chain: this.chain });
      if (record === undefined) return at;
      this.chain = record.dataCrc;
      at = record.end;
      if (record.type === recordType.image) this.#requireImage(record.index);
      if (record.type !== recordType.entry) continue;
      this.lastIndex = record.index;
      if (record.index <= this.#applied) continue;
      const { term, payload } = record;
      this.records.push({ index: record.index as LogIndex, term, payload });
    }
  }

  #requireImage(index: number): void {
    if (index <= this.#applied) return;
    throw new DatabaseError(
      'CorruptedRecord',
      `the data file ends with entry ${this.#applied}, but entry ${index} was written to it: it is an older copy than the log`,
    );
  }
}

/** The header and the first record reach the disk in one sector: when the record is there, the header was. */
function hasFirstRecord(path: string, bytes: Buffer): boolean {
  if (bytes.length < segmentHeaderSize) return false;
  const firstIndex = Number.parseInt(segmentName.exec(basename(path))?.[1] ?? '', 16);
  const seeds = [viewOf(bytes).getUint32(60, true), crc32(bytes.subarray(0, 60))];
  return seeds.some((seed) => {
    const index = readFrame(bytes, segmentHeaderSize, seed)?.index;
    return index !== undefined && index <= firstIndex;
  });
}

/** Whether a later write than the one that stands at `from` reached the disk. */
function hasLaterWrite(bytes: Buffer, from: number, seed: number, lastIndex: number): boolean {
  const view = viewOf(bytes);
  for (let at = from + 8; at + recordHeaderSize <= bytes.length; at += 8) {
    if ((view.getUint8(at + 5) & recordFlag.startsWrite) === 0) continue;
    // What a later write begins with is newer, an image included, since an entry goes with it.
    if (readU64(view, at + 8) <= lastIndex) continue;
    if (readFrame(bytes, at, seed) !== undefined) return true;
  }
  return false;
}

/** Makes sure that a torn write can never be taken for a whole one later. */
function cutOff(path: string, bytes: Uint8Array, end: number): void {
  if (!bytes.subarray(end, end + recordHeaderSize).some((byte) => byte !== 0)) return;
  const file = openSync(path, 'r+');
  try {
    ftruncateSync(file, end);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function damaged(path: string, what: string): DatabaseError {
  return new DatabaseError('CorruptedRecord', `the commit log cannot be read: '${path}' ${what}`);
}
