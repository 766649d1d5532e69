import type { Rid } from '#core/value/rid.ts';

/** A 64-bit hash as two unsigned halves; reused between calls. */
export interface HashHalves {
  low: number;
  high: number;
}

/**
 * Hash over record id and row (which holds the version), for the content hash of a bucket: two lanes of the finalised
 * multiply-and-rotate kind (after MurmurHash3), some 2 ns per four bytes. Rows are padded to whole words by zeros.
 */
export function hashRow(
  rid: Rid,
  view: DataView,
  start: number,
  length: number,
  into: HashHalves,
): void {
  let a = (rid % 2 ** 32) | 0;
  let b = Math.floor(rid / 2 ** 32) ^ 0x9e3779b9;
  const end = start + (length & ~3);
  let at = start;
  for (; at < end; at += 4) {
    const word = view.getInt32(at, true);
    a = Math.imul(a ^ word, 0xcc9e2d51);
    a = (a << 15) | (a >>> 17);
    b = Math.imul(b + word, 0x1b873593);
    b = (b << 13) | (b >>> 19);
  }
  for (let i = 0; at < start + length; at++, i += 8) {
    const byte = view.getUint8(at) << i;
    a = Math.imul(a ^ byte, 0xcc9e2d51);
    b = Math.imul(b + byte, 0x1b873593);
  }
  a ^= length;
  into.low = mix(a + b);
  into.high = mix(b ^ Math.imul(a, 0x85ebca6b));
}

function mix(value: number): number {
  let h = value;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** `sum` plus or minus `hash`, modulo 2^64. */
export function addHash(sum: HashHalves, hash: HashHalves, sign: 1 | -1): void {
  let low: number;
  let high: number;
  if (sign === 1) {
    low = sum.low + hash.low;
    high = sum.high + hash.high;
    if (low >= 2 ** 32) high += 1;
  } else {
    low = sum.low - hash.low;
    high = sum.high - hash.high;
    if (low < 0) high -= 1;
  }
  sum.low = low >>> 0;
  sum.high = high >>> 0;
}
