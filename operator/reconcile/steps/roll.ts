import type { Operation } from '../../api/cluster-status.ts';
import type { Pod } from '../../api/kubernetes-object.ts';
import { annotationKeys } from '../../api/names.ts';
import type { ObservedMember } from '../../api/observation.ts';
import { contentHash } from '../../resources/content-hash.ts';
import { impairment, isBehind } from '../group/member-trouble.ts';
import { canDisrupt, canReplace, getsOn } from '../group/predicates.ts';
import { successor } from '../group/successor.ts';
import { lookAgain, note, rejectionOf, stall } from '../pass.ts';
import type { Draft, Pass, Step, StepEnd } from '../pass.ts';
import { isReady, lastFailure, podProblem, readySinceMs } from '../../resources/pod-state.ts';
import { speaksTls } from '../../resources/replication.ts';
import { reasonToWait } from './reason-to-wait.ts';
import { tryImage } from './try-image.ts';
import { backUpAll } from './back-up.ts';
import { verifyUpgrade } from './verify-upgrade.ts';

/*
 * Restarts of members (operator.md 8.4, 8.7, 8.12), one at a time. A healthy member is restarted by eviction, when windows, pauses
 * and the health of the others allow it; one that is not ready contributes nothing and is replaced at once, which is how a bad change is repaired. An image
 * that does not get ready in time is taken back.
 */

const pollMs = 1000;

export const roll: Step = (pass, draft) => {
  const { seen, spec } = pass;
  if (spec.hibernate) return undefined;
  // Who failed to join is no part of the group: nobody waits for it.
  const members = seen.members
    .slice(0, Math.max(1, pass.podCount))
    .filter(({ name }) => draft.failedJoin?.members.includes(name) !== true);
  draft.isTemplateOutdated = members.some(
    ({ pod }) => pod !== undefined && hasOldTemplate(pass, pod),
  );
  return (
    restartAtOnce(pass, draft, members) ??
    repair(pass, draft, members) ??
    (isHeld(draft) ? undefined : rollNext(pass, draft, members))
  );
};

/** All that are outdated end together: as `Recreate` asks, or because the old and the new ones would be no group. */
function restartAtOnce(
  pass: Pass,
  draft: Draft,
  members: readonly ObservedMember[],
): StepEnd | undefined {
  const { update, tls } = pass.spec;
  const speaksOtherwise = ({ pod }: ObservedMember) =>
    pod !== undefined && speaksTls(pod) !== undefined && speaksTls(pod) !== tls.raft.enabled;
  const isMeant = update.strategy === 'Recreate' || members.some(speaksOtherwise);
  if (!isMeant || !update.allowDowntime || draft.isScaling) return undefined;
  const next = members.find(
    ({ pod }) =>
      pod !== undefined && pod.metadata.deletionTimestamp === undefined && isOutdated(pass, pod),
  );
  return next?.pod && restart(pass, draft, next, next.pod, true);
}

/** Nobody that serves is restarted while members come and go, or while one is not there. */
function isHeld(draft: Draft): boolean {
  return draft.isScaling || draft.isMemberDown;
}

/** Members that do not serve, those with a way out first: a bad change is repaired by the next one. */
function repair(pass: Pass, draft: Draft, members: readonly ObservedMember[]): StepEnd | undefined {
  const down = members.filter(({ pod }) => !isReady(pod));
  draft.isMemberDown = down.length > 0;
  for (const member of down) {
    const { pod } = member;
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) continue;
    if (!isOutdated(pass, pod)) continue;
    const verdict = canReplace(member, pass.facts);
    if (members.length === 1 || verdict.isAllowed) return restart(pass, draft, member, pod);
    draft.progress = { reason: waitingReason(draft), message: verdict.why };
  }
  for (const member of down) {
    const { pod } = member;
    const end =
      pod === undefined
        ? awaitPod(pass, draft, member)
        : pod.metadata.deletionTimestamp !== undefined
          ? terminating(pass, draft, member, pod)
          : awaitReady(pass, draft, member, pod);
    if (end !== undefined) return end;
  }
  return undefined;
}

/** All are ready: has the last one been so for long enough, and who is next? Learners, followers, then the leader. */
function rollNext(
  pass: Pass,
  draft: Draft,
  members: readonly ObservedMember[],
): StepEnd | undefined {
  const { group } = pass;
  const outdated = members.filter(({ pod }) => pod !== undefined && isOutdated(pass, pod));
  const failing = failingOf(pass, draft, members, outdated);
  if (failing !== undefined) return failUpgrade(pass, draft, failing);
  const isSettled = members.every((member) => hasStayed(pass, draft, member, outdated));
  if (!isSettled) return undefined;
  if (outdated.length === 0) {
    const end = verifyUpgrade(pass, draft);
    if (end === undefined) finish(pass, draft);
    return end;
  }
  if (soaks(pass, draft, members, outdated)) return undefined;
  const rank = ({ peerId, ordinal }: ObservedMember) =>
    peerId === group.leader?.peerId ? 1000 : group.voters.includes(peerId) ? 500 - ordinal : 0;
  const [next] = [...outdated].sort((a, b) => rank(a) - rank(b));
  if (next?.pod === undefined) return undefined;
  if (members.length > 1) {
    const verdict = canDisrupt(next, pass.facts);
    if (!verdict.isAllowed) {
      draft.progress = { reason: waitingReason(draft), message: `${next.name}: ${verdict.why}` };
      lookAgain(draft, pollMs);
      return undefined;
    }
  }
  return restart(pass, draft, next, next.pod);
}

/** The first member with another image runs it alone for a while before the others follow. */
function soaks(
  pass: Pass,
  draft: Draft,
  members: readonly ObservedMember[],
  outdated: readonly ObservedMember[],
): boolean {
  const [canary, ...others] = members.filter((member) => !outdated.includes(member));
  if (draft.operation?.type !== 'Upgrade' || canary === undefined || others.length > 0)
    return false;
  const { canarySoakSeconds } = pass.spec.update;
  const restMs = (readySinceMs(canary.pod) ?? pass.nowMs) + canarySoakSeconds * 1000 - pass.nowMs;
  if (restMs <= 0) return false;
  draft.upgradePhase = 'Soaking';
  draft.canary = canary.name;
  draft.progress = {
    reason: 'Upgrading',
    message: `${canary.name} runs the new image alone for ${canarySoakSeconds} s`,
  };
  lookAgain(draft, Math.max(restMs, 100));
  return true;
}

/** Before the leader restarts, a member that runs with the new settings takes over. */
function handOver(pass: Pass, draft: Draft, member: ObservedMember): StepEnd | undefined {
  const { group, facts, seen } = pass;
  if (group.kind !== 'known' || member.peerId !== group.leader?.peerId) return undefined;
  if (group.voters.length < 2) return undefined;
  const updated = seen.members.filter(
    (other) => other !== member && other.pod !== undefined && !isOutdated(pass, other.pod),
  );
  const next = successor(updated, facts);
  if (next === undefined) {
    draft.progress = {
      reason: waitingReason(draft),
      message: `nobody can take over from ${member.name}`,
    };
    lookAgain(draft, pollMs);
    return {};
  }
  note(draft, 'LeaderTransferred', `from ${member.name} to ${next.name}`);
  lookAgain(draft, pollMs);
  return { action: { kind: 'transfer', ordinal: member.ordinal, peerId: next.peerId } };
}

/** Whether a user's change, or a person's `kubectl rollout restart`, waits for this pod to restart. */
function isOutdated(pass: Pass, pod: Pod): boolean {
  const own = pod.metadata.annotations ?? {};
  if (own[annotationKeys.restartHash] !== pass.restartHash) return true;
  const template = pass.seen.statefulSet?.spec?.template?.metadata?.annotations ?? {};
  const restartedAt = template[annotationKeys.kubectlRestartedAt];
  if (restartedAt !== undefined && own[annotationKeys.kubectlRestartedAt] !== restartedAt)
    return true;
  return pass.spec.update.rollTemplate && hasOldTemplate(pass, pod);
}

function hasOldTemplate({ seen }: Pass, pod: Pod): boolean {
  const revision = seen.statefulSet?.status?.updateRevision;
  const own = pod.metadata.labels?.['controller-revision-hash'];
  return (
    revision !== undefined && own !== undefined && revision !== own && templateIsObserved(seen)
  );
}

/** Until its controller has seen the present template, a new pod could still be made from the old one. */
function templateIsObserved({ statefulSet }: Pass['seen']): boolean {
  const observed = statefulSet?.status?.observedGeneration ?? 0;
  return statefulSet !== undefined && observed >= (statefulSet.metadata.generation ?? 0);
}

function targetOf(pass: Pass): string {
  const template = pass.seen.statefulSet?.spec?.template?.metadata?.annotations ?? {};
  return contentHash([
    pass.restartHash,
    template[annotationKeys.kubectlRestartedAt],
    pass.spec.update.rollTemplate ? pass.seen.statefulSet?.status?.updateRevision : undefined,
  ]);
}

function restart(
  pass: Pass,
  draft: Draft,
  member: ObservedMember,
  pod: Pod,
  isAtOnce = false,
): StepEnd | undefined {
  const isBegun = isAtOnce && isUnderWay(pass, draft);
  // The rest of those that end together is not asked for anew.
  const isRunning = isReady(pod) && !isBegun;
  const isReturn = draft.failedImage !== undefined;
  const hold = isRunning && !isReturn ? reasonToWait(pass, draft) : undefined;
  if (hold !== undefined) {
    draft.pendingRestart = hold;
    draft.progress ??= { reason: 'RestartPending', message: hold };
    return undefined;
  }
  if (!templateIsObserved(pass.seen)) {
    lookAgain(draft, 250);
    draft.progress = { reason: 'RollingUpdate', message: 'waiting for the new template' };
    return {};
  }
  const tried = isRunning ? precheck(pass, draft) : undefined;
  if (tried !== undefined) return tried;
  const before = isRunning ? backUpFirst(pass, draft) : undefined;
  if (before !== undefined) return before;
  begin(pass, draft, 'Restart');
  const transfer = isRunning && !isAtOnce ? handOver(pass, draft, member) : undefined;
  if (transfer !== undefined) {
    draft.progress ??= { reason: waitingReason(draft), message: 'the lead is handed over' };
    return transfer;
  }
  draft.progress = { reason: waitingReason(draft), message: `${pod.metadata.name} restarts` };
  const evicts = isRunning && !isAtOnce;
  const refusal = evicts ? rejectionOf(pass, draft, `evict Pod/${pod.metadata.name}`) : undefined;
  if (refusal !== undefined) {
    note(draft, 'EvictionBlocked', refusal, 'Warning');
    lookAgain(draft, 5000);
    return {};
  }
  const target = {
    apiVersion: 'v1',
    kind: 'Pod',
    name: pod.metadata.name,
    ...(pod.metadata.uid === undefined ? undefined : { uid: pod.metadata.uid }),
  };
  lookAgain(draft, pollMs);
  if (isRunning) noteInterruption(pass, draft, isAtOnce);
  note(draft, 'MemberRestarted', `${pod.metadata.name} restarts: ${draft.operation?.type ?? ''}`);
  return {
    action: evicts
      ? { kind: 'evict', target }
      : { kind: 'delete', propagation: 'background', target },
  };
}

/** `spec.update.backupFirst`: every database is backed up before another image gets at the volume. */
function backUpFirst(pass: Pass, draft: Draft): StepEnd | undefined {
  if (!pass.spec.update.backupFirst || kindOfRestart(pass, draft) !== 'Upgrade') return undefined;
  const mark = `back-up ${targetOf(pass)}`;
  if (pass.seen.done.has(mark)) return undefined;
  draft.upgradePhase = 'BackingUp';
  draft.progress = { reason: 'Upgrading', message: 'backing up before the image is changed' };
  const refusal = rejectionOf(pass, draft, 'back-up');
  if (refusal === undefined) return backUpAll(pass, draft, mark);
  stall(draft, 'BackupFailed', `the image stays ${pass.previous.image ?? 'as it is'}: ${refusal}`);
  return {};
}

function noteInterruption({ podCount, group }: Pass, draft: Draft, isAtOnce: boolean): void {
  if (isAtOnce && podCount > 1) {
    note(draft, 'QuorumWillPause', 'all members restart at once: clients wait');
    return;
  }
  if (podCount <= 1)
    note(draft, 'SingleMemberRestart', 'there is one member: clients wait while it restarts');
  if (group.voters.length === 2)
    note(draft, 'QuorumWillPause', 'there are two voters: writes wait while one restarts');
}

/** Whether this very change has been begun. */
function isUnderWay(pass: Pass, { operation }: Draft): boolean {
  return operation?.step === 'Restart' && operation.target === targetOf(pass);
}

/** Notes what is going on before the first effect, so that another instance knows since when. */
function begin(pass: Pass, draft: Draft, step: 'Precheck' | 'Restart'): void {
  const target = targetOf(pass);
  const { operation } = draft;
  const isGoingOn = operation?.target === target;
  if (isGoingOn && (operation.step === step || operation.step === 'Restart')) return;
  const type = isGoingOn ? operation.type : kindOfRestart(pass, draft);
  draft.operation = {
    id: contentHash([target, pass.generation]),
    type,
    target,
    step,
    generation: pass.generation,
    startedAt: new Date(pass.nowMs).toISOString(),
  };
  if (isGoingOn) return;
  if (type === 'Upgrade')
    note(draft, 'UpgradeStarted', `from ${pass.previous.image ?? '?'} to ${pass.image}`);
  else if (type === 'Restart') note(draft, 'RollingUpdateStarted', 'settings or the pod changed');
}

/** Another image is tried beside the member that runs. */
function precheck(pass: Pass, draft: Draft): StepEnd | undefined {
  if (kindOfRestart(pass, draft) !== 'Upgrade') return undefined;
  const end = tryImage(pass, draft, hasReturn(pass, draft));
  if (end === undefined) return undefined;
  draft.upgradePhase = 'Prechecking';
  begin(pass, draft, 'Precheck');
  if (draft.failedImage !== undefined) draft.operation = undefined;
  return end;
}

function kindOfRestart(pass: Pass, draft: Draft): Operation['type'] {
  if (draft.failedImage !== undefined) return 'RollBack';
  const { lastGoodImage } = pass.previous;
  return lastGoodImage !== undefined && lastGoodImage !== pass.image ? 'Upgrade' : 'Restart';
}

/** A member that was restarted has to stay ready before the next one, or before all is done. */
function hasStayed(
  pass: Pass,
  draft: Draft,
  { pod }: ObservedMember,
  outdated: readonly ObservedMember[],
): boolean {
  const { operation } = draft;
  const sinceMs = readySinceMs(pod);
  if (sinceMs === undefined || pod === undefined) return false;
  if (outdated.some((other) => other.pod === pod)) return true;
  const mustStayMs =
    operation === undefined || ['Create', 'Resume', 'Repair', 'Scale'].includes(operation.type)
      ? 0
      : pass.spec.update.minReadySeconds * 1000;
  const restMs = sinceMs + mustStayMs - pass.nowMs;
  if (restMs <= 0) return true;
  draft.progress = { reason: 'RollingUpdate', message: `${pod.metadata.name} has to stay ready` };
  lookAgain(draft, Math.max(restMs, 100));
  return false;
}

function finish(pass: Pass, draft: Draft): void {
  const { operation } = draft;
  if (operation?.type === 'Upgrade') note(draft, 'UpgradeFinished', `running ${pass.image}`);
  if (operation?.type === 'Restart') note(draft, 'RollingUpdateFinished', 'all members are ready');
  if (operation?.type === 'RollBack')
    note(draft, 'UpgradeRolledBack', `running ${pass.image} again`, 'Warning');
  draft.operation = undefined;
  draft.lastGoodImage = pass.image;
}

function awaitPod(pass: Pass, draft: Draft, { name }: ObservedMember): undefined {
  startWaiting(pass, draft);
  const message = pass.podCount > 1 ? `waiting for the pod ${name}` : 'waiting for the pod';
  draft.progress ??= { reason: waitingReason(draft), message };
  lookAgain(draft, pollMs);
  return undefined;
}

/** A member that is not ready although nothing was changed: given a record, so that the deadline counts. */
function startWaiting(pass: Pass, draft: Draft): void {
  if (draft.operation !== undefined && draft.operation.type !== 'Repair') {
    if (draft.operation.type !== 'Create') return;
  }
  const target = targetOf(pass);
  if (draft.operation?.target === target) return;
  const type = pass.previous.phase === 'Hibernated' ? 'Resume' : 'Repair';
  draft.operation = {
    id: contentHash([target, pass.generation]),
    type: draft.lastGoodImage === undefined ? 'Create' : type,
    target,
    step: 'Await',
    generation: pass.generation,
    startedAt: new Date(pass.nowMs).toISOString(),
  };
}

function waitingReason(draft: Draft): string {
  switch (draft.operation?.type) {
    case 'Create':
      return 'Creating';
    case 'Scale':
      return 'Scaling';
    case 'Resume':
      return 'Resuming';
    case 'Upgrade':
      return 'Upgrading';
    case 'RollBack':
      return 'RollingBack';
    case 'Restart':
      return 'RollingUpdate';
    default:
      return 'MemberUnhealthy';
  }
}

function awaitReady(
  pass: Pass,
  draft: Draft,
  member: ObservedMember,
  pod: Pod,
): StepEnd | undefined {
  startWaiting(pass, draft);
  const { operation } = draft;
  const { node } = member;
  const problem = podProblem(pod);
  // A learner has a time of its own, but for an image that may be why it does not catch up.
  const isJoining = pass.group.learners.includes(member.peerId) && operation?.type !== 'Upgrade';
  const isGettingOn = getsOn(member, pass.facts) || isJoining;
  const detail = problem?.message ?? `${pod.metadata.name} is not ready yet`;
  // Without a place in the group, or its data, it cannot get ready: why it lacks them says more.
  const isExplained = draft.isGroupRefused || (isGettingOn && draft.isScaling);
  if (problem !== undefined || !isExplained)
    draft.progress = { reason: waitingReason(draft), message: detail };
  lookAgain(draft, pollMs);
  if (node !== undefined && !node.isReady)
    draft.progress = {
      reason: 'MemberUnhealthy',
      message: `node ${node.name} is not ready: the member waits there with its volume`,
    };
  const canReturn = operation?.type === 'Upgrade' && hasReturn(pass, draft);
  if (!canReturn) reportProblem(draft, problem);
  // Each member has its time: those before it, a soak and a budget that made it wait are not its own.
  const createdMs = Date.parse(pod.metadata.creationTimestamp ?? '') || 0;
  const elapsedMs = pass.nowMs - Math.max(Date.parse(operation?.startedAt ?? ''), createdMs);
  if (isGettingOn || !(elapsedMs >= pass.spec.update.progressDeadlineSeconds * 1000))
    return undefined;
  if (canReturn) return failUpgrade(pass, draft, detail);
  const failure = problem === undefined ? lastFailure(pod) : undefined;
  const before = failure === undefined ? '' : ` (${failure})`;
  stall(draft, 'ProgressDeadlineExceeded', `${detail}${before}`);
  return undefined;
}

/** A member with the new image that is ready and yet no good: its copy differs, or it falls behind for as long as a start may take. */
function failingOf(
  pass: Pass,
  draft: Draft,
  members: readonly ObservedMember[],
  outdated: readonly ObservedMember[],
): string | undefined {
  const { group, nowMs, spec } = pass;
  if (draft.operation?.type !== 'Upgrade') return undefined;
  for (const member of members) {
    if (outdated.includes(member)) continue;
    const { name, peerId, pod } = member;
    const impaired = impairment(member);
    if (impaired !== undefined) return `${name} ${impaired}`;
    const { status } = group.peers.get(peerId) ?? {};
    const createdMs = Date.parse(pod?.metadata.creationTimestamp ?? '');
    const isLate = nowMs - createdMs >= spec.update.progressDeadlineSeconds * 1000;
    if (isLate && isBehind(status)) return `${name} does not keep up with the leader: ${status}`;
  }
  return undefined;
}

/** The image is taken back, unless the one before might not read what was written since. */
function failUpgrade(pass: Pass, draft: Draft, detail: string): StepEnd | undefined {
  const { wantedImage } = pass;
  const blocked = hasReturn(pass, draft)
    ? noWayBack(pass, draft)
    : 'spec.update.autoRollback is false';
  if (blocked !== undefined) {
    stall(
      draft,
      'UpgradeFailed',
      `image ${wantedImage}: ${detail}. It is not taken back by itself: ${blocked}. Set spec.image to what the members shall run`,
    );
    return undefined;
  }
  const seconds = pass.spec.update.progressDeadlineSeconds;
  stall(
    draft,
    'UpgradeFailed',
    `image ${wantedImage} is taken back: ${detail} (spec.update.progressDeadlineSeconds: ${seconds}); running ${draft.lastGoodImage ?? ''} until spec.image changes`,
  );
  draft.failedImage = wantedImage;
  draft.operation = undefined;
  lookAgain(draft, 0);
  return {};
}

/** Whoever leads writes: the build before reads what it wrote itself, and of the new one what it says (ha.md 16). */
function noWayBack(pass: Pass, draft: Draft): string | undefined {
  const { group, previous, seen, podCount } = pass;
  if (draft.oneWay !== undefined) return draft.oneWay;
  const features = draft.newFeatures.join(', ');
  if (podCount <= 1)
    return features === ''
      ? undefined
      : `it may have switched on ${features}, which the image before cannot read`;
  const name = group.leader?.name ?? previous.leader;
  const leader = seen.members.find((member) => member.name === name);
  const isOld = leader?.pod !== undefined && isOutdated(pass, leader.pod);
  if (isOld) return undefined;
  return name === undefined ? 'who leads is not known' : `${name} leads with it already`;
}

function hasReturn(pass: Pass, draft: Draft): boolean {
  return (
    pass.spec.update.autoRollback &&
    draft.lastGoodImage !== undefined &&
    draft.lastGoodImage !== pass.image
  );
}

function reportProblem(draft: Draft, problem: ReturnType<typeof podProblem>): void {
  if (problem?.kind === 'image') stall(draft, 'ImagePullFailed', problem.message);
  if (problem?.kind === 'unschedulable') stall(draft, 'Unschedulable', problem.message);
  if (problem?.kind !== 'config') return;
  // The kubelet says so of Secrets in spec.secretSettings, env and envFrom that are not there.
  const isSecret = /secret "[^"]*" not found|key \S+ in Secret/i.test(problem.message);
  stall(draft, isSecret ? 'SecretMissing' : 'InvalidSpec', problem.message);
}

/** A pod on a node that is gone for good never ends by itself; it is ended only when nothing can still run there. */
function terminating(
  pass: Pass,
  draft: Draft,
  { node }: ObservedMember,
  pod: Pod,
): StepEnd | undefined {
  startWaiting(pass, draft);
  draft.progress = { reason: waitingReason(draft), message: `${pod.metadata.name} is ending` };
  lookAgain(draft, pollMs);
  if (node === undefined || node.isReady) return undefined;
  const isGone = !node.exists || node.isOutOfService;
  if (!isGone || pass.spec.recovery.nodeGone !== 'ForceDeleteWhenNodeObjectGone') {
    draft.progress = {
      reason: 'MemberUnhealthy',
      message: `node ${node.name} is ${node.exists ? 'not ready' : 'gone'}: ${pod.metadata.name} cannot end there`,
    };
    return undefined;
  }
  note(draft, 'NodeGone', `node ${node.name} is gone: ${pod.metadata.name} is removed`, 'Warning');
  return {
    action: {
      kind: 'delete',
      propagation: 'background',
      gracePeriodSeconds: 0,
      target: {
        apiVersion: 'v1',
        kind: 'Pod',
        name: pod.metadata.name,
        ...(pod.metadata.uid === undefined ? undefined : { uid: pod.metadata.uid }),
      },
    },
  };
}
