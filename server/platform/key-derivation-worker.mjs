import { pbkdf2Sync } from 'node:crypto';
import { parentPort } from 'node:worker_threads';

// The body of the worker thread of `key-derivation.ts`. Plain JavaScript: a thread that must strip types first needs another
// 12 MB and 50 ms for the stripper.
parentPort.on('message', ({ password, salt, iterations }) => {
  const key = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  parentPort.postMessage(Uint8Array.from(key));
});
