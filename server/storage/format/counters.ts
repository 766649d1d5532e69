import type { LogIndex } from '#core/value/rid.ts';
import { viewOf } from './bytes.ts';

// The fixed binary values of the sub-database `meta`, little-endian, each without its checksum.
//
// Written byte by byte: V8 keeps arrays of up to 64 bytes within its heap, and a view would move each of them out, which is a
// microsecond in every commit.

/** What of the log is in the database. */
export interface AppliedPosition {
  /** LSN; versions of rows written by the entry. */
  readonly index: LogIndex;
  readonly term: number;
  /** Contiguous per database from 1. */
  readonly txId: number;
}

/** What is kept per bucket. Immutable. */
export interface BucketState {
  /** One past the highest position that was ever used or taken. */
  readonly next: number;
  readonly live: number;
  /** Sum modulo 2^64 of a hash over RID, version and row of all live rows. */
  readonly hashLow: number;
  readonly hashHigh: number;
  /** Rows per block. */
  readonly slotCount: number;
  /** False while the first block decides on the rows per block. */
  readonly isSized: boolean;
}

export const newBucket: BucketState = {
  next: 0,
  live: 0,
  hashLow: 0,
  hashHigh: 0,
  slotCount: 64,
  isSized: false,
};

/** By the average size of a bucket's first rows, so that a block stays near 8 KB. */
export function rowsPerBlockFor(averageRowBytes: number): number {
  if (averageRowBytes > 256) return 16;
  return averageRowBytes > 128 ? 32 : 64;
}

/** u8 format, u8 rows per block, u8 1 once that is settled, u8 0, u64 next position, u64 live, u64 content hash */
export function encodeBucketState(state: BucketState): Uint8Array {
  const bytes = new Uint8Array(28);
  bytes[0] = 1;
  bytes[1] = state.slotCount;
  bytes[2] = state.isSized ? 1 : 0;
  putU64(bytes, 4, state.next);
  putU64(bytes, 12, state.live);
  putU32(bytes, 20, state.hashLow);
  putU32(bytes, 24, state.hashHigh);
  return bytes;
}

export function decodeBucketState(bytes: Uint8Array): BucketState {
  const view = viewOf(bytes);
  return {
    slotCount: view.getUint8(1),
    isSized: view.getUint8(2) === 1,
    next: readU64(view, 4),
    live: readU64(view, 12),
    hashLow: view.getUint32(20, true),
    hashHigh: view.getUint32(24, true),
  };
}

/** What is kept per index. */
export interface IndexState {
  readonly entries: number;
  /** Its entries lie in chunks: so many changes stand beside them. */
  readonly besideChunks?: number | undefined;
}

/** u8 format, u8 1 when entries lie in chunks, u16 0, u32 changes beside them, u64 entries, u64 LSN up to which it is built */
export function encodeIndexState(
  { entries, besideChunks }: IndexState,
  builtTo: LogIndex,
): Uint8Array {
  const bytes = new Uint8Array(24);
  bytes[0] = 1;
  bytes[1] = besideChunks === undefined ? 0 : 1;
  putU32(bytes, 4, Math.min(besideChunks ?? 0, 2 ** 32 - 1));
  putU64(bytes, 8, entries);
  putU64(bytes, 16, builtTo);
  return bytes;
}

export function decodeIndexState(bytes: Uint8Array): IndexState {
  const view = viewOf(bytes);
  const besideChunks = bytes[1] === 1 ? view.getUint32(4, true) : undefined;
  return { entries: readU64(view, 8), besideChunks };
}

/**
 * u8 format, u8[3] 0, u32 schema version, u64 LSN, u64 term, u64 txId, 32 bytes chain. Schema version and chain are zero
 * until replication fills them (ha.md 5.7).
 */
export function encodeApplied(position: AppliedPosition): Uint8Array {
  const bytes = new Uint8Array(64);
  bytes[0] = 1;
  putU64(bytes, 8, position.index);
  putU64(bytes, 16, position.term);
  putU64(bytes, 24, position.txId);
  return bytes;
}

export function decodeApplied(bytes: Uint8Array): AppliedPosition {
  const view = viewOf(bytes);
  return {
    index: readU64(view, 8) as LogIndex,
    term: readU64(view, 16),
    txId: readU64(view, 24),
  };
}

function putU64(bytes: Uint8Array, at: number, value: number): void {
  putU32(bytes, at, value % 2 ** 32);
  putU32(bytes, at + 4, Math.floor(value / 2 ** 32));
}

function putU32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value;
  bytes[at + 1] = value >>> 8;
  bytes[at + 2] = value >>> 16;
  bytes[at + 3] = value >>> 24;
}

export function writeU64(view: DataView, at: number, value: number): void {
  view.setUint32(at, value % 2 ** 32, true);
  view.setUint32(at + 4, Math.floor(value / 2 ** 32), true);
}

export function readU64(view: DataView, at: number): number {
  return view.getUint32(at + 4, true) * 2 ** 32 + view.getUint32(at, true);
}
