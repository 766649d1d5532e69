import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import type { Json, JsonObject } from '../api/kubernetes-object.ts';
import {
  annotationKeys,
  guardContainerName,
  objectNames,
  ownedLabels,
  rootPasswordKey,
  selectorLabels,
  serverContainerName,
  tokenKey,
} from '../api/names.ts';
import { servedSecret } from './certificates.ts';
import { compact, containerSecurity, podSecurity } from './pod-security.ts';
import { pluginList, pluginPorts, pluginSettings } from './plugins.ts';
import { raftDirectory, replicationSettings, tlsDirectory, tokenDirectory } from './replication.ts';
import { serviceAccountName } from './service-account.ts';
import { variableOf } from './setting-variable.ts';

/*
 * How a member starts (operator.md 5.1, 5.2). The image decides how the server is started and how large its heap is; the
 * operator passes names, directories and files. Only what never changes for a Cluster, or restarts it anyway, stands here.
 */

/** Directories in the container. Those below `home` are directories of one volume. */
export const directories = {
  home: '/home/service',
  databases: '/home/service/databases',
  config: '/home/service/config',
  backups: '/home/service/backups',
  log: '/home/service/log',
  rootPassword: '/etc/polyad/root',
  managedFiles: '/etc/polyad/config',
  members: '/etc/polyad/members',
  /** The whole data volume, for the guard. */
  volume: '/volume',
  /** The volume of the log, where it has one of its own. */
  raftVolume: '/raft-volume',
} as const;

export interface PodInputs {
  readonly cluster: ClusterObject;
  readonly spec: ClusterSpec;
  readonly image: string;
  readonly restartHash: string;
  readonly isReplicated: boolean;
}

export function podTemplate(inputs: PodInputs): JsonObject {
  const { cluster, spec } = inputs;
  const name = cluster.metadata.name;
  return {
    metadata: {
      labels: { ...spec.podMetadata.labels, ...ownedLabels(name) },
      annotations: {
        ...spec.podMetadata.annotations,
        [annotationKeys.restartHash]: inputs.restartHash,
      },
    },
    spec: compact({
      serviceAccountName: serviceAccountName(name, spec),
      automountServiceAccountToken: false,
      // Variables of services of the namespace would be taken for settings.
      enableServiceLinks: false,
      terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds,
      imagePullSecrets: spec.imagePullSecrets,
      nodeSelector: spec.nodeSelector,
      tolerations: spec.tolerations as unknown as Json | undefined,
      affinity: affinity(name, spec),
      topologySpreadConstraints: topologySpread(name, spec),
      priorityClassName: spec.priorityClassName,
      securityContext: (spec.podSecurityContext as JsonObject | undefined) ?? podSecurity,
      initContainers: [guard(inputs), ...((spec.initContainers ?? []) as readonly Json[])],
      containers: [server(inputs), ...((spec.sidecars ?? []) as readonly Json[])],
      volumes: volumes(inputs),
    }),
  };
}

function security(spec: ClusterSpec): JsonObject {
  return (spec.securityContext as JsonObject | undefined) ?? containerSecurity;
}

function server(inputs: PodInputs): JsonObject {
  const { spec, image, isReplicated } = inputs;
  return compact({
    name: serverContainerName,
    image,
    imagePullPolicy: spec.imagePullPolicy,
    args: spec.extraArgs,
    env: environment(inputs),
    envFrom: spec.envFrom as readonly Json[] | undefined,
    // What a server that refuses its settings said last becomes the cause in the conditions.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    ports: [
      { name: 'http', containerPort: spec.ports.http, protocol: 'TCP' },
      ...(spec.tls.http.enabled
        ? [{ name: 'https', containerPort: spec.ports.https, protocol: 'TCP' }]
        : []),
      { name: 'raft', containerPort: spec.ports.raft, protocol: 'TCP' },
      ...pluginPorts(spec).map(({ name, port }) => ({
        name,
        containerPort: port,
        protocol: 'TCP',
      })),
    ],
    startupProbe: probe(spec.probes.startup, '/api/v1/health', {
      // A server listens two seconds after its container started; who waits for it waits no longer.
      periodSeconds: 1,
      timeoutSeconds: 5,
      failureThreshold: 600,
    }),
    livenessProbe: probe(spec.probes.liveness, '/api/v1/health', {
      periodSeconds: 10,
      timeoutSeconds: 5,
      failureThreshold: 6,
    }),
    readinessProbe: probe(spec.probes.readiness, '/api/v1/ready', {
      periodSeconds: 5,
      timeoutSeconds: 3,
      failureThreshold: 3,
    }),
    ...(isReplicated ? { lifecycle: handOver(spec) } : undefined),
    resources: spec.resources as JsonObject | undefined,
    securityContext: security(spec),
    volumeMounts: [
      ...(['databases', 'config'] as const).map((directory) => ({
        name: 'data',
        mountPath: directories[directory],
        subPath: directory,
      })),
      {
        name: spec.storage.backups === undefined ? 'data' : 'backups',
        mountPath: directories.backups,
        subPath: 'backups',
      },
      ...(isReplicated ? groupMounts(spec) : []),
      { name: 'scratch', mountPath: directories.log, subPath: 'log' },
      { name: 'scratch', mountPath: '/tmp', subPath: 'tmp' },
      { name: 'root-password', mountPath: directories.rootPassword, readOnly: true },
      ...(servedSecret(inputs.cluster.metadata.name, spec) === undefined
        ? []
        : [{ name: 'tls', mountPath: tlsDirectory, readOnly: true }]),
      ...((spec.volumeMounts ?? []) as readonly Json[]),
    ],
  });
}

function groupMounts(spec: ClusterSpec): readonly Json[] {
  return [
    {
      name: spec.storage.raft === undefined ? 'data' : 'raft',
      mountPath: raftDirectory,
      subPath: 'raft',
    },
    { name: 'token', mountPath: tokenDirectory, readOnly: true },
    // Its pre-stop hook reads there whether all members end.
    { name: 'members', mountPath: directories.members, readOnly: true },
  ];
}

/** Before its pod ends a member hands the lead over; membership is the operator's matter (operator.md 5.4). */
function handOver(spec: ClusterSpec): JsonObject {
  const command = [
    'node',
    'operator/main.ts',
    'prestop',
    '--mode=handover',
    `--port=${spec.ports.http}`,
    `--password-file=${directories.rootPassword}/${rootPasswordKey}`,
  ];
  return { preStop: { exec: { command } } };
}

/** The user's probe replaces ours as a whole. */
function probe(given: unknown, path: string, timing: JsonObject): JsonObject {
  return (given as JsonObject | undefined) ?? { httpGet: { path, port: 'http' }, ...timing };
}

function environment({ cluster, spec, isReplicated }: PodInputs): readonly Json[] {
  const fixed: readonly Json[] = [
    {
      name: 'SERVICE_SERVER_NAME',
      valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } },
    },
    { name: 'SERVICE_SERVER_ROOT_PATH', value: directories.home },
    { name: 'SERVICE_SERVER_DATABASE_DIRECTORY', value: directories.databases },
    {
      name: 'SERVICE_SERVER_ROOT_PASSWORD_PATH',
      value: `${directories.rootPassword}/${rootPasswordKey}`,
    },
    { name: 'SERVICE_SERVER_HTTP_INCOMING_PORT', value: String(spec.ports.http) },
    { name: 'SERVICE_HA_K8S', value: 'true' },
  ];
  const heap: readonly Json[] =
    spec.heapPercent === 75
      ? []
      : [{ name: 'POLYAD_HEAP_PERCENT', value: String(spec.heapPercent) }];
  const https: readonly Json[] = spec.tls.http.enabled
    ? [
        { name: 'SERVICE_SSL_ENABLED', value: 'true' },
        { name: 'SERVICE_SSL_KEY_STORE', value: tlsDirectory },
        { name: 'SERVICE_SERVER_HTTPS_INCOMING_PORT', value: String(spec.ports.https) },
      ]
    : [];
  const replication: readonly Json[] = isReplicated
    ? Object.entries(replicationSettings(cluster, spec)).map(([key, value]) => ({
        name: variableOf(key),
        value,
      }))
    : [];
  const list = pluginList(spec);
  const plugins: readonly Json[] =
    list === undefined
      ? []
      : [
          { name: 'SERVICE_SERVER_PLUGINS', value: list },
          ...Object.entries(pluginSettings(spec)).map(([key, value]) => ({
            name: variableOf(key),
            value,
          })),
        ];
  const secrets = (spec.secretSettings ?? []).map(({ key, secretKeyRef }) => ({
    name: variableOf(key),
    valueFrom: { secretKeyRef },
  }));
  const own = (spec.env ?? []) as unknown as readonly Json[];
  return [...fixed, ...replication, ...https, ...heap, ...plugins, ...secrets, ...own];
}

/** Checks the volume, installs the managed files; see `operator/guard`. */
function guard({ spec, image, isReplicated }: PodInputs): JsonObject {
  return {
    name: guardContainerName,
    image,
    imagePullPolicy: spec.imagePullPolicy,
    command: ['node', 'operator/main.ts', 'guard'],
    env: [
      {
        name: 'POD_NAME',
        valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } },
      },
    ],
    terminationMessagePolicy: 'File',
    securityContext: security(spec),
    volumeMounts: [
      { name: 'data', mountPath: directories.volume },
      ...(isReplicated && spec.storage.raft !== undefined
        ? [{ name: 'raft', mountPath: directories.raftVolume }]
        : []),
      { name: 'managed-files', mountPath: directories.managedFiles, readOnly: true },
      { name: 'members', mountPath: directories.members, readOnly: true },
      { name: 'scratch', mountPath: '/tmp', subPath: 'tmp' },
    ],
  };
}

function volumes({ cluster, spec, isReplicated }: PodInputs): readonly Json[] {
  const { name } = cluster.metadata;
  const names = objectNames(name);
  const served = servedSecret(name, spec);
  const root = spec.auth.rootPassword ?? { secretName: names.root, key: rootPasswordKey };
  return [
    ...(spec.ephemeral ? [{ name: 'data', emptyDir: {} }] : []),
    { name: 'scratch', emptyDir: {} },
    {
      name: 'root-password',
      secret: {
        secretName: root.secretName,
        defaultMode: 0o440,
        items: [{ key: root.key, path: rootPasswordKey }],
      },
    },
    ...(served === undefined
      ? []
      : [{ name: 'tls', secret: { secretName: served.name, defaultMode: 0o440 } }]),
    ...(isReplicated
      ? [
          {
            name: 'token',
            secret: {
              secretName: names.tokenApplied,
              defaultMode: 0o440,
              items: [{ key: tokenKey, path: 'token' }],
            },
          },
        ]
      : []),
    { name: 'managed-files', configMap: { name: names.config } },
    { name: 'members', configMap: { name: names.members } },
    ...((spec.volumes ?? []) as readonly Json[]),
  ];
}

function affinity(name: string, spec: ClusterSpec): JsonObject | undefined {
  if (spec.affinity !== undefined) return spec.affinity as JsonObject;
  const term: JsonObject = {
    labelSelector: { matchLabels: selectorLabels(name) },
    topologyKey: 'kubernetes.io/hostname',
  };
  switch (spec.antiAffinity) {
    case 'None':
      return undefined;
    case 'Required':
      return { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    case 'Preferred':
      return {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: term }],
        },
      };
  }
}

function topologySpread(name: string, spec: ClusterSpec): readonly Json[] {
  return (
    (spec.topologySpreadConstraints as readonly Json[] | undefined) ?? [
      {
        maxSkew: 1,
        topologyKey: 'topology.kubernetes.io/zone',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: selectorLabels(name) },
      },
    ]
  );
}
