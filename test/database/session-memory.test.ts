import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServerMemory } from '#database/bounds/memory-accounts.ts';
import { TransactionSessions } from '#database/session/sessions.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import type { Transaction } from '#transaction/transaction.ts';
import { root } from './support/open-test-database.ts';

test('what open transactions hold between statements is counted; commit and rollback stay possible', async () => {
  const memory = new ServerMemory({ bytesMax: 1000, settingKey: 'service.server.queryMaxMemory' });
  const sessions = new TransactionSessions({
    runtime: systemRuntime,
    memory,
    limits: {
      expireMs: () => 60_000,
      countMax: () => 10,
      lockWaitMs: () => 1000,
      snapshotAgeMsMax: () => 60_000,
    },
  });
  const open = () => ({ heldBytes: 600, rollback: () => {} }) as unknown as Transaction;
  const begin = () => sessions.begin(root, { database: 'd', isolation: 'READ_COMMITTED', open });
  const [first, second, third] = [begin(), begin(), begin()];
  for (const id of [first, second]) {
    const lease = await sessions.acquire(root, 'd', id);
    lease.transaction();
    lease.release();
  }
  assert.equal(memory.usedBytes, 1200);
  const refused = await sessions.acquire(root, 'd', third);
  assert.throws(() => refused.transaction(), { code: 'Busy', message: /queryMaxMemory/ });
  refused.release();
  assert.ok((await sessions.acquire(root, 'd', first)).take());
  assert.equal(memory.usedBytes, 600);
  const again = await sessions.acquire(root, 'd', third);
  again.transaction();
  again.release();
  sessions.endAll();
  assert.equal(memory.usedBytes, 0);
});
