import { crc32 } from 'node:zlib';
import type { EntryKind, Index, Term } from '#raft/vocabulary.ts';

/*
 * Bytes of the log of a cluster (ha.md 3.3). A segment is a header of 64 bytes and records, each at a multiple of 8:
 * u32 payload length, u8 type, u8 kind and flag, u16 half of the payload checksum of the record before, u64 index, u64 term,
 * u32 CRC of this header, u32 CRC of the payload, payload, zeros. Checksums begin with a seed that no other segment has, and each
 * record names the one before it: nothing of another segment or of another write can be taken for the next record.
 */

export const segmentHeaderBytes = 64;
export const recordHeaderBytes = 32;
const magic = 'POLYRAFT';
const version = 2;
/** Beside the kind: everything before this record was on the disk when it was written. */
const flushedBefore = 0x80;

export const recordType = {
  entry: 1,
  hardState: 2,
  /** Entries from its index on, written before it, are void. */
  truncate: 3,
  /** A snapshot took the place of every entry written before it. */
  restart: 4,
  /** The log was closed in order: nothing may be missing before it. */
  end: 5,
} as const;
export type RecordType = (typeof recordType)[keyof typeof recordType];

const kinds: readonly EntryKind[] = ['normal', 'conf', 'noop'];

export interface LogRecord {
  readonly type: RecordType;
  readonly kind: EntryKind;
  readonly index: Index;
  readonly term: Term;
  readonly payload: Uint8Array;
}

export interface SegmentHeader {
  readonly number: number;
  readonly storageId: string;
  /** Empty: the group was not known yet. */
  readonly clusterId: string;
  readonly firstIndex: Index;
  /** Checksum of the last record of the segment before; 0: there was none. */
  readonly chain: number;
}

export function encodeSegmentHeader(header: SegmentHeader): Uint8Array {
  const bytes = Buffer.alloc(segmentHeaderBytes);
  bytes.write(magic, 0, 'latin1');
  bytes.writeUInt32LE(version, 8);
  bytes.writeUInt32LE(header.number, 12);
  uuidBytes(header.storageId).copy(bytes, 16);
  bytes.writeBigUInt64LE(BigInt(header.firstIndex), 32);
  bytes.writeUInt32LE(header.chain, 40);
  uuidBytes(header.clusterId).copy(bytes, 44);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 60)), 60);
  return bytes;
}

/** @returns why it is none of ours, or what it says */
export function decodeSegmentHeader(bytes: Buffer): SegmentHeader | string {
  if (bytes.length < segmentHeaderBytes) return 'it is too short';
  if (bytes.toString('latin1', 0, 8) !== magic) return 'it is no segment';
  if (bytes.readUInt32LE(60) !== crc32(bytes.subarray(0, 60))) return 'its header is damaged';
  const found = bytes.readUInt32LE(8);
  if (found !== version) return `its format is ${found}, known is ${version}`;
  return {
    number: bytes.readUInt32LE(12),
    storageId: uuidText(bytes.subarray(16, 32)),
    clusterId: uuidText(bytes.subarray(44, 60)),
    firstIndex: Number(bytes.readBigUInt64LE(32)),
    chain: bytes.readUInt32LE(40),
  };
}

/** Where the checksums of a segment begin; known without its header. */
export function seedOf(storageId: string, number: number): number {
  return crc32(`${storageId}/${number}`);
}

export function recordBytes(payloadLength: number): number {
  return recordHeaderBytes + Math.ceil(payloadLength / 8) * 8;
}

export interface Chained {
  readonly seed: number;
  /** Checksum of the record before; the seed for the first one. */
  readonly chain: number;
  /** Everything before is on the disk. */
  readonly isFlushedBefore: boolean;
}

/** @returns the checksum that the next record names */
export function writeRecord(
  target: Buffer,
  at: number,
  record: LogRecord,
  { seed, chain, isFlushedBefore }: Chained,
): number {
  const { type, kind, index, term, payload } = record;
  target.writeUInt32LE(payload.length, at);
  target.writeUInt8(type, at + 4);
  target.writeUInt8(kinds.indexOf(kind) | (isFlushedBefore ? flushedBefore : 0), at + 5);
  target.writeUInt16LE(chain & 0xffff, at + 6);
  writeU64(target, at + 8, index);
  writeU64(target, at + 16, term);
  const headerCrc = crc32(target.subarray(at, at + 24), seed);
  target.writeUInt32LE(headerCrc, at + 24);
  const dataCrc = crc32(payload, headerCrc);
  target.writeUInt32LE(dataCrc, at + 28);
  target.set(payload, at + recordHeaderBytes);
  target.fill(0, at + recordHeaderBytes + payload.length, at + recordBytes(payload.length));
  return dataCrc;
}

/** A whole number below 2^53, without the objects that bigints are. */
function writeU64(target: Buffer, at: number, value: number): void {
  target.writeUInt32LE(value % 2 ** 32, at);
  target.writeUInt32LE(Math.floor(value / 2 ** 32), at + 4);
}

export interface ReadRecord extends LogRecord {
  readonly nextAt: number;
  readonly chain: number;
  readonly isFlushedBefore: boolean;
}

/**
 * @param chain checksum of the record before; undefined: whatever it was
 * @returns undefined where no whole record of this segment stands
 */
export function readRecord(
  source: Buffer,
  at: number,
  seed: number,
  chain: number | undefined,
): ReadRecord | undefined {
  if (at + recordHeaderBytes > source.length) return undefined;
  const headerCrc = source.readUInt32LE(at + 24);
  if (chain !== undefined && source.readUInt16LE(at + 6) !== (chain & 0xffff)) return undefined;
  if (headerCrc !== crc32(source.subarray(at, at + 24), seed)) return undefined;
  const length = source.readUInt32LE(at);
  const end = at + recordHeaderBytes + length;
  if (end > source.length) return undefined;
  const payload = source.subarray(at + recordHeaderBytes, end);
  const dataCrc = source.readUInt32LE(at + 28);
  if (dataCrc !== crc32(payload, headerCrc)) return undefined;
  const type = source.readUInt8(at + 4) as RecordType;
  const kindAndFlag = source.readUInt8(at + 5);
  const kind = kinds[kindAndFlag & ~flushedBefore];
  if (kind === undefined || type < recordType.entry || type > recordType.end) return undefined;
  const index = Number(source.readBigUInt64LE(at + 8));
  const term = Number(source.readBigUInt64LE(at + 16));
  const nextAt = at + recordBytes(length);
  const isFlushedBefore = (kindAndFlag & flushedBefore) !== 0;
  return { type, kind, index, term, payload, nextAt, chain: dataCrc, isFlushedBefore };
}

/** Whether a record stands behind `from` that was written when everything before it was on the disk. */
export function hasLaterFlush(source: Buffer, from: number, seed: number): boolean {
  for (let at = from; at + recordHeaderBytes <= source.length; at += 8) {
    if ((source.readUInt8(at + 5) & flushedBefore) === 0) continue;
    if (source.readUInt8(at + 4) > recordType.end) continue;
    if (source.readUInt32LE(at + 24) === crc32(source.subarray(at, at + 24), seed)) return true;
  }
  return false;
}

function uuidBytes(text: string): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.write(text.replaceAll('-', ''), 'hex');
  return bytes;
}

function uuidText(bytes: Buffer): string {
  if (bytes.every((byte) => byte === 0)) return '';
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
