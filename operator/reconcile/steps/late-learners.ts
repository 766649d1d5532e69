import type { ObservedMember } from '../../api/observation.ts';
import { podProblem } from '../../resources/pod-state.ts';
import { failureOf } from '../group/failed-join.ts';
import { majority } from '../group/group-view.ts';
import { memberTrouble } from '../group/member-trouble.ts';
import { getsOn } from '../group/predicates.ts';
import { stall } from '../pass.ts';
import type { Draft, Pass } from '../pass.ts';

/*
 * Learners that shall vote and do not catch up (operator.md 8.2): after ten minutes without getting on they are taken out of the
 * group, and a person is told. Their pods stay, for their logs.
 */

const catchUpMs = 600_000;

/** Notes those whose time is over; told as long as nothing is tried anew. */
export function noteLate(pass: Pass, draft: Draft): void {
  const late = pass.seen.members.filter((member) => isLate(pass, member));
  if (late.length > 0) {
    const causes = late.map((member) => `${member.name} (${causeOf(pass, member)})`).join(', ');
    const before = draft.failedJoin?.members ?? [];
    draft.failedJoin = failureOf(pass.cluster, {
      members: [...new Set([...before, ...late.map(({ name }) => name)])],
      message: `${causes} did not catch up in ten minutes and was taken out of the group; the pod stays`,
      nowMs: pass.nowMs,
    });
    if (draft.operation?.type === 'Scale') draft.operation = undefined;
  }
  if (draft.failedJoin !== undefined) stall(draft, 'JoinFailed', draft.failedJoin.message);
}

function isLate({ seen, group, facts, previous, spec, nowMs }: Pass, member: ObservedMember) {
  const { ordinal, name, peerId } = member;
  // Of another leader nothing is known yet.
  if (ordinal >= spec.replicas || !group.learners.includes(peerId) || !seen.learners.has(peerId))
    return false;
  const since = previous.members?.find((entry) => entry.name === name)?.learnerSince;
  return nowMs - Date.parse(since ?? '') >= catchUpMs && !getsOn(member, facts);
}

function causeOf({ group }: Pass, member: ObservedMember): string {
  const { lag = -1, status = 'UNKNOWN' } = group.peers.get(member.peerId) ?? {};
  const lack = lag < 0 ? 'the leader has not heard of it' : `it lacks ${lag} entries, ${status}`;
  return podProblem(member.pod)?.message ?? memberTrouble(member, group) ?? lack;
}

/** Those that failed and are still in the group. */
export function failedLearners({ seen, group }: Pass, draft: Draft): readonly ObservedMember[] {
  const names = draft.failedJoin?.members ?? [];
  return seen.members.filter(
    ({ name, peerId }) => names.includes(name) && group.learners.includes(peerId),
  );
}

/** Without those that failed; one of a pair alone is held back where its vote would make no further loss bearable. */
export function withoutFailed(
  { group, spec }: Pass,
  { failedJoin }: Draft,
  missing: readonly ObservedMember[],
): readonly ObservedMember[] {
  if (failedJoin === undefined) return missing;
  const rest = missing.filter(({ name }) => !failedJoin.members.includes(name));
  const isVoterToBe = ({ ordinal }: ObservedMember) => ordinal < spec.replicas;
  const count = group.voters.length;
  const helps = tolerance(count + rest.filter(isVoterToBe).length) > tolerance(count);
  return helps ? rest : rest.filter((member) => !isVoterToBe(member));
}

function tolerance(voters: number): number {
  return voters - majority(voters);
}
