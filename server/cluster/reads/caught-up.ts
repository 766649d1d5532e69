import type { Timers } from '#core/runtime.ts';
import type { Index } from '#raft/vocabulary.ts';
import type { ClusterView } from '../cluster-view.ts';
import type { ReadBarrier } from './read-barrier.ts';

const roundMs = 500;
const applyMs = 2000;

/** Waits for what others have done, for requests that say no state: users and databases that a moment ago were made elsewhere. */
export class CaughtUp {
  readonly #view: ClusterView;
  readonly #reads: ReadBarrier;
  readonly #timers: Timers;

  constructor(view: ClusterView, reads: ReadBarrier, timers: Timers) {
    this.#view = view;
    this.#reads = reads;
    this.#timers = timers;
  }

  /** With all that was acknowledged before the call, in a moment; else without. Never rejects. */
  async withAll(): Promise<void> {
    const { role, leader } = this.#view.consensus.status();
    if (role === 'leader' || leader === undefined) return;
    const index = await this.#view.consensus.readIndex(roundMs).catch(() => 0);
    await this.with(index);
  }

  /** With what a leader has answered. Never rejects. */
  async with(bookmark: Index): Promise<void> {
    const wait = this.#reads.before({ level: 'read_your_writes', bookmark });
    if (wait === undefined) return;
    await Promise.race([wait.catch(() => {}), this.#timers.sleep(applyMs)]);
  }
}
