import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Log } from '#core/log.ts';
import { silentLog } from '#core/log.ts';
import { AsyncQueue, type QueuedStatement } from '#database/session/async-queue.ts';
import { ManualRuntime, settle } from './support/manual-runtime.ts';

function item(text: string): QueuedStatement {
  return {
    statement: { language: 'sql', text, parameters: new Map() },
    options: {
      principal: { name: 'ada', isRoot: false, via: 'password' },
      mustBeIdempotent: false,
      requestId: `request ${text}`,
      signal: new AbortController().signal,
    },
  };
}

/** A queue of two whose statements end when the test says so. */
function setUp(log: Log = silentLog) {
  const runtime = new ManualRuntime();
  const executed: string[][] = [];
  let finish: () => void = () => {};
  const queue = new AsyncQueue({
    capacity: () => 2,
    waitMsMax: () => 30_000,
    batchSize: () => 10,
    workerCountMax: () => 1,
    backPressure: () => 0,
    execute: async (statements) => {
      executed.push(statements.map(({ statement }) => statement.text));
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return statements.length;
    },
    runtime,
    log,
  });
  return { runtime, queue, executed, finish: () => finish() };
}

test('queued statements run in order, those that wait together in one batch', async () => {
  const { queue, executed, finish } = setUp();
  await queue.add(item('a'));
  await queue.add(item('b'));
  await settle();
  assert.deepEqual(executed, [['a', 'b']]);
  assert.equal(queue.activeCount, 1);
  finish();
  await settle();
  assert.equal(queue.completedCount, 2);
  assert.equal(queue.activeCount, 0);
});

test('a full queue keeps senders waiting, for 30 s', async () => {
  const { runtime, queue, executed, finish } = setUp();
  await queue.add(item('a'));
  await queue.add(item('b'));
  const third = queue.add(item('c'));
  await settle();
  finish();
  await third;
  await settle();
  assert.deepEqual(executed, [['a', 'b'], ['c']]);
  await queue.add(item('d'));
  const refused = assert.rejects(queue.add(item('e')), {
    code: 'Busy',
    message: /service\.asyncOperationsQueueSize/,
  });
  await runtime.advance(30_000);
  await refused;
});

test('closing drains the queue and logs by request id what it could not do', async () => {
  const lost: unknown[] = [];
  const { runtime, queue, finish } = setUp({
    ...silentLog,
    error: (_message, fields) => void lost.push(fields?.['requestId']),
  });
  await queue.add(item('a'));
  await settle();
  await queue.add(item('b'));
  const closing = queue.close(60_000);
  await assert.rejects(queue.add(item('c')), { code: 'Busy' });
  await runtime.advance(60_000);
  const left = await closing;
  assert.deepEqual(
    left.map(({ statement }) => statement.text),
    ['a', 'b'],
  );
  assert.deepEqual(lost, ['request a', 'request b']);
  finish();
});

/** A queue of ten whose batches end one after the other, when the test says so. */
function setUpWorkers(workerCount: number, backPressure: number) {
  const runtime = new ManualRuntime();
  const executed: string[][] = [];
  const finishing: (() => void)[] = [];
  const queue = new AsyncQueue({
    capacity: () => 10,
    waitMsMax: () => 30_000,
    batchSize: () => 2,
    workerCountMax: () => workerCount,
    backPressure: () => backPressure,
    execute: async (statements) => {
      executed.push(statements.map(({ statement }) => statement.text));
      await new Promise<void>((resolve) => {
        finishing.push(resolve);
      });
      return statements.length;
    },
    runtime,
    log: silentLog,
  });
  return { runtime, queue, executed, finish: () => finishing.shift()?.() };
}

test('asyncWorkerThreads batches are executed at once, and no more', async () => {
  const { queue, executed, finish } = setUpWorkers(2, 0);
  for (const text of ['a', 'b', 'c', 'd', 'e', 'f']) await queue.add(item(text));
  await settle();
  assert.deepEqual(executed, [
    ['a', 'b'],
    ['c', 'd'],
  ]);
  assert.equal(queue.activeCount, 2);
  assert.equal(queue.queuedCount, 6);
  finish();
  await settle();
  assert.deepEqual(executed.at(-1), ['e']);
  for (let left = 0; left < 3; left += 1) {
    finish();
    await settle();
  }
  assert.equal(queue.completedCount, 6);
  assert.equal(queue.activeCount, 0);
});

test('from asyncBackPressure percent on, a sender waits for a batch or 100 ms', async () => {
  const { runtime, queue, finish } = setUpWorkers(1, 30);
  for (const text of ['a', 'b', 'c']) await queue.add(item(text));
  await settle();
  let added = 0;
  const add = (text: string) =>
    queue.add(item(text)).then(() => {
      added += 1;
    });
  const fourth = add('d');
  await settle();
  assert.equal(added, 0);
  finish();
  await fourth;
  assert.equal(added, 1);
  for (const text of ['e', 'f']) void add(text);
  await runtime.advance(100);
  await settle();
  assert.equal(added, 3);
});
