import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeRid } from '#core/value/rid.ts';
import { OrdinalRids } from '#database/bulk/ends/ordinal-rids.ts';

test('record ids are found by their numbers, set in any order, far beyond one segment', () => {
  const rids = new OrdinalRids();
  const count = 600_001;
  for (let ordinal = count - 1; ordinal >= 0; ordinal -= 1)
    rids.set(ordinal, makeRid(7, ordinal * 3));
  for (let ordinal = 0; ordinal < count; ordinal += 1)
    if (rids.get(ordinal) !== makeRid(7, ordinal * 3)) assert.fail(`number ${ordinal}`);
});
