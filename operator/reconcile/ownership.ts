import type { ClusterObject } from '../api/cluster.ts';
import type { KubernetesObject } from '../api/kubernetes-object.ts';
import { clusterKind, labelKeys } from '../api/names.ts';

/**
 * Whose object it is: `ours`; `adoptable` when it carries our labels and no other controller; `leaving` when it belongs to an
 * earlier Cluster of the same name and will be collected; `foreign` otherwise, and then it is never touched.
 */
export type Ownership = 'ours' | 'adoptable' | 'leaving' | 'foreign';

export function ownershipOf(object: KubernetesObject, cluster: ClusterObject): Ownership {
  const controller = object.metadata.ownerReferences?.find((owner) => owner.controller === true);
  const { name, uid } = cluster.metadata;
  if (controller !== undefined) {
    if (controller.uid === uid) return 'ours';
    return controller.kind === clusterKind && controller.name === name ? 'leaving' : 'foreign';
  }
  return object.metadata.labels?.[labelKeys.cluster] === name ? 'adoptable' : 'foreign';
}
