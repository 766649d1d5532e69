import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { printHistory } from '#test/history/history.ts';
import { optionsOf } from './simulation/options.ts';
import { labels, Simulation } from './simulation/simulation.ts';

// npm run simulate -- [--seeds 2000] [--from 1] [--hours H] [--first] [--ledger FILE] [--history FILE]
// Whole groups in virtual time: real cores and logs, simulated disks and links, faults by the seed (simulation/options.ts). A tick stands
// for 50 ms. One seed in a hundred runs twice and must give the same events. `--hours` goes on from seed to seed for so long, `--first`
// stops at the first failure, `--ledger` adds a line to a file and tells the sum of all, `--history` keeps what the clients of a failed
// seed saw.
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    hours: { type: 'string' },
    first: { type: 'boolean', default: false },
    ledger: { type: 'string' },
    history: { type: 'string' },
  },
});
const tickMs = 50;
const twiceEvery = 100;
/** Of all seeds: who does too little tests nothing, and each label must be seen (ha-testing.md 3.5, 3.7). */
const idlePercentMax = 5;
const labelPercentMin = 1;
const seedsThatTell = 1000;

const from = Number(values.from);
const beganMs = Date.now();
const beganCpu = process.cpuUsage();
const failed: number[] = [];
const seen = new Map(labels.map((label) => [label, 0]));
let seeds = 0;
let ticks = 0;
let idle = 0;

function isOver(): boolean {
  if (values.first && failed.length > 0) return true;
  if (values.hours !== undefined) return Date.now() - beganMs > Number(values.hours) * 3_600_000;
  return seeds >= Number(values.seeds);
}

function runSeed(seed: number): void {
  const options = optionsOf(seed);
  const simulation = new Simulation(options);
  try {
    if (!simulation.run()) idle += 1;
    if (seed % twiceEvery === 0) {
      const again = new Simulation(options);
      again.run();
      if (again.oracle.hash !== simulation.oracle.hash) throw new Error('two runs of it differ');
    }
  } catch (error) {
    failed.push(seed);
    console.error(`seed ${seed} at tick ${simulation.now}:`, error);
    console.error(JSON.stringify(options));
    console.error(`npm run simulate -- --from ${seed} --seeds 1`);
    if (values.history !== undefined)
      writeFileSync(values.history, printHistory(simulation.clients.history));
  }
  ticks += simulation.now;
  for (const label of simulation.labels) seen.set(label, (seen.get(label) ?? 0) + 1);
}

while (!isOver()) {
  runSeed(from + seeds);
  seeds += 1;
}
const { user, system } = process.cpuUsage(beganCpu);
const virtualSeconds = (ticks * tickMs) / 1000;
const problems: string[] = [];
if (seeds >= seedsThatTell) {
  if (idle * 100 > seeds * idlePercentMax) problems.push(`${idle} of ${seeds} seeds are idle`);
  for (const [label, count] of seen)
    if (count * 100 < seeds * labelPercentMin) problems.push(`'${label}' is seen ${count} times`);
}
console.log(JSON.stringify({ from, seeds, idle, ...Object.fromEntries(seen) }));
for (const problem of problems) console.log(problem);
const days = virtualSeconds / 86_400;
if (values.ledger !== undefined) console.log(entered(values.ledger));
console.log(
  `${days.toFixed(2)} virtual days, ${Math.round(virtualSeconds / ((user + system) / 1e6))} times real time`,
);
console.log(`simulate: ${seeds - failed.length} passed, ${failed.length + problems.length} failed`);
process.exitCode = failed.length + problems.length === 0 ? 0 : 1;

/** One line for each range of seeds; the sum over all of them. */
function entered(path: string): string {
  const line = { at: new Date().toISOString(), from, seeds, days: Number(days.toFixed(4)), failed };
  appendFileSync(path, `${JSON.stringify(line)}\n`);
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
  const all = lines.map((text) => JSON.parse(text) as typeof line);
  const sum = (of: (one: typeof line) => number) => all.reduce((total, one) => total + of(one), 0);
  const failures = sum((one) => one.failed.length);
  return `ledger: ${sum((one) => one.seeds)} seeds, ${sum((one) => one.days).toFixed(1)} virtual days, ${failures} failed`;
}
