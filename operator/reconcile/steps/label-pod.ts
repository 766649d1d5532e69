import { labelKeys, ownedLabels } from '../../api/names.ts';
import type { ObservedMember } from '../../api/observation.ts';
import { isReady } from '../../resources/pod-state.ts';
import type { Pass, Step } from '../pass.ts';

const isLabelValue = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

/**
 * Labels by which services and people find the members. The new leader is labelled first, the old one after it: two entries are
 * harmless, none is an outage.
 */
export const labelPod: Step = (pass) => {
  const { members } = pass.seen;
  const isLeader = ({ ordinal }: ObservedMember) => ordinal === pass.group.leader?.ordinal;
  for (const member of [...members].sort((a, b) => Number(isLeader(b)) - Number(isLeader(a)))) {
    const { pod } = member;
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) continue;
    const labels = { ...ownedLabels(pass.cluster.metadata.name), ...roleLabels(pass, member) };
    const present = pod.metadata.labels ?? {};
    if (Object.entries(labels).every(([key, value]) => present[key] === value)) continue;
    return {
      action: {
        kind: 'label',
        target: {
          apiVersion: 'v1',
          kind: 'Pod',
          name: pod.metadata.name,
          ...(pod.metadata.uid === undefined ? undefined : { uid: pod.metadata.uid }),
        },
        labels,
      },
    };
  }
  return undefined;
};

function roleLabels(pass: Pass, member: ObservedMember): Record<string, string> {
  const { pod } = member;
  const wanted: Record<string, string> = {};
  const role = roleOf(pass, member);
  if (role !== undefined) {
    wanted[labelKeys.role] = role.name;
    wanted[labelKeys.voter] = String(role.isVoter);
  }
  // Not in the template: another version there would restart pods.
  const version = versionOf(pass, member);
  if (isReady(pod) && isLabelValue.test(version)) wanted[labelKeys.version] = version;
  return wanted;
}

function versionOf({ previous, group }: Pass, { peerId, view }: ObservedMember): string {
  return view.version ?? group.peers.get(peerId)?.version ?? previous.version ?? '';
}

/** Undefined leaves the labels as they are: without a leader nothing is known, and no service is taken away. */
function roleOf(
  { group }: Pass,
  { pod, peerId, ordinal }: ObservedMember,
): { readonly name: string; readonly isVoter: boolean } | undefined {
  if (group.kind === 'unknown') return undefined;
  if (group.kind === 'solo') {
    // One member leads as soon as it is ready and keeps the label through a restart: readiness keeps traffic away.
    const isKnown = isReady(pod) || pod?.metadata.labels?.[labelKeys.role] !== undefined;
    return ordinal === 0 && isKnown ? { name: 'leader', isVoter: true } : undefined;
  }
  const peer = group.peers.get(peerId);
  if (peer === undefined) return { name: 'unknown', isVoter: false };
  if (!peer.isVoter) return { name: 'learner', isVoter: false };
  return { name: peerId === group.leader?.peerId ? 'leader' : 'follower', isVoter: true };
}
