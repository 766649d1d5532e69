import type { ClusterStatus } from '../../api/cluster-status.ts';
import type { ObservedMember } from '../../api/observation.ts';
import type { MembersRecord } from '../../resources/members-record.ts';
import { majority } from './group-view.ts';
import type { GroupView } from './group-view.ts';

/*
 * A majority is not there (operator.md 8.13). Nothing is done about it by itself; what a person may approve is named: a token of
 * this incident, and the members whose data go on without loss of anything that those who answer hold.
 */

export interface QuorumFacts {
  readonly members: readonly ObservedMember[];
  readonly group: GroupView;
  readonly previous: ClusterStatus;
  readonly record: MembersRecord;
  readonly isReplicated: boolean;
}

/** Of the last group that was seen; without a status, those that the record says hold data. */
export function lastVoters({ previous, record }: Pick<QuorumFacts, 'previous' | 'record'>): number {
  const known = Object.values(record.members).filter(({ state }) => state === 'member').length;
  return previous.voters ?? known;
}

/** The other voters do not answer, or have empty disks: there are more of them than of those that could lead. */
export function lacksQuorum(facts: QuorumFacts): boolean {
  const { members, group, isReplicated } = facts;
  if (!isReplicated || group.kind !== 'unknown') return false;
  const voters = lastVoters(facts);
  const there = members.filter(({ raft }) => raft !== undefined && raft.isAdmitted !== false);
  return voters > 1 && there.length < majority(voters);
}

/** Names of members whose log ends as late as that of anybody who answers; a learner may lack what was acknowledged. */
export function survivorsOf(members: readonly ObservedMember[]): readonly string[] {
  const able = members.flatMap(({ name, peerId, raft }) => {
    const isVoter = raft?.peers.some(({ id, isVoter: votes }) => id === peerId && votes);
    const { lastTerm, lastIndex } = raft ?? {};
    if (!isVoter || raft?.isAdmitted === false || lastTerm === undefined || lastIndex === undefined)
      return [];
    return [{ name, lastTerm, lastIndex }];
  });
  const [latest] = able.toSorted((a, b) => b.lastTerm - a.lastTerm || b.lastIndex - a.lastIndex);
  return able
    .filter(
      (member) => member.lastTerm === latest?.lastTerm && member.lastIndex === latest.lastIndex,
    )
    .map(({ name }) => name);
}
