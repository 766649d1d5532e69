import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { checksum } from '#storage/format/checksum.ts';

test('checksums of any length, from anywhere, are those of zlib', () => {
  const bytes = fc.uint8Array({ minLength: 0, maxLength: 400, size: 'max' });
  fc.assert(
    fc.property(bytes, fc.nat({ max: 9 }), fc.nat({ max: 2 ** 32 - 1 }), (given, start, seed) => {
      const from = Math.min(start, given.length);
      const expected = crc32(given.subarray(from), seed);
      assert.equal(checksum(given, from, given.length, seed), expected);
    }),
  );
});
