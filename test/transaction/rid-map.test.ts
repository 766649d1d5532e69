import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type BucketId, makeRid, positionMax, type Rid } from '#core/value/rid.ts';
import { RidMap } from '#transaction/write/rid-map.ts';

const position = fc.oneof(
  fc.integer({ min: 0, max: 20 }),
  fc.integer({ min: 0, max: 1_000_000 }),
  fc.integer({ min: positionMax - 20, max: positionMax - 1 }),
);
const rid = fc
  .tuple(fc.integer({ min: 0, max: 5 }), position)
  .map(([bucket, at]) => makeRid(bucket as BucketId, at));

test('values come in the order of their record ids', () => {
  fc.assert(
    fc.property(
      fc.array(rid, { maxLength: 200 }),
      fc.array(rid, { maxLength: 20 }),
      (set, gone) => {
        const map = new RidMap<{ readonly rid: Rid }>();
        for (const id of set) map.set(id, { rid: id });
        for (const id of gone) map.delete(id);
        const kept = [...new Set(set)].filter((id) => !gone.includes(id)).sort((a, b) => a - b);
        assert.deepEqual(
          [...map.inOrder()].flat().map((value) => value.rid),
          kept,
        );
        assert.equal(map.size, kept.length);
        for (const id of kept) assert.equal(map.get(id)?.rid, id);
        for (const id of gone) assert.equal(map.get(id), undefined);
      },
    ),
  );
});

test('so do many values, also at the highest positions', () => {
  const map = new RidMap<number>();
  const count = 140_000;
  for (let at = 0; at < count; at += 1) {
    const place = (at * 7919) % count;
    map.set(makeRid(3 as BucketId, positionMax - 1 - place), -place);
    map.set(makeRid(2 as BucketId, place), place - 10 * count);
  }
  const values = [...map.inOrder()].flat();
  assert.equal(values.length, 2 * count);
  for (let at = 1; at < values.length; at += 1)
    assert.ok((values[at - 1] as number) < (values[at] as number));
});

test('a map that many values were taken out of begins anew', () => {
  const map = new RidMap<number>();
  const at = (position: number): Rid => makeRid(1 as BucketId, position * 37);
  for (let round = 0; round < 3; round += 1) {
    for (let position = 0; position < 2_000; position += 1) map.set(at(position), position);
    assert.equal([...map.inOrder()].flat().length, 2_000);
    for (let position = 0; position < 2_000; position += 1) map.delete(at(position));
    map.delete(at(5));
    assert.equal(map.size, 0);
    assert.deepEqual([...map.inOrder()].flat(), []);
    map.set(at(7), 7);
    assert.deepEqual([...map.inOrder()].flat(), [7]);
    map.delete(at(7));
  }
});

test('a bucket goes with all of its keys, the last one used, too', () => {
  const map = new RidMap<number>();
  for (const bucket of [1, 2]) for (const at of [0, 7]) map.set(makeRid(bucket, at), bucket);
  map.deleteBucket(2 as BucketId);
  map.deleteBucket(3 as BucketId);
  assert.equal(map.size, 2);
  assert.equal(map.get(makeRid(2, 7)), undefined);
  map.set(makeRid(2, 1), 5);
  assert.deepEqual([...map.inOrder()].flat(), [1, 1, 5]);
  map.deleteBucket(2 as BucketId);
  map.deleteBucket(1 as BucketId);
  assert.equal(map.size, 0);
});
