import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import { ConflictLanes } from '#database/attempt/conflict-lanes.ts';
import { type RetryPolicy, runWithRetries } from '#database/attempt/retry.ts';
import { ManualRuntime, settle } from './support/manual-runtime.ts';

function policy(runtime: ManualRuntime, changes: Partial<RetryPolicy> = {}): () => RetryPolicy {
  return () => ({
    attemptCountMax: 3,
    delayMs: 100,
    conflictWaitMs: 5_000,
    lanes: new ConflictLanes(runtime.timers),
    check: () => {},
    runtime,
    ...changes,
  });
}

const conflict = (): DatabaseError => new DatabaseError('ConcurrentModification', 'changed');
const duplicate = (): DatabaseError => new DatabaseError('DuplicatedKey', 'taken');

/** Fails with the given errors in turn, then succeeds. */
function failing(...errors: readonly Error[]): {
  attempt: () => Promise<string>;
  count: () => number;
} {
  let count = 0;
  return {
    count: () => count,
    attempt: async () => {
      count += 1;
      const error = errors[count - 1];
      if (error) throw error;
      return 'done';
    },
  };
}

test('a conflict is tried again after a pause, up to the number of attempts', async () => {
  const runtime = new ManualRuntime();
  const twice = failing(conflict(), conflict());
  const done = runWithRetries(twice.attempt, policy(runtime));
  await settle();
  assert.equal(twice.count(), 1);
  await runtime.advance(1_000);
  assert.equal(await done, 'done');

  const always = failing(conflict(), conflict(), conflict());
  const failed = assert.rejects(runWithRetries(always.attempt, policy(runtime)), {
    code: 'ConcurrentModification',
  });
  await runtime.advance(1_000);
  await failed;
  assert.equal(always.count(), 3);
});

test('a duplicate key is tried again once', async () => {
  const runtime = new ManualRuntime();
  const always = failing(duplicate(), duplicate(), duplicate());
  const failed = assert.rejects(runWithRetries(always.attempt, policy(runtime)), {
    code: 'DuplicatedKey',
  });
  await runtime.advance(1_000);
  await failed;
  assert.equal(always.count(), 2);
});

test('zero or one attempts mean that nothing is executed twice', async () => {
  const runtime = new ManualRuntime();
  for (const attemptCountMax of [0, 1]) {
    const blocked = new DatabaseError('ConcurrentModification', 'in flight', {
      blockedBy: Promise.resolve(),
    });
    const once = failing(blocked);
    await assert.rejects(runWithRetries(once.attempt, policy(runtime, { attemptCountMax })));
    assert.equal(once.count(), 1);
  }
});

test('waiting for the transaction in the way costs no attempt and no pause', async () => {
  const runtime = new ManualRuntime();
  const blocked = Array.from(
    { length: 50 },
    () =>
      new DatabaseError('ConcurrentModification', 'in flight', { blockedBy: Promise.resolve() }),
  );
  const busy = failing(...blocked);
  assert.equal(await runWithRetries(busy.attempt, policy(runtime)), 'done');
  assert.equal(busy.count(), 51);
});

test('the wait for transactions in the way is bounded', async () => {
  const runtime = new ManualRuntime();
  const stuck = new DatabaseError('ConcurrentModification', 'in flight', {
    blockedBy: new Promise(() => {}),
  });
  const failed = assert.rejects(runWithRetries(failing(stuck).attempt, policy(runtime)), {
    code: 'ConcurrentModification',
  });
  await runtime.advance(5_000);
  await failed;
});

test('other errors, and a statement that was cancelled meanwhile, end at once', async () => {
  const runtime = new ManualRuntime();
  const broken = failing(new DatabaseError('Validation', 'no'));
  await assert.rejects(runWithRetries(broken.attempt, policy(runtime)), { code: 'Validation' });
  const cancelled = failing(conflict());
  const check = (): void => {
    throw new DatabaseError('Cancelled', 'gone');
  };
  const failed = assert.rejects(runWithRetries(cancelled.attempt, policy(runtime, { check })), {
    code: 'Cancelled',
  });
  await runtime.advance(1_000);
  await failed;
  assert.equal(cancelled.count(), 1);
});

test('statements in one lane are woken one by one; those behind one that waits again follow it', async () => {
  const runtime = new ManualRuntime();
  const lanes = new ConflictLanes(runtime.timers);
  const woken: string[] = [];
  let end: () => void = () => {};
  const first = new Promise<void>((resolve) => {
    end = resolve;
  });
  let endSecond: () => void = () => {};
  const second = new Promise<void>((resolve) => {
    endSecond = resolve;
  });
  const statement = async (name: string, meetsAnother: boolean): Promise<void> => {
    const lane = await lanes.wait(first, undefined, 5_000);
    woken.push(name);
    if (!meetsAnother) return;
    await lanes.wait(second, lane, 5_000);
    woken.push(`${name} again`);
  };
  const all = [
    statement('a', false),
    statement('b', true),
    statement('c', false),
    statement('d', false),
  ];
  await settle();
  end();
  await settle();
  await settle();
  assert.deepEqual(woken, ['a', 'b']);
  endSecond();
  await Promise.all(all);
  assert.deepEqual(woken, ['a', 'b', 'b again', 'c', 'd']);
  assert.equal(runtime.timerCount, 0);
});
