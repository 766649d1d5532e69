import { crc32 } from 'node:zlib';
import type { LogIndex } from '#core/value/rid.ts';
import { type Bytes, viewOf } from '../format/bytes.ts';
import { checksum } from '../format/checksum.ts';
import { readU64, writeU64 } from '../format/counters.ts';

// The bytes of a segment file (ha.md 3.3). Numbers are little-endian, records start on multiples of 8.
//
// Header, 64 bytes:
//   0 "polyadlg"   8 u32 format version   12 u32 generation   16 u64 first index   24 u64 index before the first
//   32 u32 chain before the first record   36 0   60 u32 CRC of 0..60
// Record, 32 bytes and its payload:
//   0 u32 payload length   4 u8 type   5 u8 flags   6 u16 0   8 u64 index   16 u64 term   24 u32 header CRC   28 u32 data CRC
//
// The header CRC of a record continues the CRC of the segment header, so it can be told from what the file held before it
// was used again. The data CRC continues the data CRC of the record before, over segments too: the chain. A record that
// is missing anywhere breaks it.

const magic = Buffer.from('polyadlg');
export const segmentFormat = 1;
export const segmentHeaderSize = 64;
export const recordHeaderSize = 32;

export const recordType = {
  /** A write set (write-set-codec.ts). */
  entry: 1,
  /** Everything up to the index is in LMDB, and some of it never was in the log (bulk loads, index builds). */
  image: 6,
} as const;

/** Bit 0 is kept for compressed payloads (ha.md 3.3). */
export const recordFlag = { startsWrite: 2 } as const;

export interface LogRecord {
  readonly index: LogIndex;
  readonly term: number;
  /** A write set; a view of the segment when it was read from one. */
  readonly payload: Uint8Array;
}

export interface SegmentHeader {
  /** Higher than that of every segment before. */
  readonly generation: number;
  readonly firstIndex: number;
  /** Of the record before the first one; 0 when there was none. */
  readonly previousIndex: number;
  /** Data CRC of the record before the first one. */
  readonly chain: number;
}

/** @returns the CRC that the headers of its records continue */
export function writeSegmentHeader(target: Uint8Array, header: SegmentHeader): number {
  target.fill(0, 0, segmentHeaderSize);
  target.set(magic);
  const view = viewOf(target);
  view.setUint32(8, segmentFormat, true);
  view.setUint32(12, header.generation, true);
  writeU64(view, 16, header.firstIndex);
  writeU64(view, 24, header.previousIndex);
  view.setUint32(32, header.chain, true);
  const crc = crc32(target.subarray(0, 60));
  view.setUint32(60, crc, true);
  return crc;
}

/** undefined: not whole, or of something else. `format` differs from `segmentFormat` for files of another version. */
export function readSegmentHeader(
  bytes: Uint8Array,
): (SegmentHeader & { readonly crc: number; readonly format: number }) | undefined {
  if (bytes.length < segmentHeaderSize) return undefined;
  if (Buffer.compare(bytes.subarray(0, magic.length), magic) !== 0) return undefined;
  const view = viewOf(bytes);
  const crc = crc32(bytes.subarray(0, 60));
  if (view.getUint32(60, true) !== crc) return undefined;
  return {
    format: view.getUint32(8, true),
    generation: view.getUint32(12, true),
    firstIndex: readU64(view, 16),
    previousIndex: readU64(view, 24),
    chain: view.getUint32(32, true),
    crc,
  };
}

/** Bytes that a record with a payload of this length takes. */
export function recordSize(payloadLength: number): number {
  return recordHeaderSize + ((payloadLength + 7) & ~7);
}

export interface RecordFrame {
  readonly type: number;
  readonly flags: number;
  readonly index: number;
  readonly term: number;
}

/**
 * Lays a record into `target` at `at`, where its payload stands behind the header already or is empty.
 * @param seed CRC of the segment header
 * @param chain data CRC of the record before
 * @returns its data CRC
 */
export function sealRecord(
  target: Bytes,
  view: DataView,
  at: number,
  payloadLength: number,
  frame: RecordFrame,
  { seed, chain }: { readonly seed: number; readonly chain: number },
): number {
  view.setUint32(at, payloadLength, true);
  view.setUint32(at + 4, frame.type | (frame.flags << 8), true);
  writeU64(view, at + 8, frame.index);
  writeU64(view, at + 16, frame.term);
  view.setUint32(at + 24, checksum(target, at, at + 24, seed), true);
  const body = at + recordHeaderSize;
  const dataCrc = checksum(target, body, body + payloadLength, chain);
  view.setUint32(at + 28, dataCrc, true);
  const end = at + recordSize(payloadLength);
  for (let i = body + payloadLength; i < end; i++) target[i] = 0;
  return dataCrc;
}

export interface ReadRecord extends RecordFrame {
  readonly payload: Uint8Array;
  readonly dataCrc: number;
  readonly end: number;
}

/** The record at `at` when it is whole and belongs to the chain. */
export function readRecord(
  bytes: Uint8Array,
  at: number,
  crcs: { readonly seed: number; readonly chain: number },
): ReadRecord | undefined {
  const frame = readFrame(bytes, at, crcs.seed);
  if (frame === undefined) return undefined;
  const body = at + recordHeaderSize;
  const payload = bytes.subarray(body, body + frame.payloadLength);
  const dataCrc = crc32(payload, crcs.chain);
  if (dataCrc !== frame.dataCrc) return undefined;
  return { ...frame, payload, end: at + recordSize(frame.payloadLength) };
}

/** A record header that checks, whatever became of its payload. */
export function readFrame(
  bytes: Uint8Array,
  at: number,
  seed: number,
): (RecordFrame & { readonly payloadLength: number; readonly dataCrc: number }) | undefined {
  if (at + recordHeaderSize > bytes.length) return undefined;
  const view = viewOf(bytes);
  const payloadLength = view.getUint32(at, true);
  if (at + recordHeaderSize + payloadLength > bytes.length) return undefined;
  if (view.getUint32(at + 24, true) !== crc32(bytes.subarray(at, at + 24), seed)) return undefined;
  return {
    payloadLength,
    type: view.getUint8(at + 4),
    flags: view.getUint8(at + 5),
    index: readU64(view, at + 8),
    term: readU64(view, at + 16),
    dataCrc: view.getUint32(at + 28, true),
  };
}
