import { isMainThread } from 'node:worker_threads';

// Loaded into a server (`--import`): SIGUSR2 keeps its main thread busy for ten seconds, as a fault would; its other threads go on.

const busyMs = 10_000;

if (isMainThread)
  process.on('SIGUSR2', () => {
    const until = performance.now() + busyMs;
    while (performance.now() < until);
  });
