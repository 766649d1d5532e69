import { inspect } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { SeedOrder, SeedReport } from './seed-run.ts';

export interface SeedPoolOptions {
  readonly threads: number;
  /** The next seed; undefined: there is none, and none will come. */
  readonly next: () => SeedOrder | undefined;
  /** Told of each seed, in the order in which they were given out. */
  readonly report: (report: SeedReport) => void;
}

/** Runs seeds in several threads, each of which takes the next one when it is done. Resolves when all are reported. */
export async function runSeeds({ threads, next, report }: SeedPoolOptions): Promise<void> {
  const given: number[] = [];
  const waiting = new Map<number, SeedReport>();
  const take = () => {
    const order = next();
    if (order !== undefined) given.push(order.seed);
    return order;
  };
  const done = (one: SeedReport) => {
    waiting.set(one.seed, one);
    for (let first = waiting.get(given[0] ?? -1); first; first = waiting.get(given[0] ?? -1)) {
      waiting.delete(first.seed);
      given.shift();
      report(first);
    }
  };
  await Promise.all(Array.from({ length: threads }, () => runThread(take, done)));
}

async function runThread(
  take: () => SeedOrder | undefined,
  done: (report: SeedReport) => void,
): Promise<void> {
  let worker: Worker | undefined;
  for (let order = take(); order !== undefined; order = take()) {
    worker ??= new Worker(new URL('./worker.ts', import.meta.url));
    try {
      done(await reportOf(worker, order));
    } catch (error) {
      // Thrown where nobody waits: the thread is gone with it.
      worker = undefined;
      done(lost(order, error));
    }
  }
  await worker?.terminate();
}

function reportOf(worker: Worker, order: SeedOrder): Promise<SeedReport> {
  const { promise, resolve, reject } = Promise.withResolvers<SeedReport>();
  worker.once('message', resolve);
  worker.once('error', reject);
  worker.postMessage(order);
  return promise.finally(() => {
    worker.off('message', resolve);
    worker.off('error', reject);
  });
}

function lost({ seed, below }: SeedOrder, error: unknown): SeedReport {
  const kind = below ?? 'core';
  const again = `npm run simulate -- --from ${seed} --seeds 1 --below ${below ?? 'none'}`;
  const failure = `seed ${seed} ended its thread: ${inspect(error)}\n${again}`;
  const told = { ok: 0, failed: 0, unknown: 0 };
  const run = { kind, ticks: 0, processorMs: 0, isIdle: false, failure, told } as const;
  return { seed, runs: [run], labels: [], history: undefined };
}
