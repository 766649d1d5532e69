import { parseSpec } from '../../api/cluster.ts';
import type { ClusterObject } from '../../api/cluster.ts';
import { conditionOf } from '../../api/conditions.ts';
import type { Pod } from '../../api/kubernetes-object.ts';
import type { ClusterView } from '../../api/kinds/backup-view.ts';
import { isReady } from '../../resources/pod-state.ts';
import type { JobCluster } from '../../resources/stream-job.ts';
import type { Member } from '../database-client.ts';
import { readSecrets } from '../observe-cluster.ts';
import type { Observers } from '../observe-cluster.ts';
import { readCertificates } from '../certificates.ts';
import { memberOf } from '../member-address.ts';

/** A Cluster that another object speaks of, and how its members are reached. */
export interface Target {
  readonly view: ClusterView;
  /** What Jobs that work for it need. */
  readonly job: JobCluster;
  readonly password: string | undefined;
  /** Undefined: it has no ready pod. */
  member(name: string): Member | undefined;
  nodeOf(name: string): string | undefined;
}

/** @returns `left-alone` when another installation of the operator cares for the Cluster */
export async function observeTarget(
  { reader, facts }: Observers,
  namespace: string | undefined,
  name: string,
): Promise<Target | 'absent' | 'left-alone'> {
  const found = (await reader.get('Cluster', namespace, name)) as ClusterObject | undefined;
  if (found === undefined) {
    // A selector may hide it from this installation.
    const hidden = await reader.getLive('Cluster', namespace, name);
    return hidden === undefined ? 'absent' : 'left-alone';
  }
  const { status = {}, metadata } = found;
  if (status.operator !== undefined && status.operator !== facts.identity) return 'left-alone';
  const { spec } = parseSpec(found);
  const pods = (await reader.list('Pod', namespace, name)) as readonly Pod[];
  const { password } = await readSecrets(found, spec, reader);
  const certificates = await readCertificates(found, spec, reader);
  return {
    view: {
      isDeleted: metadata.deletionTimestamp !== undefined,
      isAvailable:
        metadata.deletionTimestamp === undefined &&
        conditionOf(status.conditions, 'Available')?.status === 'True',
      leader: status.leader,
      members: (status.members ?? []).map((member) => member.name),
      hasSchedule: spec?.backup?.enabled === true,
    },
    job: {
      name,
      cluster: found,
      spec,
      image: status.image ?? spec?.image ?? facts.defaultServerImage,
    },
    password,
    nodeOf: (podName) => pods.find((one) => one.metadata.name === podName)?.spec?.nodeName,
    member(podName) {
      const pod = pods.find((one) => one.metadata.name === podName);
      return isReady(pod) ? memberOf(pod, { cluster: found, spec, certificates }) : undefined;
    },
  };
}
