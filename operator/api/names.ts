/*
 * Every name that the operator gives, in one place. They equal the chart's (operator.md 4), so that either can take over
 * from the other.
 */

export const apiGroup = 'polyad.io';
export const apiVersion = 'polyad.io/v1alpha1';
export const clusterKind = 'Cluster';

export const fieldManagers = {
  objects: 'polyad-operator',
  status: 'polyad-operator-status',
  finalizer: 'polyad-operator-finalizer',
} as const;

export const finalizerName = 'polyad.io/teardown';

export const labelKeys = {
  cluster: 'polyad.io/cluster',
  role: 'polyad.io/role',
  voter: 'polyad.io/voter',
  retired: 'polyad.io/retired',
  /** On a Backup: the ScheduledBackup that made it. */
  scheduledBy: 'polyad.io/scheduled-by',
  /** Which of its services a Service is: `http` for that of all ready members. */
  service: 'polyad.io/service',
  name: 'app.kubernetes.io/name',
  instance: 'app.kubernetes.io/instance',
  component: 'app.kubernetes.io/component',
  version: 'app.kubernetes.io/version',
  managedBy: 'app.kubernetes.io/managed-by',
} as const;

export const managedByValue = 'polyad-operator';

export const annotationKeys = {
  /** On a Cluster: `paused` stops all but the status. */
  reconcile: 'polyad.io/reconcile',
  /** On a Cluster: any new value restarts the members. */
  restart: 'polyad.io/restart',
  /** On a Cluster: the token of an incident that a person approves. */
  adopt: 'polyad.io/adopt',
  /** On a Cluster: its own uid lets the teardown go on without a backup. */
  skipFinalBackup: 'polyad.io/skip-final-backup',
  restartHash: 'polyad.io/restart-hash',
  appliedHash: 'polyad.io/applied-hash',
  generatedFor: 'polyad.io/generated-for',
  /** On the Secret of the certificate: since when its authorities are those that they are. */
  trustedSince: 'polyad.io/trusted-since',
  /** On the Secret that members read the token from: since when its lines are those that they are. */
  tokenSince: 'polyad.io/token-since',
  /** On a claim: the size that the operator asked for, so that it takes nothing back that somebody else asked for. */
  askedSize: 'polyad.io/asked-size',
  /** On a pod: since when its Cluster hibernates. A kubelet brings what mounted objects say with a change of the pod, and later otherwise. */
  hibernating: 'polyad.io/hibernating',
  kubectlRestartedAt: 'kubectl.kubernetes.io/restartedAt',
} as const;

/** Kinds of the Prometheus operator, which a cluster may lack. */
export const monitorKinds = ['PodMonitor', 'ServiceMonitor', 'PrometheusRule'] as const;
export type MonitorKind = (typeof monitorKinds)[number];

export const serverContainerName = 'server';
export const guardContainerName = 'guard';

/** Names of the objects of the cluster `cluster`. */
export function objectNames(cluster: string) {
  return {
    statefulSet: cluster,
    headless: cluster,
    serviceAccount: cluster,
    http: `${cluster}-http`,
    readWrite: `${cluster}-rw`,
    readOnly: `${cluster}-ro`,
    config: `${cluster}-config`,
    members: `${cluster}-members`,
    root: `${cluster}-root`,
    rootApplied: `${cluster}-root-applied`,
    token: `${cluster}-token`,
    /** What members read: the token, and another one while it is being changed. */
    tokenApplied: `${cluster}-token-applied`,
    monitor: cluster,
    ca: `${cluster}-ca`,
    tls: `${cluster}-tls`,
    pod: (ordinal: number) => `${cluster}-${ordinal}`,
    dataClaim: (ordinal: number) => `data-${cluster}-${ordinal}`,
    backupsClaim: (ordinal: number) => `backups-${cluster}-${ordinal}`,
    raftClaim: (ordinal: number) => `raft-${cluster}-${ordinal}`,
    budget: cluster,
    readersBudget: `${cluster}-readers`,
  } as const;
}

export const rootPasswordKey = 'rootPassword';
export const rootPasswordLength = 32;
export const tokenKey = 'token';
export const tokenLength = 43;
/** The volume identity of operator.md 5.2: made once, kept in the retained token Secret. */
export const volumeIdentityKey = 'volumeIdentity';

/** Labels of everything that belongs to a cluster. The first two are the selector of its StatefulSet, for ever. */
export function selectorLabels(cluster: string): Readonly<Record<string, string>> {
  return { [labelKeys.name]: 'polyad', [labelKeys.instance]: cluster };
}

export function ownedLabels(cluster: string, component = 'server'): Record<string, string> {
  return {
    ...selectorLabels(cluster),
    [labelKeys.component]: component,
    [labelKeys.managedBy]: managedByValue,
    [labelKeys.cluster]: cluster,
  };
}
