import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { makeRid, type BucketId, type Rid } from '#core/value/rid.ts';
import { RidSet } from '#query/operators/scan/rid-set.ts';

test('a set of record ids is a set, whether it is small, dense or scattered', () => {
  const position = fc.oneof(
    fc.nat(200),
    fc.nat(100_000),
    fc.maxSafeInteger().map((n) => Math.abs(n) % 2 ** 37),
  );
  const ids = fc.array(fc.tuple(fc.nat(3), position), { maxLength: 300 });
  const runs = fc.array(fc.tuple(fc.nat(3), fc.nat(1000), fc.nat(6000)), { maxLength: 2 });
  fc.assert(
    fc.property(ids, runs, (scattered, dense) => {
      const set = new RidSet();
      const model = new Set<number>();
      const add = (rid: Rid): void => {
        if (set.add(rid) === model.has(rid)) assert.fail(`add(${rid}) forgot whether it is new`);
        model.add(rid);
      };
      for (const [bucket, at] of scattered) add(makeRid(bucket, at));
      for (const [bucket, from, count] of dense)
        for (let at = from; at < from + count; at += 1) add(makeRid(bucket, at));
      for (const [bucket, at] of scattered) add(makeRid(bucket, at));
      assert.equal(set.size, model.size);
      const found = [0, 1, 2, 3].flatMap((bucket) => [...set.ridsOf(bucket as BucketId)]);
      assert.deepEqual(
        found,
        [...model].sort((a, b) => a - b),
      );
      set.clear();
      assert.equal(set.size, 0);
      assert.equal(set.add(makeRid(1, 5)), true);
    }),
    { numRuns: 50 },
  );
});
