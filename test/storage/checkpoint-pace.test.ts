import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LogIndex } from '#core/value/rid.ts';
import { heldStates } from '#storage/read/versioned.ts';
import type { Bytes } from '#storage/format/bytes.ts';
import { gatheringMs } from '#storage/checkpoint/checkpointer.ts';
import { OverlayLayer } from '#storage/checkpoint/overlay-store.ts';
import type { Store } from '#storage/format/sub-databases.ts';

test('checkpoints leave the disk to commits for most of the time, and nothing waits for one for long', () => {
  assert.equal(gatheringMs(0), 50);
  assert.equal(gatheringMs(1), 50);
  assert.equal(gatheringMs(12), 480);
  assert.equal(gatheringMs(30_000), 1000);
});

test('a value that replaces another one is written once, but both are held', () => {
  const layer = new OverlayLayer();
  const scratch = Buffer.alloc(16) as Bytes;
  const store = {} as Store;
  const put = (name: string, size: number) => {
    const key = {
      write: (bytes: Uint8Array, at: number) =>
        at + Buffer.from(bytes.buffer, bytes.byteOffset).write(name, at),
    };
    layer.put(
      { store, key, slab: undefined, start: 0, size },
      scratch,
      1 as LogIndex,
      heldStates([]),
    );
  };
  put('a', 1000);
  const one = layer.bytes;
  put('a', 3000);
  put('b', 0);
  assert.equal(layer.bytes, one + 2000 + (one - 1000));
  assert.equal(layer.heldBytes, layer.bytes + one);
});
