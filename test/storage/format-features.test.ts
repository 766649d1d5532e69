// What a database announces that it may hold: nothing until the first use, and then before the log has what needs it.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LocalTime } from '#core/temporal/instants.ts';
import type { Value } from '#core/value/value.ts';
import type { LogIndex } from '#core/value/rid.ts';
import { decodeFormat, encodeFormat, formatEntryName } from '#storage/format/features.ts';
import type { LmdbEngine } from '#storage/lmdb-engine.ts';
import {
  Log,
  openEngine,
  person,
  personBucket,
  personType,
  put,
  temporaryDirectory,
} from './engine-fixture.ts';

const read = (format: object) => decodeFormat(Buffer.from(JSON.stringify(format)), '/db');
const plain = { storage: 1 };
const extended = { storage: 2, features: ['extendedValues'] };
const noon = new LocalTime(12 * 3600e9);

function formatOf(engine: LmdbEngine): unknown {
  using snapshot = engine.snapshot();
  const stored = snapshot.meta(formatEntryName);
  assert(stored);
  return decodeFormat(stored, '/db');
}

/** What an older build would find: the files as they lie on the disk at this moment. */
async function copied(engine: LmdbEngine, directory: string, to: string): Promise<unknown> {
  mkdirSync(to);
  cpSync(join(directory, 'data.mdb'), join(to, 'data.mdb'));
  const copy = openEngine(to);
  try {
    return formatOf(copy);
  } finally {
    await copy.close();
    assert(engine.applied());
  }
}

test('a format of a later build is refused by what it is called', () => {
  assert.throws(() => read({ storage: 2, features: ['extendedValues', 'foldedColumns'] }), {
    code: 'CorruptedRecord',
    message: "the database in '/db' uses 'foldedColumns', which this version does not know",
  });
  assert.throws(() => read({ storage: 3 }), {
    message: /storage format 3; this version reads 1 to 2/,
  });
  assert.throws(() => read({ storage: '__proto__' }), { code: 'CorruptedRecord' });
});

test('a database without features stays of the format before features', async (t) => {
  const directory = temporaryDirectory(t);
  const first = openEngine(directory);
  await new Log(first).commit(put(first, person(0), { name: 'a', list: [1, 'x', null] }));
  await first.close();
  const again = openEngine(directory);
  assert.deepEqual(formatOf(again), plain);
  await again.close();
});

const waysOfUse: Readonly<Record<string, Readonly<Record<string, Value>>>> = {
  'a cell': { at: noon },
  'an element': { list: [1, [noon]] },
  'a value kept outside': { list: ['x'.repeat(5000), noon] },
  'the extra map': {
    ...Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`p${n}`, n])),
    at: noon,
  },
};

for (const [name, properties] of Object.entries(waysOfUse)) {
  test(`the first use as ${name} announces the feature on the disk before the log has it`, async (t) => {
    const directory = temporaryDirectory(t);
    const engine = openEngine(directory);
    const log = new Log(engine);
    await log.commit(put(engine, person(0), { name: 'a' }));
    assert.deepEqual(formatOf(engine), plain);
    await log.commit(put(engine, person(1), properties));
    assert.deepEqual(formatOf(engine), extended);
    assert.deepEqual(await copied(engine, directory, join(directory, 'copy')), extended);
    using snapshot = engine.snapshot();
    assert.deepEqual(snapshot.record(person(0))?.get('name'), 'a');
    assert.equal(snapshot.recordCount(personBucket), 2);
    snapshot[Symbol.dispose]();
    await engine.close();
    const again = openEngine(directory);
    assert.deepEqual(formatOf(again), extended);
    await again.close();
  });
}

test('a patch, a bulk load and a named value announce the feature too', async (t) => {
  const patched = openEngine(temporaryDirectory(t), { durability: 'above' });
  const log = new Log(patched);
  await log.commit(put(patched, person(0), { at: [1] }));
  const row = patched.snapshot();
  assert.equal(row.record(person(0))?.get('at') !== undefined, true);
  row[Symbol.dispose]();
  await log.commit(put(patched, person(0), { at: [noon] }));
  assert.deepEqual(formatOf(patched), extended);
  await patched.close();

  const loaded = openEngine(temporaryDirectory(t));
  const writer = loaded.bulk();
  writer.addRow(personType, personBucket, 0, new Map([['at', noon]]));
  await writer.flush({ index: 1 as LogIndex, term: 1, txId: 1 });
  assert.deepEqual(formatOf(loaded), extended);
  await loaded.close();

  const named = openEngine(temporaryDirectory(t));
  const value = encodeFormat(['extendedValues']);
  await new Log(named).commit({ op: 'meta', name: formatEntryName, value });
  assert.deepEqual(formatOf(named), extended);
  await named.close();
});
