import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { makeRid, type Rid } from '#core/value/rid.ts';
import { LmdbReader } from '#storage/lmdb-reader.ts';
import { ListWindow } from '#storage/read/list-memory.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import type { LmdbEngine } from '#storage/lmdb-engine.ts';
import {
  knowsBucket,
  knowsType,
  Log,
  openEngine,
  person,
  personBucket,
  put,
  temporaryDirectory,
} from './engine-fixture.ts';

// A reader stands beside the engine that writes: it shows what a checkpoint has brought into LMDB, and keeps nothing for longer
// than it is right.

interface Beside {
  readonly engine: LmdbEngine;
  readonly reader: LmdbReader;
  readonly log: Log;
}

function opened(context: TestContext): Beside {
  const directory = temporaryDirectory(context);
  const engine = openEngine(directory);
  const reader = new LmdbReader({
    directory,
    labels: (type) =>
      type === knowsType ? { name: 'Knows', kind: 'edge' } : { name: 'Person', kind: 'vertex' },
    cacheBytes: 4 * 1024 * 1024,
    mapSizeBytes: 2 ** 30,
    readersMax: 1024,
  });
  context.after(async () => {
    await reader.close();
    await engine.close();
  });
  return { engine, reader, log: new Log(engine) };
}

function nameOf(reader: LmdbReader, rid: Rid): unknown {
  using snapshot = reader.snapshot();
  return snapshot.record(rid)?.get('name');
}

function knows(from: Rid, to: Rid, number: number): RowOperation {
  const rid = makeRid(knowsBucket, number);
  return { op: 'add-edge', rid, type: knowsType, from, to, both: true };
}

test('lists that are read once land in the memory of the walk, those that are asked for again stay', async (context) => {
  const { engine, reader, log } = opened(context);
  await log.commit(
    ...[1, 2, 3].map((number) => put(engine, person(number), { name: `person ${number}` })),
    knows(person(1), person(2), 1),
    knows(person(2), person(3), 2),
  );
  await engine.checkpoint();
  using snapshot = reader.snapshot();
  const window = new ListWindow();
  const walked = (from: number) => snapshot.adjacency(person(from), 'out', knowsType, window);
  const first = walked(1);
  assert.deepEqual([...first.vertices], [person(2)]);
  const second = walked(2);
  assert.deepEqual([...second.vertices], [person(3)]);
  assert.equal(second.vertices.buffer, first.vertices.buffer);
  const again = walked(1);
  assert.notEqual(again.vertices.buffer, second.vertices.buffer);
  assert.equal(walked(2).vertices.buffer, again.vertices.buffer, 'both are in the cache by now');
  assert.equal(walked(1), again);
  assert.deepEqual([...again.vertices], [person(2)]);
});

test('a reader shows the newest checkpoint, records and lists that it has cached before too', async (context) => {
  const { engine, reader, log } = opened(context);
  await log.commit(
    put(engine, person(1), { name: 'Ada' }),
    put(engine, person(2), { name: 'Bob' }),
    knows(person(1), person(2), 1),
  );
  await engine.checkpoint();
  assert.equal(nameOf(reader, person(1)), 'Ada');
  {
    using snapshot = reader.snapshot();
    assert.equal(snapshot.adjacency(person(1), 'out', knowsType).count, 1);
    assert.equal(snapshot.recordCount(personBucket), 2);
  }
  await log.commit(
    put(engine, person(1), { name: 'Ada Lovelace', born: 1815 }),
    put(engine, person(3), { name: 'Cy' }),
    knows(person(1), person(3), 2),
  );
  await engine.checkpoint();
  assert.equal(nameOf(reader, person(1)), 'Ada Lovelace');
  assert.equal(nameOf(reader, person(2)), 'Bob');
  using snapshot = reader.snapshot();
  assert.equal(snapshot.index, engine.applied().index);
  assert.deepEqual(
    [...snapshot.adjacency(person(1), 'out', knowsType).vertices],
    [person(2), person(3)],
  );
  assert.equal(snapshot.degree(person(1), 'out', knowsType), 2);
});

test('a snapshot of a reader stays what it was', async (context) => {
  const { engine, reader, log } = opened(context);
  await log.commit(
    put(engine, person(1), { name: 'Ada' }),
    put(engine, person(2), { name: 'Bob' }),
  );
  await engine.checkpoint();
  using before = reader.snapshot();
  assert.equal(before.record(person(1))?.get('name'), 'Ada');
  await log.commit(put(engine, person(1), { name: 'Eve' }), { op: 'delete-row', rid: person(2) });
  await engine.checkpoint();
  assert.equal(nameOf(reader, person(1)), 'Eve');
  assert.equal(nameOf(reader, person(2)), undefined);
  assert.equal(before.record(person(1))?.get('name'), 'Ada');
  assert.equal(before.record(person(2))?.get('name'), 'Bob');
  assert.equal(before.recordCount(personBucket), 2);
});

test('a reader pins no state between its snapshots', async (context) => {
  const { engine, reader, log } = opened(context);
  await log.commit(put(engine, person(1), { name: 'Ada' }));
  await engine.checkpoint();
  nameOf(reader, person(1));
  // Pages of states that nobody reads are used again: a file that grew with each of these would say that one is pinned.
  for (let n = 0; n < 50; n += 1) {
    await log.commit(put(engine, person(1), { name: 'x'.repeat(200_000) + n }));
    await engine.checkpoint();
    nameOf(reader, person(1));
  }
  assert.ok(engine.sizeBytes() < 8 * 1024 * 1024, `${engine.sizeBytes()} bytes`);
});
