import type { Observation } from '../../api/observation.ts';
import type { MembersRecord } from '../../resources/members-record.ts';
import { canChangeMembership } from './predicates.ts';
import type { GroupFacts } from './predicates.ts';

export interface CountInputs {
  readonly seen: Observation;
  readonly record: MembersRecord;
  readonly facts: GroupFacts;
  readonly wanted: number;
  readonly voters: number;
  readonly replicates: boolean;
  /** Pods that shall go stay for now. */
  readonly isHeld: boolean;
}

/** At most so many members are begun at once: a pair never leaves two voters on the way from one to three. */
const pairSize = 2;

/**
 * Pods that the StatefulSet has to have now: what it has, unless one may be begun or the highest has left the group. A member is
 * in the group only while its pod is there (operator.md 9.3).
 */
export function podCount(inputs: CountInputs): number {
  const { seen, record, wanted, replicates } = inputs;
  const present = seen.statefulSet?.spec?.replicas ?? 0;
  if (record.recovery?.step === 'stop') return 0;
  if (wanted === 0) return inputs.isHeld ? present : 0;
  if (!replicates) return 1;
  if (present === 0) return Math.max(1, startMembers(inputs));
  if (present < wanted)
    return mayGrow(inputs, present) ? present + stepUp(wanted - present) : present;
  return present > wanted && hasLeft(inputs, present - 1) ? present - 1 : present;
}

/** Those that form the group. */
function startMembers({ record, voters, wanted }: CountInputs): number {
  const isTogether = record.formation === 'static' && !record.initialised;
  return isTogether ? Math.min(voters, wanted) : knownMembers(record);
}

/** All that were members come back together: a majority has to be there before anybody is ready. */
function knownMembers({ initialised, members }: MembersRecord): number {
  if (!initialised) return 1;
  const known = Object.entries(members).filter(([, { state }]) =>
    ['member', 'adopt'].includes(state),
  );
  return Math.max(0, ...known.map(([ordinal]) => Number(ordinal) + 1));
}

function stepUp(missing: number): number {
  return Math.min(missing, pairSize);
}

/** Everybody that is there is in the group, and nobody is on the way. */
function mayGrow({ seen, record, facts, voters }: CountInputs, present: number): boolean {
  const { group } = facts;
  if (!record.initialised || group.kind !== 'known' || group.isJoint) return false;
  if (seen.cluster.status?.operation?.type === 'RollBack') return false;
  const inside = seen.members.slice(0, present).every(({ ordinal, peerId }) => {
    const peer = group.peers.get(peerId);
    return ordinal < voters ? peer?.isVoter === true : peer !== undefined;
  });
  return inside && canChangeMembership(group.voters.length, facts).isAllowed;
}

/** The leader reads without it, and so does a majority of the voters that stay. */
function hasLeft({ seen, facts }: CountInputs, ordinal: number): boolean {
  const { group } = facts;
  const member = seen.members[ordinal];
  if (member === undefined || group.kind !== 'known' || group.isJoint) return false;
  if (group.peers.has(member.peerId)) return false;
  const agreeing = seen.members.filter(
    ({ peerId, raft }) =>
      group.voters.includes(peerId) &&
      raft !== undefined &&
      !raft.peers.some(({ id, inConfiguration }) => id === member.peerId && inConfiguration),
  );
  return agreeing.length > group.voters.length / 2;
}
