import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import type { DesiredObject, Json, JsonObject } from '../api/kubernetes-object.ts';
import { objectNames, selectorLabels } from '../api/names.ts';
import { ownedObject } from './owner.ts';
import { backupPodLabels } from './stream-job.ts';
import { pluginPorts } from './plugins.ts';

export function networkPolicyNames(cluster: string): readonly string[] {
  return [objectNames(cluster).http, `${cluster}-raft`];
}

/** HTTP for those the spec names (all pods when it names none) and the operator; the Raft port for own pods only. */
export function networkPolicies(
  cluster: ClusterObject,
  spec: ClusterSpec,
  operatorNamespace: string,
): readonly DesiredObject[] {
  if (!spec.networkPolicy.enabled) return [];
  const name = cluster.metadata.name;
  const from = (spec.networkPolicy.httpFrom ?? [{ namespaceSelector: {} }]) as readonly Json[];
  const extra = (spec.networkPolicy.extraIngress ?? []) as readonly Json[];
  const operator: JsonObject = {
    // Of its own namespace: anybody may call a pod by its name.
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': operatorNamespace } },
    podSelector: { matchLabels: { 'app.kubernetes.io/name': 'polyad-operator' } },
  };
  const backups: JsonObject = { podSelector: { matchLabels: backupPodLabels(name) } };
  const ports = [
    spec.ports.http,
    ...(spec.tls.http.enabled ? [spec.ports.https] : []),
    ...pluginPorts(spec).map(({ port }) => port),
  ];
  return [
    policy(cluster, spec, objectNames(name).http, [
      {
        from: [...from, operator, backups],
        ports: ports.map((port) => ({ port, protocol: 'TCP' })),
      },
      ...extra,
    ]),
    policy(cluster, spec, `${name}-raft`, [
      {
        from: [{ podSelector: { matchLabels: selectorLabels(name) } }],
        ports: [{ port: spec.ports.raft, protocol: 'TCP' }],
      },
    ]),
  ];
}

function policy(
  cluster: ClusterObject,
  spec: ClusterSpec,
  name: string,
  ingress: readonly Json[],
): DesiredObject {
  return ownedObject(cluster, {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    name,
    inherited: spec.inheritedMetadata,
    spec: {
      podSelector: { matchLabels: selectorLabels(cluster.metadata.name) },
      policyTypes: ['Ingress'],
      ingress,
    },
  });
}
