import { parseArgs } from 'node:util';
import {
  crashEverywhere,
  failEachFlush,
  fillEverywhere,
  flipEverywhere,
} from './support/log-trials.ts';

// npm run raft:log -- [--seeds 40] [--from 1]
// The Raft log over a simulated disk: every subset of unflushed writes lost, every byte changed, every offset full, every flush
// failed. The last line says how many of each there were.
const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '40' }, from: { type: 'string', default: '1' } },
});
const [seeds, from] = [Number(values.seeds), Number(values.from)];
const counts = { crashes: 0, flips: 0, fullDisks: 0, flushes: 0 };
const failed: number[] = [];
for (let seed = from; seed < from + seeds; seed++) {
  try {
    counts.crashes += crashEverywhere(seed, 60);
    counts.flushes += failEachFlush(seed, 60);
    // These try every byte: a few seeds of them are enough.
    if (seed % 10 === 1) counts.flips += flipEverywhere(seed, 25, 1);
    if (seed % 10 === 2) counts.fullDisks += fillEverywhere(seed, 20, 3);
  } catch (error) {
    failed.push(seed);
    console.error(`seed ${seed}:`, error);
  }
}
const seconds = process.cpuUsage().user / 1e6;
console.log(JSON.stringify({ seeds, ...counts, failed, seconds: Math.round(seconds) }));
console.log(`raft-log: ${seeds - failed.length} passed, ${failed.length} failed`);
process.exitCode = failed.length > 0 ? 1 : 0;
