import { serverContainerName } from '../api/names.ts';
import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import type { Pod } from '../api/kubernetes-object.ts';
import type { ObservedCertificates } from '../api/observation.ts';
import { incarnationOf } from '../resources/pod-state.ts';
import { httpsKeys } from '../resources/replication.ts';
import { hostSuffix } from '../resources/server-list.ts';
import { settingOf } from '../resources/setting-variable.ts';
import type { Member, MemberTls } from './database-client.ts';

/** What the way to a member is told from. */
export interface Reach {
  readonly cluster: ClusterObject;
  readonly spec: ClusterSpec | undefined;
  readonly certificates: ObservedCertificates | undefined;
}

/**
 * The member of a pod, if the pod has an address. One that serves HTTPS is asked so, and must show a certificate of the Cluster:
 * with it go the password of root and every change of the group. Without an authority in the Secret there is nothing to hold
 * against it.
 */
export function memberOf(pod: Pod | undefined, reach: Reach): Member | undefined {
  const { spec } = reach;
  const host = pod?.status?.podIP;
  if (spec === undefined || pod === undefined || host === undefined || host === '')
    return undefined;
  const incarnation = incarnationOf(pod);
  const server = pod.spec?.containers?.find(({ name }) => name === serverContainerName);
  const isSecure = settingOf(server, httpsKeys.enabled) === 'true';
  const tls = isSecure ? tlsOf(pod, spec, reach) : undefined;
  if (tls === undefined) return { address: { host, port: spec.ports.http }, incarnation };
  // As the pod was started: what the spec says may be of tomorrow.
  const port = Number(settingOf(server, httpsKeys.port) ?? spec.ports.https);
  return { address: { host, port, tls }, incarnation };
}

function tlsOf(pod: Pod, spec: ClusterSpec, { cluster, certificates }: Reach) {
  const leaf = certificates?.leaf;
  if (leaf === undefined || leaf.problem !== undefined || leaf.authorities === '') return undefined;
  const host = `${pod.metadata.name}${hostSuffix(cluster, spec)}`;
  // A certificate of one's own for clients alone need not name the members.
  const tls: MemberTls = { authorities: leaf.authorities, names: [host, ...leaf.dnsNames] };
  return tls;
}
