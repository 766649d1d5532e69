import type { Operation } from '../../api/cluster-status.ts';
import type { GroupAction } from '../../api/decision.ts';
import type { ObservedMember } from '../../api/observation.ts';
import { contentHash } from '../../resources/content-hash.ts';
import { isRunning } from '../../resources/pod-state.ts';
import { addressOf } from '../../resources/server-list.ts';
import { memberTrouble } from '../group/member-trouble.ts';
import { canChangeMembership, caughtUp, getsOn, healthy } from '../group/predicates.ts';
import { successor } from '../group/successor.ts';
import { lookAgain, note, stall } from '../pass.ts';
import { failedLearners, noteLate, withoutFailed } from './late-learners.ts';
import type { Draft, Pass, Step, StepEnd } from '../pass.ts';

/*
 * Who is in the group (operator.md 8.2, 8.3, 8.8). A member is added after its pod runs and leaves before its pod goes; new ones
 * are learners until they have caught up, and are promoted together, so that there are never two voters on the way up.
 */

const pollMs = 1000;
const joinDeadlineMs = 600_000;

export const changeMembership: Step = (pass, draft) => {
  const { group, isReplicated, wanted, record } = pass;
  if (!isReplicated || wanted === 0) return undefined;
  noteLate(pass, draft);
  const [failed] = failedLearners(pass, draft);
  const missing = withoutFailed(pass, draft, missingOf(pass));
  const isMissing = missing.length > 0;
  const surplus = surplusOf(pass);
  const lost = lostVoter(pass);
  if (failed !== undefined) {
    lookAgain(draft, pollMs);
    return removePeer(pass, draft, failed, 'it did not catch up in ten minutes');
  }
  if (!isMissing && surplus.length === 0 && lost === undefined) {
    if (draft.operation?.type === 'Scale') draft.operation = undefined;
    return undefined;
  }
  draft.isScaling = true;
  begin(pass, draft, surplus.length > 0 && !isMissing);
  lookAgain(draft, pollMs);
  if (group.kind !== 'known' || !record.initialised) {
    // The first member has yet to form the group, or nobody leads: nothing is changed meanwhile.
    return undefined;
  }
  tellFetching(pass, draft);
  checkDeadline(pass, draft, missing);
  const end =
    (lost && replaceLost(pass, draft, lost)) ??
    promote(pass, draft, missing) ??
    add(pass, draft, missing);
  if (end !== undefined) return end;
  return isMissing ? undefined : removeHighest(pass, draft, surplus);
};

/** Ordinals that are not yet in the group as what they should be. */
function missingOf({ seen, group, spec, wanted }: Pass): readonly ObservedMember[] {
  return seen.members.slice(0, wanted).filter(({ ordinal, peerId }) => {
    const peer = group.peers.get(peerId);
    if (group.kind !== 'known') return ordinal >= (seen.statefulSet?.spec?.replicas ?? 0);
    return peer === undefined || (ordinal < spec.replicas && !peer.isVoter);
  });
}

/** Members above what is wanted that are still in the group or have a pod, lowest first. */
function surplusOf({ seen, group, wanted }: Pass): readonly ObservedMember[] {
  const present = seen.statefulSet?.spec?.replicas ?? 0;
  return seen.members
    .slice(wanted)
    .filter(
      ({ ordinal, peerId, pod }) =>
        group.peers.has(peerId) || pod !== undefined || ordinal < present,
    );
}

function begin(pass: Pass, draft: Draft, isDown: boolean): void {
  const { spec, wanted, generation, nowMs } = pass;
  const count = `${spec.replicas} voters${spec.readReplicas > 0 ? ` and ${spec.readReplicas} read replicas` : ''}`;
  const isCreating = draft.lastGoodImage === undefined || draft.operation?.type === 'Create';
  draft.progress = {
    reason: isCreating ? 'Creating' : 'Scaling',
    message: `on the way to ${count}`,
  };
  const target = `members ${wanted}`;
  const { operation } = draft;
  if (operation !== undefined && (operation.type !== 'Scale' || operation.target === target))
    return;
  if (isCreating && operation === undefined) return;
  const type: Operation['type'] = 'Scale';
  draft.operation = {
    id: contentHash([target, generation]),
    type,
    target,
    step: isDown ? 'Leave' : 'Join',
    generation,
    startedAt: new Date(nowMs).toISOString(),
  };
  note(draft, isDown ? 'ScalingDown' : 'ScalingUp', `to ${count}`);
}

/** A voter with an empty disk is a new member: removed, then added again, never taken for the old one. */
function lostVoter({ seen, group }: Pass): ObservedMember | undefined {
  return seen.members.find(
    ({ peerId, raft }) => group.voters.includes(peerId) && raft?.isAdmitted === false,
  );
}

function promote(
  pass: Pass,
  draft: Draft,
  missing: readonly ObservedMember[],
): StepEnd | undefined {
  const { group, spec, podCount, facts } = pass;
  const ready: string[] = [];
  for (const member of missing) {
    if (member.ordinal >= Math.min(spec.replicas, podCount)) continue;
    if (!caughtUp(member, facts)) return undefined;
    ready.push(member.peerId);
  }
  if (ready.length === 0) return undefined;
  const verdict = canChangeMembership(group.voters.length, facts);
  if (!verdict.isAllowed) return waitFor(draft, verdict.why);
  note(draft, 'MemberPromoted', namesOf(pass, ready));
  return act(pass, draft, { kind: 'promote', peerIds: ready, index: group.configurationIndex });
}

function namesOf({ seen }: Pass, peerIds: readonly string[]): string {
  return seen.members
    .filter(({ peerId }) => peerIds.includes(peerId))
    .map(({ name }) => name)
    .join(', ');
}

function add(pass: Pass, draft: Draft, missing: readonly ObservedMember[]): StepEnd | undefined {
  const { group, cluster, spec, podCount, facts } = pass;
  const next = missing.find(
    ({ ordinal, peerId, pod, isReplicated }) =>
      ordinal < podCount && !group.peers.has(peerId) && isReplicated && isRunning(pod),
  );
  if (next === undefined) return undefined;
  const verdict = canChangeMembership(group.voters.length, facts);
  if (!verdict.isAllowed) return waitFor(draft, verdict.why);
  const { ordinal, peerId, name } = next;
  note(draft, 'MemberAdded', `${name} joins as a learner`);
  return act(pass, draft, {
    kind: 'add-peer',
    peerId,
    name,
    address: addressOf(cluster, spec, ordinal),
    priority: spec.members?.find((entry) => entry.ordinal === ordinal)?.priority,
    index: group.configurationIndex,
  });
}

/** The highest ordinal first; while restarts are under way nobody leaves. */
function removeHighest(
  pass: Pass,
  draft: Draft,
  surplus: readonly ObservedMember[],
): StepEnd | undefined {
  const { group, facts, spec } = pass;
  const member = surplus.filter(({ peerId }) => group.peers.has(peerId)).at(-1);
  if (member === undefined) return undefined;
  const type = draft.operation?.type;
  if (type === 'Upgrade' || type === 'RollBack' || type === 'Restart')
    return waitFor(draft, 'a restart of the members is under way');
  const isVoter = group.voters.includes(member.peerId);
  const rest = group.voters.length - (isVoter ? 1 : 0);
  const verdict = canChangeMembership(rest, without(pass, member));
  if (!verdict.isAllowed) return waitFor(draft, verdict.why);
  const isLast = rest === 1 && spec.replicas === 1;
  // What is left alone has nobody to get its data from.
  if (isLast && isVoter && !isAloneWhole(pass, member))
    return waitFor(draft, 'the member that stays is not healthy yet');
  if (member.peerId === group.leader?.peerId) {
    const stay = facts.members.filter((other) => other.ordinal < spec.replicas && other !== member);
    const next = successor(stay, facts);
    if (next === undefined) return waitFor(draft, `nobody can take over from ${member.name}`);
    note(draft, 'LeaderTransferred', `from ${member.name} to ${next.name}`);
    return act(pass, draft, { kind: 'transfer', peerId: next.peerId });
  }
  if (!isRunning(member.pod) || member.raft === undefined)
    return removePeer(pass, draft, member, 'it is not wanted any more', isLast);
  note(draft, 'MemberRemoved', `${member.name} leaves`);
  const index = group.configurationIndex;
  return { action: { kind: 'leave', ordinal: member.ordinal, force: isLast, index } };
}

function isAloneWhole({ facts }: Pass, leaving: ObservedMember): boolean {
  return facts.members.some(
    (other) =>
      other !== leaving && facts.group.voters.includes(other.peerId) && healthy(other, facts),
  );
}

/** The facts as if the member were gone already. */
function without({ facts }: Pass, member: ObservedMember): Pass['facts'] {
  return { ...facts, members: facts.members.filter((other) => other !== member) };
}

/** Nobody has to approve that: the others have its data. */
function replaceLost(pass: Pass, draft: Draft, member: ObservedMember): StepEnd | undefined {
  const end = removePeer(pass, draft, member, 'its volume is empty, it joins anew');
  if (end?.action === undefined) return end;
  note(draft, 'VolumeLost', `${member.name}: its volume is empty`, 'Warning');
  note(draft, 'VolumeReplaced', `${member.name} joins anew and gets the data of the others`);
  return end;
}

function removePeer(
  pass: Pass,
  draft: Draft,
  member: ObservedMember,
  why: string,
  force = false,
): StepEnd | undefined {
  const { voters } = pass.group;
  const rest = voters.length - (voters.includes(member.peerId) ? 1 : 0);
  const verdict = canChangeMembership(Math.max(1, rest), without(pass, member));
  if (!verdict.isAllowed) return waitFor(draft, verdict.why);
  note(draft, 'MemberRemoved', `${member.name}: ${why}`);
  const { peerId } = member;
  const index = pass.group.configurationIndex;
  return act(pass, draft, { kind: 'remove-peer', peerId, force, index });
}

type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** Sent to the leader. */
function act({ group }: Pass, draft: Draft, action: Without<GroupAction, 'ordinal'>): StepEnd {
  lookAgain(draft, pollMs);
  return { action: { ...action, ordinal: group.leader?.ordinal ?? 0 } as GroupAction };
}

/** What else is broken may still be repaired meanwhile. */
function waitFor(draft: Draft, why: string): undefined {
  draft.progress = { reason: draft.progress?.reason ?? 'Scaling', message: why };
  return undefined;
}

/** How far those are that fetch the data of the group. */
function tellFetching({ seen, group }: Pass, draft: Draft): void {
  const words = seen.members
    .filter(({ raft }) => raft?.resync !== undefined)
    .map((member) => `${member.name} ${memberTrouble(member, group) ?? ''}`);
  if (words.length > 0 && draft.progress !== undefined)
    draft.progress = { ...draft.progress, message: words.join('; ') };
}

function checkDeadline(pass: Pass, draft: Draft, missing: readonly ObservedMember[]): void {
  const { operation } = draft;
  const elapsedMs = pass.nowMs - Date.parse(operation?.startedAt ?? '');
  if (operation?.type !== 'Scale' || !(elapsedMs >= joinDeadlineMs)) return;
  // One that gets on has as long as its data take, and one that lags has a time of its own.
  const { group, facts } = pass;
  const isHeldUp = (member: ObservedMember) =>
    group.peers.has(member.peerId) ? caughtUp(member, facts) : !getsOn(member, facts);
  const late = missing.filter(isHeldUp).map(({ name }) => name);
  const { groupCall } = pass.seen;
  const cause = groupCall?.message ? ` (${groupCall.target}: ${groupCall.message})` : '';
  if (late.length > 0)
    stall(
      draft,
      'JoinFailed',
      `${late.join(', ')} did not become part of the group in ten minutes${cause}`,
    );
}
