import { renameSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BroadcastChannel, isMainThread } from 'node:worker_threads';

// Loaded into a server (`--import`): after SIGUSR2 every thread collects its garbage and the file `live-memory` of the working
// directory says how many bytes were live then. What lives does not depend on when a collection happens to come, as resident memory
// does.

const channel = new BroadcastChannel('live-memory');
channel.unref();
/** Threads that are busy for longer are left out: none is counted that does not answer. */
const answerMs = 1000;
/** What a first one frees may have held more, and finalizers run between them. */
const collections = 3;

async function liveBytes(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let i = 0; i < collections; i += 1) {
    collect();
    await new Promise((done) => setImmediate(done));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function answer(): Promise<void> {
  let total = await liveBytes();
  const take = ({ data }: { data: unknown }) => {
    if (typeof data === 'number') total += data;
  };
  channel.addEventListener('message', take as never);
  channel.postMessage('how much');
  await new Promise((done) => setTimeout(done, answerMs));
  channel.removeEventListener('message', take as never);
  writeFileSync('live-memory.tmp', String(total));
  renameSync('live-memory.tmp', 'live-memory');
}

if (isMainThread) process.on('SIGUSR2', () => void answer());
else
  channel.onmessage = ({ data }) => {
    if (data === 'how much') void liveBytes().then((bytes) => channel.postMessage(bytes));
  };
