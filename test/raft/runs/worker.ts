import assert from 'node:assert/strict';
import { parentPort } from 'node:worker_threads';
import { runSeed, type SeedOrder } from './seed-run.ts';

// A thread of `seed-pool.ts`: one seed after the other.

const port = parentPort;
assert.ok(port, 'it is a worker');
port.on('message', async (order: SeedOrder) => {
  port.postMessage(await runSeed(order));
});
