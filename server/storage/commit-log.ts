import {
  close,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  closeSync,
  readFileSync,
  statSync,
  write,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { assert } from '#core/assert.ts';
import type { LogIndex } from '#core/rid.ts';
import { allocateBytes, viewOf } from './bytes.ts';
import { readU64, writeU64 } from './counters.ts';

// The commit log of one database between checkpoints (storage.md 5). Two files of fixed size, really filled with zeros so
// that a sync writes no file metadata; when one is full the other begins, provided a checkpoint has carried all of its
// entries to LMDB. One write is in flight at a time, synchronous to the disk by O_DSYNC.
//
// File header, 64 bytes:  0 "polyadlg"   8 u32 format   12 u32 0   16 u64 generation   24 u64 first index   60 u32 CRC of 0..60
// Record (frame of ha.md 3.3), on multiples of 8:
//   0 u32 payload length   4 u8 type = 1   5 u8 flags   6 u16 0   8 u64 index   16 u64 term   24 u32 header CRC   28 u32 data CRC
//   32 payload
// Each CRC continues that of the record before, the first that of the file header. A record of an earlier use of the file
// can therefore not follow a newer one, and recovery ends at the first record that does not check.

const magic = Buffer.from('polyadlg');
const format = 1;
const fileHeaderSize = 64;
const recordHeaderSize = 32;
const entryType = 1;

/** Bytes of one of the two files. */
export const logFileBytes = 2 * 1024 * 1024;
/** Groups above this are written to LMDB at once instead. */
export const logGroupBytesMax = 512 * 1024;

export interface LogRecord {
  readonly index: LogIndex;
  readonly term: number;
  /** A write set (write-set-codec.ts). */
  readonly payload: Uint8Array;
}

interface LogFile {
  readonly path: string;
  /** Of the header; 0 when there is none. */
  generation: number;
  /** Of its last record. */
  lastIndex: number;
  descriptor: number | undefined;
}

export class CommitLog {
  readonly #files: readonly [LogFile, LogFile];
  /** The file that is written, once there was a write. */
  #current: LogFile | undefined;
  #end = 0;
  #chain = 0;
  #checkpointed: number;
  #buffer = allocateBytes(64 * 1024);
  #view = viewOf(this.#buffer);
  #isWriting = false;

  /** Finds out what the files hold; see `recover`. */
  constructor(directory: string, applied: LogIndex) {
    this.#checkpointed = applied;
    const file = (name: string): LogFile => ({
      path: join(directory, name),
      generation: 0,
      lastIndex: 0,
      descriptor: undefined,
    });
    this.#files = [file('commit-log.0'), file('commit-log.1')];
  }

  /** The entries behind `applied`, in order. Whoever applies them then calls `checkpointed`. */
  recover(): LogRecord[] {
    const records: LogRecord[] = [];
    for (const file of this.#files) {
      if (!existsSync(file.path)) continue;
      for (const record of readRecords(file)) {
        if (record.index > this.#checkpointed) records.push(record);
      }
    }
    records.sort((a, b) => a.index - b.index);
    return records;
  }

  /** False when the group must wait for a checkpoint to free a file. */
  hasRoomFor(bytes: number): boolean {
    if (this.#current !== undefined && this.#end + bytes <= logFileBytes) return true;
    return this.#otherFile().lastIndex <= this.#checkpointed;
  }

  /** Bytes that the records take in the log. */
  static sizeOf(records: readonly LogRecord[]): number {
    let bytes = 0;
    for (const { payload } of records) bytes += recordHeaderSize + padded(payload.length);
    return bytes;
  }

  /** Resolves when the records are on the disk. `hasRoomFor` has said yes. */
  async append(records: readonly LogRecord[]): Promise<void> {
    assert(!this.#isWriting, 'one write to the log is in flight at a time');
    const bytes = CommitLog.sizeOf(records);
    this.#isWriting = true;
    let start = 0;
    let end = 0;
    if (this.#current === undefined || this.#end + bytes > logFileBytes) {
      const file = this.#otherFile();
      assert(file.lastIndex <= this.#checkpointed, 'a log file is used again after a checkpoint');
      end = this.#begin(file, (records[0] as LogRecord).index);
    } else start = this.#end;
    this.#reserve(end + bytes);
    for (const record of records) end = this.#lay(record, end);
    const file = this.#current as LogFile;
    await writeFully(file.descriptor as number, this.#buffer, end, start);
    this.#end = start + end;
    file.lastIndex = (records.at(-1) as LogRecord).index;
    this.#isWriting = false;
  }

  /** Everything up to `index` is in LMDB. */
  checkpointed(index: LogIndex): void {
    this.#checkpointed = index;
  }

  async close(): Promise<void> {
    for (const file of this.#files) {
      const { descriptor } = file;
      if (descriptor === undefined) continue;
      file.descriptor = undefined;
      await new Promise<void>((resolve) => {
        close(descriptor, () => resolve());
      });
    }
  }

  #otherFile(): LogFile {
    return this.#current === this.#files[0] ? this.#files[1] : this.#files[0];
  }

  /** Lays a new file header into the buffer. @returns its end */
  #begin(file: LogFile, firstIndex: LogIndex): number {
    file.descriptor ??= openFilled(file.path);
    file.generation = Math.max(this.#files[0].generation, this.#files[1].generation) + 1;
    this.#current = file;
    this.#reserve(fileHeaderSize);
    const header = this.#buffer;
    header.fill(0, 0, fileHeaderSize);
    header.set(magic);
    const view = this.#view;
    view.setUint32(8, format, true);
    writeU64(view, 16, file.generation);
    writeU64(view, 24, firstIndex);
    this.#chain = crc32(header.subarray(0, 60));
    view.setUint32(60, this.#chain, true);
    return fileHeaderSize;
  }

  #lay({ index, term, payload }: LogRecord, at: number): number {
    const buffer = this.#buffer;
    const view = this.#view;
    view.setUint32(at, payload.length, true);
    view.setUint32(at + 4, entryType, true);
    writeU64(view, at + 8, index);
    writeU64(view, at + 16, term);
    const headerCrc = crc32(buffer.subarray(at, at + 24), this.#chain);
    view.setUint32(at + 24, headerCrc, true);
    this.#chain = crc32(payload, headerCrc);
    view.setUint32(at + 28, this.#chain, true);
    const body = at + recordHeaderSize;
    buffer.set(payload, body);
    const end = body + padded(payload.length);
    buffer.fill(0, body + payload.length, end);
    return end;
  }

  #reserve(length: number): void {
    if (length <= this.#buffer.length) return;
    const grown = allocateBytes(Math.max(length, this.#buffer.length * 2));
    grown.set(this.#buffer);
    this.#buffer = grown;
    this.#view = viewOf(grown);
  }
}

function padded(length: number): number {
  return (length + 7) & ~7;
}

/** Opens a file for writing to the disk; fills it with zeros when it is new. */
function openFilled(path: string): number {
  if (!existsSync(path) || statSync(path).size !== logFileBytes) {
    const fresh = openSync(path, 'w', 0o600);
    writeSync(fresh, new Uint8Array(logFileBytes));
    fsyncSync(fresh);
    closeSync(fresh);
    const directory = openSync(join(path, '..'), 'r');
    fsyncSync(directory);
    closeSync(directory);
  }
  return openSync(path, constants.O_RDWR | constants.O_DSYNC);
}

async function writeFully(
  descriptor: number,
  bytes: Uint8Array,
  length: number,
  position: number,
): Promise<void> {
  for (let done = 0; done < length; ) {
    const count = await new Promise<number>((resolve, reject) => {
      write(descriptor, bytes, done, length - done, position + done, (error, written) => {
        if (error) reject(error);
        else resolve(written);
      });
    });
    done += count;
  }
}

/** The records of a file up to the first that does not check. */
function readRecords(file: LogFile): LogRecord[] {
  const bytes = readFileSync(file.path);
  const view = viewOf(bytes);
  if (bytes.length < fileHeaderSize || !bytes.subarray(0, magic.length).equals(magic)) return [];
  let chain = crc32(bytes.subarray(0, 60));
  if (view.getUint32(60, true) !== chain || view.getUint32(8, true) !== format) return [];
  file.generation = readU64(view, 16);
  const records: LogRecord[] = [];
  for (let at = fileHeaderSize; at + recordHeaderSize <= bytes.length; ) {
    const length = view.getUint32(at, true);
    const headerCrc = crc32(bytes.subarray(at, at + 24), chain);
    const body = at + recordHeaderSize;
    if (view.getUint32(at + 24, true) !== headerCrc || body + length > bytes.length) break;
    const payload = bytes.subarray(body, body + length);
    chain = crc32(payload, headerCrc);
    if (view.getUint32(at + 28, true) !== chain) break;
    const index = readU64(view, at + 8) as LogIndex;
    records.push({ index, term: readU64(view, at + 16), payload });
    file.lastIndex = index;
    at = body + padded(length);
  }
  return records;
}
