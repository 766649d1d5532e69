import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newCounters, OwnCounters, plainCounts } from '#database/catalogue/counters.ts';

test('what a database counts is counted for the server, too; of other databases it knows nothing', () => {
  const server = newCounters();
  const [one, other] = [new OwnCounters(server), new OwnCounters(server)];
  one.queries += 2;
  one.writeTx += 1;
  other.queries += 3;
  other.txRollbacks += 1;
  other.readTx += 1;
  other.concurrentModificationExceptions += 1;
  const nothing = plainCounts(newCounters());
  assert.deepEqual(plainCounts(one), { ...nothing, queries: 2, writeTx: 1 });
  assert.deepEqual(plainCounts(server), {
    writeTx: 1,
    readTx: 1,
    txRollbacks: 1,
    queries: 5,
    concurrentModificationExceptions: 1,
  });
});
