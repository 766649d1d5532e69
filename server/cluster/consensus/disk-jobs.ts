import type { Message, SnapshotMeta } from '#raft/message.ts';
import type { AppendJob } from '#raft/ready.ts';
import type { HardState, Index } from '#raft/vocabulary.ts';
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
  /** Only its commit index is new: it goes along with what is written next (ha.md 3.4 rule 5). */
  #unwritten: HardState | undefined;
  /** Writes whose answer was not passed on. */
  #outstanding = 0;
  /** Answers that came together, and how many writes they are of. */
  #finished: { count: number; afterwards: Message[] } | undefined;
  #isInstalling = false;
  /** The newest term and vote that went to the disk ahead of what waits for an installation. */
  #voted: HardState | undefined;
  /** Of the newest hard state that was written: what is committed beyond it may not be what the disk holds. */
  #commit: Index = 0;
  #isStopped = false;
  #hasFailed = false;

  constructor(port: DiskPort) {
    this.#port = port;
  }

  /** What was not written is not written any more, and nobody hears of it. */
  stop(): void {
    this.#isStopped = true;
    this.#waiting = [];
  }

  /** Nothing is written any more, but a term or a vote as long as the reserve takes it (ha.md 3.7 rule 2). */
  fail(): void {
    this.#hasFailed = true;
    this.#waiting = [];
  }

  push(job: AppendJob): void {
    if (this.#hasFailed) {
      this.#vote(job);
      return;
    }
    if (this.#isInstalling) {
      this.#waiting.push(this.#voteAhead(job));
      return;
    }
    if (job.snapshot === undefined) this.#write(job);
    else void this.#install(job, job.snapshot);
  }

  #write(job: AppendJob): void {
    const { entries, mustSync, afterwards } = job;
    const hardState = this.#notBehindVote(job.hardState ?? this.#unwritten);
    this.#commit = hardState?.commit ?? this.#commit;
    const isNothing = entries.length === 0 && !mustSync;
    this.#unwritten = isNothing ? hardState : undefined;
    if (isNothing && this.#outstanding === 0) {
      this.#port.done(afterwards);
      return;
    }
    const { store } = this.#port;
    this.#outstanding += 1;
    const written = isNothing ? store.barrier() : store.append({ ...job, hardState });
    written.then(
      () => this.#finish(afterwards),
      (error: Error) => {
        this.#passOn();
        this.#outstanding -= 1;
        if (!this.#isStopped && !this.#hasFailed) this.#port.failed(error);
      },
    );
  }

  /** Writes that one flush made durable are answered together: what they have to say to a peer is one message on the wire. */
  #finish(afterwards: readonly Message[]): void {
    if (this.#finished === undefined) {
      this.#finished = { count: 1, afterwards: [...afterwards] };
      queueMicrotask(() => this.#passOn());
      return;
    }
    this.#finished.count += 1;
    this.#finished.afterwards.push(...afterwards);
  }

  #passOn(): void {
    const finished = this.#finished;
    if (finished === undefined) return;
    this.#finished = undefined;
    this.#outstanding -= finished.count;
    if (!this.#isStopped && !this.#hasFailed) this.#port.done(finished.afterwards);
  }

  /**
   * An installation may take long, and others may need the vote of this member to have a leader at all, from whom it goes on. Pre-votes
   * rest on nothing that is kept; a vote rests on the term and the vote alone, since the snapshot only makes this member more choosy.
   * @returns what is left of the job
   */
  #voteAhead(job: AppendJob): AppendJob {
    const early = job.afterwards.filter(
      ({ type }) => type === 'VoteResp' || type === 'PreVoteResp',
    );
    if (early.length === 0) return job;
    const afterwards = job.afterwards.filter((message) => !early.includes(message));
    if (early.every(({ type }) => type === 'PreVoteResp')) this.#port.done(early);
    else {
      const { term, vote } = this.#port.hardState();
      this.#voted = { term, vote, commit: this.#commit };
      this.#write({
        entries: [],
        hardState: this.#voted,
        snapshot: undefined,
        mustSync: true,
        afterwards: early,
      });
    }
    return { ...job, afterwards };
  }

  /** What was decided before a vote that is on the disk already does not take it back. */
  #notBehindVote(hardState: HardState | undefined): HardState | undefined {
    const voted = this.#voted;
    if (hardState === undefined || voted === undefined || hardState.term > voted.term)
      return hardState;
    return { ...hardState, term: voted.term, vote: voted.vote };
  }

  /** Of what waits for it only votes may go out: the entries that the core holds are not durable. */
  #vote({ hardState, snapshot, mustSync, afterwards }: AppendJob): void {
    if (hardState === undefined || snapshot !== undefined || !mustSync) return;
    const votes = afterwards.filter(({ type }) => type === 'VoteResp');
    this.#port.store.append({ entries: [], hardState, snapshot, mustSync, afterwards: votes }).then(
      () => {
        if (!this.#isStopped) this.#port.done(votes);
      },
      () => {},
    );
  }

  async #install(job: AppendJob, snapshot: SnapshotMeta): Promise<void> {
    this.#isInstalling = true;
    try {
      await this.#port.store.barrier();
      await this.#port.install(snapshot);
      // Not that of the job: a vote may have been given meanwhile. The entries behind the snapshot are not on the disk.
      await this.#port.store.reset(snapshot, {
        ...this.#port.hardState(),
        commit: snapshot.index,
      });
    } catch (error) {
      if (!this.#isStopped && !this.#hasFailed)
        this.#port.failed(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    this.#isInstalling = false;
    const waiting = this.#waiting.splice(0);
    if (this.#isStopped || this.#hasFailed) return;
    this.#write({ ...job, snapshot: undefined });
    for (const next of waiting) this.push(next);
  }
}
