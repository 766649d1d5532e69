import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { printHistory } from '#test/history/history.ts';
import { DatabaseSimulation, databaseOptionsOf } from './databases/simulation.ts';
import { Ledger, type LedgerSum, treeOf } from './simulation/ledger.ts';
import { optionsOf } from './simulation/options.ts';
import { labels, Simulation } from './simulation/simulation.ts';

// npm run simulate -- [--seeds 2000] [--from 1] [--hours H] [--first] [--databases | --databases-every N] [--ledger FILE]
//   [--history FILE]
// Whole groups in virtual time: real cores and logs, simulated disks and links, faults by the seed (simulation/options.ts). A tick stands
// for 50 ms. With `--databases` each runs again with real databases in place of registers (databases/simulation.ts), with
// `--databases-every 10` one in ten.
// One seed in a hundred runs twice and must give the same events. `--hours` goes on from seed to seed for so long, `--first`
// stops at the first failure, `--history` keeps what the clients of a failed seed saw. `--ledger` enters what ran into a file, a line for
// every 500 seeds, and tells the sums of it: of all, and of the tree that ran last; without `--from` it goes on where the ledger ends.
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string' },
    hours: { type: 'string' },
    first: { type: 'boolean', default: false },
    databases: { type: 'boolean', default: false },
    'databases-every': { type: 'string' },
    ledger: { type: 'string' },
    history: { type: 'string' },
  },
});
const tickMs = 50;
const twiceEvery = 100;
const databasesEvery = values.databases ? 1 : Number(values['databases-every'] ?? Infinity);
/** Of all seeds: who does too little tests nothing, and each label must be seen (ha-testing.md 3.5, 3.7). */
const idlePercentMax = 5;
/** Their runs are short, and begin with a schema. */
const realIdlePercentMax = 15;
const labelPercentMin = 1;
const seedsThatTell = 1000;

const ledgerEvery = 500;

const ledger = values.ledger === undefined ? undefined : new Ledger(values.ledger);
const tree = treeOf(join(import.meta.dirname, '../..'));
const from = Number(values.from ?? ledger?.next() ?? 1);
const beganMs = Date.now();
const beganCpu = process.cpuUsage();
const failed: number[] = [];
const seen = new Map(labels.map((label) => [label, 0]));
let seeds = 0;
let ticks = 0;
let idle = 0;
/** With real databases: seeds, and what their clients were told. */
const real = { seeds: 0, idle: 0, ok: 0, failed: 0, unknown: 0 };
const entered = { seeds: 0, ticks: 0, failed: 0 };

function isOver(): boolean {
  if (values.first && failed.length > 0) return true;
  if (values.hours !== undefined) return Date.now() - beganMs > Number(values.hours) * 3_600_000;
  return seeds >= Number(values.seeds);
}

async function runSeed(seed: number): Promise<void> {
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
    tellOfFailure(seed, simulation, error);
    if (values.history !== undefined)
      writeFileSync(values.history, printHistory(simulation.clients.history));
  }
  ticks += simulation.now;
  for (const label of simulation.labels) seen.set(label, (seen.get(label) ?? 0) + 1);
  if (seed % databasesEvery === 0) await runWithDatabases(seed);
}

async function runWithDatabases(seed: number): Promise<void> {
  const options = databaseOptionsOf(seed);
  const simulation = new DatabaseSimulation(options);
  const { work, oracle } = simulation;
  try {
    real.seeds += 1;
    if (!(await simulation.runAll())) real.idle += 1;
    if (seed % twiceEvery === 0) {
      const again = new DatabaseSimulation(options);
      await again.runAll();
      if (again.oracle.hash !== oracle.hash) throw new Error('two runs of it differ');
    }
  } catch (error) {
    tellOfFailure(seed, simulation, error);
    if (values.history !== undefined)
      writeFileSync(values.history, printHistory([...work.histories.values()].flat()));
  }
  ticks += simulation.now;
  real.ok += work.counts.ok;
  real.failed += work.counts.failed;
  real.unknown += work.counts.unknown;
}

function tellOfFailure(seed: number, { now, options }: Simulation, error: unknown): void {
  if (failed.at(-1) !== seed) failed.push(seed);
  console.error(`seed ${seed} at tick ${now}:`, error);
  console.error(JSON.stringify(options));
  console.error(
    `npm run simulate -- --from ${seed} --seeds 1${seed % databasesEvery === 0 ? ' --databases' : ''}`,
  );
}

while (!isOver()) {
  await runSeed(from + seeds);
  seeds += 1;
  if (seeds % ledgerEvery === 0) enter();
}
enter();
const { user, system } = process.cpuUsage(beganCpu);
const virtualSeconds = (ticks * tickMs) / 1000;
const problems: string[] = [];
if (seeds >= seedsThatTell) {
  if (idle * 100 > seeds * idlePercentMax) problems.push(`${idle} of ${seeds} seeds are idle`);
  if (real.idle * 100 > real.seeds * realIdlePercentMax)
    problems.push(`${real.idle} of ${real.seeds} seeds with real databases are idle`);
  for (const [label, count] of seen)
    if (count * 100 < seeds * labelPercentMin) problems.push(`'${label}' is seen ${count} times`);
}
console.log(JSON.stringify({ from, seeds, idle, ...Object.fromEntries(seen) }));
if (real.seeds > 0) console.log(JSON.stringify({ withRealDatabases: real }));
for (const problem of problems) console.log(problem);
const days = virtualSeconds / 86_400;
if (ledger !== undefined) {
  console.log(`ledger: ${sumText(ledger.sum())}`);
  console.log(`ledger of tree ${tree}: ${sumText(ledger.sum(tree))}`);
}
console.log(
  `${days.toFixed(2)} virtual days, ${Math.round(virtualSeconds / ((user + system) / 1e6))} times real time`,
);
console.log(`simulate: ${seeds - failed.length} passed, ${failed.length + problems.length} failed`);
process.exitCode = failed.length + problems.length === 0 ? 0 : 1;

/** What ran since the last line. */
function enter(): void {
  if (ledger === undefined || seeds === entered.seeds) return;
  ledger.enter({
    at: new Date().toISOString(),
    tree,
    from: from + entered.seeds,
    seeds: seeds - entered.seeds,
    days: Number((((ticks - entered.ticks) * tickMs) / 86_400_000).toFixed(4)),
    failed: failed.slice(entered.failed),
  });
  entered.seeds = seeds;
  entered.ticks = ticks;
  entered.failed = failed.length;
}

function sumText(sum: LedgerSum): string {
  return `${sum.seeds} seeds, ${sum.days.toFixed(1)} virtual days, ${sum.failed} failed`;
}
