import type { NodeStatus } from '#raft/node.ts';
import type { Index, PeerId } from '#raft/vocabulary.ts';
import type { ConsensusOptions } from './worker-messages.ts';

/** So long the log waits for one follower that fetches its databases (ha.md 9.2 rule 3). */
const fetchMsMax = 3_600_000;

/** What followers that can be reached have, where the log waits for them (`service.ha.logPurgeUptoSnapshot`). */
export function awaitedOf(
  { role, progress }: Pick<NodeStatus, 'role' | 'progress'>,
  { purgesForAll = true, self }: Pick<ConsensusOptions, 'purgesForAll' | 'self'>,
  isReachable: (id: PeerId) => boolean,
): readonly Index[] {
  if (purgesForAll || role !== 'leader') return [];
  return progress
    .filter(({ id, state }) => id !== self && state !== 'snapshot' && isReachable(id))
    .map(({ match }) => match);
}

/**
 * Followers that fetch databases: the log stays from the index of their snapshot on, or what they fetch for longer than the log is
 * kept would lead to the next snapshot, for ever. One that cannot be reached or takes more than an hour is not waited for.
 */
export class FetchingFollowers {
  readonly #since = new Map<PeerId, number>();

  /** @returns the indexes of their snapshots */
  look(
    { role, progress }: Pick<NodeStatus, 'role' | 'progress'>,
    isReachable: (id: PeerId) => boolean,
    nowMs: number,
  ): readonly Index[] {
    const fetching = role === 'leader' ? progress.filter(({ state }) => state === 'snapshot') : [];
    for (const id of this.#since.keys())
      if (!fetching.some((one) => one.id === id)) this.#since.delete(id);
    return fetching.flatMap(({ id, next }) => {
      const sinceMs = this.#since.get(id) ?? nowMs;
      this.#since.set(id, sinceMs);
      return isReachable(id) && nowMs - sinceMs < fetchMsMax ? [next - 1] : [];
    });
  }
}
