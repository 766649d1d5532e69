import { annotationKeys } from '../../api/names.ts';
import type { Claim, Pod } from '../../api/kubernetes-object.ts';
import type { ObservedMember } from '../../api/observation.ts';
import { contentHash } from '../../resources/content-hash.ts';
import type { MemberRecord, MembersRecord } from '../../resources/members-record.ts';
import { guardRefusal, hasGuard, isReady, podProblem } from '../../resources/pod-state.ts';
import { memberIsUp } from '../group/group-view.ts';
import { canChangeMembership } from '../group/predicates.ts';
import { lookAgain, note, stall } from '../pass.ts';
import type { Draft, Pass, Step, StepEnd } from '../pass.ts';
import { decideRecovery } from './recover-quorum.ts';

/*
 * Which volume may start a member (operator.md 5.2, 8.8). Without replication a lost volume is lost data, so the only way on is a
 * person who says so, for this incident: the token is made from the claim and never fires twice.
 */

const fresh: MemberRecord = { state: 'fresh', incarnation: 1 };

/** Decides the record that the guard will read; the next step writes it. */
export const decideRecord: Step = (pass, draft) => {
  const { seen } = pass;
  const { recovery: _, hibernating: __, ...before } = pass.record;
  const record: MembersRecord = {
    ...before,
    ...decideRecovery(pass, draft),
    ...(endsTogether(pass) ? { hibernating: true } : undefined),
  };
  const members: Record<string, MemberRecord> = {};
  for (const member of seen.members) {
    const key = String(member.ordinal);
    const present = record.members[key] ?? (member.ordinal === 0 ? fresh : undefined);
    const next = nextMember(pass, draft, member, present);
    if (next !== undefined) members[key] = next;
  }
  for (const [key, present] of Object.entries(record.members))
    if (members[key] === undefined && hasGone(pass, Number(key), present))
      members[key] = replaced(present);
  const isInitialised =
    record.initialised || Object.values(members).some(({ state }) => state === 'member');
  const isRestored = seen.bootstrap?.phase === 'Succeeded';
  draft.record = {
    ...record,
    ...(isRestored ? { restored: true } : undefined),
    initialised: isInitialised,
    members: { ...record.members, ...members },
  };
  return undefined;
};

/** While it sleeps the record stays as it was. */
function endsTogether({ spec, isReplicated, record, seen }: Pass): boolean {
  if (!spec.hibernate || !isReplicated) return false;
  return record.hibernating === true || seen.members.some(({ pod }) => pod !== undefined);
}

function nextMember(
  pass: Pass,
  draft: Draft,
  member: ObservedMember,
  present: MemberRecord | undefined,
): MemberRecord | undefined {
  const { spec, annotations } = pass;
  if (spec.ephemeral) return present;
  if (member.pod === undefined && present && hasGone(pass, member.ordinal, present))
    return replaced(present);
  // Marked by a guard, which a pod of the chart does not have: its volume is taken over at its next start.
  if (isReady(member.pod) && present?.state === 'adopt' && !hasGuard(member.pod)) return present;
  if (isReady(member.pod)) return { ...(present ?? fresh), state: 'member' };
  const incident = incidentOf(pass, member);
  if (incident === undefined || present === undefined) return present;
  draft.incidentToken = incident.token;
  const isByPerson = annotations[annotationKeys.adopt] === incident.token;
  const isApproved = isByPerson || (incident.isStranded && mayReplaceAlone(pass, member, incident));
  if (!isApproved || present.state === incident.answer) return present;
  const who = isByPerson ? 'was approved by a person' : 'as spec.recovery.lostVolume says';
  note(draft, 'VolumeReplaced', `${member.name}: ${incident.what} ${who}`, 'Warning');
  return { state: incident.answer, incarnation: present.incarnation + 1 };
}

/** It has left the group and its pod is gone: what is on its volume belongs to an earlier life. */
function hasGone(
  { seen, spec, podCount, isReplicated }: Pass,
  ordinal: number,
  { state }: MemberRecord,
): boolean {
  if (!isReplicated || spec.hibernate || spec.ephemeral || state !== 'member') return false;
  const replicas = seen.statefulSet?.spec?.replicas ?? 0;
  return ordinal > 0 && replicas > 0 && ordinal >= replicas && ordinal >= podCount;
}

function replaced({ incarnation }: MemberRecord): MemberRecord {
  return { state: 'replace', incarnation: incarnation + 1 };
}

interface Incident {
  readonly token: string;
  readonly reason: 'VolumeLost' | 'ForeignVolume';
  readonly answer: 'replace' | 'adopt';
  readonly what: string;
  /** Its volume, or the node that holds it, is gone: no pod can start with its claim. */
  readonly isStranded: boolean;
  /** What was seen. */
  readonly cause: string;
}

function incidentOf({ seen, names }: Pass, member: ObservedMember): Incident | undefined {
  const { pod, ordinal } = member;
  const claim = seen.claims.find(({ metadata }) => metadata.name === names.dataClaim(ordinal));
  const token = `${contentHash(claim?.metadata.uid ?? '').slice(0, 10)}`;
  const stranded = strandedBy(pod, claim);
  if (stranded !== undefined)
    return {
      token: `stranded-${token}`,
      reason: 'VolumeLost',
      answer: 'replace',
      what: 'starting on a new volume',
      isStranded: true,
      cause: `VolumeLost: ${stranded}`,
    };
  const refusal = isReady(pod) ? undefined : guardRefusal(pod);
  const reason = /^(VolumeLost|ForeignVolume)\b/.exec(refusal ?? '')?.[1];
  if (reason === undefined) return undefined;
  const isLost = reason === 'VolumeLost';
  return {
    token: `${isLost ? 'lost' : 'foreign'}-${token}`,
    reason: isLost ? 'VolumeLost' : 'ForeignVolume',
    answer: isLost ? 'replace' : 'adopt',
    what: isLost ? 'starting on an empty volume' : 'taking over the volume of another Cluster',
    isStranded: false,
    cause: refusal ?? '',
  };
}

const volumeElsewhere =
  /volume node affinity conflict|didn't match PersistentVolume's node affinity/i;
const isForControlPlane = /taint \{node-role\.kubernetes\.io\//;

/**
 * Whether the scheduler says that no node has the volume: "0/3 nodes are available: 2 node(s) had volume node affinity conflict.".
 * A node that is only away, cordoned or full is named with another reason, and may be the one that has it.
 */
export function saysVolumeIsNowhere(message: string): boolean {
  if (/persistentvolume "[^"]*" not found/i.test(message)) return true;
  const [, reasons = ''] = /nodes are available: (.*?)\.(?: |$)/.exec(`${message}.`) ?? [];
  const parts = reasons.split(/, (?=\d)/);
  return (
    parts.some((part) => volumeElsewhere.test(part)) &&
    parts.every((part) => volumeElsewhere.test(part) || isForControlPlane.test(part))
  );
}

/** Why a pod cannot start on the volume of its claim, whatever is waited for. */
function strandedBy(pod: Pod | undefined, claim: Claim | undefined): string | undefined {
  if (pod === undefined || isReady(pod) || claim === undefined) return undefined;
  if (claim.status?.phase === 'Lost') return `the volume of ${claim.metadata.name} is gone`;
  const problem = podProblem(pod);
  if (problem?.kind !== 'unschedulable' || !saysVolumeIsNowhere(problem.message)) return undefined;
  return `no node has the volume of ${claim.metadata.name}: ${problem.message}`;
}

/** `recovery.lostVolume: Automatic`: after its time, while all the others are whole and nobody else is being rebuilt. */
function mayReplaceAlone(
  { spec, previous, nowMs, group, facts }: Pass,
  member: ObservedMember,
  { token }: Incident,
): boolean {
  const { lostVolume, lostVolumeAfterSeconds } = spec.recovery;
  const { recovery } = previous;
  if (lostVolume !== 'Automatic' || recovery?.incidentToken !== token) return false;
  const sinceMs = Date.parse(recovery.since ?? '');
  if (!(nowMs - sinceMs >= lostVolumeAfterSeconds * 1000)) return false;
  const others = facts.members.filter((other) => other !== member);
  return (
    group.kind === 'known' &&
    others.every(memberIsUp) &&
    canChangeMembership(group.voters.length, { ...facts, members: others }).isAllowed
  );
}

/** Reports incidents, or starts a pod again once the record allows it. */
export const handleIncident: Step = (pass, draft) => {
  for (const member of pass.seen.members) {
    const end = handleOne(pass, draft, member);
    if (end !== undefined) return end;
  }
  return undefined;
};

function handleOne(pass: Pass, draft: Draft, member: ObservedMember): StepEnd | undefined {
  const { nowMs } = pass;
  const incident = incidentOf(pass, member);
  const { pod, ordinal } = member;
  if (waitedForRecovery(pass, draft, member))
    return { action: deletion('Pod', pod?.metadata ?? { name: member.name }) };
  if (incident === undefined && pod !== undefined && isLeftWithout(pass, draft, member))
    return { action: deletion('Pod', pod.metadata) };
  if (incident === undefined || pod === undefined) return undefined;
  if (incident.isStranded) return replaceVolume(pass, draft, member, incident);
  if (draft.record?.members[String(ordinal)]?.state === incident.answer) {
    // The pod read the record as it was when it was made. One of the last seconds may still have the new one before it.
    const ageMs = nowMs - Date.parse(pod.metadata.creationTimestamp ?? '');
    draft.progress = { reason: 'Repairing', message: incident.what };
    if (pod.metadata.deletionTimestamp === undefined && !(ageMs < 5000))
      return { action: deletion('Pod', pod.metadata) };
    lookAgain(draft, 2000);
    return {};
  }
  stallOn(pass, draft, ordinal, incident);
  return undefined;
}

function stallOn(
  { names, cluster }: Pass,
  draft: Draft,
  ordinal: number,
  { cause, reason, token }: Incident,
): void {
  const { name, namespace } = cluster.metadata;
  const message = `${cause}. If the data of ${names.dataClaim(ordinal)} is given up, approve it with: kubectl -n ${namespace ?? 'default'} annotate --overwrite clusters.polyad.io ${name} ${annotationKeys.adopt}=${token}`;
  stall(draft, reason, message);
}

/** It read the record as it was, and would be started again minutes later. */
function waitedForRecovery(
  { nowMs }: Pass,
  draft: Draft,
  { pod, ordinal }: ObservedMember,
): boolean {
  if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return false;
  if (!/^QuorumRecovery\b/.test(guardRefusal(pod) ?? '')) return false;
  const { recovery } = draft.record ?? {};
  const isDue =
    recovery === undefined || (recovery.step === 'survive' && recovery.survivor === ordinal);
  return isDue && nowMs - Date.parse(pod.metadata.creationTimestamp ?? '') >= 5000;
}

/** A pod that never got to a node does not keep its claim: it waits for one that is gone, and not every version makes another. */
function isLeftWithout({ seen, names }: Pass, draft: Draft, member: ObservedMember): boolean {
  const { pod, ordinal } = member;
  const isThere = seen.claims.some(({ metadata }) => metadata.name === names.dataClaim(ordinal));
  const isApproved = draft.record?.members[String(ordinal)]?.state === 'replace';
  if (isThere || !isApproved || pod?.metadata.deletionTimestamp !== undefined) return false;
  return podProblem(pod)?.kind === 'unschedulable';
}

/**
 * A claim that no pod can start with goes, and then its pod, so that both are made anew; what comes back is an empty disk, which
 * the group takes for a new member. The token is that of the claim: a new one that is lost too has to be approved anew.
 */
function replaceVolume(
  pass: Pass,
  draft: Draft,
  member: ObservedMember,
  incident: Incident,
): StepEnd | undefined {
  const { seen, names, annotations } = pass;
  const { pod, ordinal } = member;
  const isApproved =
    draft.record?.members[String(ordinal)]?.state === incident.answer &&
    (annotations[annotationKeys.adopt] === incident.token ||
      mayReplaceAlone(pass, member, incident));
  if (!isApproved) {
    stallOn(pass, draft, ordinal, incident);
    if (pass.spec.recovery.lostVolume === 'Automatic') lookAgain(draft, 5000);
    return undefined;
  }
  draft.progress = { reason: 'Repairing', message: `${member.name}: ${incident.what}` };
  lookAgain(draft, 2000);
  const claim = seen.claims.find(({ metadata }) => metadata.name === names.dataClaim(ordinal));
  if (claim !== undefined && claim.metadata.deletionTimestamp === undefined)
    return { action: deletion('PersistentVolumeClaim', claim.metadata) };
  if (pod !== undefined && pod.metadata.deletionTimestamp === undefined)
    return { action: deletion('Pod', pod.metadata) };
  return {};
}

function deletion(
  kind: 'Pod' | 'PersistentVolumeClaim',
  { name, uid }: { readonly name: string; readonly uid?: string },
) {
  return {
    kind: 'delete' as const,
    propagation: 'background' as const,
    target: { apiVersion: 'v1', kind, name, ...(uid === undefined ? undefined : { uid }) },
  };
}
