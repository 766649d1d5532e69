import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CountCache } from '#query/operators/row/count-cache.ts';
import { spareMemory, SpareMemory } from '#query/operators/hold/spare-memory.ts';
import type { Rid } from '#core/value/rid.ts';

const kilobyte = 1024;

test('memory that was given back is used again', () => {
  const spare = new SpareMemory(1024 * kilobyte);
  const first = spare.take(200 * kilobyte);
  assert.ok(first.byteLength >= 200 * kilobyte);
  spare.giveBack(first);
  assert.equal(spare.take(190 * kilobyte), first);
  assert.notEqual(spare.take(190 * kilobyte), first);
});

test('no piece is used twice at a time, none is much too large, and no more is kept than the bound', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 700 })), { maxLength: 60 }),
      (steps) => {
        const spare = new SpareMemory(1024 * kilobyte);
        const used: ArrayBuffer[] = [];
        for (const [isTaken, size] of steps) {
          if (isTaken) {
            const taken = spare.take(size * kilobyte);
            assert.ok(!used.includes(taken));
            assert.ok(taken.byteLength >= size * kilobyte && !taken.detached);
            assert.ok(taken.byteLength <= Math.max(2 * size, size + 64) * kilobyte);
            used.push(taken);
          } else if (used.length > 0) {
            const [given] = used.splice(size % used.length, 1);
            spare.giveBack(given as ArrayBuffer);
          }
          assert.ok(spare.bytes <= 1024 * kilobyte);
        }
        for (const memory of used) assert.ok(!memory.detached);
      },
    ),
  );
});

test('a cache of counts knows nothing of who had its memory before', () => {
  const first = new CountCache();
  for (let rid = 0; rid < 300_000; rid += 1) first.set(rid as Rid, rid + 1);
  first.clear();
  for (let rid = 0; rid < 1_000; rid += 1) assert.equal(first.get(rid as Rid), -1);
  const before = spareMemory.bytes;
  const second = new CountCache();
  for (let rid = 0; rid < 300_000; rid += 1) second.set((rid * 2) as Rid, 7);
  assert.ok(spareMemory.bytes <= before);
  for (let rid = 1; rid < 300_000; rid += 2) assert.equal(second.get(rid as Rid), -1);
  for (let rid = 0; rid < 600_000; rid += 2) {
    const count = second.get(rid as Rid);
    assert.ok(count === 7 || count === -1);
  }
  second.clear();
});
