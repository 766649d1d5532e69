import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  knowsBucket,
  knowsType,
  Log,
  openEngine,
  person,
  personBucket,
  propertiesOf,
  put,
  temporaryDirectory,
} from './engine-fixture.ts';
import { makeRid } from '#core/value/rid.ts';

test('a record that was applied is there after reopening', async (context) => {
  const directory = temporaryDirectory(context);
  const engine = openEngine(directory);
  const log = new Log(engine);
  await log.commit(put(engine, person(0), { name: 'Ann', age: 3 }));
  await log.commit(put(engine, person(1), { name: 'Bob', age: 4 }));
  assert.deepEqual(
    propertiesOf(engine, person(1)),
    new Map<string, unknown>([
      ['name', 'Bob'],
      ['age', 4],
    ]),
  );
  await engine.close();
  const again = openEngine(directory);
  assert.equal(again.applied().index, 2);
  assert.equal(propertiesOf(again, person(0))?.get('name'), 'Ann');
  using snapshot = again.snapshot();
  assert.equal(snapshot.recordCount(personBucket), 2);
  assert.equal(snapshot.nextPosition(personBucket), 2);
  assert.equal(snapshot.record(person(1))?.version, 2);
  assert.equal(snapshot.record(person(2)), undefined);
  snapshot[Symbol.dispose]();
  await again.close();
});

test('a snapshot keeps showing its state while commits go on', async (context) => {
  const engine = openEngine(temporaryDirectory(context));
  const log = new Log(engine);
  await log.commit(put(engine, person(0), { n: 1 }));
  const old = engine.snapshot();
  const edge = makeRid(knowsBucket, 0);
  await log.commit(
    put(engine, person(0), { n: 2 }),
    put(engine, person(1), { n: 9 }),
    put(engine, edge, {}, { out: person(0), in: person(1) }),
    { op: 'add-edge', rid: edge, type: knowsType, from: person(0), to: person(1), both: true },
  );
  assert.equal(old.record(person(0))?.get('n'), 1);
  assert.equal(old.record(person(1)), undefined);
  assert.equal(old.recordCount(personBucket), 1);
  assert.equal(old.adjacency(person(0), 'out', knowsType).count, 0);
  using now = engine.snapshot();
  assert.equal(now.record(person(0))?.get('n'), 2);
  assert.equal(now.recordCount(personBucket), 2);
  assert.deepEqual([...now.adjacency(person(0), 'out', knowsType).vertices], [person(1)]);
  assert.deepEqual([...now.adjacency(person(1), 'in', knowsType).edges], [edge]);
  assert.equal(now.degree(person(1), 'in', knowsType), 1);
  assert.equal(now.record(edge)?.out, person(0));
  const record = old.record(person(0));
  old[Symbol.dispose]();
  assert.equal(record?.get('n'), 1);
  assert.throws(() => old.meta('applied'), { code: 'Internal' });
  now[Symbol.dispose]();
  await engine.close();
});
