import { parseArgs } from 'node:util';
import { SimulatedCluster, someFaults } from './support/simulated-cluster.ts';

// npm run simulate -- [--seeds 2000] [--from 1] [--ticks 1500] [--first]
// Whole groups of cores in virtual time. A tick stands for 50 ms. With `--first` it stops at the first failure. The last line says what was seen and how fast.
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    first: { type: 'boolean', default: false },
    ticks: { type: 'string', default: '1500' },
  },
});
const tickMs = 50;
const settlingTicks = 400;
const [seeds, from, ticks] = [Number(values.seeds), Number(values.from), Number(values.ticks)];
const totals: Record<string, number> = {};
const failed: number[] = [];
const beganMs = process.cpuUsage();
for (let seed = from; seed < from + seeds; seed++) {
  const cluster = new SimulatedCluster(seed, seed % 2 === 0 ? 3 : 5, someFaults);
  try {
    cluster.run(ticks);
    cluster.settle();
  } catch (error) {
    failed.push(seed);
    console.error(`seed ${seed}:`, error);
  }
  for (const [label, count] of Object.entries(cluster.counts))
    totals[label] = (totals[label] ?? 0) + count;
  if (values.first && failed.length > 0) break;
}
const { user, system } = process.cpuUsage(beganMs);
const virtualSeconds = (seeds * (ticks + settlingTicks) * tickMs) / 1000;
const factor = Math.round(virtualSeconds / ((user + system) / 1e6));
console.log(JSON.stringify({ from, ...totals }));
console.log(
  `simulate: ${seeds - failed.length} passed, ${failed.length} failed; ${(virtualSeconds / 86_400).toFixed(2)} virtual days, ${factor} times real time`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
