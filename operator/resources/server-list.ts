import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import { peerIdOf } from '../api/group.ts';
import { objectNames } from '../api/names.ts';

/** What stands behind the name of a pod in the name of its host. */
export function hostSuffix({ metadata }: ClusterObject, spec: ClusterSpec): string {
  const { name, namespace = 'default' } = metadata;
  return `.${objectNames(name).headless}.${namespace}.svc.${spec.clusterDomain}`;
}

export function hostOf(cluster: ClusterObject, spec: ClusterSpec, ordinal: number): string {
  return `${objectNames(cluster.metadata.name).pod(ordinal)}${hostSuffix(cluster, spec)}`;
}

export function peerIdOfOrdinal(
  cluster: ClusterObject,
  spec: ClusterSpec,
  ordinal: number,
): string {
  return peerIdOf(hostOf(cluster, spec, ordinal), spec.ports.raft);
}

/** An entry of `service.ha.serverList`, and the address of a peer that is added. */
export function addressOf(cluster: ClusterObject, spec: ClusterSpec, ordinal: number): string {
  return `${hostOf(cluster, spec, ordinal)}:${spec.ports.raft}:${spec.ports.http}`;
}

export function serverList(cluster: ClusterObject, spec: ClusterSpec, count: number): string {
  return Array.from({ length: count }, (_, ordinal) => addressOf(cluster, spec, ordinal)).join(',');
}
