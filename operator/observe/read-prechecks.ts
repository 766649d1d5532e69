import type { PrecheckReport } from '../api/build.ts';
import type { ClusterObject } from '../api/cluster.ts';
import type { ContainerStatus, Job, Pod } from '../api/kubernetes-object.ts';
import { podProblem } from '../resources/pod-state.ts';
import { isPrecheck, precheckContainers } from '../resources/precheck-job.ts';
import type { ClusterReader } from './cluster-reader.ts';

/** What the pods of Jobs that try an image have said, by Job; of a Job whose pods are gone nothing is known. */
export async function readPrechecks(
  reader: ClusterReader,
  cluster: ClusterObject,
  jobs: readonly Job[],
): Promise<ReadonlyMap<string, PrecheckReport>> {
  const found = new Map<string, PrecheckReport>();
  const own = jobs.filter(({ metadata }) => isPrecheck(cluster, metadata.name));
  if (own.length === 0) return found;
  const { name, namespace } = cluster.metadata;
  const pods = (await reader.list('Pod', namespace, name)) as readonly Pod[];
  for (const { metadata } of own) {
    const isOfJob = (pod: Pod) =>
      pod.metadata.ownerReferences?.some(({ kind, uid }) => kind === 'Job' && uid === metadata.uid);
    const tries = pods.filter(isOfJob);
    if (tries.length > 0) found.set(metadata.name, reportOf(tries));
  }
  return found;
}

/** Of several tries the one that got furthest counts. */
function reportOf(tries: readonly Pod[]): PrecheckReport {
  const said = (name: string) =>
    tries
      .flatMap(({ status }) => [
        ...(status?.initContainerStatuses ?? []),
        ...(status?.containerStatuses ?? []),
      ])
      .find((container) => container.name === name && hasEndedWell(container))?.state?.terminated
      ?.message;
  return {
    present: said(precheckContainers.present),
    next: said(precheckContainers.next),
    problem: tries.map((pod) => podProblem(pod)?.message).find(Boolean),
  };
}

function hasEndedWell({ state }: ContainerStatus): boolean {
  return state?.terminated?.exitCode === 0;
}
