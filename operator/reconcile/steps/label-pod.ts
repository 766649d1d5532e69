import { labelKeys, ownedLabels } from '../../api/names.ts';
import { isReady } from '../../resources/pod-state.ts';
import type { Step } from '../pass.ts';

const isLabelValue = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

/**
 * Labels by which services and people find the member. With one member there is no election: it leads as soon as it is ready
 * (house decision 61) and keeps the label through a restart of its process, since readiness keeps traffic away.
 */
export const labelPod: Step = ({ seen, cluster, previous }) => {
  const pod = seen.pod;
  if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return undefined;
  const wanted: Record<string, string> = { ...ownedLabels(cluster.metadata.name) };
  if (isReady(pod) || pod.metadata.labels?.[labelKeys.role] !== undefined) {
    wanted[labelKeys.role] = 'leader';
    wanted[labelKeys.voter] = 'true';
  }
  // Not in the template: another version there would restart pods.
  const version = previous.version ?? '';
  if (isReady(pod) && isLabelValue.test(version)) wanted[labelKeys.version] = version;
  const present = pod.metadata.labels ?? {};
  if (Object.entries(wanted).every(([key, value]) => present[key] === value)) return undefined;
  return {
    action: {
      kind: 'label',
      target: {
        apiVersion: 'v1',
        kind: 'Pod',
        name: pod.metadata.name,
        ...(pod.metadata.uid === undefined ? undefined : { uid: pod.metadata.uid }),
      },
      labels: wanted,
    },
  };
};
