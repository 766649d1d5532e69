import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import type { DesiredObject } from '../api/kubernetes-object.ts';
import { labelKeys, objectNames, selectorLabels } from '../api/names.ts';
import { ownedObject } from './owner.ts';

/** One voter may be away; a budget for one member would only block drains, so there is none. */
export function wantsBudget(spec: ClusterSpec): boolean {
  return spec.replicas > 1 && spec.disruption.pdb.enabled;
}

export function disruptionBudgets(
  cluster: ClusterObject,
  spec: ClusterSpec,
): readonly DesiredObject[] {
  if (!wantsBudget(spec)) return [];
  const { name } = cluster.metadata;
  return [
    ownedObject(cluster, {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      name: objectNames(name).budget,
      inherited: spec.inheritedMetadata,
      spec: {
        maxUnavailable: 1,
        selector: { matchLabels: { ...selectorLabels(name), [labelKeys.voter]: 'true' } },
        unhealthyPodEvictionPolicy: spec.disruption.pdb.unhealthyPodEvictionPolicy,
      },
    }),
  ];
}
