import { z } from 'zod';

/*
 * The schema of the chart's values (chart.md 7). `npm run generate` writes `chart/values.schema.json` from it, draft-07, which
 * both Helm versions read alike. Closed everywhere but in `global`, plugins, settings, extra objects and fragments of pods.
 * What a parent chart may null is nullable: Helm then leaves the default out.
 */

const fragment = () => z.looseObject({}).nullable();
const fragments = () => z.array(z.looseObject({})).nullable();
const texts = () => z.record(z.string(), z.string()).nullable();
/** Numbers are allowed where YAML turns a word into one. */
const text = () => z.union([z.string(), z.number()]).nullable();
const flag = () => z.boolean();
const port = () => z.int().min(1).max(65_535);
const quantity = () =>
  z.union([
    z.int().min(1),
    z.string().regex(/^[0-9]+(\.[0-9]+)?([KMGTPE]i|[kMGTPE]|[eE][0-9]+)?$/),
  ]);
const absolutePath = () => z.string().regex(/^\/[^\s:]*[^\s:/]$/);
const dnsName = () =>
  z.string().regex(/^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$/);
const settings = () =>
  z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).nullable();

const image = {
  registry: z.string().nullable().optional(),
  repository: z.string().nullable().optional(),
  tag: text().optional(),
  digest: z
    .string()
    .regex(/^(sha256:[0-9a-f]{64})?$/)
    .nullable()
    .optional(),
};
const pullPolicy = z.enum(['Always', 'IfNotPresent', 'Never']);
const pullSecrets = z
  .array(z.union([z.string(), z.strictObject({ name: z.string().min(1) })]))
  .nullable();

const secretKey = z.strictObject({
  name: dnsName().nullable().optional(),
  key: z.string().nullable().optional(),
});
const rootPassword = z.strictObject({
  secret: z
    .strictObject({ ...secretKey.shape, generatedName: dnsName().min(1).optional() })
    .optional(),
  generate: z.enum(['auto', 'lookup', 'job', 'none']).optional(),
});

const plugin = z
  .strictObject({
    enabled: z.boolean().optional(),
    port: port().nullable().optional(),
    class: z.string().nullable().optional(),
  })
  .nullable();

const product = z.strictObject({
  credentials: z.strictObject({ rootPassword: rootPassword.optional() }).optional(),
  databaseDirectory: absolutePath().optional(),
  configDirectory: absolutePath().optional(),
  raftStorageDirectory: absolutePath().optional(),
  backupDirectory: absolutePath().optional(),
  defaultDatabases: z.string().nullable().optional(),
  settings: settings().optional(),
  extraCommands: z.array(z.string()).nullable().optional(),
  extraEnvironment: z
    .array(
      z.strictObject({
        name: z.string().min(1),
        value: z.string().optional(),
        valueFrom: z.looseObject({}).optional(),
      }),
    )
    .nullable()
    .optional(),
  nodeOptions: z.string().nullable().optional(),
  plugins: z
    .record(z.string().regex(/^[a-z][-a-z0-9]{0,62}$/), plugin)
    .nullable()
    .optional(),
});

const http = z.strictObject({
  type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']).optional(),
  port: port().optional(),
  nodePort: port().nullable().optional(),
  annotations: texts().optional(),
  labels: texts().optional(),
  loadBalancerClass: z.string().nullable().optional(),
  loadBalancerIP: z.string().nullable().optional(),
  loadBalancerSourceRanges: z.array(z.string()).nullable().optional(),
  externalTrafficPolicy: z.enum(['Cluster', 'Local']).nullable().optional(),
  sessionAffinity: z.enum(['None', 'ClientIP']).nullable().optional(),
});

const ingress = z.strictObject({
  enabled: flag().optional(),
  className: z.string().nullable().optional(),
  annotations: texts().optional(),
  hosts: z
    .array(
      z.strictObject({
        host: z.string(),
        paths: z
          .array(
            z.strictObject({
              path: z.string().min(1),
              pathType: z.enum(['Prefix', 'Exact', 'ImplementationSpecific']).optional(),
            }),
          )
          .optional(),
      }),
    )
    .nullable()
    .optional(),
  tls: fragments().optional(),
});

const accessMode = z.enum(['ReadWriteOnce', 'ReadWriteOncePod', 'ReadWriteMany']);
const separateVolume = z
  .strictObject({
    enabled: flag().optional(),
    size: quantity().optional(),
    storageClass: dnsName().nullable().optional(),
    accessMode: accessMode.optional(),
  })
  .nullable();
const retention = z.enum(['Retain', 'Delete']);

const persistence = z.strictObject({
  enabled: flag().optional(),
  size: quantity().optional(),
  storageClass: dnsName().nullable().optional(),
  accessMode: accessMode.optional(),
  subPaths: flag().optional(),
  raft: separateVolume.optional(),
  backups: separateVolume.optional(),
  retentionPolicy: z
    .strictObject({ whenScaled: retention.optional(), whenDeleted: retention.optional() })
    .optional(),
});

const ha = z.strictObject({
  readinessRequiresHA: z.boolean().nullable().optional(),
  readinessMaxLag: z.int().min(0).optional(),
  clusterToken: z.strictObject({ secret: secretKey.optional() }).optional(),
  settings: settings().optional(),
  allowEphemeral: flag().optional(),
  tls: z
    .strictObject({
      enabled: flag().optional(),
      secretName: dnsName().nullable().optional(),
      mutualAuth: flag().optional(),
      certManager: z.strictObject({ issuerRef: fragment().optional() }).optional(),
    })
    .optional(),
});

const monitor = z.strictObject({
  enabled: flag().optional(),
  interval: z
    .string()
    .regex(/^[0-9]+(ms|s|m|h)$/)
    .optional(),
  labels: texts().optional(),
  basicAuth: fragment().optional(),
});

const metrics = z.strictObject({
  podMonitor: monitor.optional(),
  serviceMonitor: monitor.optional(),
  prometheusRule: z
    .strictObject({
      enabled: flag().optional(),
      labels: texts().optional(),
      rules: fragments().optional(),
    })
    .optional(),
  grafanaDashboard: z
    .strictObject({ enabled: flag().optional(), labels: texts().optional() })
    .optional(),
});

const serviceAccount = {
  create: flag().optional(),
  name: z.string().nullable().optional(),
  annotations: texts().optional(),
};

const scheduling = {
  nodeSelector: texts().optional(),
  tolerations: fragments().optional(),
  affinity: fragment().optional(),
  priorityClassName: z.string().nullable().optional(),
  podAnnotations: texts().optional(),
  podLabels: texts().optional(),
};

const operator = z.strictObject({
  replicas: z.int().min(0).max(9).optional(),
  leaderElection: flag().optional(),
  image: z
    .strictObject({ ...image, pullPolicy: z.union([pullPolicy, z.literal('')]).optional() })
    .optional(),
  defaultServerImage: z.string().nullable().optional(),
  watchNamespaces: z.array(dnsName().min(1)).nullable().optional(),
  clusterSelector: z.string().nullable().optional(),
  crds: z.strictObject({ install: flag().optional() }).optional(),
  rbac: z
    .strictObject({
      create: flag().optional(),
      aggregateRoles: flag().optional(),
      nodesAccess: flag().optional(),
      monitoringAccess: flag().optional(),
      snapshotAccess: flag().optional(),
    })
    .optional(),
  serviceAccount: z.strictObject(serviceAccount).optional(),
  resources: fragment().optional(),
  concurrency: z.int().min(1).max(1000).optional(),
  raftPollSeconds: z.int().min(1).max(3600).optional(),
  resyncSeconds: z.int().min(1).max(86_400).optional(),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).optional(),
  metrics: z
    .strictObject({
      enabled: flag().optional(),
      port: port().optional(),
      podMonitor: z.union([flag(), monitor]).optional(),
    })
    .optional(),
  networkPolicy: z.strictObject({ enabled: flag().optional() }).optional(),
  pdb: flag().optional(),
  ...scheduling,
});

const pod = {
  resources: fragment().optional(),
  livenessProbe: fragment().optional(),
  readinessProbe: fragment().optional(),
  startupProbe: fragment().optional(),
  podSecurityContext: fragment().optional(),
  securityContext: fragment().optional(),
  serviceAccount: z.strictObject({ ...serviceAccount, automount: flag().optional() }).optional(),
  topologySpreadConstraints: fragments().optional(),
  terminationGracePeriodSeconds: z.int().min(1).optional(),
  minReadySeconds: z.int().min(0).optional(),
  initContainers: fragments().optional(),
  sidecars: fragments().optional(),
  lifecycleHooks: fragment().optional(),
  volumes: fragments().optional(),
  volumeMounts: fragments().optional(),
  volumeClaimTemplates: fragments().optional(),
  ...scheduling,
};

/** Values as a user may give them. */
export const chartValues = z.strictObject({
  mode: z.enum(['statefulset', 'operator', 'cluster']).optional(),
  image: z
    .strictObject({
      ...image,
      pullPolicy: pullPolicy.optional(),
    })
    .optional(),
  imagePullSecrets: pullSecrets.optional(),
  nameOverride: dnsName().nullable().optional(),
  fullnameOverride: dnsName().nullable().optional(),
  clusterDomain: dnsName().min(1).optional(),
  replicaCount: z.int().min(1).max(99).optional(),
  polyad: product.optional(),
  service: z
    .strictObject({
      http: http.optional(),
      rpc: z.strictObject({ port: port().optional() }).optional(),
    })
    .optional(),
  ingress: ingress.optional(),
  gateway: z
    .strictObject({
      enabled: flag().optional(),
      parentRefs: fragments().optional(),
      hostnames: z.array(z.string()).nullable().optional(),
      annotations: texts().optional(),
    })
    .optional(),
  persistence: persistence.optional(),
  autoscaling: z
    .strictObject({
      enabled: flag().optional(),
      minReplicas: z.int().min(1).max(99).optional(),
      maxReplicas: z.int().min(1).max(99).optional(),
      targetCPUUtilizationPercentage: z.int().min(1).max(1000).optional(),
    })
    .optional(),
  ha: ha.optional(),
  tls: z
    .strictObject({
      enabled: flag().optional(),
      secretName: dnsName().nullable().optional(),
      port: port().optional(),
    })
    .optional(),
  preStop: z.strictObject({ mode: z.enum(['leave', 'handover', 'none']).optional() }).optional(),
  backup: fragment().optional(),
  mcp: fragment().optional(),
  keepObjects: flag().optional(),
  fromRelease: flag().optional(),
  pdb: z
    .strictObject({
      enabled: z.boolean().nullable().optional(),
      maxUnavailable: z.union([z.int().min(0), z.string().regex(/^[0-9]+%$/)]).optional(),
      unhealthyPodEvictionPolicy: z.enum(['IfHealthyBudget', 'AlwaysAllow']).optional(),
    })
    .optional(),
  networkPolicy: z.strictObject({ enabled: flag().optional() }).optional(),
  metrics: metrics.optional(),
  extraManifests: z
    .union([
      z.record(z.string(), z.union([z.looseObject({}), z.string()])),
      z.array(z.union([z.looseObject({}), z.string()])),
    ])
    .nullable()
    .optional(),
  tests: z.strictObject({ readOnly: flag().optional() }).optional(),
  disableLookups: flag().optional(),
  operator: operator.optional(),
  global: z.looseObject({}).nullable().optional(),
  ...pod,
});
