import { inspect } from 'node:util';
import { printHistory } from '#test/history/history.ts';
import type { Below } from '../databases/disk.ts';
import { DatabaseSimulation, databaseOptionsOf } from '../databases/simulation.ts';
import { optionsOf } from '../simulation/options.ts';
import { type Label, Simulation } from '../simulation/simulation.ts';

/** What of a seed runs: the core over registers always; again with databases when it says what is below them. */
export interface SeedOrder {
  readonly seed: number;
  readonly below: Below | undefined;
}

export type RunKind = 'core' | Below;

export interface RunReport {
  readonly kind: RunKind;
  readonly ticks: number;
  /** Of the thread; what runs in others for it, as a collection of memory, is not in it. */
  readonly processorMs: number;
  readonly isIdle: boolean;
  /** As it is printed. */
  readonly failure: string | undefined;
  /** What clients of databases were told. */
  readonly told: { readonly ok: number; readonly failed: number; readonly unknown: number };
}

export interface SeedReport {
  readonly seed: number;
  readonly runs: readonly RunReport[];
  readonly labels: readonly Label[];
  /** What the clients of a run that failed saw, as JSON lines. */
  readonly history: string | undefined;
}

const toldNothing = { ok: 0, failed: 0, unknown: 0 };

/** Of a hundred seeds two, of which one has LMDB below its databases when every tenth has. */
function runsTwice(seed: number): boolean {
  return seed % 100 < 2;
}

/** Runs a seed; those that run twice must give the same events. Never throws. */
export async function runSeed({ seed, below }: SeedOrder): Promise<SeedReport> {
  const core = () => new Simulation(optionsOf(seed));
  const first = core();
  const { clients, labels } = first;
  const runs = [await measured('core', first, async () => first.run())];
  if (runsTwice(seed) && runs[0]?.failure === undefined) {
    const again = core();
    again.run();
    runs.push(...differing('core', first, again));
  }
  let failedHistory = hasFailed(runs) ? clients.history : undefined;
  if (below !== undefined) {
    const simulation = () => new DatabaseSimulation(databaseOptionsOf(seed), below);
    const real = simulation();
    const run = await measured(below, real, () => real.runAll());
    const { ok, failed, unknown } = real.work.counts;
    runs.push({ ...run, told: { ok, failed, unknown } });
    if (runsTwice(seed) && run.failure === undefined) {
      const again = simulation();
      await again.runAll();
      runs.push(...differing(below, real, again));
    }
    if (run.failure !== undefined) failedHistory = [...real.work.histories.values()].flat();
  }
  const history = failedHistory && printHistory(failedHistory);
  return { seed, runs, labels: [...labels], history };
}

function hasFailed(runs: readonly RunReport[]): boolean {
  return runs.some(({ failure }) => failure !== undefined);
}

async function measured(
  kind: RunKind,
  simulation: Simulation,
  run: () => Promise<boolean>,
): Promise<RunReport> {
  const began = process.threadCpuUsage();
  let isIdle = false;
  let failure: string | undefined;
  try {
    isIdle = !(await run());
  } catch (error) {
    failure = failureOf(kind, simulation, error);
  }
  const { user, system } = process.threadCpuUsage(began);
  const processorMs = (user + system) / 1000;
  return { kind, ticks: simulation.now, processorMs, isIdle, failure, told: toldNothing };
}

/** A report that adds nothing but the difference. */
function differing(kind: RunKind, first: Simulation, again: Simulation): readonly RunReport[] {
  if (first.oracle.hash === again.oracle.hash) return [];
  const failure = failureOf(kind, first, new Error('two runs of it differ'));
  return [{ kind, ticks: 0, processorMs: 0, isIdle: false, failure, told: toldNothing }];
}

function failureOf(kind: RunKind, { options, now }: Simulation, error: unknown): string {
  const { seed } = options;
  const again = `npm run simulate -- --from ${seed} --seeds 1 --below ${kind === 'core' ? 'none' : kind}`;
  return `seed ${seed} (${kind}) at tick ${now}: ${inspect(error)}\n${JSON.stringify(options)}\n${again}`;
}
