import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import type { ConfigMap, Pod, StatefulSet } from '../api/kubernetes-object.ts';
import { serverContainerName } from '../api/names.ts';
import { membersFile, parseMembersRecord } from './members-record.ts';
import { certificateKeys } from './certificates.ts';
import { hostSuffix } from './server-list.ts';
import { settingOf, variableOf } from './setting-variable.ts';
import type { ServerContainer } from './setting-variable.ts';

const enabledKey = 'service.ha.enabled';
const tlsKey = 'service.ha.tls.enabled';
/** How a pod serves HTTPS. */
export const httpsKeys = {
  enabled: 'service.ssl.enabled',
  port: 'service.server.httpsIncomingPort',
} as const;

/** Variables of a running pod that decide something; of the others nothing is read. */
export const decidingVariables: ReadonlySet<string> = new Set(
  [enabledKey, tlsKey, httpsKeys.enabled, httpsKeys.port].map(variableOf),
);

function serverOf(spec: Pod['spec']): ServerContainer | undefined {
  return spec?.containers?.find(({ name }) => name === serverContainerName);
}

/** Whether a pod was started with replication: by this operator, or by a release of the chart. */
export function replicates(pod: Pod['spec']): boolean {
  return settingOf(serverOf(pod), enabledKey) === 'true';
}

/** Whether the member of a pod speaks TLS with the others; undefined without replication. */
export function speaksTls(pod: Pod): boolean | undefined {
  return replicates(pod.spec) ? settingOf(serverOf(pod.spec), tlsKey) === 'true' : undefined;
}

/** Where a member keeps its Raft log, and finds the token of its Cluster. */
export const raftDirectory = '/home/service/raft';
export const tokenDirectory = '/etc/polyad/token';

/** Certificate, key and authority, for HTTPS and for the connections between members. */
export const tlsDirectory = '/etc/polyad/tls';

/**
 * Whether the members of a Cluster replicate. New ones do, also with one member, which then grows without a restart. One that an
 * earlier version made with one member goes on as it is until it is asked to grow.
 */
export function isReplicated(
  spec: ClusterSpec,
  given: {
    readonly membersRecord: ConfigMap | undefined;
    readonly statefulSet: StatefulSet | undefined;
  },
): boolean {
  if (spec.replicas + spec.readReplicas > 1) return true;
  const record = parseMembersRecord(given.membersRecord?.data?.[membersFile]);
  if (record !== undefined) return record.replicated === true;
  const { spec: pod } = given.statefulSet?.spec?.template ?? {};
  const server = serverOf(pod);
  return (server?.env === undefined && server?.args === undefined) || replicates(pod);
}

/** The settings of replication, by name; those that only restart a member when they change. */
export function replicationSettings(
  cluster: ClusterObject,
  spec: ClusterSpec,
): Readonly<Record<string, string>> {
  return {
    'service.ha.enabled': 'true',
    'service.ha.autoJoin': 'false',
    'service.ha.k8sSuffix': hostSuffix(cluster, spec),
    'service.ha.raftPort': String(spec.ports.raft),
    'service.ha.raftStorageDirectory': raftDirectory,
    'service.ha.clusterTokenPath': `${tokenDirectory}/token`,
    'service.ha.clusterName': spec.clusterName ?? cluster.metadata.name,
    'service.ha.quorum': spec.quorum,
    'service.ha.readConsistency': spec.readConsistency,
    'service.ha.electionTimeoutMin': String(spec.electionTimeout.minMs),
    'service.ha.electionTimeoutMax': String(spec.electionTimeout.maxMs),
    'service.server.readinessRequiresHA': String(spec.readiness.requiresHA),
    'service.server.readinessHAMaxLag': String(spec.readiness.maxLag),
    ...(spec.tls.raft.enabled ? raftTlsSettings(spec) : undefined),
  };
}

/** Members take changed files over by themselves. */
function raftTlsSettings({ tls }: ClusterSpec): Readonly<Record<string, string>> {
  return {
    'service.ha.tls.enabled': 'true',
    'service.ha.tls.certChainFile': `${tlsDirectory}/${certificateKeys.certificate}`,
    'service.ha.tls.privateKeyFile': `${tlsDirectory}/${certificateKeys.key}`,
    'service.ha.tls.trustCertCollectionFile': `${tlsDirectory}/${certificateKeys.authority}`,
    'service.ha.tls.mutualAuth': String(tls.raft.mutualAuth),
  };
}
