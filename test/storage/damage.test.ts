import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Value } from '#core/value/value.ts';
import type { LmdbEngine } from '#storage/lmdb-engine.ts';
import {
  knowsType,
  Log,
  openEngine,
  person,
  propertiesOf,
  put,
  temporaryDirectory,
} from './engine-fixture.ts';
import { makeRid } from '#core/value/rid.ts';
import { knowsBucket } from './engine-fixture.ts';

// Bytes of the closed database file are changed where a known text stands, as a bad disk would. The record must be
// refused by name, never served, and nothing else must suffer.

/** Changes one byte of `text` wherever the file holds it; a stale page may hold it too. */
function damage(directory: string, text: string): void {
  const path = join(directory, 'data.mdb');
  const file = readFileSync(path);
  let found = 0;
  for (let at = file.indexOf(text); at >= 0; at = file.indexOf(text, at + 1)) {
    file[at] = (file[at] ?? 0) ^ 0x20;
    found += 1;
  }
  assert.ok(found > 0, 'the text is in the file');
  writeFileSync(path, file);
}

async function fill(engine: LmdbEngine): Promise<void> {
  const log = new Log(engine);
  const operations = Array.from({ length: 200 }, (_, at) =>
    put(engine, person(at), { name: `unmistakable-${at}.`, n: at }),
  );
  await log.commit(...operations);
  await log.commit(
    put(engine, person(200), { name: 'large', text: `beginning ${'x'.repeat(5000)}` }),
    { op: 'meta', name: 'seq/one', value: Buffer.from('a named value') },
  );
}

test('a damaged block is refused by the range of its records; other records are served', async (context) => {
  const directory = temporaryDirectory(context);
  const engine = openEngine(directory);
  await fill(engine);
  await engine.close();
  damage(directory, 'unmistakable-70.');
  const again = openEngine(directory);
  for (const position of [70, 64, 127]) {
    assert.throws(() => propertiesOf(again, person(position)), {
      code: 'CorruptedRecord',
      message: /records #3:64 to #3:127/,
    });
  }
  assert.equal(propertiesOf(again, person(63))?.get('name'), 'unmistakable-63.');
  assert.equal(propertiesOf(again, person(128))?.get('n'), 128);
  await again.close();
});

test('a write that needs a damaged block fails alone, and later writes go on', async (context) => {
  const directory = temporaryDirectory(context);
  const engine = openEngine(directory);
  await fill(engine);
  await engine.close();
  damage(directory, 'unmistakable-70.');
  const again = openEngine(directory);
  const log = new Log(again);
  const outcomes = await Promise.allSettled([
    log.commit(put(again, person(3), { n: -3 })),
    log.commit(put(again, person(71), { n: -71 }), put(again, person(4), { n: -4 })),
    log.commit(put(again, person(5), { n: -5 })),
  ]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.equal(propertiesOf(again, person(3))?.get('n'), -3);
  assert.equal(propertiesOf(again, person(4))?.get('n'), 4);
  assert.equal(propertiesOf(again, person(5))?.get('n'), -5);
  await again.close();
});

test('a damaged large cell does not keep the rest of its record away', async (context) => {
  const directory = temporaryDirectory(context);
  const engine = openEngine(directory);
  await fill(engine);
  await engine.close();
  damage(directory, 'beginning x');
  const again = openEngine(directory);
  using snapshot = again.snapshot();
  const record = snapshot.record(person(200));
  assert.equal(record?.get('name'), 'large');
  assert.throws(() => record?.get('text'), { code: 'CorruptedRecord', message: /#3:200/ });
  snapshot[Symbol.dispose]();
  await again.close();
});

test('a damaged adjacency chunk is refused by the name of its vertex', async (context) => {
  const directory = temporaryDirectory(context);
  const engine = openEngine(directory);
  const log = new Log(engine);
  const to = makeRid(0x4d41, 0x524b4544);
  for (const [at, target] of [to, person(2)].entries()) {
    const rid = makeRid(knowsBucket, at);
    await log.commit({
      op: 'add-edge',
      rid,
      type: knowsType,
      from: person(at),
      to: target,
      both: false,
    });
  }
  await engine.close();
  // The neighbour's id as it stands in the entry, little-endian.
  damage(directory, 'AMDEKR');
  const again = openEngine(directory);
  using snapshot = again.snapshot();
  assert.throws(() => snapshot.adjacency(person(0), 'out', knowsType), {
    code: 'CorruptedRecord',
    message: /out edges of #3:0/,
  });
  assert.deepEqual([...snapshot.adjacency(person(1), 'out', knowsType).vertices], [person(2)]);
  snapshot[Symbol.dispose]();
  await again.close();
});

test('a damaged named value is refused when it is read', async (context) => {
  const directory = temporaryDirectory(context);
  const engine = openEngine(directory);
  await fill(engine);
  await engine.close();
  damage(directory, 'a named value');
  const again = openEngine(directory);
  using snapshot = again.snapshot();
  assert.throws(() => snapshot.meta('seq/one'), { code: 'CorruptedRecord', message: /seq\/one/ });
  assert.equal(snapshot.recordCount(3 as never), 201);
  snapshot[Symbol.dispose]();
  await again.close();
});

test('a file that is no database is refused with its directory', (context) => {
  const directory = temporaryDirectory(context);
  writeFileSync(join(directory, 'data.mdb'), Buffer.alloc(16_384, 'garbage'));
  assert.throws(() => openEngine(directory), {
    code: 'CorruptedRecord',
    message: /cannot be opened/,
  });
});

test('a large property that was replaced stays readable from records of closed snapshots', async (context) => {
  const engine = openEngine(temporaryDirectory(context));
  const log = new Log(engine);
  const text = (letter: string): Value => letter.repeat(3000);
  await log.commit(
    put(engine, person(0), { text: text('a') }),
    put(engine, person(1), { text: text('b') }),
  );
  const snapshot = engine.snapshot();
  const [changed, deleted] = [snapshot.record(person(0)), snapshot.record(person(1))];
  const untouched = snapshot.record(person(0));
  assert.equal(untouched?.get('text'), text('a'));
  snapshot[Symbol.dispose]();
  await log.commit(put(engine, person(0), { text: text('c') }), {
    op: 'delete-row',
    rid: person(1),
  });
  assert.equal(changed?.get('text'), text('a'));
  assert.equal(deleted?.get('text'), text('b'));
  assert.equal(propertiesOf(engine, person(0))?.get('text'), text('c'));
  await engine.close();
});
