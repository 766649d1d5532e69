import type { JobState, StreamResult } from '../../api/kinds/backup-view.ts';
import type { Job, Pod } from '../../api/kubernetes-object.ts';
import { podProblem } from '../../resources/pod-state.ts';
import type { ClusterReader } from '../cluster-reader.ts';

export interface JobAddress {
  readonly namespace: string | undefined;
  /** The Cluster whose label it carries. */
  readonly cluster: string;
  readonly name: string;
}

/** @returns undefined where Jobs may not be read */
export async function observeJob(
  reader: ClusterReader,
  { namespace, cluster, name }: JobAddress,
): Promise<JobState | undefined> {
  if (!reader.canRead('Job', namespace)) return undefined;
  const jobs = (await reader.list('Job', namespace, cluster)) as readonly Job[];
  const job = jobs.find(({ metadata }) => metadata.name === name);
  if (job === undefined || job.metadata.deletionTimestamp !== undefined) return { state: 'absent' };
  const pods = (await reader.list('Pod', namespace, cluster)) as readonly Pod[];
  const own = pods.filter(({ metadata }) =>
    metadata.ownerReferences?.some(({ kind, uid }) => kind === 'Job' && uid === job.metadata.uid),
  );
  const said = (isGood: boolean) =>
    own
      .flatMap(({ status }) => status?.containerStatuses?.[0]?.state?.terminated ?? [])
      .find(({ exitCode }) => (exitCode === 0) === isGood)?.message;
  if (holds(job, 'Complete')) return { state: 'succeeded', result: resultOf(said(true)) };
  const why = said(false)?.trim().split('\n').at(-1);
  if (holds(job, 'Failed'))
    return { state: 'failed', message: why ?? `Job ${name} did not end well` };
  return { state: 'running', problem: own.map((pod) => podProblem(pod)?.message).find(Boolean) };
}

function holds({ status }: Job, type: string): boolean {
  return status?.conditions?.some((each) => each.type === type && each.status === 'True') ?? false;
}

function resultOf(message: string | undefined): StreamResult | undefined {
  try {
    return message === undefined ? undefined : (JSON.parse(message) as StreamResult);
  } catch {
    return undefined;
  }
}
