import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { IndexDefinition } from '#catalog/catalog.ts';
import type { IndexId, Rid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import { compareValues } from '#core/value/value-order.ts';
import { IndexKeys } from '#index/ordered/index-keys.ts';
import { keyRange, type WantedKeys } from '#index/ordered/key-range.ts';
import { OrderedIndexMaintainer } from '#index/ordered/maintainer.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import type { LmdbEngine } from '#storage/lmdb-engine.ts';
import { encodeKey } from '#storage/format/ordered-key.ts';
import { Log, openEngine, person, put, temporaryDirectory } from '#test/storage/engine-fixture.ts';
import { catalogOf, component, definition } from './fake-catalog.ts';

function openIndexed(directory: string, indexes: readonly IndexDefinition[]): LmdbEngine {
  const maintainer = new OrderedIndexMaintainer({ decodeCatalog: () => catalogOf(indexes) });
  maintainer.schemaChanged(new Uint8Array());
  return openEngine(directory, { deriver: maintainer });
}

const everything = new Uint8Array(16).fill(0xff);

function ridsOf(
  snapshot: StorageSnapshot,
  index: IndexDefinition,
  order: 'ascending' | 'descending' = 'ascending',
  wanted?: WantedKeys,
): Rid[] {
  const range = wanted === undefined ? undefined : keyRange(index, wanted);
  const low = range?.low ?? new Uint8Array();
  const cursor = snapshot.entries(index.id, low, range?.high ?? everything, order);
  const rids: Rid[] = [];
  while (cursor.next()) rids.push(cursor.rid);
  cursor.close();
  return rids;
}

test('entries follow the records: in, changed, out', async (context) => {
  const byName = definition(1, [component('name')], { unique: true });
  const byAge = definition(2, [component('age'), component('name')]);
  const engine = openIndexed(temporaryDirectory(context), [byName, byAge]);
  const log = new Log(engine);
  await log.commit(
    put(engine, person(0), { name: 'a', age: 30 }),
    put(engine, person(1), { name: 'b', age: 20 }),
    put(engine, person(2), { name: 'c' }),
  );
  {
    using snapshot = engine.snapshot();
    assert.equal(snapshot.uniqueEntry(byName.id, encodeKey(['b'])), person(1));
    assert.equal(snapshot.uniqueEntry(byName.id, encodeKey(['x'])), undefined);
    assert.deepEqual(ridsOf(snapshot, byAge), [person(1), person(0)]);
    assert.equal(snapshot.entryCount(byName.id), 3);
    assert.equal(snapshot.entryCount(byAge.id), 2);
  }
  // Two records swap their unique keys in one transaction.
  await log.commit(
    put(engine, person(0), { name: 'b', age: 30 }),
    put(engine, person(1), { name: 'a', age: 21 }),
    { op: 'delete-row', rid: person(2) },
  );
  using snapshot = engine.snapshot();
  assert.equal(snapshot.uniqueEntry(byName.id, encodeKey(['a'])), person(1));
  assert.equal(snapshot.uniqueEntry(byName.id, encodeKey(['b'])), person(0));
  assert.equal(snapshot.uniqueEntry(byName.id, encodeKey(['c'])), undefined);
  assert.equal(snapshot.entryCount(byName.id), 2);
  assert.deepEqual(ridsOf(snapshot, byAge, 'descending'), [person(0), person(1)]);
  snapshot[Symbol.dispose]();
  await engine.close();
});

test('cursors give any range in both orders, chunk after chunk, while commits go on', async (context) => {
  const index = definition(7, [component('v')]);
  const other = definition(8, [component('v')]);
  const engine = openIndexed(temporaryDirectory(context), [index, other]);
  const log = new Log(engine);
  const values = Array.from({ length: 900 }, (_, i) => Math.floor(i / 3) * 2);
  await log.commit(...values.map((v, i) => put(engine, person(i), { v })));
  using snapshot = engine.snapshot();
  await log.commit(put(engine, person(5), { v: 1 }), { op: 'delete-row', rid: person(6) });
  const bound = fc.option(
    fc.record({ value: fc.integer({ min: -3, max: 605 }), inclusive: fc.boolean() }),
    {
      nil: undefined,
    },
  );
  fc.assert(
    fc.property(bound, bound, fc.boolean(), (low, high, isDescending) => {
      const wanted = { prefix: [], ...(low && { low }), ...(high && { high }) };
      const expected = values.flatMap((v, i) => {
        if (low && (low.inclusive ? v < low.value : v <= low.value)) return [];
        if (high && (high.inclusive ? v > high.value : v >= high.value)) return [];
        return [person(i)];
      });
      if (isDescending) expected.reverse();
      const order = isDescending ? 'descending' : 'ascending';
      assert.deepEqual(ridsOf(snapshot, index, order, wanted), expected);
    }),
    { numRuns: 60 },
  );
  snapshot[Symbol.dispose]();
  await engine.close();
});

test('a key range holds exactly the wanted values when it says so, and all of them otherwise', () => {
  const index = definition(1, [component('a'), component('b')]);
  const value = fc.oneof(
    fc.integer({ min: -5, max: 5 }),
    fc.boolean(),
    fc.constantFrom<Value>('', 'a', 'ab', 'abc', 'b'),
  );
  const keys = new IndexKeys(index);
  fc.assert(
    fc.property(
      value,
      value,
      value,
      fc.boolean(),
      fc.boolean(),
      (a, b, limit, isLow, inclusive) => {
        const bound = { value: limit, inclusive };
        const wanted = isLow ? { prefix: [a], low: bound } : { prefix: [a], high: bound };
        const [key] = keys.keysOf({
          get: (name) => (name === 'a' ? a : b),
          out: 0 as Rid,
          in: 0 as Rid,
        });
        const range = keyRange(index, wanted);
        assert.ok(key !== undefined && range.isExact);
        const isInside = Buffer.compare(key, range.low) >= 0 && Buffer.compare(key, range.high) < 0;
        const order = compareValues(b, limit);
        const isWanted =
          typeof b === typeof limit &&
          (inclusive && order === 0 ? true : isLow ? order > 0 : order < 0);
        assert.equal(isInside, isWanted);
      },
    ),
    { numRuns: 1000 },
  );
});

test('entries of an index under construction are counted once, whoever adds them', async (context) => {
  const index = definition(4, [component('v')], { state: 'BUILDING' });
  const engine = openIndexed(temporaryDirectory(context), [index]);
  const log = new Log(engine);
  await log.commit(put(engine, person(0), { v: 1 }), put(engine, person(1), { v: 2 }));
  await engine.addEntries(new IndexKeys(index).target, [
    { key: encodeKey([1]), rid: person(0) },
    { key: encodeKey([3]), rid: person(2) },
  ]);
  await log.commit({ op: 'delete-row', rid: person(1) });
  using snapshot = engine.snapshot();
  assert.equal(snapshot.entryCount(index.id), 2);
  assert.deepEqual(ridsOf(snapshot, index), [person(0), person(2)]);
  snapshot[Symbol.dispose]();
  await engine.close();
});

test('a dropped index loses its entries and no other, also when the database is closed meanwhile', async (context) => {
  const gone = definition(5, [component('v')]);
  const kept = definition(6, [component('v')]);
  const directory = temporaryDirectory(context);
  const engine = openIndexed(directory, [gone, kept]);
  const log = new Log(engine);
  await log.commit(...Array.from({ length: 2000 }, (_, v) => put(engine, person(v), { v })));
  await log.commit({ op: 'drop-index', index: gone.id });
  {
    using snapshot = engine.snapshot();
    assert.equal(snapshot.entryCount(gone.id), 0);
  }
  await engine.close();
  const again = openIndexed(directory, [kept]);
  await again.settled();
  using snapshot = again.snapshot();
  assert.deepEqual(ridsOf(snapshot, gone), []);
  assert.equal(ridsOf(snapshot, kept).length, 2000);
  assert.equal(snapshot.entryCount(kept.id), 2000);
  snapshot[Symbol.dispose]();
  await again.close();
});

test('an unknown index has no entries', async (context) => {
  const engine = openIndexed(temporaryDirectory(context), []);
  using snapshot = engine.snapshot();
  assert.equal(snapshot.entryCount(99 as IndexId), 0);
  assert.equal(snapshot.uniqueEntry(99 as IndexId, encodeKey([1])), undefined);
  snapshot[Symbol.dispose]();
  await engine.close();
});
