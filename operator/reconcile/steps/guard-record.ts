import { annotationKeys } from '../../api/names.ts';
import { contentHash } from '../../resources/content-hash.ts';
import type { MemberRecord, MembersRecord } from '../../resources/members-record.ts';
import { membersFile, parseMembersRecord } from '../../resources/members-record.ts';
import { guardRefusal, isReady } from '../../resources/pod-state.ts';
import { lookAgain, note, stall } from '../pass.ts';
import type { Draft, Pass, Step } from '../pass.ts';

/*
 * Which volume may start a member (operator.md 5.2, 8.8). With one member a lost volume is lost data, so the only way on is a
 * person who says so, for this incident: the token is made from the claim and never fires twice.
 */

/** Decides the record that the guard will read; the next step writes it. */
export const decideRecord: Step = (pass, draft) => {
  const record = presentRecord(pass);
  const member = record.members['0'] ?? { state: 'fresh', incarnation: 1 };
  draft.record = {
    ...record,
    members: { ...record.members, '0': nextMember(pass, draft, member) },
  };
  if (draft.record.members['0']?.state === 'member')
    draft.record = { ...draft.record, initialised: true };
  return undefined;
};

/** A record that was lost is written anew from the claims: existing ones hold data until shown otherwise. */
function presentRecord({ seen, spec, names }: Pass): MembersRecord {
  const clusterId = seen.secrets.token?.volumeIdentity ?? '';
  const parsed = parseMembersRecord(seen.membersRecord?.data?.[membersFile]);
  if (parsed !== undefined) return { ...parsed, clusterId };
  const hasData =
    !spec.ephemeral && seen.claims.some((claim) => claim.metadata.name === names.dataClaim(0));
  return {
    clusterId,
    initialised: hasData,
    members: { '0': { state: hasData ? 'member' : 'fresh', incarnation: 1 } },
  };
}

function nextMember(pass: Pass, draft: Draft, member: MemberRecord): MemberRecord {
  const { seen, spec, annotations } = pass;
  if (spec.ephemeral) return member;
  if (isReady(seen.pod)) return { ...member, state: 'member' };
  const incident = incidentOf(pass);
  if (incident === undefined) return member;
  draft.incidentToken = incident.token;
  const isApproved = annotations[annotationKeys.adopt] === incident.token;
  if (!isApproved || member.state === incident.answer) return member;
  note(draft, 'VolumeReplaced', `${incident.what} was approved by a person`, 'Warning');
  return { state: incident.answer, incarnation: member.incarnation + 1 };
}

interface Incident {
  readonly token: string;
  readonly reason: 'VolumeLost' | 'ForeignVolume';
  readonly answer: 'replace' | 'adopt';
  readonly what: string;
}

function incidentOf({ seen, names }: Pass): Incident | undefined {
  const refusal = isReady(seen.pod) ? undefined : guardRefusal(seen.pod);
  const reason = /^(VolumeLost|ForeignVolume)\b/.exec(refusal ?? '')?.[1];
  if (reason === undefined) return undefined;
  const claim = seen.claims.find(({ metadata }) => metadata.name === names.dataClaim(0));
  const isLost = reason === 'VolumeLost';
  return {
    token: `${isLost ? 'lost' : 'foreign'}-${contentHash(claim?.metadata.uid ?? '').slice(0, 10)}`,
    reason: isLost ? 'VolumeLost' : 'ForeignVolume',
    answer: isLost ? 'replace' : 'adopt',
    what: isLost ? 'starting on an empty volume' : 'taking over the volume of another Cluster',
  };
}

/** Reports an incident, or starts the pod again once the record allows it. */
export const handleIncident: Step = (pass, draft) => {
  const { seen, names, cluster, nowMs } = pass;
  const incident = incidentOf(pass);
  const pod = seen.pod;
  if (incident === undefined || pod === undefined) return undefined;
  const { name, namespace } = cluster.metadata;
  if (draft.record?.members['0']?.state === incident.answer) {
    // The pod read the record as it was when it was made. One of the last seconds may still have the new one before it.
    const ageMs = nowMs - Date.parse(pod.metadata.creationTimestamp ?? '');
    draft.progress = { reason: 'Repairing', message: incident.what };
    if (pod.metadata.deletionTimestamp === undefined && !(ageMs < 5000))
      return { action: deletePod(pod) };
    lookAgain(draft, 2000);
    return {};
  }
  const message = `${guardRefusal(pod) ?? ''}. If the data of ${names.dataClaim(0)} is given up, approve it with: kubectl -n ${namespace ?? 'default'} annotate --overwrite clusters.polyad.io ${name} ${annotationKeys.adopt}=${incident.token}`;
  stall(draft, incident.reason, message);
  return undefined;
};

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
