import type { Timers } from '#core/runtime.ts';
import type { CommitBuilder } from './builder.ts';
import type { DeletionJobs } from './deletion-jobs.ts';

export interface DeletionRunsOptions {
  readonly timers: Pick<Timers, 'yield'>;
  readonly jobs: DeletionJobs;
  /** As a commit of its own. */
  readonly commit: (prepare: (commit: CommitBuilder) => void) => Promise<void>;
  /** The engine is at work. */
  readonly mayRun: () => boolean;
}

/** Works off the deletions that outlast their commit, slice by slice. */
export class DeletionRuns {
  readonly #options: DeletionRunsOptions;
  /** Resolves, and is gone, when nothing is under way. */
  running: Promise<void> | undefined;

  constructor(options: DeletionRunsOptions) {
    this.#options = options;
  }

  /** There may be jobs. What cannot be deleted now is taken up by the next start, or when writing goes on after a failure. */
  check(): void {
    if (this.#options.jobs.isEmpty) return;
    this.running ??= this.#run()
      .catch(() => {})
      .finally(() => {
        this.running = undefined;
      });
  }

  async #run(): Promise<void> {
    const { timers, jobs, commit, mayRun } = this.#options;
    while (!jobs.isEmpty && mayRun()) {
      await commit((builder) => {
        builder.addWrites(jobs.slice(builder.reader));
      });
      await timers.yield();
    }
  }
}
