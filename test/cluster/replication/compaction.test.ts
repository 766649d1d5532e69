import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApplyLoop } from '#cluster/replication/apply-loop.ts';
import { diskRoom } from '#cluster/replication/disk-room.ts';
import { silentLog } from '#core/log.ts';
import type { Entry } from '#raft/vocabulary.ts';

/** A loop over entries that change nothing, and what it says of the log. */
function fixture() {
  const compacted: number[] = [];
  const flushes = { count: 0, held: Promise.resolve() };
  const due: (() => void)[] = [];
  const room = { isThere: true };
  let deliver: (entries: readonly Entry[]) => Promise<void> = () => Promise.resolve();
  let checkpointed = 0;
  let last = 0;
  const refuse = (): never => {
    throw new Error('not asked here');
  };
  const loop = new ApplyLoop({
    port: {
      deliver: (_, apply) => {
        deliver = apply;
      },
      compactTo: (index) => compacted.push(index),
    },
    server: {
      apply: refuse,
      applied: () => 0,
      member: () => undefined,
      memberNamed: () => undefined,
      members: () => [],
      checkpointed: () => checkpointed,
      checkpoint: (index) => {
        checkpointed = index;
        return Promise.resolve();
      },
    },
    seatOf: refuse,
    committed: () => undefined,
    remotely: refuse,
    flush: () => {
      flushes.count += 1;
      return flushes.held;
    },
    compaction: { entriesMax: () => 10_000, intervalMs: () => 1000, entriesMin: () => 64 },
    hasRoom: () => room.isThere,
    timers: {
      yield: () => Promise.resolve(),
      after: (_, run) => {
        due.push(run);
        return () => {};
      },
    },
    log: silentLog,
  });
  loop.start();
  const settle = async () => {
    for (let i = 0; i < 50; i++) await Promise.resolve();
  };
  return {
    loop,
    compacted,
    flushes,
    room,
    deliver: async (count: number) => {
      const kind = 'noop' as const;
      const data = new Uint8Array(0);
      await deliver(
        Array.from({ length: count }, (_, at) => ({ index: last + 1 + at, term: 1, kind, data })),
      );
    },
    apply: async (count: number, data: Uint8Array = new Uint8Array(0)) => {
      const kind = 'noop' as const;
      await deliver(
        Array.from({ length: count }, (_, i) => ({ index: last + 1 + i, term: 1, kind, data })),
      );
      last += count;
      await settle();
    },
    passInterval: async () => {
      due.shift()?.();
      await settle();
    },
    stop: () => loop.stop(),
  };
}

test('databases are made durable more often than the log goes', async () => {
  const { apply, compacted, flushes } = fixture();
  for (let i = 0; i < 3; i++) await apply(4096);
  assert.equal(flushes.count, 3);
  assert.deepEqual(compacted, [3 * 4096]);
});

test('time lets the log go when there is something in it', async () => {
  const { apply, compacted, passInterval } = fixture();
  await apply(63);
  await passInterval();
  assert.deepEqual(compacted, []);
  await apply(1);
  await passInterval();
  await passInterval();
  assert.deepEqual(compacted, [64]);
  await apply(4096);
  assert.deepEqual(compacted, [64]);
  await passInterval();
  assert.deepEqual(compacted, [64, 64 + 4096]);
});

test('pressure lets it go at once, also what a checkpoint had left; so do large entries and a stop', async () => {
  const { apply, compacted, loop, stop } = fixture();
  await apply(4096);
  await loop.relieve(true);
  assert.deepEqual(compacted, [4096]);
  await apply(1024);
  assert.deepEqual(compacted, [4096, 5120]);
  await loop.relieve(false);
  await apply(8, new Uint8Array(32 * 1024 * 1024));
  assert.deepEqual(compacted, [4096, 5120, 5128]);
  await apply(1);
  await stop();
  assert.deepEqual(compacted, [4096, 5120, 5128, 5129]);
});

test('what is applied while databases are made durable stays in the log', async () => {
  const { apply, compacted, flushes } = fixture();
  await apply(4096);
  await apply(4096);
  const flushed = Promise.withResolvers<void>();
  flushes.held = flushed.promise;
  await apply(4096);
  await apply(10);
  assert.deepEqual(compacted, []);
  flushed.resolve();
  await apply(1);
  assert.deepEqual(compacted, [3 * 4096]);
});

test('a full volume of the databases pauses the apply, and nothing is lost', async () => {
  const { loop, room, deliver, passInterval } = fixture();
  room.isThere = false;
  const applying = deliver(3);
  await passInterval();
  assert.deepEqual([loop.applied, loop.lacksRoom], [0, true]);
  room.isThere = true;
  await passInterval();
  await applying;
  assert.deepEqual([loop.applied, loop.lacksRoom], [3, false]);
});

test('room is looked for once a second, and a small volume needs less', () => {
  let nowMs = 0;
  let bavail = 20;
  let lookCount = 0;
  const look = (() => {
    lookCount += 1;
    return { bavail, bsize: 4096, blocks: 1000 };
  }) as unknown as Parameters<typeof diskRoom>[2];
  const hasRoom = diskRoom('/', { monotonicMs: () => nowMs }, look);
  assert.equal(hasRoom(), true);
  bavail = 9;
  assert.equal(hasRoom(), true);
  nowMs = 1000;
  assert.equal(hasRoom(), false);
  assert.equal(lookCount, 2);
});
