import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import type { ConfigMap, Pod, StatefulSet } from '../api/kubernetes-object.ts';
import { serverContainerName } from '../api/names.ts';
import { membersFile, parseMembersRecord } from './members-record.ts';
import { certificateKeys } from './certificates.ts';
import { hostSuffix } from './server-list.ts';

/** The variable by which a pod shows that it was started with replication. */
export const replicationVariable = 'SERVICE_HA_ENABLED';

const tlsVariable = 'SERVICE_HA_TLS_ENABLED';

/** Whether the member of a pod speaks TLS with the others; undefined without replication. */
export function speaksTls(pod: Pod): boolean | undefined {
  const env = pod.spec?.containers?.find(({ name }) => name === serverContainerName)?.env ?? [];
  const isOn = (variable: string) =>
    env.some(({ name, value }) => name === variable && value === 'true');
  return isOn(replicationVariable) ? isOn(tlsVariable) : undefined;
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
  const server = given.statefulSet?.spec?.template?.spec?.containers?.find(
    ({ name }) => name === serverContainerName,
  );
  return server?.env === undefined || server.env.some(({ name }) => name === replicationVariable);
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
