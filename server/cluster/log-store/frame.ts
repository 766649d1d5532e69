import { crc32 } from 'node:zlib';
import type { EntryKind, Index, Term } from '#raft/vocabulary.ts';

/*
 * Bytes of the log of a cluster (ha.md 3.3). A segment is a header of 64 bytes and records, each at a multiple of 8:
 * u32 payload length, u8 type, u8 kind, u16 0, u64 index, u64 term, u32 CRC of this header, u32 CRC of the payload, payload, zeros.
 * Both checksums go on from those of the record before, so a record of a file that is used again cannot be taken for a new one.
 */

export const segmentHeaderBytes = 64;
export const recordHeaderBytes = 32;
const magic = 'POLYRAFT';
const version = 1;

export const recordType = { entry: 1, hardState: 2, truncate: 3 } as const;
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
  readonly storageId: string;
  readonly firstIndex: Index;
}

export function encodeSegmentHeader({ storageId, firstIndex }: SegmentHeader): Uint8Array {
  const bytes = Buffer.alloc(segmentHeaderBytes);
  bytes.write(magic, 0, 'latin1');
  bytes.writeUInt32LE(version, 8);
  Buffer.from(storageId.replaceAll('-', ''), 'hex').copy(bytes, 16);
  bytes.writeBigUInt64LE(BigInt(firstIndex), 32);
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
  const hex = bytes.toString('hex', 16, 32);
  const storageId = [8, 13, 18, 23].reduce(
    (text, at) => `${text.slice(0, at)}-${text.slice(at)}`,
    hex,
  );
  return { storageId, firstIndex: Number(bytes.readBigUInt64LE(32)) };
}

export function recordBytes(payloadLength: number): number {
  return recordHeaderBytes + Math.ceil(payloadLength / 8) * 8;
}

/** @param running checksum of the record before @returns that of this one */
export function writeRecord(
  target: Buffer,
  at: number,
  record: LogRecord,
  running: number,
): number {
  const { type, kind, index, term, payload } = record;
  target.writeUInt32LE(payload.length, at);
  target.writeUInt8(type, at + 4);
  target.writeUInt8(kinds.indexOf(kind), at + 5);
  target.writeUInt16LE(0, at + 6);
  target.writeBigUInt64LE(BigInt(index), at + 8);
  target.writeBigUInt64LE(BigInt(term), at + 16);
  const headerCrc = crc32(target.subarray(at, at + 24), running);
  target.writeUInt32LE(headerCrc, at + 24);
  const dataCrc = crc32(payload, headerCrc);
  target.writeUInt32LE(dataCrc, at + 28);
  target.set(payload, at + recordHeaderBytes);
  target.fill(0, at + recordHeaderBytes + payload.length, at + recordBytes(payload.length));
  return dataCrc;
}

export interface ReadRecord extends LogRecord {
  readonly nextAt: number;
  readonly running: number;
}

/** @returns undefined where no whole record of this chain stands */
export function readRecord(source: Buffer, at: number, running: number): ReadRecord | undefined {
  if (at + recordHeaderBytes > source.length) return undefined;
  const length = source.readUInt32LE(at);
  const headerCrc = source.readUInt32LE(at + 24);
  if (headerCrc !== crc32(source.subarray(at, at + 24), running)) return undefined;
  const end = at + recordHeaderBytes + length;
  if (end > source.length) return undefined;
  const payload = source.subarray(at + recordHeaderBytes, end);
  const dataCrc = source.readUInt32LE(at + 28);
  if (dataCrc !== crc32(payload, headerCrc)) return undefined;
  const type = source.readUInt8(at + 4) as RecordType;
  const kind = kinds[source.readUInt8(at + 5)] ?? 'normal';
  const index = Number(source.readBigUInt64LE(at + 8));
  const term = Number(source.readBigUInt64LE(at + 16));
  return { type, kind, index, term, payload, nextAt: at + recordBytes(length), running: dataCrc };
}
