import type { Message, SnapshotMeta } from '#raft/message.ts';
import type { AppendJob } from '#raft/ready.ts';
import type { HardState } from '#raft/vocabulary.ts';
import type { LogStore } from '../log-store/log-store.ts';

export interface DiskPort {
  readonly store: LogStore;
  /** Installs the databases; rejects when it could not, and is asked again. */
  install(snapshot: SnapshotMeta): Promise<void>;
  hardState(): HardState;
  done(messages: readonly Message[]): void;
  failed(error: Error): void;
}

/** Append jobs in their order (ha.md 2.3 rule 1): plain ones are on their way together, one with a snapshot stands alone. */
export class DiskJobs {
  readonly #port: DiskPort;
  #waiting: AppendJob[] = [];
  #isInstalling = false;
  #isStopped = false;

  constructor(port: DiskPort) {
    this.#port = port;
  }

  /** What was not written is not written any more, and nobody hears of it. */
  stop(): void {
    this.#isStopped = true;
    this.#waiting = [];
  }

  push(job: AppendJob): void {
    if (this.#isInstalling) {
      this.#waiting.push(job);
      return;
    }
    if (job.snapshot === undefined) this.#write(job);
    else void this.#install(job, job.snapshot);
  }

  #write(job: AppendJob): void {
    const isNothing = job.entries.length === 0 && job.hardState === undefined;
    const written =
      isNothing && !job.mustSync ? this.#port.store.barrier() : this.#port.store.append(job);
    written.then(
      () => {
        if (!this.#isStopped) this.#port.done(job.afterwards);
      },
      (error: Error) => {
        if (!this.#isStopped) this.#port.failed(error);
      },
    );
  }

  async #install(job: AppendJob, snapshot: SnapshotMeta): Promise<void> {
    this.#isInstalling = true;
    try {
      await this.#port.store.barrier();
      await this.#port.install(snapshot);
      await this.#port.store.reset(snapshot, job.hardState ?? this.#port.hardState());
    } catch (error) {
      if (!this.#isStopped)
        this.#port.failed(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    this.#isInstalling = false;
    const waiting = this.#waiting.splice(0);
    if (this.#isStopped) return;
    this.#write({ ...job, snapshot: undefined });
    for (const next of waiting) this.push(next);
  }
}
