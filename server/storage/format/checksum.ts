import { crc32 } from 'node:zlib';
import { DatabaseError } from '#core/errors.ts';

/** Bytes of checksum at the end of every checked value: CRC-32 over key and value (storage.md 3), little-endian. */
export const checksumSize = 4;

/** By byte, four times: for the last byte of four, for the one before it, ... Four at a time take a third of the time of single ones. */
const tables = new Int32Array(4 * 256);
for (let byte = 0; byte < 256; byte++) {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1) !== 0 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  tables[byte] = crc;
}
for (let i = 256; i < tables.length; i++) {
  const before = tables[i - 256] as number;
  tables[i] = (before >>> 8) ^ (tables[before & 0xff] as number);
}

/** Up to this the loop in JavaScript is faster than the call into zlib. */
const shortLength = 144;

/** CRC-32 of `bytes[start, end)` continuing `seed`, as zlib computes it. */
export function checksum(bytes: Uint8Array, start: number, end: number, seed: number): number {
  if (end - start > shortLength) return crc32(bytes.subarray(start, end), seed);
  let crc = ~seed;
  let i = start;
  for (const last = end - 3; i < last; i += 4) {
    crc ^=
      (bytes[i] as number) |
      ((bytes[i + 1] as number) << 8) |
      ((bytes[i + 2] as number) << 16) |
      ((bytes[i + 3] as number) << 24);
    crc =
      (tables[768 + (crc & 0xff)] as number) ^
      (tables[512 + ((crc >>> 8) & 0xff)] as number) ^
      (tables[256 + ((crc >>> 16) & 0xff)] as number) ^
      (tables[crc >>> 24] as number);
  }
  for (; i < end; i++) crc = (tables[(crc ^ (bytes[i] as number)) & 0xff] as number) ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** Fills in the last four bytes of the value `bytes[start, end)` that is stored under `key`. */
export function sealValue(key: Uint8Array, bytes: Uint8Array, start: number, end: number): void {
  const body = end - checksumSize;
  const crc = checksum(bytes, start, body, checksum(key, 0, key.length, 0));
  bytes[body] = crc;
  bytes[body + 1] = crc >>> 8;
  bytes[body + 2] = crc >>> 16;
  bytes[body + 3] = crc >>> 24;
}

/** Whether the value `bytes[start, end)` read under `key` is what was stored there. */
export function isIntact(key: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  return isSealed(checksum(key, 0, key.length, 0), bytes, start, end);
}

/** As `isIntact`, for whoever has the checksum of the key. */
export function isSealed(
  keyChecksum: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  const body = end - checksumSize;
  if (body < start) return false;
  const crc = checksum(bytes, start, body, keyChecksum);
  return (
    bytes[body] === (crc & 0xff) &&
    bytes[body + 1] === ((crc >>> 8) & 0xff) &&
    bytes[body + 2] === ((crc >>> 16) & 0xff) &&
    bytes[body + 3] === crc >>> 24
  );
}

/** Whether it is what `corrupted` gives. */
export function isDamage(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === 'CorruptedRecord';
}

/** What a mismatch is reported as; only what it names is affected. */
export function corrupted(what: string): DatabaseError {
  return new DatabaseError('CorruptedRecord', `checksum of ${what} does not match: it is damaged`);
}
