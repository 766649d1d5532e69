import { createServer } from 'node:net';
import { PerformanceObserver } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';
import { HeldBy } from './held-by.ts';

/*
 * Preloaded into the server that is probed: measures how long the event loop is held. A timer of one millisecond looks at the
 * clock and at the processor time of the thread; what passed between two looks is one turn. Processor time does not grow while
 * others have the machine. The longest collection of garbage, which is part of some turn, is told on the clock, and the longest turn
 * without the collections in it: each is taken to have had as much of the processor as the turn. A line to the port in `STALL_PORT`
 * answers the longest turns since the last line and forgets them. With `STALL_HELD_BY` it says which step held the longest one without
 * collections, and everything is slower by a tenth.
 */

interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

interface Turn extends Span {
  readonly processorMs: number;
}

/** Shorter ones are no stall. */
const keptTurnMs = 3;
const longest = { wallMs: 0, processorMs: 0, collectionMs: 0 };
let turns: Turn[] = [];
let garbage: Span[] = [];
let lastWallMs = performance.now();
let lastProcessorMs = processorMs();

function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function look(): void {
  const turn = {
    startMs: lastWallMs,
    endMs: performance.now(),
    processorMs: processorMs() - lastProcessorMs,
  };
  longest.wallMs = Math.max(longest.wallMs, turn.endMs - turn.startMs);
  longest.processorMs = Math.max(longest.processorMs, turn.processorMs);
  if (turn.processorMs > keptTurnMs) turns.push(turn);
  lastWallMs = turn.endMs;
  lastProcessorMs += turn.processorMs;
}

/** The longest turn but for the collections in it; undefined when none is long. */
function longestOwn(): { readonly turn: Turn; readonly ownMs: number } | undefined {
  let found: { readonly turn: Turn; readonly ownMs: number } | undefined;
  for (const turn of turns) {
    let collectedMs = 0;
    for (const { startMs, endMs } of garbage)
      collectedMs += Math.max(0, Math.min(endMs, turn.endMs) - Math.max(startMs, turn.startMs));
    const ownShare = 1 - collectedMs / (turn.endMs - turn.startMs);
    const ownMs = turn.processorMs * ownShare;
    if (found === undefined || found.ownMs < ownMs) found = { turn, ownMs };
  }
  return found;
}

setInterval(look, 1).unref();

const collections = new PerformanceObserver((list) => lookAtCollections(list.getEntries()));
collections.observe({ entryTypes: ['gc'] });

function lookAtCollections(
  entries: readonly { readonly startTime: number; readonly duration: number }[],
): void {
  for (const { startTime, duration } of entries) {
    longest.collectionMs = Math.max(longest.collectionMs, duration);
    if (duration > 0.2) garbage.push({ startMs: startTime, endMs: startTime + duration });
  }
}

let heldBy: HeldBy | undefined;

async function told(): Promise<string> {
  look();
  lookAtCollections(collections.takeRecords());
  const own = longestOwn();
  const ownMs = own?.ownMs ?? Math.min(keptTurnMs, longest.processorMs);
  const step = own && (await heldBy?.end(own.turn));
  const answer = JSON.stringify({ ...longest, ownMs, heldBy: step ?? '' });
  if (own === undefined) await heldBy?.end({ startMs: 0, endMs: 0 });
  // Not before the first line: a process that puts another in its place while samples are taken leaves that one a signal to die of.
  if (process.env['STALL_HELD_BY'] !== undefined) heldBy ??= new HeldBy();
  await heldBy?.begin();
  look();
  turns = [];
  garbage = [];
  longest.wallMs = 0;
  longest.processorMs = 0;
  longest.collectionMs = 0;
  return `${answer}\n`;
}

const server = createServer((socket) => {
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', () => void told().then((line) => socket.write(line)));
});
// Threads of the server load this file, too, and may do so as long as they like.
if (isMainThread) server.listen(Number(process.env['STALL_PORT']), '127.0.0.1').unref();
