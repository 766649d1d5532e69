/** Where objects of a kind live in the API. The table of everything the operator ever reads or writes. */
export interface ResourceKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly isNamespaced: boolean;
}

function kind(apiVersion: string, name: string, plural: string, isNamespaced = true): ResourceKind {
  return { apiVersion, kind: name, plural, isNamespaced };
}

export const resourceKinds = {
  Cluster: kind('polyad.io/v1alpha1', 'Cluster', 'clusters'),
  Backup: kind('polyad.io/v1alpha1', 'Backup', 'backups'),
  ScheduledBackup: kind('polyad.io/v1alpha1', 'ScheduledBackup', 'scheduledbackups'),
  Restore: kind('polyad.io/v1alpha1', 'Restore', 'restores'),
  StatefulSet: kind('apps/v1', 'StatefulSet', 'statefulsets'),
  Service: kind('v1', 'Service', 'services'),
  ConfigMap: kind('v1', 'ConfigMap', 'configmaps'),
  Secret: kind('v1', 'Secret', 'secrets'),
  ServiceAccount: kind('v1', 'ServiceAccount', 'serviceaccounts'),
  Pod: kind('v1', 'Pod', 'pods'),
  PersistentVolumeClaim: kind('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims'),
  Job: kind('batch/v1', 'Job', 'jobs'),
  NetworkPolicy: kind('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies'),
  PodDisruptionBudget: kind('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets'),
  PodMonitor: kind('monitoring.coreos.com/v1', 'PodMonitor', 'podmonitors'),
  ServiceMonitor: kind('monitoring.coreos.com/v1', 'ServiceMonitor', 'servicemonitors'),
  PrometheusRule: kind('monitoring.coreos.com/v1', 'PrometheusRule', 'prometheusrules'),
  Certificate: kind('cert-manager.io/v1', 'Certificate', 'certificates'),
  Namespace: kind('v1', 'Namespace', 'namespaces', false),
  Node: kind('v1', 'Node', 'nodes', false),
  StorageClass: kind('storage.k8s.io/v1', 'StorageClass', 'storageclasses', false),
  Event: kind('events.k8s.io/v1', 'Event', 'events'),
  Lease: kind('coordination.k8s.io/v1', 'Lease', 'leases'),
} as const satisfies Readonly<Record<string, ResourceKind>>;

export type KindName = keyof typeof resourceKinds;

/** @throws Error for a kind that is not in the table */
export function resourceKindOf(name: string): ResourceKind {
  const found = (resourceKinds as Readonly<Record<string, ResourceKind>>)[name];
  if (found === undefined) throw new Error(`the operator knows no kind ${name}`);
  return found;
}

/** `''` for the core group. */
export function groupOf({ apiVersion }: ResourceKind): string {
  return apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
}

export function pathOf(
  resource: ResourceKind,
  namespace: string | undefined,
  name?: string,
  subresource?: string,
): string {
  const root = resource.apiVersion.includes('/') ? '/apis/' : '/api/';
  const inside =
    resource.isNamespaced && namespace !== undefined
      ? `/namespaces/${encodeURIComponent(namespace)}`
      : '';
  const object = name === undefined ? '' : `/${encodeURIComponent(name)}`;
  return `${root}${resource.apiVersion}${inside}/${resource.plural}${object}${subresource === undefined ? '' : `/${subresource}`}`;
}
