import type { RaftAnswer, RaftPeer } from '../../api/group.ts';
import type { ObservedMember } from '../../api/observation.ts';
import { isReady } from '../../resources/pod-state.ts';

/*
 * One view of the group, made from what all members said (operator.md 7.2). Membership and lag are the leader's word; the others
 * only say whom they follow.
 */

export interface GroupView {
  /** `solo`: one member without replication. `unknown` blocks all that disrupts and every change of the membership. */
  readonly kind: 'solo' | 'known' | 'unknown';
  readonly leader: ObservedMember | undefined;
  readonly term: number | undefined;
  readonly configurationIndex: number | undefined;
  readonly isJoint: boolean;
  /** By peer id, members of the configuration only. */
  readonly peers: ReadonlyMap<string, RaftPeer>;
  readonly voters: readonly string[];
  readonly learners: readonly string[];
  /** Why nothing is known. */
  readonly why: string;
}

export function majority(voters: number): number {
  return Math.floor(voters / 2) + 1;
}

export function viewOfGroup(members: readonly ObservedMember[], isReplicated: boolean): GroupView {
  const answers = members.filter(hasAnswer);
  if (!isReplicated || (answers.length === 0 && isLoneWithoutReplication(members)))
    return soloView(members);
  const said = [...answers]
    .filter(({ raft }) => raft.isLeader)
    .sort((a, b) => b.raft.term - a.raft.term)
    .at(0);
  if (said === undefined)
    return unknown(answers.length === 0 ? 'no member answers' : 'no member leads');
  const { raft } = said;
  const inside = raft.peers.filter(({ inConfiguration }) => inConfiguration);
  const voters = inside.filter(({ isVoter }) => isVoter).map(({ id }) => id);
  const followers = answers.filter(
    (member) => voters.includes(member.peerId) && member.raft.leaderId === said.peerId,
  );
  if (followers.length < majority(voters.length))
    return unknown(
      `${said.name} says that it leads, ${followers.length} of ${voters.length} voters follow it`,
    );
  if (!raft.leaderReady) return unknown(`${said.name} leads and is not ready yet`);
  return {
    kind: 'known',
    leader: said,
    term: raft.term,
    configurationIndex: raft.configurationIndex,
    isJoint: raft.isJoint,
    peers: new Map(inside.map((peer) => [peer.id, peer])),
    voters,
    learners: inside.filter(({ isVoter }) => !isVoter).map(({ id }) => id),
    why: '',
  };
}

function hasAnswer(
  member: ObservedMember,
): member is ObservedMember & { readonly raft: RaftAnswer } {
  return member.raft !== undefined;
}

/** A member that was started before its Cluster got replication: it leads nobody and is followed by nobody. */
function isLoneWithoutReplication(members: readonly ObservedMember[]): boolean {
  const pods = members.filter(({ pod }) => pod !== undefined);
  return pods.length === 1 && pods[0]?.ordinal === 0 && !pods[0].isReplicated;
}

function soloView(members: readonly ObservedMember[]): GroupView {
  const [member] = members;
  const isUp = member !== undefined && memberIsUp(member);
  return {
    kind: 'solo',
    leader: isUp ? member : undefined,
    term: undefined,
    configurationIndex: undefined,
    isJoint: false,
    peers: new Map(),
    voters: member === undefined ? [] : [member.peerId],
    learners: [],
    why: isUp ? '' : 'the member is not ready',
  };
}

function unknown(why: string): GroupView {
  return {
    kind: 'unknown',
    leader: undefined,
    term: undefined,
    configurationIndex: undefined,
    isJoint: false,
    peers: new Map(),
    voters: [],
    learners: [],
    why,
  };
}

/** Ready for the kubelet, and not denied by the member itself. */
export function memberIsUp({ pod, view }: Pick<ObservedMember, 'pod' | 'view'>): boolean {
  return isReady(pod) && view.isReady !== false;
}
