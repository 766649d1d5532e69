import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type LogIndex, makeRid, type Rid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import { cellKind } from '#storage/format/cell.ts';
import type { EntryChanges, IndexDeriver, StorageSnapshot } from '#storage/engine.ts';
import type { LmdbEngine } from '#storage/lmdb-engine.ts';
import { encodeKey } from '#storage/format/ordered-key.ts';
import { sortedOrder } from '#storage/bulk/radix-sort.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { IndexId } from '#core/value/rid.ts';
import {
  knowsBucket,
  knowsType,
  Log,
  openEngine,
  person,
  personBucket,
  personType,
  propertiesOf,
  put,
  temporaryDirectory,
} from './engine-fixture.ts';

const nameIndex = { id: 1 as IndexId, isUnique: true, isBuilding: false };
const sizeIndex = { id: 2 as IndexId, isUnique: false, isBuilding: false };

/** A unique index on `name` and another one on `size`. */
const indexes: IndexDeriver = {
  schemaChanged() {},
  isIndexed: (type) => type === personType,
  derive(before: StoredRecord | undefined, after: StoredRecord | undefined, changes: EntryChanges) {
    for (const [target, property] of [
      [nameIndex, 'name'],
      [sizeIndex, 'size'],
    ] as const) {
      const old = before?.get(property);
      const now = after?.get(property);
      if (before && old !== undefined) changes.remove(target, encodeKey([old]), before.rid);
      if (after && now !== undefined) changes.add(target, encodeKey([now]), after.rid);
    }
  },
};

interface Load {
  readonly rowSize: number;
  readonly rowCount: number;
  readonly edges: readonly (readonly [number, number])[];
  readonly isUnidirectional: boolean;
}

const load: fc.Arbitrary<Load> = fc.record({
  rowSize: fc.oneof(fc.nat({ max: 20 }), fc.constantFrom(150, 300, 900)),
  rowCount: fc.oneof(fc.nat({ max: 70 }), fc.constantFrom(0, 63, 64, 65, 300)),
  edges: fc.array(fc.tuple(fc.nat({ max: 4 }), fc.nat({ max: 60 })), {
    maxLength: 900,
    size: 'max',
  }),
  isUnidirectional: fc.boolean(),
});

function rowOf(at: number, size: number): Map<string, Value> {
  return new Map<string, Value>([
    ['name', `${(at * 7919) % 10007} ${'n'.repeat(at % 5)}`],
    ['size', at % 3],
    ['text', 'x'.repeat(size)],
  ]);
}

/** The load through the bulk writer, or as ordinary operations. */
async function run(
  engine: LmdbEngine,
  { rowSize, rowCount, edges, isUnidirectional }: Load,
  isBulk: boolean,
) {
  const log = new Log(engine);
  await log.commit(put(engine, person(0), rowOf(0, 10)), put(engine, person(1), rowOf(1, 10)));
  const position = { index: 2 as LogIndex, term: 1, txId: 2 };
  const both = !isUnidirectional;
  if (isBulk) {
    const bulk = engine.bulk();
    for (let at = 2; at < rowCount; at++) {
      bulk.addRow(personType, personBucket, at, rowOf(at, rowSize));
    }
    edges.forEach(([from, to], at) => {
      const edge = {
        type: knowsType,
        bucket: knowsBucket,
        position: at,
        from: person(from),
        to: person(to),
        both,
      };
      bulk.addEdge(edge, new Map([['since', at]]));
    });
    await bulk.flush(position);
    return;
  }
  const operations = [];
  for (let at = 2; at < rowCount; at++)
    operations.push(put(engine, person(at), rowOf(at, rowSize)));
  edges.forEach(([from, to], at) => {
    const rid = makeRid(knowsBucket, at);
    const ends = { out: person(from), in: person(to) };
    operations.push(put(engine, rid, { since: at }, ends), {
      op: 'add-edge' as const,
      rid,
      type: knowsType,
      from: ends.out,
      to: ends.in,
      both,
    });
  });
  await log.commit(...operations);
}

function contents(snapshot: StorageSnapshot) {
  const rows: unknown[] = [];
  for (const bucket of [personBucket, knowsBucket]) {
    rows.push([snapshot.recordCount(bucket), snapshot.nextPosition(bucket)]);
    rows.push(snapshot.rowsPerBlock(bucket));
    rows.push(Buffer.from(snapshot.meta(`bucket/${bucket}`) ?? []).toString('hex'));
    for (let number = 0; number < snapshot.blockCount(bucket); number++) {
      const block = snapshot.block(bucket, number);
      for (
        let slot = block?.nextSlot(0) ?? -1;
        block && slot >= 0;
        slot = block.nextSlot(slot + 1)
      ) {
        const record = snapshot.recordAt(block, slot);
        rows.push([record.rid, record.version, record.out, record.in]);
        rows.push(record.propertyNames().map((name) => [name, record.get(name)]));
      }
    }
  }
  for (let at = 0; at < 61; at++) {
    for (const direction of ['out', 'in'] as const) {
      const list = snapshot.adjacency(person(at), direction, knowsType);
      rows.push([[...list.edges], [...list.vertices]]);
    }
  }
  for (const { id } of [nameIndex, sizeIndex]) {
    rows.push(snapshot.entryCount(id));
    const cursor = snapshot.entries(id, new Uint8Array(), new Uint8Array(9).fill(255), 'ascending');
    while (cursor.next()) rows.push([Buffer.from(cursor.key).toString('hex'), cursor.rid]);
  }
  return rows;
}

test('a bulk load leaves what ordinary commits would leave, content hash included', async (context) => {
  await fc.assert(
    fc.asyncProperty(load, async (data) => {
      const seen = [];
      for (const isBulk of [true, false]) {
        const directory = temporaryDirectory(context);
        const engine = openEngine(directory, { deriver: indexes });
        await run(engine, data, isBulk);
        await engine.close();
        const again = openEngine(directory, { deriver: indexes });
        using snapshot = again.snapshot();
        seen.push(contents(snapshot));
        snapshot[Symbol.dispose]();
        await again.close();
      }
      assert.deepEqual(seen[0], seen[1]);
    }),
    { numRuns: 15 },
  );
});

test('bulk loads add to what is there, and rows given by columns read the same', async (context) => {
  const engine = openEngine(temporaryDirectory(context), { deriver: indexes });
  const shape = engine.shapes.forColumns(personType, false, [
    { name: 'name', kind: cellKind.string },
    { name: 'size', kind: cellKind.number },
  ]);
  const knows = engine.shapes.forColumns(knowsType, true, []);
  let edge = 0;
  for (let round = 0; round < 3; round++) {
    const bulk = engine.bulk();
    for (let at = 0; at < 100; at++) {
      const position = round * 100 + at;
      bulk.addColumns(shape, personBucket, position, [`p${position}`, at === 7 ? null : at]);
      for (let i = 0; i < 10; i++) {
        const ends = { from: person(0), to: person(position), both: true };
        bulk.addEdgeColumns(
          knows,
          { type: knowsType, bucket: knowsBucket, position: edge++, ...ends },
          [],
        );
      }
    }
    assert.ok(bulk.pendingBytes > 1000);
    await bulk.flush({ index: (round + 1) as LogIndex, term: 1, txId: round + 1 });
    assert.equal(bulk.pendingBytes, 0);
  }
  assert.deepEqual(
    propertiesOf(engine, person(107)),
    new Map<string, Value>([
      ['name', 'p107'],
      ['size', null],
    ]),
  );
  using snapshot = engine.snapshot();
  assert.equal(snapshot.degree(person(0), 'out', knowsType), 3000);
  const list = snapshot.adjacency(person(0), 'out', knowsType);
  assert.deepEqual(
    [...list.edges],
    Array.from({ length: 3000 }, (_, at) => makeRid(knowsBucket, at)),
  );
  assert.equal(snapshot.uniqueEntry(nameIndex.id, encodeKey(['p250'])), person(250));
  assert.equal(snapshot.record(makeRid(knowsBucket, 2999))?.in, person(299));
  snapshot[Symbol.dispose]();
  await engine.close();
});

test('edges by the ten thousand come to the lists of vertices that have some and that have none', async (context) => {
  const engine = openEngine(temporaryDirectory(context), { deriver: indexes });
  const lists = new Map<string, number[]>();
  const listOf = (vertex: number, direction: string): number[] => {
    const key = `${vertex} ${direction}`;
    const known = lists.get(key) ?? [];
    lists.set(key, known);
    return known;
  };
  let at = 0;
  // The second load is of vertices before, among and behind those of the first one.
  for (const [round, first, step, edgeCount] of [
    [1, 500, 3, 70_000],
    [2, 0, 1, 40_000],
  ] as const) {
    const bulk = engine.bulk();
    if (round === 1)
      for (let n = 0; n < 3000; n++) bulk.addRow(personType, personBucket, n, new Map());
    for (let n = 0; n < edgeCount; n++, at++) {
      const [from, to] = [first + ((n * 7919) % 701) * step, first + ((n * 104_729) % 653) * step];
      const ends = { from: person(from), to: person(to), both: true };
      bulk.addEdge({ type: knowsType, bucket: knowsBucket, position: at, ...ends }, new Map());
      listOf(from, 'out').push(at);
      listOf(to, 'in').push(at);
    }
    await bulk.flush({ index: round as LogIndex, term: 1, txId: round });
  }
  using snapshot = engine.snapshot();
  for (let n = 0; n < 3000; n++) {
    for (const direction of ['out', 'in'] as const) {
      const { edges } = snapshot.adjacency(person(n), direction, knowsType);
      const expected = listOf(n, direction).map((position) => makeRid(knowsBucket, position));
      assert.deepEqual([...edges], expected, `${n} ${direction}`);
    }
  }
  snapshot[Symbol.dispose]();
  await engine.close();
});

test('the radix order is the stable numeric order', async () => {
  const timers = { yield: async () => {} };
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(fc.nat({ max: 3 }), fc.maxSafeNat())), async (numbers) => {
      const spaced = Float64Array.from(numbers.flatMap((n) => [-1, n, -2]));
      const [segmentBits, perSegment] = [2, 4];
      const segmentCount = Math.ceil(numbers.length / perSegment);
      const segments = Array.from({ length: segmentCount }, (_, n) =>
        spaced.subarray(n * perSegment * 3, (n + 1) * perSegment * 3),
      );
      const keys = { segments, segmentBits, count: numbers.length, first: 1, stride: 3 };
      const order = await sortedOrder(keys, timers);
      const expected = numbers
        .map((_, i) => i)
        .sort((a, b) => (numbers[a] as Rid) - (numbers[b] as Rid) || a - b);
      assert.deepEqual([...order], expected);
    }),
  );
});
