import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Below } from './databases/disk.ts';
import { runSeeds } from './runs/seed-pool.ts';
import type { SeedReport } from './runs/seed-run.ts';
import { Totals } from './runs/totals.ts';
import { Ledger, type LedgerSum, treeOf } from './simulation/ledger.ts';

// npm run simulate -- [--seeds 2000] [--from 1] [--hours H] [--first] [--below none | memory | lmdb] [--threads N] [--ledger FILE]
//   [--history FILE]
// Whole groups in virtual time: real cores and logs, simulated disks and links, faults by the seed (simulation/options.ts). A tick stands
// for 50 ms. Each seed runs over registers, and again with real databases in place of them (databases/simulation.ts): one in ten over
// LMDB, the others over its double, unless `--below` says otherwise.
// Two seeds in a hundred run twice and must give the same events. `--hours` goes on from seed to seed for so long, at most to the count
// of `--seeds`; `--first` stops at the first failure, `--history` keeps what the clients of a failed seed saw. `--ledger` enters what ran into a file, a line for
// every 500 seeds, and tells the sums of it: of all, and of the tree that ran last; without `--from` it goes on where the ledger ends.
const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    from: { type: 'string' },
    hours: { type: 'string' },
    first: { type: 'boolean', default: false },
    below: { type: 'string' },
    threads: { type: 'string', default: String(availableParallelism()) },
    ledger: { type: 'string' },
    history: { type: 'string' },
  },
});
const lmdbEvery = 10;
const hoursMax = Number(values.hours ?? Infinity);
const seedsMax = Number(values.seeds ?? (values.hours === undefined ? 2000 : Infinity));
const ledgerEvery = 500;

const ledger = values.ledger === undefined ? undefined : new Ledger(values.ledger);
const tree = treeOf(join(import.meta.dirname, '../..'));
const from = Number(values.from ?? ledger?.next() ?? 1);
const beganMs = Date.now();
const beganCpu = process.cpuUsage();
const totals = new Totals();
const entered = { seeds: 0, days: 0, failed: 0 };
let given = 0;

function isOver(): boolean {
  if (values.first && totals.failed.length > 0) return true;
  if (Date.now() - beganMs > hoursMax * 3_600_000) return true;
  return given >= seedsMax;
}

function belowOf(seed: number): Below | undefined {
  if (values.below === 'none') return undefined;
  if (values.below === 'memory' || values.below === 'lmdb') return values.below;
  return seed % lmdbEvery === 0 ? 'lmdb' : 'memory';
}

function next() {
  if (isOver()) return undefined;
  given += 1;
  const seed = from + given - 1;
  return { seed, below: belowOf(seed) };
}

function report(one: SeedReport): void {
  totals.add(one);
  for (const { failure } of one.runs) if (failure !== undefined) console.error(failure);
  if (one.history !== undefined && values.history !== undefined)
    writeFileSync(values.history, one.history);
  if (totals.seeds % ledgerEvery === 0) enter();
}

await runSeeds({ threads: Number(values.threads), next, report });
enter();
const { user, system } = process.cpuUsage(beganCpu);
const { seeds, failed, days } = totals;
const problems = totals.problems();
for (const line of totals.lines()) console.log(line);
for (const problem of problems) console.log(problem);
if (ledger !== undefined) {
  console.log(`ledger: ${sumText(ledger.sum())}`);
  console.log(`ledger of tree ${tree}: ${sumText(ledger.sum(tree))}`);
}
console.log(
  `${days.toFixed(2)} virtual days, ${Math.round((days * 86_400) / ((user + system) / 1e6))} times real time on a core, with all that starts and collects`,
);
console.log(`simulate: ${seeds - failed.length} passed, ${failed.length + problems.length} failed`);
process.exitCode = failed.length + problems.length === 0 ? 0 : 1;

/** What ran since the last line. */
function enter(): void {
  if (ledger === undefined || totals.seeds === entered.seeds) return;
  ledger.enter({
    at: new Date().toISOString(),
    tree,
    from: from + entered.seeds,
    seeds: totals.seeds - entered.seeds,
    days: Number((totals.days - entered.days).toFixed(4)),
    failed: totals.failed.slice(entered.failed),
  });
  entered.seeds = totals.seeds;
  entered.days = totals.days;
  entered.failed = totals.failed.length;
}

function sumText(sum: LedgerSum): string {
  return `${sum.seeds} seeds, ${sum.days.toFixed(1)} virtual days, ${sum.failed} failed`;
}
