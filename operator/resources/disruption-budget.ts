import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import type { DesiredObject } from '../api/kubernetes-object.ts';
import { labelKeys, objectNames, selectorLabels } from '../api/names.ts';
import { ownedObject } from './owner.ts';

/** One voter may be away; a budget for one member would only block drains, so there is none. */
export function wantsBudget(spec: ClusterSpec): boolean {
  return spec.replicas > 1 && spec.disruption.pdb.enabled;
}

/** Read replicas count for no quorum, so that they have a budget of their own. */
export function wantsReadersBudget(spec: ClusterSpec): boolean {
  return spec.readReplicas > 0 && spec.disruption.pdb.enabled;
}

export function disruptionBudgets(
  cluster: ClusterObject,
  spec: ClusterSpec,
): readonly DesiredObject[] {
  const names = objectNames(cluster.metadata.name);
  return [
    ...(wantsBudget(spec) ? [budget(cluster, spec, names.budget, 'true')] : []),
    ...(wantsReadersBudget(spec) ? [budget(cluster, spec, names.readersBudget, 'false')] : []),
  ];
}

function budget(
  cluster: ClusterObject,
  spec: ClusterSpec,
  name: string,
  isVoter: 'true' | 'false',
): DesiredObject {
  const members = { ...selectorLabels(cluster.metadata.name), [labelKeys.voter]: isVoter };
  return ownedObject(cluster, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    name,
    inherited: spec.inheritedMetadata,
    spec: {
      maxUnavailable: 1,
      selector: { matchLabels: members },
      unhealthyPodEvictionPolicy: spec.disruption.pdb.unhealthyPodEvictionPolicy,
    },
  });
}
