import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Settings } from '#config/effective-settings.ts';
import { findSetting } from '#config/registry.ts';
import { KeyValueStore } from '#database/key-value/key-value-store.ts';
import { StagedKeys } from '#database/key-value/staged-keys.ts';
import { runTransient } from '#database/key-value/transient-operations.ts';

// The memory of transient keys: its bound, its accounts, and blocks over it.

function storeOf(bytesMax: number): KeyValueStore {
  return new KeyValueStore({ bytesMax: () => bytesMax, isDatabase: () => false });
}

test('the bound of transient keys is a setting', () => {
  assert.equal(findSetting('redis.transientMaxBytes')?.key, 'service.redis.transientMaxBytes');
  const settings = new Settings(new Map());
  assert.ok(Number(settings.get(findSetting('redis.transientMaxBytes') as never)) > 0);
});

test('keys fill the memory to its bound, one byte more is refused, and deleting gives it back', () => {
  const store = storeOf(2 * (1 + 96) + 20);
  const keys = store.ofServer;
  keys.put('a', 'x'.repeat(10));
  keys.put('b', 'x'.repeat(10));
  assert.throws(() => keys.put('b', 'x'.repeat(11)), /service\.redis\.transientMaxBytes \(214\)/);
  assert.equal(keys.get('b'), 'x'.repeat(10));
  assert.throws(() => store.ofDatabase('d').put('c', ''), /transientMaxBytes/);
  keys.put('a', 1);
  keys.remove('b');
  keys.remove('b');
  assert.equal(store.usedBytes, 1 + 96 + 8);
  keys.clear();
  store.ofDatabase('d').put('c', 2n ** 60n);
  store.drop('d');
  assert.equal(store.usedBytes, 0);
});

test('a block that finds no room leaves nothing', () => {
  const store = storeOf(300);
  const keys = store.ofServer;
  keys.put('a', 'x'.repeat(100));
  const block = new StagedKeys(store, (key) => ({ keys, key }));
  for (const key of ['b', 'c'])
    runTransient(
      { kind: 'set', key, value: 'y'.repeat(100), only: undefined, givesOld: false },
      block.locate,
    );
  assert.throws(() => block.prepare(), /transientMaxBytes/);
  block.close();
  assert.equal(keys.size, 1);
  assert.equal(store.usedBytes, 1 + 96 + 100);
  assert.equal(store.heldCount, 0);
});

test('a block notices keys that were changed meanwhile, and holds its own while it commits', async () => {
  const store = storeOf(10_000);
  const keys = store.ofServer;
  const stage = () => new StagedKeys(store, (key) => ({ keys, key }));
  const add = { kind: 'add', key: 'n', by: 1 } as const;
  const first = stage();
  assert.equal(runTransient(add, first.locate), 1);
  keys.put('n', 5);
  assert.throws(() => first.prepare(), { code: 'ConcurrentModification' });
  first.close();

  const second = stage();
  assert.equal(runTransient(add, second.locate), 6);
  second.prepare();
  const held = keys.holdOn('n');
  assert.ok(held);
  const third = stage();
  runTransient(add, third.locate);
  assert.throws(() => third.prepare(), { code: 'ConcurrentModification', blockedBy: held });
  third.close();
  second.apply();
  second.close();
  await held;
  assert.equal(keys.get('n'), 6);
  assert.equal(keys.holdOn('n'), undefined);
});
