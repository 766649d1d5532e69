import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Log, silentLog } from '#core/log.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { LogIndex, Rid, TypeId } from '#core/value/rid.ts';
import { ChangeQueue, type ChangeSubscriber, type LostChanges } from '#database/events.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import type { RecordChange } from '#transaction/transaction.ts';

// Change events between commits and subscribers.

function change(rid: number, typeName = 'Note'): RecordChange {
  const record: StoredRecord = {
    valueKind: 'record',
    kind: 'document',
    rid: rid as Rid,
    type: 1 as TypeId,
    typeName,
    version: 1 as LogIndex,
    out: -1 as Rid,
    in: -1 as Rid,
    get: () => undefined,
    propertyNames: () => [],
  };
  return { kind: 'create', record };
}

function setUp(sizeMax = 1000) {
  const warnings: unknown[] = [];
  const log: Log = {
    ...silentLog,
    warn: (message, fields) => void warnings.push([message, fields]),
  };
  const queue = new ChangeQueue({
    databaseName: 'school',
    sizeMax: () => sizeMax,
    runtime: systemRuntime,
    log,
  });
  const got: number[] = [];
  const lost: LostChanges[] = [];
  const subscriber: ChangeSubscriber = {
    wants: (_kind, typeName) => typeName === 'Note',
    lost: (loss) => void lost.push(loss),
    changed: ({ record }) => void got.push(record.rid),
    pass: async () => {},
    ended: () => void got.push(-1),
  };
  return { queue, warnings, got, lost, subscriber };
}

async function delivered(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await systemRuntime.timers.yield();
}

test('what comes while events are passed on is passed on together', async () => {
  const { queue } = setUp();
  const passes: number[][] = [];
  let kept: number[] = [];
  let opened = () => {};
  const gate = new Promise<void>((resolve) => {
    opened = resolve;
  });
  queue.subscribe({
    wants: () => true,
    lost: () => {},
    changed: ({ record }) => void kept.push(record.rid),
    pass: async () => {
      passes.push(kept);
      kept = [];
      if (passes.length === 1) await gate;
    },
    ended: () => {},
  });
  queue.committed([change(1)]);
  await delivered();
  queue.committed([change(2), change(3)]);
  queue.committed([change(4)]);
  await delivered();
  assert.deepEqual(passes, [[1]], 'the second pass waits for the first');
  opened();
  while (passes.length < 2) await systemRuntime.timers.yield();
  assert.deepEqual(passes, [[1], [2, 3, 4]]);
});

test('nothing is kept while nobody subscribes', async () => {
  const { queue, got, subscriber } = setUp();
  assert.equal(queue.isWatched, false);
  queue.committed([change(1)]);
  const unsubscribe = queue.subscribe(subscriber);
  assert.equal(queue.isWatched, true);
  await delivered();
  assert.deepEqual(got, []);
  queue.committed([change(2), change(3)]);
  queue.committed([change(4)]);
  assert.deepEqual(got, [], 'a commit does not wait for its events');
  await delivered();
  assert.deepEqual(got, [2, 3, 4]);
  queue.committed([change(5)]);
  unsubscribe();
  await delivered();
  assert.deepEqual(got, [2, 3, 4]);
});

test('beyond the size of the queue whole commits are dropped, with one warning', async () => {
  const { queue, got, subscriber, warnings } = setUp(3);
  queue.subscribe(subscriber);
  queue.committed([change(1), change(2)]);
  queue.committed([change(3), change(4)]);
  queue.committed([change(5)]);
  queue.committed([change(6)]);
  await delivered();
  assert.deepEqual(got, [1, 2, 3, 4]);
  assert.equal(warnings.length, 1);
  assert.match(JSON.stringify(warnings), /server\.eventBusQueueSize.*school/);
  queue.committed([change(7)]);
  await delivered();
  assert.deepEqual(got, [1, 2, 3, 4, 7]);
});

test('sources are closed: when told, when nobody is left, when the database ends', async () => {
  const { queue, got, subscriber } = setUp();
  const closed: string[] = [];
  const source = (name: string, rids: number[]) => ({
    length: rids.length,
    next: () => change(rids.shift() ?? 0),
    close: () => void closed.push(name),
  });
  const unsubscribe = queue.subscribe(subscriber);
  queue.offer(source('told', [1, 2]));
  await delivered();
  assert.deepEqual([got, closed], [[1, 2], ['told']]);
  queue.offer(source('left', [3]));
  unsubscribe();
  assert.deepEqual(closed, ['told', 'left']);
  queue.subscribe(subscriber);
  queue.offer(source('ended', [4]));
  queue.close();
  await delivered();
  assert.deepEqual(
    [got, closed],
    [
      [1, 2, -1],
      ['told', 'left', 'ended'],
    ],
  );
});

test('events of a type that nobody asked for take no room, and who misses some is told how many', async () => {
  const { queue, got, lost, subscriber } = setUp(3);
  queue.subscribe(subscriber);
  for (let n = 0; n < 50; n++) {
    queue.committed([change(1000 + n, 'Load'), change(2000 + n, 'Load')]);
    if (n % 20 === 0) queue.committed([change(n)]);
  }
  await delivered();
  assert.deepEqual([got, lost], [[0, 20, 40], []]);
  for (let n = 0; n < 5; n++) queue.committed([change(n)]);
  queue.committed([change(7), change(8, 'Load')]);
  await delivered();
  queue.committed([change(9)]);
  await delivered();
  assert.deepEqual(got.slice(3), [0, 1, 2, 9]);
  assert.deepEqual(lost, [{ kind: 'create', typeName: 'Note', count: 3 }]);
});
