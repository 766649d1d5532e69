import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { checkedStores, checkEnvironment, openRaw, rawStore } from '#storage/environment/check.ts';
import { checksumSize, sealValue } from '#storage/format/checksum.ts';

// Short values, values of several pages and keys of all lengths are read where LMDB shows them.

interface Written {
  readonly store: string;
  readonly key: Buffer;
  readonly value: Buffer;
}

/** @param change what is written in the place of a sealed value */
async function environment(
  context: TestContext,
  change: (one: Written) => Buffer = ({ value }) => value,
): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-check-'));
  context.after(() => rmSync(directory, { recursive: true }));
  const root = openRaw(directory, {});
  const put = async (store: string, key: Buffer, bytes: number): Promise<void> => {
    const value = Buffer.alloc(bytes + checksumSize, key.length);
    sealValue(key, value, 0, value.length);
    await rawStore(root, store).put(key, change({ store, key, value }));
  };
  await put('meta', Buffer.from('format'), 4);
  for (const store of checkedStores)
    for (const [length, bytes] of [
      [1, 0],
      [9, 20],
      [300, 700],
      [1_900, 3_000],
      [4, 100_000],
    ] as const)
      await put(store, Buffer.alloc(length), bytes);
  await rawStore(root, 'ix').put(Buffer.of(0), Buffer.from('no checksum'));
  await root.close();
  return directory;
}

test('an intact environment tells how many values it holds', async (context) => {
  const directory = await environment(context);
  assert.equal(checkEnvironment(directory).valueCount, 2 + 5 * checkedStores.length);
});

const keyLengths = [1, 9, 300, 1_900, 4];
for (const [at, store] of checkedStores.entries()) {
  const keyLength = keyLengths[at % keyLengths.length];
  test(`a damaged value of '${store}' with a key of ${keyLength} is found`, async (context) => {
    const directory = await environment(context, ({ store: where, key, value }) => {
      if (where !== store || key.length !== keyLength) return value;
      const damaged = Buffer.from(value);
      damaged[damaged.length >> 1] = (damaged[damaged.length >> 1] as number) ^ 4;
      return damaged;
    });
    assert.throws(() => checkEnvironment(directory), new RegExp(`a value in '${store}'`));
  });
}

test('a value under the key of another one, and one too short for a checksum, are found', async (context) => {
  const another = await environment(context, ({ store, key, value }) => {
    if (store !== 'adj' || key.length !== 9) return value;
    const moved = Buffer.from(value);
    sealValue(Buffer.alloc(8), moved, 0, moved.length);
    return moved;
  });
  assert.throws(() => checkEnvironment(another), /a value in 'adj'/);
  const short = await environment(context, ({ store, value }) =>
    store === 'blk' ? value.subarray(0, 3) : value,
  );
  assert.throws(() => checkEnvironment(short), /a value in 'blk'/);
});
