import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import type { ClusterStatus, Operation } from '../api/cluster-status.ts';
import type { Action, EventNote, EventReason, StallReason } from '../api/decision.ts';
import { annotationKeys, objectNames } from '../api/names.ts';
import type { Observation, Rejection } from '../api/observation.ts';
import type { MembersRecord } from '../resources/members-record.ts';
import { isBringingData } from '../resources/bootstrap.ts';
import { isReplicated } from '../resources/replication.ts';
import { precheckName } from '../resources/precheck-job.ts';
import { restartHash } from '../resources/restart-inputs.ts';
import { awaitsFollowers } from './group/followers-lag.ts';
import { awaitsMarks } from './group/hibernation-mark.ts';
import { standingFailure } from './group/failed-join.ts';
import type { FailedJoin } from './group/failed-join.ts';
import { viewOfGroup } from './group/group-view.ts';
import type { GroupView } from './group/group-view.ts';
import { podCount } from './group/pod-count.ts';
import type { GroupFacts } from './group/predicates.ts';
import { presentRecord } from './group/present-record.ts';

/** What all steps of one look share. */
export interface Pass {
  readonly seen: Observation;
  readonly nowMs: number;
  readonly cluster: ClusterObject;
  readonly generation: number;
  readonly spec: ClusterSpec;
  readonly previous: ClusterStatus;
  readonly names: ReturnType<typeof objectNames>;
  readonly annotations: Readonly<Record<string, string>>;
  /** The image that the spec asks for, and the one to run: the last good one after a failed change. */
  readonly wantedImage: string;
  readonly image: string;
  /** A person has said that this change of the image goes on, whatever the builds say of each other. */
  readonly isForced: boolean;
  readonly restartHash: string;
  readonly isReplicated: boolean;
  readonly group: GroupView;
  readonly facts: GroupFacts;
  /** The record of the volume guard as it stands, or as it has to be written anew. */
  readonly record: MembersRecord;
  /** Members that the spec asks for, read replicas too; 0 while it hibernates. */
  readonly wanted: number;
  /** Pods that the StatefulSet has to have now. */
  readonly podCount: number;
  /** Members that did not catch up, and are not tried again yet. */
  readonly failedJoin: FailedJoin | undefined;
}

export interface Trouble {
  readonly reason: string;
  readonly message: string;
}

/** Why nobody but a person can go on. */
export interface Stall extends Trouble {
  readonly reason: StallReason;
}

/** What the steps have found out; becomes the status. Lives for one look only. */
export interface Draft {
  operation: Operation | undefined;
  lastGoodImage: string | undefined;
  failedImage: string | undefined;
  /** What an upgrade is at, and the member that runs it alone. */
  upgradePhase: string | undefined;
  canary: string | undefined;
  /** Why the image before might not read what the wanted one has written; what the wanted one alone can switch on. */
  oneWay: string | undefined;
  newFeatures: readonly string[];
  record: MembersRecord | undefined;
  applied: NonNullable<ClusterStatus['applied']>;
  backups: ClusterStatus['backups'];
  certificates: ClusterStatus['certificates'];
  /** Why certificates are not as they should be. */
  certificateProblem: string | undefined;
  /** Members would not start with the certificate that the spec names. */
  isCertificateUnfit: boolean;
  stalled: Stall | undefined;
  /** Work in progress towards this generation. */
  progress: Trouble | undefined;
  /** Of claims that do not have their size. */
  readonly storage: (Trouble & { readonly claim: string })[];
  pendingRestart: string | undefined;
  hotProblem: string | undefined;
  isTemplateOutdated: boolean;
  /** Members are added or removed: nobody is restarted meanwhile. */
  isScaling: boolean;
  /** A change of the group was refused, and waits. */
  isGroupRefused: boolean;
  /** A member does not serve. */
  isMemberDown: boolean;
  failedJoin: FailedJoin | undefined;
  incidentToken: string | undefined;
  /** A lost quorum; the token when it may be given up. */
  quorum:
    | { readonly since: string; readonly candidates: readonly string[]; readonly token?: string }
    | undefined;
  readonly warnings: Trouble[];
  readonly events: EventNote[];
  againAfterMs: number | undefined;
}

/** A step that has something to do, or that ends the look because nothing after it makes sense. */
export interface StepEnd {
  readonly action?: Action;
}

/** `undefined` means: nothing to do here, go on. */
export type Step = (pass: Pass, draft: Draft) => StepEnd | undefined;

export function makePass(seen: Observation, spec: ClusterSpec, nowMs: number): Pass {
  const { cluster } = seen;
  const previous = cluster.status ?? {};
  const annotations = cluster.metadata.annotations ?? {};
  const wantedImage = spec.image ?? stickyImage(seen);
  const isForced = annotations[annotationKeys.adopt] === precheckName(cluster, wantedImage);
  const isRefused = previous.failedImage === wantedImage && !isForced;
  const hasFailed = isRefused && previous.lastGoodImage !== undefined;
  const image = hasFailed ? (previous.lastGoodImage ?? wantedImage) : wantedImage;
  const replicates = isReplicated(spec, seen);
  const group = viewOfGroup(seen.members, replicates);
  const facts = factsOf(seen, spec, group, nowMs);
  const record = presentRecord(seen, spec, replicates);
  const wanted = spec.hibernate ? 0 : spec.replicas + spec.readReplicas;
  // It grows when its data are whole: members that join get them as a snapshot.
  const wantedNow = isBringingData(spec, record) ? Math.min(wanted, 1) : wanted;
  return {
    seen,
    nowMs,
    cluster,
    generation: cluster.metadata.generation ?? 0,
    spec,
    previous,
    names: objectNames(cluster.metadata.name),
    annotations,
    wantedImage,
    isForced,
    image,
    restartHash: restartHash(spec, image, annotations, replicates),
    isReplicated: replicates,
    group,
    facts,
    record,
    wanted,
    podCount: podCount({
      seen,
      record,
      facts,
      wanted: wantedNow,
      replicates,
      voters: spec.replicas,
      isHeld:
        spec.hibernate &&
        replicates &&
        (awaitsFollowers(facts, previous.operation) ||
          awaitsMarks(record, facts, previous.operation)),
    }),
    failedJoin: standingFailure(cluster, { members: seen.members, group }),
  };
}

function factsOf(
  seen: Observation,
  spec: ClusterSpec,
  group: GroupView,
  nowMs: number,
): GroupFacts {
  return {
    members: seen.members,
    group,
    nowMs,
    maxLag: spec.readiness.maxLag,
    minReadySeconds: spec.update.minReadySeconds,
    tolerateUnhealthy: spec.update.tolerateUnhealthy,
    leaderForMs: seen.leaderForMs,
    learners: seen.learners,
  };
}

/**
 * The image of a Cluster that names none: what it runs already, so that a new operator with another default restarts
 * nothing; the default while nothing has run.
 */
function stickyImage(seen: Observation): string {
  return seen.cluster.status?.lastGoodImage ?? seen.operator.defaultServerImage;
}

export function makeDraft(pass: Pass): Draft {
  const { previous } = pass;
  const isRefused = previous.failedImage === pass.wantedImage && !pass.isForced;
  const upgrade = previous.upgrade?.to === pass.wantedImage ? previous.upgrade : undefined;
  return {
    operation: previous.operation,
    lastGoodImage: previous.lastGoodImage,
    failedImage: isRefused ? previous.failedImage : undefined,
    upgradePhase: undefined,
    canary: undefined,
    oneWay: upgrade?.oneWay,
    newFeatures: upgrade?.features ?? [],
    record: undefined,
    applied: { ...previous.applied },
    backups: previous.backups,
    certificates: undefined,
    certificateProblem: undefined,
    isCertificateUnfit: false,
    stalled: undefined,
    progress: undefined,
    storage: [],
    pendingRestart: undefined,
    hotProblem: undefined,
    isTemplateOutdated: false,
    isScaling: false,
    isGroupRefused: false,
    isMemberDown: false,
    failedJoin: pass.failedJoin,
    incidentToken: undefined,
    quorum: undefined,
    warnings: [],
    events: [],
    againAfterMs: undefined,
  };
}

/** Whether anything of it runs. */
export function hasPods({ seen }: Pass): boolean {
  return seen.members.some(({ pod }) => pod !== undefined);
}

export function note(
  draft: Draft,
  reason: EventReason,
  text: string,
  type: 'Normal' | 'Warning' = 'Normal',
): void {
  draft.events.push({ type, reason, note: text });
}

/** Asks to look again after at most this time. */
export function lookAgain(draft: Draft, afterMs: number): void {
  const wanted = Math.max(0, afterMs);
  draft.againAfterMs = Math.min(draft.againAfterMs ?? wanted, wanted);
}

/** The first trouble counts: later ones often follow from it. */
export function stall(draft: Draft, reason: StallReason, message: string): void {
  draft.stalled ??= { reason, message };
}

const rejectionMs = 60_000;

/** A refusal of this spec, however long ago: what it says holds until the same was asked for and taken. */
export function lastRejection({ seen, generation }: Pass, target: string): Rejection | undefined {
  const rejection = seen.rejections.get(target);
  return rejection?.generation === generation ? rejection : undefined;
}

/** A refusal that is still fresh: the same call would fail again. */
export function rejectionOf(pass: Pass, draft: Draft, target: string): string | undefined {
  const rejection = lastRejection(pass, target);
  if (rejection === undefined) return undefined;
  const restMs = rejection.atMs + rejectionMs - pass.nowMs;
  if (restMs <= 0) return undefined;
  lookAgain(draft, restMs);
  return rejection.message;
}

/** The API server says 403 of rights that are missing and of quotas that are used up; anything else is about the content. */
export function stallReasonOf({ code }: Rejection): StallReason {
  return code === 403 ? 'PermissionDenied' : 'InvalidSpec';
}
