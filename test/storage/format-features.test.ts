import assert from 'node:assert/strict';
import { test } from 'node:test';
import { currentFormat, decodeFormat, isCurrentFormat } from '#storage/format/features.ts';

const read = (format: object) => decodeFormat(Buffer.from(JSON.stringify(format)), '/db');

test('a format of a later build is refused by what it is called', () => {
  assert.throws(() => read({ storage: 2, features: ['extendedValues', 'foldedColumns'] }), {
    code: 'CorruptedRecord',
    message: "the database in '/db' uses 'foldedColumns', which this version does not know",
  });
  assert.throws(() => read({ storage: 3 }), {
    message: /storage format 3; this version reads 1 to 2/,
  });
  assert.throws(() => read({ storage: '__proto__' }), { code: 'CorruptedRecord' });
});

test('the format before features is opened and brought up to date', () => {
  assert.equal(isCurrentFormat(read({ storage: 1 })), false);
  assert.equal(isCurrentFormat(read(currentFormat)), true);
});
