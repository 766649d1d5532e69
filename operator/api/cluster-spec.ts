import { z } from 'zod';
import { backupSpec } from './backup-spec.ts';
import {
  containerResources,
  environmentVariable,
  keyInSecret,
  name,
  openList,
  openObject,
  probe,
  quantity,
  secretKey,
  secretName,
  textMap,
  toleration,
} from './pod-fragments.ts';

/*
 * `Cluster.spec` (operator.md 3.3). The custom resource definition is generated from this file and the operator parses
 * objects with it, so that defaults are the same whoever fills them in. What this version cannot do yet is part of the
 * schema and refused by the rules of `cel-rules.ts` when it differs from its default (house decision 60).
 *
 * No default inside list items: tools that compare lists with Git would report a difference for ever.
 */

const listMap = (...keys: readonly string[]) => ({
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
});
const set = { 'x-kubernetes-list-type': 'set' } as const;

const port = (standard: number) => z.int().min(1).max(65_535).default(standard);
const flag = (standard: boolean) => z.boolean().default(standard);
const seconds = (standard: number) => z.int().min(0).max(86_400).default(standard);

const authentication = z
  .object({
    rootPassword: secretKey
      .optional()
      .describe('Secret that holds the password of root; the operator makes one when absent'),
    clusterToken: secretKey.optional(),
  })
  .prefault({});

const tls = z
  .object({
    raft: z.object({ enabled: flag(true), mutualAuth: flag(true) }).prefault({}),
    http: z.object({ enabled: flag(false) }).prefault({}),
    issuer: z
      .object({
        selfManaged: z.object({}).optional(),
        secretRef: z.object({ name: secretName() }).optional(),
        certManager: z
          .object({
            issuerRef: z.object({
              name: name(),
              kind: z.string().max(63).optional(),
              group: z.string().max(253).optional(),
            }),
          })
          .optional(),
      })
      // As a whole, so that one that is given replaces it.
      .default({ selfManaged: {} }),
    caDays: z.int().min(1).max(36_500).default(3650),
    certDays: z.int().min(1).max(3650).default(90),
    renewBeforeDays: z.int().min(1).max(365).default(30),
    extraDnsNames: z.array(name()).max(32).meta(set).optional(),
  })
  .prefault({});

const separateVolume = z.object({ size: quantity(), storageClassName: name().optional() });

const storage = z
  .object({
    size: quantity().default('8Gi').describe('Size of the data volume; it can only grow'),
    storageClassName: name().optional().describe('Immutable; the default class when absent'),
    accessMode: z.enum(['ReadWriteOnce', 'ReadWriteOncePod']).default('ReadWriteOnce'),
    raft: separateVolume.optional(),
    backups: separateVolume.optional().describe('A volume of its own for backups; immutable'),
    whenScaled: z.enum(['Retain', 'Delete']).default('Retain'),
  })
  .prefault({});

const serviceTemplate = {
  port: z.int().min(1).max(65_535).optional(),
  annotations: textMap(64, 4096).optional(),
  labels: textMap(64, 63).optional(),
  loadBalancerClass: z.string().max(253).optional(),
  loadBalancerSourceRanges: z.array(z.string().max(64)).max(64).meta(set).optional(),
  externalTrafficPolicy: z.enum(['Cluster', 'Local']).optional(),
  type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']).default('ClusterIP'),
};

const services = z
  .object({
    http: z.object(serviceTemplate).prefault({}),
    readWrite: z.object({ enabled: flag(true), ...serviceTemplate }).prefault({}),
    readOnly: z.object({ enabled: flag(true), ...serviceTemplate }).prefault({}),
  })
  .prefault({});

const networkPolicy = z
  .object({
    enabled: flag(false),
    httpFrom: openList(32)
      .optional()
      .describe('Peers that may reach the HTTP port; all pods when absent'),
    extraIngress: openList(32).optional(),
  })
  .prefault({});

const monitor = z
  .object({
    enabled: flag(false),
    interval: z.string().max(16).default('30s'),
    labels: textMap(32, 63).optional(),
  })
  .prefault({});

const maintenanceWindow = z.object({
  cron: z.string().min(9).max(128).describe('Five fields: minute hour day month weekday'),
  durationMinutes: z.int().min(1).max(10_080),
  timezone: z.string().max(64).optional().describe('UTC when absent'),
});

const update = z
  .object({
    strategy: z.enum(['LeaderLast', 'OnDelete', 'Recreate']).default('LeaderLast'),
    minReadySeconds: z.int().min(0).max(3600).default(10),
    progressDeadlineSeconds: z.int().min(10).max(86_400).default(600),
    autoRollback: flag(true),
    canarySoakSeconds: seconds(60),
    backupFirst: flag(false),
    verify: z.enum(['None', 'AfterUpgrade']).default('AfterUpgrade'),
    verifyMaxBytes: quantity().default('10Gi'),
    tolerateUnhealthy: z.int().min(0).max(1).default(0),
    rollTemplate: flag(false),
    paused: flag(false),
    maintenanceWindows: z.array(maintenanceWindow).max(16).optional(),
    allowDowntime: flag(false),
  })
  .prefault({});

const disruption = z
  .object({
    pdb: z
      .object({
        enabled: flag(true),
        unhealthyPodEvictionPolicy: z
          .enum(['IfHealthyBudget', 'AlwaysAllow'])
          .default('IfHealthyBudget'),
      })
      .prefault({}),
  })
  .prefault({});

const recovery = z
  .object({
    lostVolume: z.enum(['Manual', 'Automatic']).default('Manual'),
    lostVolumeAfterSeconds: seconds(600),
    nodeGone: z.enum(['Wait', 'ForceDeleteWhenNodeObjectGone']).default('Wait'),
    quorum: z.object({ acknowledge: z.string().max(64), survivor: z.string().max(64) }).optional(),
  })
  .prefault({});

const pluginSlot = z
  .object({
    enabled: z.boolean(),
    port: z.int().min(1).max(65_535).optional(),
    settings: textMap(64).optional(),
  })
  .optional();

const plugins = z
  .object({
    gremlin: pluginSlot,
    postgres: pluginSlot,
    mongo: pluginSlot,
    redis: pluginSlot,
    prometheus: pluginSlot,
    custom: z
      .array(
        z.object({
          name: name(63),
          module: z.string().min(1).max(512),
          port: z.int().min(1).max(65_535),
          settings: textMap(64).optional(),
        }),
      )
      .max(16)
      .meta(listMap('name'))
      .optional(),
  })
  .prefault({});

const fromBackup = z.object({
  backupRef: z.object({ name: name() }).optional(),
  source: z
    .object({
      url: z.string().min(1).max(2048),
      credentialsSecret: secretName().optional(),
    })
    .optional(),
  databases: z.array(z.string().min(1).max(128)).max(256).meta(set).optional(),
  targetNames: textMap(256, 128).optional(),
});

const bootstrap = z
  .object({
    empty: z.object({ formation: z.enum(['Seed', 'Static']).default('Seed') }).optional(),
    fromBackup: fromBackup.optional(),
    fromVolumes: openObject().optional(),
    fromVolumeSnapshots: openObject().optional(),
    fromRelease: z.object({ statefulSet: name(63) }).optional(),
  })
  .optional();

const identity = {
  image: z.string().min(1).max(512).optional().describe('Image of the server; tag or digest'),
  imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent'),
  imagePullSecrets: z
    .array(z.object({ name: secretName() }))
    .max(8)
    .meta(listMap('name'))
    .optional(),
  version: z
    .string()
    .max(64)
    .optional()
    .describe('Version of the image, when its tag does not say'),
  clusterName: z
    .string()
    .min(1)
    .max(63)
    .optional()
    .describe('Immutable; metadata.name when absent'),
  clusterDomain: z.string().min(1).max(253).default('cluster.local').describe('Immutable'),
};

const membership = {
  replicas: z.int().min(1).max(9).meta({ format: 'int32' }).default(3),
  readReplicas: z.int().min(0).max(16).default(0),
  members: z
    .array(
      z.object({
        ordinal: z.int().min(0).max(8),
        role: z.enum(['any', 'replica']),
        priority: z.int().optional(),
      }),
    )
    .max(9)
    .meta(listMap('ordinal'))
    .optional(),
  quorum: z.enum(['majority', 'all']).default('majority'),
  readConsistency: z
    .enum(['eventual', 'read_your_writes', 'linearizable'])
    .default('read_your_writes'),
  electionTimeout: z
    .object({
      minMs: z.int().min(100).max(60_000).default(2000),
      maxMs: z.int().min(100).max(60_000).default(5000),
    })
    .prefault({}),
  readiness: z
    .object({ requiresHA: flag(true), maxLag: z.int().min(0).max(1_000_000).default(100) })
    .prefault({}),
  hibernate: flag(false).describe('No pods; data, names and Secrets stay'),
};

const configuration = {
  settings: textMap(128, 4096).optional().describe('Settings by full name, service.*'),
  secretSettings: z
    .array(
      z.object({
        key: z.string().min(1).max(128),
        secretKeyRef: z.object({ name: secretName(), key: keyInSecret() }),
      }),
    )
    .max(32)
    .meta(listMap('key'))
    .optional(),
  extraArgs: z.array(z.string().max(4096)).max(64).optional(),
  env: z.array(environmentVariable).max(64).meta(listMap('name')).optional(),
  envFrom: openList(64).optional(),
  plugins,
  mcp: openObject().optional(),
  ports: z.object({ http: port(2480), https: port(2490), raft: port(2434) }).prefault({}),
};

const pod = {
  resources: containerResources.optional(),
  nodeSelector: textMap(64, 63).optional(),
  tolerations: z.array(toleration).max(64).optional(),
  affinity: openObject().optional(),
  antiAffinity: z.enum(['Preferred', 'Required', 'None']).default('Preferred'),
  topologySpreadConstraints: openList(16).optional(),
  priorityClassName: z.string().max(253).optional(),
  podSecurityContext: openObject().optional(),
  securityContext: openObject().optional(),
  serviceAccount: z
    .object({
      create: flag(true),
      name: z.string().max(253).optional(),
      annotations: textMap(64, 4096).optional(),
    })
    .prefault({}),
  podMetadata: z
    .object({
      labels: textMap(64, 63).optional(),
      annotations: textMap(64, 4096).optional(),
    })
    .prefault({}),
  volumes: openList(32).optional(),
  volumeMounts: openList(32).optional(),
  initContainers: openList(8).optional(),
  sidecars: openList(8).optional(),
  terminationGracePeriodSeconds: z.int().min(1).max(86_400).default(120),
  probes: z
    .object({
      startup: probe.optional(),
      liveness: probe.optional(),
      readiness: probe.optional(),
    })
    .prefault({}),
  heapPercent: z.int().min(10).max(90).default(75),
  inheritedMetadata: z
    .object({
      labels: textMap(64, 63).optional(),
      annotations: textMap(64, 4096).optional(),
    })
    .prefault({}),
};

/** The whole spec with its defaults. */
export const clusterSpec = z.object({
  ...identity,
  ...membership,
  ...configuration,
  auth: authentication,
  tls,
  storage,
  deletionPolicy: z.enum(['Retain', 'Delete', 'BackupThenDelete']).default('Retain'),
  ephemeral: flag(false).describe('Data is lost with the pod; only for tests; immutable'),
  backup: backupSpec.optional().describe('Schedules of backups; no backup.json when absent'),
  services,
  networkPolicy,
  monitoring: z
    .object({ podMonitor: monitor, serviceMonitor: monitor, prometheusRule: monitor })
    .prefault({}),
  update,
  disruption,
  recovery,
  ...pod,
  bootstrap,
});

/** A spec as the operator works with it: defaults filled in. */
export type ClusterSpec = z.output<typeof clusterSpec>;

export type ServiceTemplate = ClusterSpec['services']['http'];
