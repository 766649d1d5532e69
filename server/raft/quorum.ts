import type { ConfState, Index, PeerId } from './vocabulary.ts';

/** The sets of voters that decide: one, or two while a joint change is under way. Ids in order. */
export function voterSets(conf: ConfState): readonly (readonly PeerId[])[] {
  const incoming = conf.voters.map(({ id }) => id).sort();
  return conf.votersOutgoing.length === 0
    ? [incoming]
    : [incoming, [...conf.votersOutgoing].sort()];
}

/** The largest index that a majority of each set has reached. An empty set decides nothing. */
export function quorumIndex(
  sets: readonly (readonly PeerId[])[],
  indexOf: (id: PeerId) => Index,
): Index {
  let lowest = Number.POSITIVE_INFINITY;
  for (const ids of sets) {
    if (ids.length === 0) continue;
    lowest = Math.min(lowest, reachedByMajority(ids, indexOf));
  }
  return lowest === Number.POSITIVE_INFINITY ? 0 : lowest;
}

/** Without a sorted copy: sets are small, and it is asked with every answer of a follower. */
function reachedByMajority(ids: readonly PeerId[], indexOf: (id: PeerId) => Index): Index {
  const majority = Math.floor(ids.length / 2) + 1;
  let best = 0;
  for (const id of ids) {
    const index = indexOf(id);
    if (index <= best) continue;
    let count = 0;
    for (const other of ids) if (indexOf(other) >= index) count += 1;
    if (count >= majority) best = index;
  }
  return best;
}

export type VoteResult = 'won' | 'lost' | 'pending';

/** `true` granted, `false` refused, undefined: not heard. A candidate needs a majority of each set. */
export function voteResult(
  sets: readonly (readonly PeerId[])[],
  voteOf: (id: PeerId) => boolean | undefined,
): VoteResult {
  let result: VoteResult = 'won';
  for (const ids of sets) {
    if (ids.length === 0) continue;
    const majority = Math.floor(ids.length / 2) + 1;
    let granted = 0;
    let unknown = 0;
    for (const id of ids) {
      const vote = voteOf(id);
      if (vote === true) granted += 1;
      else if (vote === undefined) unknown += 1;
    }
    if (granted >= majority) continue;
    if (granted + unknown < majority) return 'lost';
    result = 'pending';
  }
  return result;
}
