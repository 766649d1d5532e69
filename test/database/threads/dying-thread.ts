import { parentPort } from 'node:worker_threads';
import type { ToThread } from '#database/threads/messages.ts';
import '#plan/reader-thread.ts';

// A reader thread that dies amid each statement whose text tells it to.

const delayMs = 30;

parentPort?.on('message', (message: ToThread) => {
  if (message.kind !== 'run' || !message.order.text.includes('die')) return;
  setTimeout(() => process.exit(3), delayMs);
});
