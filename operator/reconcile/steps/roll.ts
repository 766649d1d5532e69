import type { Operation } from '../../api/cluster-status.ts';
import type { Pod } from '../../api/kubernetes-object.ts';
import { annotationKeys } from '../../api/names.ts';
import { contentHash } from '../../resources/content-hash.ts';
import { lookAgain, note, rejectionOf, stall } from '../pass.ts';
import type { Draft, Pass, Step, StepEnd } from '../pass.ts';
import { isReady, podProblem, readySinceMs } from '../../resources/pod-state.ts';
import { isInMaintenanceWindow } from '../maintenance-window.ts';
import { tryImage } from './try-image.ts';

/*
 * Restarts of the one member (operator.md 8.4, 8.7, 8.12). A healthy member is restarted by eviction, when windows and pauses
 * allow it; one that is not ready contributes nothing and is replaced at once, which is how a bad change is repaired. An image
 * that does not get ready in time is taken back.
 */

const pollMs = 1000;

export const roll: Step = (pass, draft) => {
  const { seen, spec } = pass;
  if (spec.hibernate) {
    draft.operation = undefined;
    return undefined;
  }
  const pod = seen.pod;
  if (pod === undefined) return awaitPod(pass, draft);
  if (pod.metadata.deletionTimestamp !== undefined) return terminating(pass, draft, pod);
  draft.isTemplateOutdated = hasOldTemplate(pass, pod);
  if (isOutdated(pass, pod)) return restart(pass, draft, pod);
  return settle(pass, draft, pod);
};

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

function restart(pass: Pass, draft: Draft, pod: Pod): StepEnd | undefined {
  const isRunning = isReady(pod);
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
  const backup = isRunning ? backUpFirst(pass, draft) : undefined;
  if (backup !== undefined) return backup;
  begin(pass, draft, 'Restart');
  draft.progress = { reason: waitingReason(draft), message: `${pod.metadata.name} restarts` };
  const refusal = isRunning
    ? rejectionOf(pass, draft, `evict Pod/${pod.metadata.name}`)
    : undefined;
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
  if (isRunning)
    note(draft, 'SingleMemberRestart', 'there is one member: clients wait while it restarts');
  note(draft, 'MemberRestarted', `${pod.metadata.name} restarts: ${draft.operation?.type ?? ''}`);
  return {
    action: isRunning
      ? { kind: 'evict', target }
      : { kind: 'delete', propagation: 'background', target },
  };
}

/**
 * `spec.update.backupFirst`: every database is backed up before another image gets at the volume. Another instance of the
 * operator does not know of it and backs up again, which costs time only.
 */
function backUpFirst(pass: Pass, draft: Draft): StepEnd | undefined {
  if (!pass.spec.update.backupFirst || kindOfRestart(pass, draft) !== 'Upgrade') return undefined;
  const mark = `back-up ${targetOf(pass)}`;
  if (pass.seen.done.has(mark)) return undefined;
  draft.progress = { reason: 'Upgrading', message: 'backing up before the image is changed' };
  const refusal = rejectionOf(pass, draft, 'back-up');
  if (refusal === undefined) return { action: { kind: 'back-up', mark } };
  stall(draft, 'BackupFailed', `the image stays ${pass.previous.image ?? 'as it is'}: ${refusal}`);
  return {};
}

function reasonToWait(pass: Pass, draft: Draft): string | undefined {
  const { update } = pass.spec;
  if (update.strategy === 'OnDelete')
    return 'spec.update.strategy is OnDelete: delete the pod to restart it';
  if (update.paused) return 'spec.update.paused holds restarts';
  const windows = update.maintenanceWindows ?? [];
  if (windows.length === 0 || isInMaintenanceWindow(windows, pass.nowMs)) return undefined;
  lookAgain(draft, 60_000);
  return 'waiting for a maintenance window of spec.update.maintenanceWindows';
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
  begin(pass, draft, 'Precheck');
  if (draft.failedImage !== undefined) draft.operation = undefined;
  return end;
}

function kindOfRestart(pass: Pass, draft: Draft): Operation['type'] {
  if (draft.failedImage !== undefined) return 'RollBack';
  const { lastGoodImage } = pass.previous;
  return lastGoodImage !== undefined && lastGoodImage !== pass.image ? 'Upgrade' : 'Restart';
}

/** The pod is what it should be: is it ready, and has it been for long enough? */
function settle(pass: Pass, draft: Draft, pod: Pod): StepEnd | undefined {
  const sinceMs = readySinceMs(pod);
  if (sinceMs === undefined) return awaitReady(pass, draft, pod);
  const { operation } = draft;
  const mustStayMs =
    operation === undefined || ['Create', 'Resume', 'Repair'].includes(operation.type)
      ? 0
      : pass.spec.update.minReadySeconds * 1000;
  const restMs = sinceMs + mustStayMs - pass.nowMs;
  if (restMs > 0) {
    draft.progress = { reason: 'RollingUpdate', message: `${pod.metadata.name} has to stay ready` };
    lookAgain(draft, Math.max(restMs, 100));
    return undefined;
  }
  finish(pass, draft);
  return undefined;
}

function finish(pass: Pass, draft: Draft): void {
  const { operation } = draft;
  if (operation?.type === 'Upgrade') note(draft, 'UpgradeFinished', `running ${pass.image}`);
  if (operation?.type === 'Restart') note(draft, 'RollingUpdateFinished', 'the member is ready');
  if (operation?.type === 'RollBack')
    note(draft, 'UpgradeRolledBack', `running ${pass.image} again`, 'Warning');
  draft.operation = undefined;
  draft.lastGoodImage = pass.image;
}

function awaitPod(pass: Pass, draft: Draft): StepEnd | undefined {
  startWaiting(pass, draft);
  draft.progress = { reason: waitingReason(draft), message: 'waiting for the pod' };
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

function awaitReady(pass: Pass, draft: Draft, pod: Pod): StepEnd | undefined {
  startWaiting(pass, draft);
  const { operation } = draft;
  const problem = podProblem(pod);
  const detail = problem?.message ?? `${pod.metadata.name} is not ready yet`;
  draft.progress = { reason: waitingReason(draft), message: detail };
  lookAgain(draft, pollMs);
  if (pass.seen.node !== undefined && !pass.seen.node.isReady)
    draft.progress = {
      reason: 'MemberUnhealthy',
      message: `node ${pass.seen.node.name} is not ready: the member waits there with its volume`,
    };
  const canReturn = operation?.type === 'Upgrade' && hasReturn(pass, draft);
  if (!canReturn) reportProblem(draft, problem);
  const elapsedMs = pass.nowMs - Date.parse(operation?.startedAt ?? '');
  if (!(elapsedMs >= pass.spec.update.progressDeadlineSeconds * 1000)) return undefined;
  if (!canReturn) {
    stall(draft, 'ProgressDeadlineExceeded', detail);
    return undefined;
  }
  draft.failedImage = pass.wantedImage;
  draft.operation = undefined;
  lookAgain(draft, 0);
  return {};
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
function terminating(pass: Pass, draft: Draft, pod: Pod): StepEnd | undefined {
  startWaiting(pass, draft);
  draft.progress = { reason: waitingReason(draft), message: `${pod.metadata.name} is ending` };
  lookAgain(draft, pollMs);
  const { node } = pass.seen;
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
