import { createServer } from 'node:net';
import { PerformanceObserver } from 'node:perf_hooks';

/*
 * Preloaded into the server that is probed: measures how long the event loop is held. A timer of one millisecond looks at the
 * clock and at the processor time of the thread; what passed between two looks is one turn. Processor time does not grow while
 * others have the machine. The longest collection of garbage, which is part of some turn, is told on the clock. A line to the port in `STALL_PORT` answers the longest turns since the last line and forgets them.
 */

const longest = { wallMs: 0, processorMs: 0, collectionMs: 0 };
let lastWallMs = performance.now();
let lastProcessorMs = processorMs();

function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function look(): void {
  const wallMs = performance.now();
  const usedMs = processorMs();
  longest.wallMs = Math.max(longest.wallMs, wallMs - lastWallMs);
  longest.processorMs = Math.max(longest.processorMs, usedMs - lastProcessorMs);
  lastWallMs = wallMs;
  lastProcessorMs = usedMs;
}

setInterval(look, 1).unref();

const collections = new PerformanceObserver((list) => lookAtCollections(list.getEntries()));
collections.observe({ entryTypes: ['gc'] });

function lookAtCollections(entries: readonly { readonly duration: number }[]): void {
  for (const { duration } of entries)
    longest.collectionMs = Math.max(longest.collectionMs, duration);
}

createServer((socket) => {
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', () => {
    look();
    lookAtCollections(collections.takeRecords());
    socket.write(`${JSON.stringify(longest)}\n`);
    longest.wallMs = 0;
    longest.processorMs = 0;
    longest.collectionMs = 0;
  });
})
  .listen(Number(process.env['STALL_PORT']), '127.0.0.1')
  .unref();
