import { crc32 } from 'node:zlib';
import { DatabaseError } from '#core/errors.ts';

/** Bytes of checksum at the end of every checked value: CRC-32 over key and value (storage.md 3), little-endian. */
export const checksumSize = 4;

const table = new Uint32Array(256).map((_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1) !== 0 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/** Below this the loop in JavaScript is faster than the call into zlib. */
const shortLength = 96;

/** CRC-32 of `bytes[start, end)` continuing `seed`, as zlib computes it. */
export function checksum(bytes: Uint8Array, start: number, end: number, seed: number): number {
  if (end - start > shortLength) return crc32(bytes.subarray(start, end), seed);
  let crc = ~seed;
  for (let i = start; i < end; i++) {
    crc = (table[(crc ^ (bytes[i] as number)) & 0xff] as number) ^ (crc >>> 8);
  }
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
  const body = end - checksumSize;
  if (body < start) return false;
  const crc = checksum(bytes, start, body, checksum(key, 0, key.length, 0));
  return (
    bytes[body] === (crc & 0xff) &&
    bytes[body + 1] === ((crc >>> 8) & 0xff) &&
    bytes[body + 2] === ((crc >>> 16) & 0xff) &&
    bytes[body + 3] === crc >>> 24
  );
}

/** What a mismatch is reported as; only what it names is affected. */
export function corrupted(what: string): DatabaseError {
  return new DatabaseError('CorruptedRecord', `checksum of ${what} does not match: it is damaged`);
}
