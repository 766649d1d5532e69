import type { ConfState, PeerId } from '#raft/vocabulary.ts';

/** The beginning of a group: kept by each member for ever, since the log goes on from it. */
export interface Formation {
  readonly clusterId: string;
  readonly conf: ConfState;
}

/** What a storage has said to formations; what it has said once holds for ever (ha.md 8.3 rule 1). */
export interface FormationVote {
  /** The only one that may begin with it. */
  readonly accepted?: Formation | undefined;
  /** Ids of those that never begin with it. */
  readonly rejected: readonly string[];
}

/** As much of what a member says of itself as votes rest on. */
export interface Voter {
  readonly peer: PeerId;
  readonly storage: string;
  readonly formation: Formation | undefined;
  readonly vote?: FormationVote | undefined;
}

export const noVote: FormationVote = { rejected: [] };

/** Members that were there when a formation was made, by the storage that they had. */
export function participantsOf({ conf }: Formation): ReadonlyMap<PeerId, string> {
  return new Map(
    conf.voters.flatMap(({ id, storageId }) =>
      storageId === '' ? [] : [[id, storageId] as const],
    ),
  );
}

function takesPart({ peer, storage }: Pick<Voter, 'peer' | 'storage'>, formation: Formation) {
  return participantsOf(formation).get(peer) === storage;
}

/** It can never begin: a participant refuses it, or has begun with others that had to take part in both. */
function isDead(formation: Formation, heard: readonly Voter[]): boolean {
  const participants = [...participantsOf(formation)];
  return heard.some((voter) => {
    if (takesPart(voter, formation) && voter.vote?.rejected.includes(formation.clusterId))
      return true;
    const other = voter.formation;
    if (other === undefined || other.clusterId === formation.clusterId) return false;
    const theirs = participantsOf(other);
    return participants.some(([id, storage]) => theirs.get(id) === storage);
  });
}

/**
 * What `self` says after it has heard the others: it takes the first formation that names its storage, refuses every other one, and
 * gives up one that can never begin.
 * @returns `own` itself when nothing is new
 */
export function nextVote(
  own: FormationVote,
  heard: readonly Voter[],
  self: Pick<Voter, 'peer' | 'storage'>,
): FormationVote {
  let { accepted } = own;
  const rejected = new Set(own.rejected);
  if (accepted !== undefined && isDead(accepted, heard)) {
    rejected.add(accepted.clusterId);
    accepted = undefined;
  }
  const proposed = new Map(
    heard.flatMap(({ vote }) =>
      vote?.accepted === undefined ? [] : [[vote.accepted.clusterId, vote.accepted] as const],
    ),
  );
  for (const [id, formation] of [...proposed].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!takesPart(self, formation) || id === accepted?.clusterId || rejected.has(id)) continue;
    if (accepted === undefined && !isDead(formation, heard)) accepted = formation;
    else rejected.add(id);
  }
  const isNew = accepted !== own.accepted || rejected.size > own.rejected.length;
  return isNew ? { accepted, rejected: [...rejected] } : own;
}

/** Participants that have not accepted it yet, as far as `self`, who has, knows: without them it does not begin. */
export function missingFrom(
  formation: Formation,
  heard: readonly Voter[],
  self: PeerId,
): readonly PeerId[] {
  const { clusterId } = formation;
  const agreed = new Set(
    heard.flatMap((voter) => {
      const hasBegun = voter.formation?.clusterId === clusterId;
      const hasAccepted = hasBegun || voter.vote?.accepted?.clusterId === clusterId;
      return hasAccepted && takesPart(voter, formation) ? [voter.peer] : [];
    }),
  );
  return [...participantsOf(formation).keys()].filter((id) => id !== self && !agreed.has(id));
}
