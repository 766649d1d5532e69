import type { SettingsReader } from '#config/effective-settings.ts';
import { haQuorumTimeout, haReadConsistency } from '#config/cluster-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import { Histogram } from '#core/instruments.ts';
import type { Clock, Timers } from '#core/runtime.ts';
import type { Index } from '#raft/vocabulary.ts';
import type { ClusterView } from '../cluster-view.ts';
import { AppliedWaiters } from './applied-waiters.ts';

export type ReadConsistency = 'eventual' | 'read_your_writes' | 'linearizable';

/** What a request says of the state that it wants to see. */
export interface WantedState {
  /** Undefined: `service.ha.readConsistency`. */
  readonly level: ReadConsistency | undefined;
  readonly bookmark: Index | undefined;
}

/** What a read waits by. */
export type ReadView = Pick<ClusterView, 'consensus' | 'appliedIndex' | 'onApplied'>;

const nothingWanted: WantedState = { level: undefined, bookmark: undefined };

/**
 * What stands before the snapshot of every read (ha.md 7): a wait until this server has applied what the reader may expect. It
 * never gives up silently: a late one is an answer of its own, not an old state.
 */
export class ReadBarrier {
  /** Seconds that reads waited, by level. */
  readonly waits: Readonly<Record<ReadConsistency, Histogram>> = {
    eventual: new Histogram(),
    read_your_writes: new Histogram(),
    linearizable: new Histogram(),
  };
  roundCount = 0;
  readonly #view: ReadView;
  readonly #settings: SettingsReader;
  readonly #clock: Clock;
  readonly #waiters: AppliedWaiters;
  readonly #stop: () => void;
  #isHastening = false;

  constructor(
    view: ReadView,
    { settings, clock, timers }: { settings: SettingsReader; clock: Clock; timers: Timers },
  ) {
    this.#view = view;
    this.#settings = settings;
    this.#clock = clock;
    this.#waiters = new AppliedWaiters(timers);
    this.#stop = view.onApplied((index) => this.#waiters.applied(index));
  }

  get waiterCount(): number {
    return this.#waiters.count;
  }

  /**
   * Undefined when the state that is here is good enough.
   * @throws DatabaseError `NeedRetry` or `QuorumNotReached` after `service.ha.quorumTimeout`; `IllegalArgument` for a bookmark
   *   that no server of this cluster has given out
   * @param wanted default: nothing but what the server promises to all
   */
  before(
    { level, bookmark }: WantedState = nothingWanted,
    signal?: AbortSignal,
  ): Promise<void> | undefined {
    const wanted = level ?? (this.#settings.get(haReadConsistency) as ReadConsistency);
    if (wanted === 'eventual') return undefined;
    const isThere = bookmark === undefined || bookmark <= this.#view.appliedIndex();
    if (wanted === 'read_your_writes' && isThere) return undefined;
    return this.#wait(wanted, bookmark, signal);
  }

  close(): void {
    this.#stop();
    this.#waiters.failAll(new DatabaseError('NotOnline', 'the server is stopping'));
  }

  async #wait(
    level: ReadConsistency,
    bookmark: Index | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    const timeoutMs = this.#settings.get(haQuorumTimeout);
    const leftMs = () =>
      Math.max(1, Math.ceil(timeoutMs - (this.#clock.monotonicMs() - startedMs)));
    try {
      let index = bookmark ?? 0;
      if (level === 'linearizable') index = Math.max(index, await this.#round(leftMs()));
      await this.#requireOfThisCluster(bookmark, leftMs);
      if (index > this.#view.appliedIndex() && level !== 'linearizable') this.#hasten(leftMs());
      if (index > this.#view.appliedIndex())
        await this.#waiters.wait(index, leftMs(), () => this.#late(index, timeoutMs), signal);
    } finally {
      this.waits[level].observe((this.#clock.monotonicMs() - startedMs) / 1000);
    }
  }

  #round(timeoutMs: number): Promise<Index> {
    this.roundCount += 1;
    return this.#view.consensus.readIndex(timeoutMs);
  }

  /** Followers hear of a commit a few milliseconds late while nothing else is written; a round with the leader tells them now. */
  #hasten(timeoutMs: number): void {
    const { consensus } = this.#view;
    const { role, leader } = consensus.status();
    if (this.#isHastening || role === 'leader' || leader === undefined) return;
    this.#isHastening = true;
    const done = () => {
      this.#isHastening = false;
    };
    consensus.readIndex(timeoutMs).then(done, done);
  }

  /** The leader knows how long its log is; a follower cannot know and waits. */
  async #requireOfThisCluster(bookmark: Index | undefined, leftMs: () => number): Promise<void> {
    const { consensus } = this.#view;
    if (bookmark === undefined) return;
    const isAhead = () => {
      const { role, lastIndex } = consensus.status();
      return role === 'leader' && bookmark > lastIndex;
    };
    if (!isAhead()) return;
    await this.#round(leftMs());
    if (!isAhead()) return;
    throw new DatabaseError(
      'IllegalArgument',
      `bookmark ${bookmark} is ahead of this cluster (last index ${consensus.status().lastIndex})`,
    );
  }

  #late(index: Index, timeoutMs: number): DatabaseError {
    return new DatabaseError(
      'NeedRetry',
      `index ${index} is wanted and ${this.#view.appliedIndex()} is applied here, after ${timeoutMs} ms (${haQuorumTimeout.key})`,
    );
  }
}
