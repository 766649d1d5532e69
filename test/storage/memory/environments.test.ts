import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { BytesKey, openSubDatabases } from '#storage/format/sub-databases.ts';
import { temporaryDirectory } from '../engine-fixture.ts';
import { MemoryEnvironments } from './memory-environment.ts';
import { engineSteps, runOnEngines, runOnStores, storeSteps } from './scripts.ts';

// A few of the scripts of `long/memory-environments.ts`, and what LMDB cannot be compared with.

test('stores in memory read what those of LMDB read', async (context) => {
  const run = fc.asyncProperty(storeSteps, (steps) =>
    runOnStores(temporaryDirectory(context), steps),
  );
  await fc.assert(run, { numRuns: 12, seed: 1 });
});

test('an engine above memory reads what one above LMDB reads, also behind power cuts', async (context) => {
  const run = fc.asyncProperty(engineSteps, (steps) =>
    runOnEngines(temporaryDirectory(context), steps),
  );
  await fc.assert(run, { numRuns: 8, seed: 1 });
});

test('a transaction that is on its way in a power cut is there as a whole, or not at all', async (context) => {
  for (const survives of [true, false]) {
    const memory = new MemoryEnvironments(turn);
    const directory = join(temporaryDirectory(context), 'one');
    mkdirSync(directory);
    const settings = { directory, mapSizeBytes: 2 ** 20, readersMax: 64 };
    const open = () => openSubDatabases({ ...settings, openEnvironment: memory.open });
    const before = open();
    const put = (text: string) => {
      for (const name of ['meta', 'adj'] as const)
        before[name].put(new BytesKey(Buffer.from('key')), Buffer.from(text));
    };
    await before.root.batch(() => put('old'));
    const written = before.root.batch(() => put('new'));
    memory.cut(() => survives);
    const after = open();
    await written;
    await before.root.batch(() => put('never'));
    const transaction = after.root.useReadTransaction();
    for (const name of ['meta', 'adj'] as const) {
      const store = after[name];
      const bytes = store.getBinaryFast(new BytesKey(Buffer.from('key')), { transaction });
      assert.equal(bytes?.toString('latin1', 0, store.lastSize), survives ? 'new' : 'old');
    }
  }
});

test('what LMDB would answer with anything is refused', async (context) => {
  const directory = temporaryDirectory(context);
  const memory = new MemoryEnvironments(turn);
  const { root, meta } = openSubDatabases({
    directory,
    mapSizeBytes: 2 ** 20,
    readersMax: 64,
    openEnvironment: memory.open,
  });
  const key = new BytesKey(Buffer.from('key'));
  assert.throws(() => meta.put(key, Buffer.alloc(1)), /belongs into a transaction/);
  const transaction = root.useReadTransaction();
  assert.throws(() => root.transactionSync(() => meta.getBinaryFast(key, { transaction })));
  assert.throws(() => root.transactionSync(() => meta.remove(new BytesKey(new Uint8Array(0)))));
  assert.throws(() => root.transactionSync(() => meta.remove(new BytesKey(new Uint8Array(1979)))));
  transaction.done();
  assert.throws(() => meta.getBinaryFast(key, { transaction }), /an open state is read/);
  await root.close();
  await assert.rejects(root.batch(() => meta.remove(key)));
});
