import { conditionOf, mergeConditions } from '../api/conditions.ts';
import { parseSpec } from '../api/cluster.ts';
import type { ClusterStatus } from '../api/cluster-status.ts';
import { isGroupAction, targetOf } from '../api/decision.ts';
import type { Action, Decision, EventNote, GroupAction, StallReason } from '../api/decision.ts';
import { annotationKeys, finalizerName } from '../api/names.ts';
import type { Observation } from '../api/observation.ts';
import { noteBackups } from './backup-status.ts';
import { backupProblem, windowProblem } from './maintenance-window.ts';
import { lastRejection, lookAgain, makeDraft, makePass, note, rejectionOf, stall } from './pass.ts';
import type { Draft, Pass, Step, StepEnd } from './pass.ts';
import { adoptRelease } from './steps/adopt-release.ts';
import { applySettings } from './steps/apply-settings.ts';
import { awaitVolumes, bringData } from './steps/bring-data.ts';
import { checkConflicts } from './steps/check-conflicts.ts';
import { ensureCertificates } from './steps/ensure-certificates.ts';
import { ensureFinalizer } from './steps/ensure-finalizer.ts';
import { ensureObjects } from './steps/ensure-objects.ts';
import { ensureSecrets } from './steps/ensure-secrets.ts';
import { growStorage } from './steps/grow-storage.ts';
import { decideRecord, handleIncident } from './steps/guard-record.ts';
import { hibernate } from './steps/hibernate.ts';
import { labelClaims } from './steps/label-claims.ts';
import { labelPod } from './steps/label-pod.ts';
import { changeMembership } from './steps/membership.ts';
import { noteQuorum, recoverQuorum } from './steps/recover-quorum.ts';
import { retireClaims } from './steps/retire-claims.ts';
import { roll } from './steps/roll.ts';
import { rotateToken } from './steps/rotate-token.ts';
import { rotateRootPassword } from './steps/root-password.ts';
import { tearDown } from './steps/tear-down.ts';
import { bootstrapProblem } from '../resources/bootstrap.ts';
import { summarize } from './summarize.ts';
import type { Mode } from './summarize.ts';

/** How soon a group is looked at again that nobody is known to lead. */
const withoutLeaderMs = 1000;
/** Of a change of the group that is under way, and of the first repetition of one that failed. */
const groupPollMs = 1000;
const groupRetryMsMax = 30_000;
type Eviction = Extract<Action, { readonly kind: 'evict' }>;
/** Several looks; with the time to find out, and to tell, a third of the 30 s in which a lost majority has to be told. */
const silenceMs = 8000;

/** The steps in the order in which they are tried; the first one with something to do ends the look. */
const steps: readonly Step[] = [
  ensureFinalizer,
  adoptRelease,
  checkConflicts,
  awaitVolumes,
  ensureSecrets,
  rotateToken,
  ensureCertificates,
  decideRecord,
  hibernate,
  ensureObjects,
  labelPod,
  labelClaims,
  rotateRootPassword,
  applySettings,
  growStorage,
  handleIncident,
  recoverQuorum,
  bringData,
  changeMembership,
  retireClaims,
  roll,
];

/**
 * With the annotation `polyad.io/reconcile=paused`, or a spec that makes no sense, nothing is changed; what is known is
 * still reported.
 */
const passiveSteps: readonly Step[] = [decideRecord];

/**
 * What to do next about one Cluster. Pure: the same observation and time give the same decision, and nothing is remembered
 * between looks but what the observation holds, so a crash at any point is harmless.
 */
export function reconcile(seen: Observation, nowMs: number): Decision {
  const { cluster } = seen;
  const parsed = parseSpec(cluster);
  const isDeleting = cluster.metadata.deletionTimestamp !== undefined;
  if (parsed.spec === undefined) {
    if (!isDeleting) return refuse(seen, nowMs, parsed.problem);
    // Nothing can be read off such a spec; holding the object back would only block its namespace.
    const isHeld = cluster.metadata.finalizers?.includes(finalizerName) ?? false;
    return {
      action: isHeld ? { kind: 'set-finalizer', isPresent: false } : undefined,
      status: cluster.status ?? {},
      events: [],
      outcome: [],
      againAfterMs: undefined,
    };
  }
  const pass = makePass(seen, parsed.spec, nowMs);
  if (!isDeleting && isJustSilent(pass)) return lookSoon(seen);
  const draft = makeDraft(pass);
  noteBackups(pass, draft);
  noteQuorum(pass, draft);
  const isPaused = pass.annotations[annotationKeys.reconcile] === 'paused';
  const mode: Mode = { isPaused: isPaused && !isDeleting, isDeleting };
  const isUnderstood = checkWords(pass, draft);
  const passive = isPaused || !isUnderstood;
  const end = run(isDeleting ? [tearDown] : passive ? passiveSteps : steps, pass, draft);
  // The status goes out before the action, and steps behind this one have not been looked at: a spec that was not reached
  // before is not reached now. What is only put right again leaves a Cluster as ready as it was.
  if (end?.action !== undefined && !wasReached(pass))
    draft.progress ??= { reason: 'Reconciling', message: `next: ${end.action.kind}` };
  // No event tells of a leader that is found again.
  if (pass.group.kind === 'unknown' && pass.wanted > 0) lookAgain(draft, withoutLeaderMs);
  stampOperation(pass, draft, end?.action !== undefined);
  const status = summarize(pass, draft, mode);
  const { action } = end ?? {};
  const outcome = action === undefined ? [] : draft.events.splice(0);
  noteTransitions(pass, draft, status);
  const againAfterMs = action ? 0 : draft.againAfterMs;
  return { action, status, events: draft.events, outcome, againAfterMs };
}

/**
 * Nobody is known to lead, and a member that Kubernetes calls ready has just begun to say nothing: an answer that was dropped, or a
 * pause of the network of this operator. Neither is worth a word; a member that is lost is silent for longer.
 */
function isJustSilent({ group, seen }: Pass): boolean {
  return (
    group.kind === 'unknown' &&
    [...seen.silentForMs.values()].some((silentForMs) => silentForMs < silenceMs)
  );
}

/** Nothing is known: nothing is said or done. */
function lookSoon({ cluster }: Observation): Decision {
  return {
    action: undefined,
    status: cluster.status ?? {},
    events: [],
    outcome: [],
    againAfterMs: withoutLeaderMs,
  };
}

/** Since when the step of the operation is under way, and how often something was done for it. */
function stampOperation({ previous, nowMs }: Pass, draft: Draft, acts: boolean): void {
  const { operation, incidentToken } = draft;
  if (operation === undefined) return;
  const before = previous.operation;
  const isSame = before?.id === operation.id && before.step === operation.step;
  const attempts = (isSame ? (before.attempts ?? 0) : 0) + (acts ? 1 : 0);
  const since = isSame ? (before.stepStartedAt ?? before.startedAt) : undefined;
  draft.operation = {
    ...operation,
    stepStartedAt: since ?? new Date(nowMs).toISOString(),
    ...(attempts > 0 ? { attempts } : undefined),
    ...(incidentToken === undefined ? undefined : { token: incidentToken }),
  };
}

/** Whether the spec of now has been called reached. */
function wasReached({ previous, generation }: Pass): boolean {
  const ready = conditionOf(previous.conditions, 'Ready');
  return previous.observedGeneration === generation && ready?.status === 'True';
}

function run(list: readonly Step[], pass: Pass, draft: Draft): StepEnd | undefined {
  for (const step of list) {
    const before = draft.events.length;
    const end = step(pass, draft);
    if (end !== undefined && !isHeldBack(pass, draft, end)) return end;
    // Nothing came of it.
    if (end !== undefined) draft.events.length = before;
  }
  return undefined;
}

/** What was refused a moment ago is not tried again yet, and the steps behind it go on. */
function isHeldBack(pass: Pass, draft: Draft, { action }: StepEnd): boolean {
  if (action === undefined || action.kind === 'apply') return false;
  const isOfGroup = isGroupAction(action) || action.kind === 'evict';
  if (isOfGroup && awaitsGroup(pass, draft, action)) return true;
  // Another password is tried at once.
  if (action.kind === 'set-root-password') return false;
  const target = targetOf(action);
  const rejection = lastRejection(pass, target);
  if (rejection === undefined || rejection.code !== 403) return false;
  stall(draft, 'PermissionDenied', `${target}: ${rejection.message}`);
  return rejectionOf(pass, draft, target) !== undefined;
}

/** One change of the group at a time, nobody is evicted meanwhile, and what failed is tried again more and more rarely. */
function awaitsGroup({ seen, nowMs }: Pass, draft: Draft, action: GroupAction | Eviction): boolean {
  const { groupCall: call } = seen;
  if (call === undefined) return false;
  const reason = draft.progress?.reason ?? 'Reconciling';
  if (call.isRunning) {
    draft.progress ??= { reason, message: `${call.target} is under way` };
    lookAgain(draft, groupPollMs);
    return true;
  }
  if (call.target !== targetOf(action)) return false;
  const waitMs = Math.min(groupRetryMsMax, groupPollMs * 2 ** (call.failures - 1));
  const restMs = call.atMs + waitMs - nowMs;
  if (restMs <= 0) return false;
  draft.isGroupRefused = true;
  draft.progress = { reason, message: `${call.target} is tried again: ${call.message}` };
  lookAgain(draft, restMs);
  return true;
}

/** What the schema cannot say. @returns whether the spec makes sense */
function checkWords({ cluster, spec }: Pass, draft: Draft): boolean {
  const problem =
    windowProblem(spec.update.maintenanceWindows ?? []) ??
    backupProblem(spec.backup) ??
    bootstrapProblem(cluster.metadata.name, spec);
  if (problem !== undefined) stall(draft, 'InvalidSpec', problem);
  return problem === undefined;
}

function noteTransitions(pass: Pass, draft: Draft, status: ClusterStatus): void {
  const before = pass.previous;
  const { identity } = pass.seen.operator;
  if (before.operator !== undefined && before.operator !== identity)
    note(draft, 'OperatorChanged', `${identity} takes over from ${before.operator}`, 'Warning');
  draft.events.push(...stallEvents(before, status));
  noteLead(pass, draft, status);
  const wasReady = conditionOf(before.conditions, 'Ready')?.status === 'True';
  const ready = conditionOf(status.conditions, 'Ready');
  if (ready?.status === 'True' && !wasReady && ready.reason !== 'Hibernated')
    note(draft, 'Ready', ready.message);
  if (status.phase === 'Hibernated' && before.phase !== 'Hibernated')
    note(draft, 'Hibernated', 'no pods run; data stays');
  if (before.phase === 'Hibernated' && status.phase !== 'Hibernated')
    note(draft, 'Resumed', 'the member starts again');
}

/** Another lead, and a majority that is lost or there again. */
function noteLead(
  { group, previous }: Pass,
  draft: Draft,
  { term, leader, conditions }: ClusterStatus,
): void {
  const isNewTerm = previous.term !== undefined && (term ?? 0) > previous.term;
  if (group.kind === 'known' && isNewTerm)
    note(draft, 'LeaderChanged', `${leader ?? '?'} leads in term ${term ?? 0}`);
  const reasonIn = (list: ClusterStatus['conditions']) => conditionOf(list, 'Available')?.reason;
  const [was, is] = [reasonIn(previous.conditions), reasonIn(conditions)];
  if (is === 'NoQuorum' && was !== 'NoQuorum')
    note(draft, 'QuorumLost', conditionOf(conditions, 'Available')?.message ?? '', 'Warning');
  if (was === 'NoQuorum' && is === 'LeaderReady')
    note(draft, 'QuorumRestored', `${leader ?? 'a leader'} leads and a majority follows it`);
}

/** An event for each new thing that needs a person, also for another one of the same kind; and one for the end of a kind. */
function stallEvents(before: ClusterStatus, after: ClusterStatus): readonly EventNote[] {
  const was = conditionOf(before.conditions, 'Stalled');
  const is = conditionOf(after.conditions, 'Stalled');
  const found: EventNote[] = [];
  if (was !== undefined && was.reason !== is?.reason)
    found.push({
      type: 'Normal',
      reason: 'StallEnded',
      note: `no longer ${was.reason}: ${was.message}`,
    });
  if (is !== undefined && (is.reason !== was?.reason || is.message !== was.message))
    found.push({ type: 'Warning', reason: is.reason as StallReason, note: is.message });
  return found;
}

/** A spec that this version does not understand changes nothing that runs. */
function refuse(seen: Observation, nowMs: number, problem: string): Decision {
  const previous = seen.cluster.status ?? {};
  const generation = seen.cluster.metadata.generation ?? 0;
  const now = new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z');
  const kept = (previous.conditions ?? []).filter(
    ({ type }) => !['Ready', 'Reconciling', 'Stalled'].includes(type),
  );
  const conditions = mergeConditions(
    [
      { type: 'Ready', status: 'False', reason: 'InvalidSpec', message: problem },
      { type: 'Stalled', status: 'True', reason: 'InvalidSpec', message: problem },
    ],
    previous.conditions ?? [],
    { now, generation },
  );
  const status = {
    ...previous,
    observedGeneration: generation,
    operator: seen.operator.identity,
    phase: 'Invalid',
    conditions: [...conditions, ...kept],
  };
  return {
    action: undefined,
    status,
    events: stallEvents(previous, status),
    outcome: [],
    againAfterMs: undefined,
  };
}
