import type { Cancel, Timers } from '#core/runtime.ts';
import { noRid, type Rid } from '#core/value/rid.ts';
import type { EdgeRuns } from '../format/edge-runs.ts';
import type { CommitBuilder } from './builder.ts';
import { EdgeRunMerge } from './edge-run-merge.ts';

/** Runs that wait at most while a load goes on: who reads a list looks into each of its type. */
const waitingMax = 16;
/** Without a load that ends by itself, as where a log is followed: no run has come for so long. */
const quietMs = 1_000;

export interface EdgeRunMergesOptions {
  readonly timers: Pick<Timers, 'yield' | 'after'>;
  readonly edgeRuns: () => EdgeRuns;
  /** As a commit of its own. */
  readonly commit: (prepare: (commit: CommitBuilder) => Promise<void>) => Promise<void>;
  /** Told when no commit of a merge is under way. */
  readonly renewal: { betweenMerges(): void };
  /** The engine is at work. */
  readonly mayRun: () => boolean;
}

/** Brings edges that wait in runs into lists, in small commits beside all others. */
export class EdgeRunMerges {
  readonly #options: EdgeRunMergesOptions;
  #running: Promise<void> | undefined;
  #cancelTimer: Cancel | undefined;

  constructor(options: EdgeRunMergesOptions) {
    this.#options = options;
  }

  get isQuiet(): boolean {
    return this.#running === undefined;
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /** Runs may have come. */
  check(): void {
    const { waiting } = this.#options.edgeRuns();
    if (waiting.length === 0 || this.#running !== undefined) return;
    if (waiting.length >= waitingMax) void this.#start();
    else this.#waitForQuiet();
  }

  /** Nothing is begun any more. */
  stop(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** Resolves when all that wait now are in their lists, or what keeps them from it has come up. */
  async merge(): Promise<void> {
    await this.#running;
    if (this.#options.edgeRuns().waiting.length > 0) await this.#start();
  }

  #waitForQuiet(): void {
    const { timers, edgeRuns, mayRun } = this.#options;
    if (this.#cancelTimer !== undefined || !mayRun()) return;
    const { lastNumber } = edgeRuns();
    this.#cancelTimer = timers.after(quietMs, () => {
      this.#cancelTimer = undefined;
      if (edgeRuns().lastNumber !== lastNumber) this.check();
      else if (this.#running === undefined) void this.#start();
    });
  }

  /** What keeps it from writing may pass, and damage is told to who reads: the next run, or the next start, tries again. */
  #start(): Promise<void> {
    this.stop();
    this.#running ??= this.#run()
      .catch(() => {})
      .finally(() => {
        this.#running = undefined;
      });
    return this.#running;
  }

  async #run(): Promise<void> {
    const { timers, edgeRuns, commit, renewal, mayRun } = this.#options;
    const upTo = edgeRuns().lastNumber;
    let from: Rid | undefined = noRid;
    while (from !== undefined && mayRun()) {
      const task = { upTo, from };
      const merges: EdgeRunMerge[] = [];
      try {
        await commit(async (builder) => {
          const merge = new EdgeRunMerge(builder, task);
          merges.push(merge);
          from = await merge.run(timers);
        });
      } finally {
        for (const merge of merges) merge.release();
      }
      await timers.yield();
      renewal.betweenMerges();
    }
  }
}
