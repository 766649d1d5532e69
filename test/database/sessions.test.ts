import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TransactionSessions } from '#database/session/sessions.ts';
import type { Principal } from '#core/principal.ts';
import type { Transaction } from '#transaction/transaction.ts';
import { ManualRuntime, settle } from './support/manual-runtime.ts';

const ada: Principal = { name: 'ada', isRoot: false, via: 'password' };
const bob: Principal = { name: 'bob', isRoot: false, via: 'password' };

function setUp(overrides: { countMax?: number; snapshotAgeMsMax?: number } = {}) {
  const runtime = new ManualRuntime();
  const sessions = new TransactionSessions({
    runtime,
    limits: {
      expireMs: () => 30_000,
      countMax: () => overrides.countMax ?? 10,
      lockWaitMs: () => 5_000,
      snapshotAgeMsMax: () => overrides.snapshotAgeMsMax ?? 600_000,
    },
  });
  let rollbackCount = 0;
  const open = (): Transaction =>
    ({
      rollback: () => {
        rollbackCount += 1;
      },
    }) as Transaction;
  const begin = (who: Principal, database = 'school'): string =>
    sessions.begin(who, { database, isolation: 'REPEATABLE_READ', open });
  return { runtime, sessions, begin, rollbacks: () => rollbackCount };
}

test('a session is unknown to another user and in another database', async () => {
  const { sessions, begin } = setUp();
  const id = begin(ada);
  assert.match(id, /^AS-[0-9a-f-]{36}$/);
  assert.ok(sessions.has(ada, 'school', id));
  assert.ok(!sessions.has(bob, 'school', id));
  assert.ok(!sessions.has(ada, 'other', id));
  await assert.rejects(sessions.acquire(bob, 'school', id), { code: 'SessionNotFound' });
  await assert.rejects(sessions.acquire(ada, 'other', id), { code: 'SessionNotFound' });
});

test('an idle session expires 30 s after its last request has ended, a busy one never', async () => {
  const { runtime, sessions, begin, rollbacks } = setUp();
  const id = begin(ada);
  await runtime.advance(29_999);
  const lease = await sessions.acquire(ada, 'school', id);
  lease.transaction();
  await runtime.advance(100_000);
  lease.release();
  await runtime.advance(29_999);
  assert.ok(sessions.has(ada, 'school', id));
  assert.equal(rollbacks(), 0);
  await runtime.advance(1);
  assert.ok(!sessions.has(ada, 'school', id));
  assert.equal(rollbacks(), 1);
  assert.equal(runtime.timerCount, 0);
});

test('requests of one session run one after the other, in order of arrival', async () => {
  const { sessions, begin } = setUp();
  const id = begin(ada);
  const first = await sessions.acquire(ada, 'school', id);
  const order: string[] = [];
  const second = sessions.acquire(ada, 'school', id).then((lease) => {
    order.push('second');
    return lease;
  });
  const third = sessions.acquire(ada, 'school', id).then((lease) => {
    order.push('third');
    return lease;
  });
  await settle();
  assert.deepEqual(order, []);
  first.release();
  (await second).release();
  (await third).release();
  assert.deepEqual(order, ['second', 'third']);
});

test('a request that waits 5 s for its session gives up and leaves the session alone', async () => {
  const { runtime, sessions, begin } = setUp();
  const id = begin(ada);
  const lease = await sessions.acquire(ada, 'school', id);
  const refused = assert.rejects(sessions.acquire(ada, 'school', id), {
    code: 'LockTimeout',
    message: 'timeout on acquiring session lock',
  });
  await runtime.advance(5_000);
  await refused;
  lease.release();
  (await sessions.acquire(ada, 'school', id)).release();
});

test('ending a busy session rolls it back when its request is over, waiters find it gone', async () => {
  const { sessions, begin, rollbacks } = setUp();
  const id = begin(ada);
  const lease = await sessions.acquire(ada, 'school', id);
  lease.transaction();
  const refused = assert.rejects(sessions.acquire(ada, 'school', id), { code: 'SessionNotFound' });
  sessions.endOfUser('ada');
  await refused;
  assert.equal(rollbacks(), 0);
  lease.release();
  assert.equal(rollbacks(), 1);
  assert.equal(sessions.count, 0);
});

test('a waiter whose session ends just as its turn comes rolls it back', async () => {
  const { sessions, begin, rollbacks } = setUp();
  const id = begin(ada);
  const lease = await sessions.acquire(ada, 'school', id);
  lease.transaction();
  const refused = assert.rejects(sessions.acquire(ada, 'school', id), { code: 'SessionNotFound' });
  lease.release();
  sessions.endOfDatabase('school');
  await refused;
  assert.equal(rollbacks(), 1);
});

test('a taken transaction is not rolled back and its session is gone', async () => {
  const { runtime, sessions, begin, rollbacks } = setUp();
  const id = begin(ada);
  const lease = await sessions.acquire(ada, 'school', id);
  const transaction = lease.transaction();
  assert.equal(lease.take(), transaction);
  assert.equal(rollbacks(), 0);
  assert.ok(!sessions.has(ada, 'school', id));
  assert.equal(runtime.timerCount, 0);
});

test('a snapshot that grows too old is let go; the next request is told, then the id is unknown', async () => {
  const { runtime, sessions, begin, rollbacks } = setUp({ snapshotAgeMsMax: 20_000 });
  const id = begin(ada);
  const lease = await sessions.acquire(ada, 'school', id);
  lease.transaction();
  lease.release();
  await runtime.advance(20_000);
  assert.equal(rollbacks(), 1);
  await assert.rejects(sessions.acquire(ada, 'school', id), {
    code: 'Busy',
    message: /service\.server\.maxSnapshotAge \(20 s\)/,
  });
  await assert.rejects(sessions.acquire(ada, 'school', id), { code: 'SessionNotFound' });
});

test('one session more than httpTxSessionMax is refused', () => {
  const { begin } = setUp({ countMax: 2 });
  begin(ada);
  begin(bob);
  assert.throws(() => begin(ada), { code: 'Busy', message: /httpTxSessionMax/ });
});
