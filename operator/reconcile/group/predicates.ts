import type { Observation, ObservedMember } from '../../api/observation.ts';
import { readySinceMs } from '../../resources/pod-state.ts';
import { majority, memberIsUp } from './group-view.ts';
import { isBehind, memberTrouble } from './member-trouble.ts';
import type { GroupView } from './group-view.ts';

/*
 * What may be done to a group (operator.md 7.3). Disruption needs proof of health, repair of what is broken does not; what is
 * unknown is not healthy.
 */

export interface GroupFacts {
  readonly members: readonly ObservedMember[];
  readonly group: GroupView;
  readonly nowMs: number;
  readonly maxLag: number;
  readonly minReadySeconds: number;
  readonly tolerateUnhealthy: number;
  /** For how long the same member has been seen to lead; undefined when it was seen for the first time. */
  readonly leaderForMs: number | undefined;
  readonly learners: Observation['learners'];
}

/** Allowed, or why not. */
export type Verdict =
  | { readonly isAllowed: true }
  | { readonly isAllowed: false; readonly why: string };

const allowed: Verdict = { isAllowed: true };
const denied = (why: string): Verdict => ({ isAllowed: false, why });

export const leaderStableMs = 10_000;
/** A learner may have caught up at one moment and lag at the next. */
const caughtUpPollsMin = 2;
/** A learner that has got no further entry for so long does not get on, whatever the leader calls it. */
const standstillMsMax = 60_000;
const badLogs = new Set(['FAILED', 'GAVE_UP']);

/** A voter that follows closely, answers and has done so for long enough. */
export function healthy(member: ObservedMember, facts: GroupFacts): boolean {
  const { group, nowMs, maxLag, minReadySeconds } = facts;
  if (!memberIsUp(member)) return false;
  const sinceMs = readySinceMs(member.pod);
  if (sinceMs === undefined || nowMs - sinceMs < minReadySeconds * 1000) return false;
  if (group.kind === 'solo') return true;
  const peer = group.peers.get(member.peerId);
  if (peer?.isVoter !== true || member.raft === undefined) return false;
  const { resync, logState, diverged } = member.raft;
  if (resync !== undefined || diverged.length > 0 || badLogs.has(logState ?? '')) return false;
  if (member.peerId === group.leader?.peerId) return true;
  return isClose(peer, maxLag);
}

function isClose(
  peer: {
    readonly lag: number | undefined;
    readonly isReachable: boolean | undefined;
    readonly status: string | undefined;
  },
  maxLag: number,
): boolean {
  const { lag, isReachable, status } = peer;
  if (isReachable !== true || isBehind(status)) return false;
  return lag !== undefined && lag >= 0 && lag <= maxLag;
}

/** A learner that has caught up, by the word of the leader in two polls, and does not deny it itself. */
export function caughtUp(
  { peerId, raft }: ObservedMember,
  { group, learners }: GroupFacts,
): boolean {
  return (
    group.peers.get(peerId)?.isVoter === false &&
    raft?.resync === undefined &&
    raft?.isAdmitted !== false &&
    (learners.get(peerId)?.caughtUpPolls ?? 0) >= caughtUpPollsMin
  );
}

/** A member that is on its way into the group, or back to it, however long that takes. */
export function getsOn({ peerId, raft }: ObservedMember, { group, learners }: GroupFacts): boolean {
  if (raft?.resync !== undefined) return true;
  const learner = learners.get(peerId);
  if (learner === undefined) return group.peers.get(peerId)?.status === 'CATCHING_UP';
  return learner.caughtUpPolls > 0 || learner.standstillMs < standstillMsMax;
}

/** A voter that acknowledges entries, ready or not; unknown counts as contributing, so that it is left alone. */
export function contributing(member: ObservedMember, { group }: GroupFacts): boolean {
  if (group.kind === 'solo') return memberIsUp(member);
  if (group.kind === 'unknown') return memberIsUp(member);
  const peer = group.peers.get(member.peerId);
  if (peer === undefined || !peer.isVoter) return false;
  if (member.peerId === group.leader?.peerId) return true;
  return peer.isReachable !== false && peer.status !== 'STALLED';
}

/** Whether a member that serves may be ended for a moment. */
export function canDisrupt(member: ObservedMember, facts: GroupFacts): Verdict {
  const { group, members, leaderForMs } = facts;
  if (group.kind === 'unknown') return denied(group.why);
  const ending = members.find(
    (other) => other.pod?.metadata.deletionTimestamp !== undefined && other !== member,
  );
  if (ending !== undefined) return denied(`${ending.name} is ending`);
  if (group.isJoint) return denied('the membership is changing');
  // Downtime of the only voter cannot be avoided.
  if (group.voters.length <= 1) return allowed;
  if (!((leaderForMs ?? 0) >= leaderStableMs))
    return denied(`${group.leader?.name ?? 'the leader'} has just begun to lead`);
  const others = members.filter((other) => other !== member && group.voters.includes(other.peerId));
  const unhealthy = others.filter((other) => !healthy(other, facts));
  const isSurplusVoter = group.voters.includes(member.peerId) ? 1 : 0;
  const missing = group.voters.length - isSurplusVoter - (others.length - unhealthy.length);
  const needed = majority(group.voters.length);
  const healthyOthers = others.length - unhealthy.length;
  if (group.voters.length === 2) {
    // One of two: writes pause whatever is done; the other must be there to take over.
    return missing === 0 ? allowed : denied(nameOf(unhealthy, group));
  }
  if (healthyOthers < needed) return denied(nameOf(unhealthy, group));
  if (missing === 0) return allowed;
  const tolerates = facts.tolerateUnhealthy > 0 && group.voters.length >= 5;
  return tolerates && healthyOthers >= needed + 1 ? allowed : denied(nameOf(unhealthy, group));
}

function nameOf(members: readonly ObservedMember[], group: GroupView): string {
  if (members.length === 0) return 'a voter is missing';
  const [first] = members;
  const trouble = first && memberTrouble(first, group);
  const why = trouble === undefined ? '' : ` (${first?.name} ${trouble})`;
  return `${members.map(({ name }) => name).join(', ')} ${members.length === 1 ? 'is' : 'are'} not healthy yet${why}`;
}

/** Whether a member that contributes nothing may be made anew around its volume, which is how a bad change is repaired. */
export function canReplace(member: ObservedMember, facts: GroupFacts): Verdict {
  const { group, members } = facts;
  if (contributing(member, facts)) return denied(`${member.name} contributes`);
  if (group.kind !== 'known') return allowed;
  const others = members.filter(
    (other) =>
      other !== member && group.voters.includes(other.peerId) && contributing(other, facts),
  );
  return others.length >= majority(group.voters.length) || !group.voters.includes(member.peerId)
    ? allowed
    : denied('the other voters are not enough');
}

/** Whether the configuration may change to one with `size` voters. */
export function canChangeMembership(size: number, facts: GroupFacts): Verdict {
  const { group, members } = facts;
  if (group.kind !== 'known') return denied(group.why === '' ? 'there is no group' : group.why);
  if (group.isJoint) return denied('the membership is changing');
  const count = members.filter((member) => contributing(member, facts)).length;
  return Math.min(count, size) >= majority(size)
    ? allowed
    : denied(`${count} of ${size} voters would be there`);
}
