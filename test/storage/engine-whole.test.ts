import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import { type BucketId, makeRid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import { encodePatch } from '#storage/format/cell-patch.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
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

test('a hot copy opens as a database of its own', async (context) => {
  const directory = temporaryDirectory(context);
  const engine = openEngine(join(directory, 'v1.2'));
  const log = new Log(engine);
  await log.commit(put(engine, person(0), { name: 'Ann' }));
  await engine.copyTo(join(directory, 'copy'));
  await log.commit(put(engine, person(0), { name: 'Bob' }));
  const copy = openEngine(join(directory, 'copy'));
  assert.equal(propertiesOf(copy, person(0))?.get('name'), 'Ann');
  assert.equal(copy.applied().index, 1);
  assert.ok(copy.sizeBytes() > 0);
  await copy.close();
  await engine.close();
});

test('the first change in a copy may be a large one', async (context) => {
  const directory = temporaryDirectory(context);
  const count = 1_000;
  const written = async (path: string, letter: string) => {
    const engine = openEngine(join(directory, path));
    const log = new Log(engine);
    for (let from = 0; from < count; from += 100)
      await log.commit(
        ...Array.from({ length: 100 }, (_, n) =>
          put(engine, person(from + n), { text: letter.repeat(3_000) }),
        ),
      );
    await engine.settled();
    return engine;
  };
  const engine = await written('first', 'x');
  await engine.copyTo(join(directory, 'copy'));
  await engine.close();
  const copy = await written('copy', 'y');
  assert.equal(propertiesOf(copy, person(count - 1))?.get('text'), 'y'.repeat(3_000));
  await copy.close();
});

test('states are held as long as LMDB has readers; then none but the newest, and writing goes on', async (context) => {
  const engine = openEngine(temporaryDirectory(context), {
    readersMax: 126,
    durability: 'commit',
  });
  const log = new Log(engine);
  const held = [];
  let refusal: unknown;
  for (let n = 0; n < 200; n++) {
    await log.commit(put(engine, person(0), { n }));
    try {
      held.push(engine.snapshot());
    } catch (error) {
      refusal = error;
    }
  }
  assert.ok(refusal instanceof DatabaseError && refusal.code === 'Busy');
  assert.match(refusal.message, /storage\.maxReaders/);
  assert.ok(held.length > 100);
  for (const [n, snapshot] of held.entries()) assert.equal(snapshot.record(person(0))?.get('n'), n);
  await engine.copyTo(temporaryDirectory(context));
  held.pop()?.[Symbol.dispose]();
  assert.equal(propertiesOf(engine, person(0))?.get('n'), 199);
  for (const snapshot of held) snapshot[Symbol.dispose]();
  await engine.close();
});

test('more states than the limit cannot be kept; the error names the limit, and statements go on', async (context) => {
  const engine = openEngine(temporaryDirectory(context), { snapshotMax: 2 });
  const log = new Log(engine);
  const held = [];
  for (let n = 0; n < 2; n++) {
    held.push(engine.snapshot(true), engine.snapshot(true));
    await log.commit(put(engine, person(0), { n }));
  }
  const refused = { code: 'Busy', message: /server\.httpTxSnapshotMax/ };
  assert.throws(() => engine.snapshot(true), refused);
  // Those of statements do not count, however many there are.
  for (let n = 2; n < 5; n++) {
    held.push(engine.snapshot());
    await log.commit(put(engine, person(0), { n: 1 }));
  }
  assert.throws(() => engine.snapshot(true), refused);
  held[0]?.[Symbol.dispose]();
  held[1]?.[Symbol.dispose]();
  using snapshot = engine.snapshot(true);
  assert.equal(snapshot.record(person(0))?.get('n'), 1);
  // A state that is kept already may be kept by others, too.
  engine.snapshot(true)[Symbol.dispose]();
  snapshot[Symbol.dispose]();
  for (const other of held) other[Symbol.dispose]();
  await engine.close();
});

test('a closed engine refuses new work by name', async (context) => {
  const engine = openEngine(temporaryDirectory(context));
  const log = new Log(engine);
  const open = engine.snapshot();
  const last = log.commit(put(engine, person(0), { n: 1 }));
  await engine.close();
  await last;
  assert.throws(() => engine.snapshot(), { code: 'DatabaseClosed' });
  // Who is still at work learns why; a snapshot that was given back is another matter.
  assert.throws(() => open.meta('schema'), { code: 'DatabaseClosed' });
  open[Symbol.dispose]();
  assert.throws(() => open.meta('schema'), { code: 'Internal' });
  await assert.rejects(log.commit(put(engine, person(1), { n: 1 })), { code: 'DatabaseClosed' });
});

test('a patch changes, adds and removes properties and keeps the others', async (context) => {
  const engine = openEngine(temporaryDirectory(context));
  const log = new Log(engine);
  await log.commit(put(engine, person(0), { a: 1, b: 'x', c: [1, 2] }));
  const changes = new Map<string, Value | undefined>([
    ['b', 'y'],
    ['c', undefined],
    ['d', null],
  ]);
  const patch = { op: 'patch-cells' as const, rid: person(0), patch: encodePatch(changes) };
  await log.commit(patch, { ...patch, rid: person(9) });
  assert.deepEqual(
    propertiesOf(engine, person(0)),
    new Map<string, Value>([
      ['a', 1],
      ['b', 'y'],
      ['d', null],
    ]),
  );
  await engine.close();
});

test('positions that were taken are not given again, and named values come and go', async (context) => {
  const directory = temporaryDirectory(context);
  const engine = openEngine(directory);
  const log = new Log(engine);
  await log.commit(
    { op: 'positions', bucket: personBucket, next: 512 },
    { op: 'meta', name: 'seq/a', value: Buffer.from('7') },
    { op: 'schema', document: Buffer.from('{}') },
  );
  await log.commit({ op: 'positions', bucket: personBucket, next: 100 });
  await engine.close();
  const again = openEngine(directory);
  using snapshot = again.snapshot();
  assert.equal(snapshot.nextPosition(personBucket), 512);
  assert.equal(snapshot.recordCount(personBucket), 0);
  assert.equal(Buffer.from(snapshot.meta('seq/a') ?? []).toString(), '7');
  assert.equal(Buffer.from(snapshot.meta('schema') ?? []).toString(), '{}');
  snapshot[Symbol.dispose]();
  await new Log(again).commit({ op: 'meta', name: 'seq/a', value: undefined });
  using later = again.snapshot();
  assert.equal(later.meta('seq/a'), undefined);
  later[Symbol.dispose]();
  await again.close();
});

test('a dropped bucket is empty at once; its rows, large cells and edges go, others stay', async (context) => {
  const directory = temporaryDirectory(context);
  const engine = openEngine(directory);
  const log = new Log(engine);
  const other = 9 as BucketId;
  const operations: RowOperation[] = [];
  for (let n = 0; n < 900; n++) {
    operations.push(put(engine, person(n), { n, text: n % 50 === 0 ? 'x'.repeat(2000) : '' }));
    operations.push(put(engine, makeRid(other, n), { n }));
    const edge = { from: person(n), to: makeRid(other, n), both: true };
    operations.push({ op: 'add-edge', rid: makeRid(knowsBucket, n), type: knowsType, ...edge });
  }
  await log.commit(...operations);
  const before = engine.snapshot();
  await log.commit({ op: 'drop-bucket', bucket: personBucket });
  assert.equal(before.record(person(50))?.get('n'), 50);
  before[Symbol.dispose]();
  {
    using snapshot = engine.snapshot();
    assert.equal(snapshot.recordCount(personBucket), 0);
    assert.equal(snapshot.blockCount(personBucket), 0);
    assert.equal(snapshot.record(person(3)), undefined);
    assert.equal(snapshot.record(makeRid(other, 3))?.get('n'), 3);
  }
  await engine.settled();
  await engine.close();
  const again = openEngine(directory);
  using snapshot = again.snapshot();
  assert.equal(snapshot.block(personBucket, 0), undefined);
  assert.equal(snapshot.degree(person(3), 'out', knowsType), 0);
  assert.equal(snapshot.degree(makeRid(other, 3), 'in', knowsType), 1);
  assert.equal(snapshot.recordCount(other), 900);
  snapshot[Symbol.dispose]();
  await again.close();
});

test('the file grows beyond the address space it began with, also while a snapshot is held', async (context) => {
  const engine = openEngine(temporaryDirectory(context), { mapSizeBytes: 256 * 1024 });
  const log = new Log(engine);
  await log.commit(put(engine, person(0), { n: 0 }));
  using held = engine.snapshot();
  for (let n = 1; n <= 20; n++) {
    await log.commit(put(engine, person(n), { n, text: 'x'.repeat(200_000) }));
  }
  assert.equal(held.record(person(0))?.get('n'), 0);
  assert.equal(held.record(person(5)), undefined);
  for (const n of [1, 20]) {
    assert.equal(String(propertiesOf(engine, person(n))?.get('text')).length, 200_000);
  }
  await engine.settled();
  assert.ok(engine.sizeBytes() > 4_000_000);
  held[Symbol.dispose]();
  await engine.close();
});

test('entries that were applied are passed over when they come again', async (context) => {
  const engine = openEngine(temporaryDirectory(context));
  const log = new Log(engine);
  const first = log.entry([put(engine, person(0), { n: 1 })]);
  const second = log.entry([put(engine, person(0), { n: 2 })]);
  await engine.apply([first, second]);
  await engine.apply([first, second]);
  assert.equal(propertiesOf(engine, person(0))?.get('n'), 2);
  assert.equal(engine.applied().index, 2);
  await engine.close();
});

test('rows of many sizes keep their block within reach, and a whole block can be applied', async (context) => {
  const engine = openEngine(temporaryDirectory(context));
  const log = new Log(engine);
  // Many columns cannot be moved out, so these rows stay some 4 KB each.
  const wide = (n: number) =>
    new Map<string, Value>(Array.from({ length: 240 }, (_, i) => [`c${i}`, n + i]));
  await log.commit(...Array.from({ length: 130 }, (_, n) => put(engine, person(n), wide(n))));
  for (let round = 0; round < 3; round++) {
    await log.commit(
      ...Array.from({ length: 130 }, (_, n) => put(engine, person(n), wide(n + round))),
    );
  }
  using snapshot = engine.snapshot();
  assert.equal(snapshot.rowsPerBlock(personBucket), 16);
  assert.equal(snapshot.record(person(129))?.get('c239'), 129 + 2 + 239);
  const block = snapshot.block(personBucket, 1);
  assert.ok(block !== undefined);
  const image = new Uint8Array(block.bytes.subarray(block.base, block.base + block.usedBytes));
  snapshot[Symbol.dispose]();
  await log.commit({ op: 'delete-row', rid: person(17) });
  await log.commit({ op: 'whole-block', bucket: personBucket, block: 1, image });
  assert.equal(propertiesOf(engine, person(17))?.get('c0'), 19);
  await engine.close();
});
