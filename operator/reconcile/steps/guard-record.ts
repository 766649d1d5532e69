import { annotationKeys } from '../../api/names.ts';
import type { ObservedMember } from '../../api/observation.ts';
import { contentHash } from '../../resources/content-hash.ts';
import type { MemberRecord } from '../../resources/members-record.ts';
import { guardRefusal, isReady } from '../../resources/pod-state.ts';
import { lookAgain, note, stall } from '../pass.ts';
import type { Draft, Pass, Step, StepEnd } from '../pass.ts';

/*
 * Which volume may start a member (operator.md 5.2, 8.8). Without replication a lost volume is lost data, so the only way on is a
 * person who says so, for this incident: the token is made from the claim and never fires twice.
 */

const fresh: MemberRecord = { state: 'fresh', incarnation: 1 };

/** Decides the record that the guard will read; the next step writes it. */
export const decideRecord: Step = (pass, draft) => {
  const { record, seen } = pass;
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
  const isInitialised = record.initialised || members['0']?.state === 'member';
  const isRestored = seen.bootstrap?.phase === 'Succeeded';
  draft.record = {
    ...record,
    ...(isRestored ? { restored: true } : undefined),
    initialised: isInitialised,
    members: { ...record.members, ...members },
  };
  return undefined;
};

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
  if (isReady(member.pod)) return { ...(present ?? fresh), state: 'member' };
  const incident = incidentOf(pass, member);
  if (incident === undefined || present === undefined) return present;
  draft.incidentToken = incident.token;
  const isApproved = annotations[annotationKeys.adopt] === incident.token;
  if (!isApproved || present.state === incident.answer) return present;
  note(draft, 'VolumeReplaced', `${incident.what} was approved by a person`, 'Warning');
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
}

function incidentOf({ seen, names }: Pass, { pod, ordinal }: ObservedMember): Incident | undefined {
  const refusal = isReady(pod) ? undefined : guardRefusal(pod);
  const reason = /^(VolumeLost|ForeignVolume)\b/.exec(refusal ?? '')?.[1];
  if (reason === undefined) return undefined;
  const claim = seen.claims.find(({ metadata }) => metadata.name === names.dataClaim(ordinal));
  const isLost = reason === 'VolumeLost';
  return {
    token: `${isLost ? 'lost' : 'foreign'}-${contentHash(claim?.metadata.uid ?? '').slice(0, 10)}`,
    reason: isLost ? 'VolumeLost' : 'ForeignVolume',
    answer: isLost ? 'replace' : 'adopt',
    what: isLost ? 'starting on an empty volume' : 'taking over the volume of another Cluster',
  };
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
  const { names, cluster, nowMs } = pass;
  const incident = incidentOf(pass, member);
  const { pod, ordinal } = member;
  if (incident === undefined || pod === undefined) return undefined;
  const { name, namespace } = cluster.metadata;
  if (draft.record?.members[String(ordinal)]?.state === incident.answer) {
    // The pod read the record as it was when it was made. One of the last seconds may still have the new one before it.
    const ageMs = nowMs - Date.parse(pod.metadata.creationTimestamp ?? '');
    draft.progress = { reason: 'Repairing', message: incident.what };
    if (pod.metadata.deletionTimestamp === undefined && !(ageMs < 5000))
      return { action: deletePod(pod) };
    lookAgain(draft, 2000);
    return {};
  }
  const message = `${guardRefusal(pod) ?? ''}. If the data of ${names.dataClaim(ordinal)} is given up, approve it with: kubectl -n ${namespace ?? 'default'} annotate --overwrite clusters.polyad.io ${name} ${annotationKeys.adopt}=${incident.token}`;
  stall(draft, incident.reason, message);
  return undefined;
}

function deletePod(pod: { readonly metadata: { readonly name: string; readonly uid?: string } }) {
  return {
    kind: 'delete' as const,
    propagation: 'background' as const,
    target: {
      apiVersion: 'v1',
      kind: 'Pod',
      name: pod.metadata.name,
      ...(pod.metadata.uid === undefined ? undefined : { uid: pod.metadata.uid }),
    },
  };
}
