import type { ClusterSpec } from '../api/cluster-spec.ts';
import { annotationKeys } from '../api/names.ts';
import { hotSettings } from '../api/setting-classes.ts';
import { contentHash } from './content-hash.ts';
import { pluginList, pluginSettings } from './plugins.ts';

/** Settings of the spec by what a change of them needs. */
export function settingsByClass(spec: ClusterSpec): {
  readonly hot: Readonly<Record<string, string>>;
  readonly restart: Readonly<Record<string, string>>;
} {
  const entries = Object.entries(spec.settings ?? {});
  return {
    hot: Object.fromEntries(entries.filter(([key]) => hotSettings.has(key))),
    restart: Object.fromEntries(entries.filter(([key]) => !hotSettings.has(key))),
  };
}

/**
 * Hash of what a user can change that needs a restart. It does not depend on how this version of the operator renders pods,
 * so an upgrade of the operator restarts no database (operator.md 10.8).
 */
export function restartHash(
  spec: ClusterSpec,
  image: string,
  annotations: Readonly<Record<string, string>>,
  isReplicated = false,
): string {
  return contentHash({
    image,
    imagePullPolicy: spec.imagePullPolicy,
    imagePullSecrets: spec.imagePullSecrets,
    settings: settingsByClass(spec).restart,
    plugins: pluginList(spec),
    pluginSettings: noneIfEmpty(pluginSettings(spec)),
    secretSettings: spec.secretSettings,
    extraArgs: spec.extraArgs,
    env: spec.env,
    envFrom: spec.envFrom,
    ports: spec.ports,
    rootPassword: spec.auth.rootPassword,
    // The content of the Secret is taken over live; another Secret is not.
    httpTls: spec.tls.http.enabled ? issuerOf(spec) : undefined,
    resources: spec.resources,
    nodeSelector: spec.nodeSelector,
    tolerations: spec.tolerations,
    affinity: spec.affinity,
    antiAffinity: spec.antiAffinity,
    topologySpreadConstraints: spec.topologySpreadConstraints,
    priorityClassName: spec.priorityClassName,
    podSecurityContext: spec.podSecurityContext,
    securityContext: spec.securityContext,
    serviceAccount: spec.serviceAccount,
    podMetadata: spec.podMetadata,
    volumes: spec.volumes,
    volumeMounts: spec.volumeMounts,
    initContainers: spec.initContainers,
    sidecars: spec.sidecars,
    terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds,
    probes: spec.probes,
    heapPercent: spec.heapPercent,
    // Absent without replication: members that earlier versions started keep their hash.
    replication: isReplicated ? replicationInputs(spec) : undefined,
    restart: annotations[annotationKeys.restart],
  });
}

/** What differs from the defaults of the first version with replication, so that a field added later changes no hash. */
function replicationInputs(spec: ClusterSpec): object {
  const changed = <T>(value: T, standard: T): T | undefined =>
    value === standard ? undefined : value;
  return {
    quorum: changed(spec.quorum, 'majority'),
    readConsistency: changed(spec.readConsistency, 'read_your_writes'),
    electionMinMs: changed(spec.electionTimeout.minMs, 2000),
    electionMaxMs: changed(spec.electionTimeout.maxMs, 5000),
    requiresHA: changed(spec.readiness.requiresHA, true),
    maxLag: changed(spec.readiness.maxLag, 100),
    token: spec.auth.clusterToken,
    raftTls: spec.tls.raft.enabled ? issuerOf(spec) : undefined,
    roles: spec.members?.filter(({ role }) => role === 'replica').map(({ ordinal }) => ordinal),
  };
}

function issuerOf({ tls }: ClusterSpec): string {
  if (tls.issuer.certManager !== undefined) return 'cert-manager';
  return tls.issuer.secretRef?.name ?? 'own';
}

/** A part that is empty stays out of the hash, as it was before the part existed. */
function noneIfEmpty<T extends object>(part: T): T | undefined {
  return Object.keys(part).length === 0 ? undefined : part;
}
