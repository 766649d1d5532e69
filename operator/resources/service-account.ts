import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import type { DesiredObject } from '../api/kubernetes-object.ts';
import { objectNames } from '../api/names.ts';
import { ownedObject } from './owner.ts';

export function serviceAccountName(cluster: string, spec: ClusterSpec): string {
  return spec.serviceAccount.name ?? objectNames(cluster).serviceAccount;
}

/** The account of the members; its token is mounted nowhere, since the server does not call the API server. */
export function serviceAccount(
  cluster: ClusterObject,
  spec: ClusterSpec,
): readonly DesiredObject[] {
  if (!spec.serviceAccount.create) return [];
  return [
    ownedObject(cluster, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      name: serviceAccountName(cluster.metadata.name, spec),
      inherited: spec.inheritedMetadata,
      ...(spec.serviceAccount.annotations === undefined
        ? undefined
        : { annotations: spec.serviceAccount.annotations }),
      automountServiceAccountToken: false,
    }),
  ];
}
