import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type BucketId, makeRid, positionMax, type Rid } from '#core/value/rid.ts';
import { hashedMax, PositionHash } from '#transaction/write/position-hash.ts';
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

test('values are put in and taken out by the thousand, in any order', () => {
  const spread = fc.constantFrom(1, 37, 64, 2 ** 20, 2 ** 24 + 1);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8191 }), spread, (factor, width) => {
      const map = new RidMap<number>();
      const model = new Map<number, number>();
      const at = (position: number): Rid => makeRid(1 as BucketId, position * width);
      // More come than go until the table has grown, then less, then all go, and some come again.
      for (const [steps, goes] of [
        [9_000, 3],
        [9_000, 1],
        [4_000, 2],
      ] as const) {
        for (let step = 0; step < steps; step += 1) {
          const place = (step * factor * 2 + 1) % 8192;
          if (step % 4 < goes) {
            assert.equal(map.set(at(place), step), !model.has(place));
            model.set(place, step);
          } else {
            const other = (place * 31) % 8192;
            map.delete(at(other));
            model.delete(other);
          }
        }
        assert.equal(map.size, model.size);
        const sorted = [...model].sort(([a], [b]) => a - b).map(([, value]) => value);
        assert.deepEqual([...map.inOrder()].flat(), sorted);
        for (let place = 0; place < 8192; place += 1)
          assert.equal(map.get(at(place)), model.get(place));
        let sum = 0;
        map.forEach((value) => {
          sum += value;
        });
        assert.equal(
          sum,
          sorted.reduce((a, b) => a + b, 0),
        );
      }
      for (const place of [...model.keys()]) map.delete(at(place));
      assert.equal(map.size, 0);
      assert.deepEqual([...map.inOrder()].flat(), []);
    }),
    { numRuns: 10 },
  );
});

test('on their way from the hash into leaves values are moved some at a time, and found where they are', (t) => {
  let movedNow = 0;
  let movedAtOnce = 0;
  // Mocks of the platform keep all of their calls.
  const { takeFirst, forEach } = PositionHash.prototype;
  t.after(() => Object.assign(PositionHash.prototype, { takeFirst, forEach }));
  PositionHash.prototype.takeFirst = function (count, visit): void {
    takeFirst.call(this, count, (value, position) => {
      movedNow += 1;
      visit(value, position);
    });
  };
  let walkCount = 0;
  PositionHash.prototype.forEach = function (visit): void {
    walkCount += 1;
    forEach.call(this, visit);
  };
  const span = 2 ** 18;
  for (const { seed, width } of [
    { seed: 40, width: 1 },
    { seed: 7_001, width: 37 },
  ]) {
    const map = new RidMap<number>();
    const model = new Map<number, number>();
    const at = (place: number): Rid => makeRid(1 as BucketId, place * width);
    const placeOf = (step: number): number => ((step + seed) * 40_503) % span;
    const put = (place: number, value: number): void => {
      movedNow = 0;
      isRight &&= map.set(at(place), value) === !model.has(place);
      movedAtOnce = Math.max(movedAtOnce, movedNow);
      model.set(place, value);
    };
    let isRight = true;
    const requireAll = (): void => {
      assert.ok(isRight);
      assert.equal(map.size, model.size);
      const sorted = [...model].sort(([a], [b]) => a - b).map(([, value]) => value);
      const order = [...map.inOrder()].flat();
      assert.ok(order.length === sorted.length && order.every((value, i) => value === sorted[i]));
    };
    for (let step = 0; step < hashedMax; step += 1) put(placeOf(step), step);
    // Old ones are changed and taken out, new ones come, while some have moved and others have not.
    for (let step = 0; step < 6_000; step += 1) {
      put(placeOf(hashedMax + step), -step);
      put(placeOf(step * 11), -step);
      const gone = placeOf(step * 13);
      map.delete(at(gone));
      model.delete(gone);
      const asked = placeOf(step * 17);
      isRight &&= map.get(at(asked)) === model.get(asked);
    }
    let sum = 0;
    if (seed % 2 === 0) {
      map.forEach((value) => {
        sum += value;
      });
      assert.equal(
        sum,
        [...model.values()].reduce((a, b) => a + b, 0),
      );
      // Some of the order, which takes those out of the hash that it has come to, and on with the moves.
      const order = map.inOrder();
      for (let count = 0; count < 100; count += 1) order.next();
    } else requireAll();
    for (let step = 0; step < 12_000; step += 1) put(placeOf(hashedMax + 6_000 + step), step);
    requireAll();
    for (const [place, value] of model) {
      isRight &&= map.get(at(place)) === value;
      map.delete(at(place));
    }
    model.clear();
    requireAll();
  }
  assert.ok(movedAtOnce > 0 && movedAtOnce <= 8, `${movedAtOnce} values were moved at once`);
  assert.ok(walkCount <= 1);
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
