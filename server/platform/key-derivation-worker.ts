import { pbkdf2Sync } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import type { DerivationRequest } from './key-derivation.ts';

// The body of the worker thread of `key-derivation.ts`.
parentPort?.on('message', ({ password, salt, iterations }: DerivationRequest) => {
  const key = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  parentPort?.postMessage(Uint8Array.from(key));
});
