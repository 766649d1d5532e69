import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import type { Destination } from '../api/kinds/backup.ts';
import type {
  DesiredObject,
  Json,
  JsonObject,
  KubernetesObject,
} from '../api/kubernetes-object.ts';
import { labelKeys, managedByValue, objectNames, tokenKey } from '../api/names.ts';
import { servedSecret } from './certificates.ts';
import { contentHash } from './content-hash.ts';
import { compact, containerSecurity, podSecurity } from './pod-security.ts';
import { hostSuffix } from './server-list.ts';

/*
 * Jobs that move archives between members and places outside of their volumes (operator.md 3.8, 8.9). Each belongs to the Backup or
 * Restore that asks for it and goes with it; its name is made of what it does, so that it is made once.
 */

const keptSeconds = 3600;
const retriesMax = 2;
/** Nobody waits longer: a volume that cannot be attached, a storage that is away. */
const deadlineSeconds = 86_400;

/** What a Job needs to know of the Cluster that it works for. */
export interface JobCluster {
  readonly name: string;
  /** Undefined: it is gone, or makes no sense. */
  readonly cluster: ClusterObject | undefined;
  readonly spec: ClusterSpec | undefined;
  readonly image: string;
}

/** One thing to do. */
export type StreamTask =
  | {
      readonly kind: 'keep';
      readonly members: readonly string[];
      readonly database: string;
      readonly name: string;
      readonly verifies: boolean;
      readonly destination: Destination;
    }
  | {
      readonly kind: 'fetch';
      readonly source: Destination | { readonly url: string; readonly credentialsSecret: string };
      /** In the storage; not needed with an address. */
      readonly name?: string | undefined;
      readonly sha256?: string | undefined;
      /** Below the backup directory of the member. */
      readonly file: string;
      readonly member: string;
      readonly node: string | undefined;
      readonly attempt: number;
    }
  | {
      readonly kind: 'delete';
      readonly names: readonly string[];
      readonly destination: Destination;
    };

/** Of pods that a network policy lets in; not the labels of members. */
export function backupPodLabels(cluster: string): Readonly<Record<string, string>> {
  return { [labelKeys.name]: 'polyad-backup', [labelKeys.instance]: cluster };
}

/** @param owner the Backup or Restore */
export function streamJobName(owner: KubernetesObject, cluster: string, task: StreamTask): string {
  const what =
    task.kind === 'keep'
      ? task.name
      : task.kind === 'fetch'
        ? `${task.file} ${task.member} ${task.attempt}`
        : '';
  const hash = contentHash([owner.metadata.uid ?? '', task.kind, what]).slice(0, 12);
  return `${cluster}-backup-${hash}`;
}

export function streamJob(
  owner: KubernetesObject,
  target: JobCluster,
  task: StreamTask,
): DesiredObject {
  const { namespace } = owner.metadata;
  const labels = {
    ...backupPodLabels(target.name),
    [labelKeys.component]: 'backup',
    [labelKeys.managedBy]: managedByValue,
    [labelKeys.cluster]: target.name,
  };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: streamJobName(owner, target.name, task),
      ...(namespace === undefined ? undefined : { namespace }),
      labels,
      ownerReferences: [
        {
          apiVersion: owner.apiVersion,
          kind: owner.kind,
          name: owner.metadata.name,
          uid: owner.metadata.uid ?? '',
          controller: true,
        },
      ],
    },
    spec: {
      backoffLimit: retriesMax,
      activeDeadlineSeconds: deadlineSeconds,
      ttlSecondsAfterFinished: keptSeconds,
      template: { metadata: { labels }, spec: podSpec(target, task) },
    },
  };
}

function podSpec(target: JobCluster, task: StreamTask): JsonObject {
  const { spec } = target;
  const parts = [placeOf(task), ...(task.kind === 'fetch' ? [targetOf(target, task)] : [])];
  if (task.kind === 'keep') parts.push(...trustOf(target));
  return compact({
    restartPolicy: 'Never',
    // A volume that one node holds can be shared there, and nowhere else.
    nodeName: task.kind === 'fetch' ? task.node : undefined,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    imagePullSecrets: spec?.imagePullSecrets,
    tolerations: spec?.tolerations,
    securityContext: (spec?.podSecurityContext as JsonObject | undefined) ?? podSecurity,
    containers: [
      {
        name: 'backup',
        image: target.image,
        imagePullPolicy: spec?.imagePullPolicy ?? 'IfNotPresent',
        command: ['node', 'operator/main.ts', ...commandOf(target, task)],
        // What it said last becomes the cause in the conditions.
        terminationMessagePolicy: 'FallbackToLogsOnError',
        securityContext: (spec?.securityContext as JsonObject | undefined) ?? containerSecurity,
        resources: { requests: { cpu: '50m', memory: '128Mi' } },
        volumeMounts: [
          { name: 'scratch', mountPath: '/tmp' },
          ...parts.flatMap(({ mounts }) => mounts),
        ],
      },
    ],
    volumes: [{ name: 'scratch', emptyDir: {} }, ...parts.flatMap(({ volumes }) => volumes)],
  });
}

interface Part {
  readonly volumes: readonly Json[];
  readonly mounts: readonly Json[];
}

function commandOf({ cluster, spec }: JobCluster, task: StreamTask): readonly string[] {
  const flag = (name: string, value: string | undefined) =>
    value === undefined ? [] : [`--${name}=${value}`];
  const place = task.kind === 'fetch' ? task.source : task.destination;
  const storage =
    'url' in place
      ? flag('url', place.url)
      : [...flag('endpoint', place.s3?.endpoint), ...flag('bucket', place.s3?.bucket)];
  switch (task.kind) {
    case 'keep':
      return [
        'backup-stream',
        ...(cluster === undefined || spec === undefined
          ? []
          : task.members.flatMap((member) => flag('member', addressOf(cluster, spec, member)))),
        ...flag('database', task.database),
        ...flag('name', task.name),
        ...(task.verifies ? ['--verify=true'] : []),
        ...storage,
      ];
    case 'fetch':
      return [
        'fetch-archive',
        ...flag('name', 'url' in place ? undefined : task.name),
        ...flag('file', task.file),
        ...flag('digest', task.sha256),
        ...storage,
      ];
    case 'delete':
      return ['delete-archives', ...task.names.flatMap((name) => flag('name', name)), ...storage];
  }
}

/** The token goes over the line: where members serve HTTPS, over that. */
function addressOf(cluster: ClusterObject, spec: ClusterSpec, member: string): string {
  const host = `${member}${hostSuffix(cluster, spec)}`;
  return spec.tls.http.enabled
    ? `https://${host}:${spec.ports.https}`
    : `http://${host}:${spec.ports.http}`;
}

/** The token of the group, and whom to trust. */
function trustOf({ name, spec }: JobCluster): readonly Part[] {
  const served = spec?.tls.http.enabled ? servedSecret(name, spec) : undefined;
  const items = [{ key: tokenKey, path: 'token' }];
  const secretName = objectNames(name).tokenApplied;
  const part = (volume: string, mountPath: string, secret: JsonObject): Part => ({
    volumes: [{ name: volume, secret: { ...secret, defaultMode: 0o440 } }],
    mounts: [{ name: volume, mountPath, readOnly: true }],
  });
  return [
    part('token', '/etc/polyad/token', { secretName, items }),
    ...(served === undefined
      ? []
      : [
          part('authority', '/etc/polyad/authority', {
            secretName: served.name,
            items: [{ key: 'ca.crt', path: 'ca.crt' }],
          }),
        ]),
  ];
}

/** The place outside: a claim, or the credentials of a storage. */
function placeOf(task: StreamTask): Part {
  const place = task.kind === 'fetch' ? task.source : task.destination;
  const claim = 'url' in place ? undefined : place.persistentVolumeClaim;
  if (claim !== undefined)
    return {
      volumes: [{ name: 'archives', persistentVolumeClaim: { claimName: claim.name } }],
      mounts: [
        compact({
          name: 'archives',
          mountPath: '/archives',
          subPath: claim.path,
          readOnly: task.kind === 'fetch' ? true : undefined,
        }),
      ],
    };
  const secretName = ('url' in place ? place : place.s3)?.credentialsSecret ?? '';
  return {
    volumes: [{ name: 's3', secret: { secretName, defaultMode: 0o440 } }],
    mounts: [{ name: 's3', mountPath: '/etc/polyad/s3', readOnly: true }],
  };
}

/** The backup directory of the member that restores, on its volume. */
function targetOf({ name, spec }: JobCluster, task: { readonly member: string }): Part {
  const ordinal = Number(/\d+$/.exec(task.member)?.[0] ?? 0);
  const names = objectNames(name);
  const claimName =
    spec?.storage.backups === undefined ? names.dataClaim(ordinal) : names.backupsClaim(ordinal);
  return {
    volumes: [{ name: 'member', persistentVolumeClaim: { claimName } }],
    mounts: [{ name: 'member', mountPath: '/backups', subPath: backupSubPath(spec) ?? 'backups' }],
  };
}

/**
 * Where on its volume a member keeps archives.
 * @returns undefined when that is on no volume of its backups
 */
export function backupSubPath(spec: ClusterSpec | undefined): string | undefined {
  const parts = (spec?.backup?.directory ?? './backups')
    .split('/')
    .filter((part) => part !== '' && part !== '.');
  return parts[0] === 'backups' ? parts.join('/') : undefined;
}
