import type { z } from 'zod';
import type { ClusterSpec } from '../../api/cluster-spec.ts';
import type { BackupObject, BackupSpec } from '../../api/kinds/backup.ts';
import { backupSpec } from '../../api/kinds/backup.ts';
import type { BackupView, CallState } from '../../api/kinds/backup-view.ts';
import type { KubernetesObject } from '../../api/kubernetes-object.ts';
import { streamJobName } from '../../resources/stream-job.ts';
import type { JobCluster } from '../../resources/stream-job.ts';
import { deleteTask, keepTask } from '../../resources/stream-tasks.ts';
import type { ClusterReader } from '../cluster-reader.ts';
import { MemberError } from '../database-client.ts';
import type { Member } from '../database-client.ts';
import type { Observers } from '../observe-cluster.ts';
import { observeJob } from './observe-job.ts';
import { observeTarget } from './observe-target.ts';
import type { Target } from './observe-target.ts';

/** One Backup with the world around it, and how to reach the member that makes its archives. */
export interface ObservedBackup {
  readonly view: BackupView;
  readonly member: Member | undefined;
  readonly password: string;
  /** What Jobs of it need. */
  readonly job: JobCluster;
}

/** @returns undefined when its Cluster belongs to another installation of the operator */
export async function observeBackup(
  backup: BackupObject,
  call: CallState | undefined,
  observers: Observers,
): Promise<ObservedBackup | undefined> {
  const { spec, problem } = parseKind(backupSpec, backup);
  const name = spec?.clusterRef.name;
  const { namespace } = backup.metadata;
  const target = name === undefined ? 'absent' : await observeTarget(observers, namespace, name);
  if (target === 'left-alone') return undefined;
  const job: JobCluster =
    typeof target === 'object'
      ? target.job
      : {
          name: name ?? '',
          cluster: undefined,
          spec: undefined,
          image: observers.facts.defaultServerImage,
        };
  const nothing = { isAnswering: false, databases: undefined, archives: undefined } as const;
  const parts = { backup, spec, problem, call, ...(await askJob(backup, spec, job, observers)) };
  if (target === 'absent')
    return {
      view: { ...parts, ...nothing, cluster: undefined, member: undefined },
      member: undefined,
      password: '',
      job,
    };
  const memberName = backup.status?.member ?? target.view.leader;
  const view = { ...parts, cluster: target.view, member: memberName };
  const { password = '' } = target;
  const member = memberName === undefined ? undefined : target.member(memberName);
  if (member === undefined || target.password === undefined)
    return { view: { ...view, ...nothing }, member: undefined, password, job };
  const asked = await ask(view, member, target, observers);
  return { view: { ...view, ...asked }, member, password, job };
}

/** The Job of what was begun, or of the deletion. */
async function askJob(
  backup: BackupObject,
  spec: BackupSpec | undefined,
  { name, spec: clusterSpec, cluster }: JobCluster,
  { reader }: Observers,
): Promise<Pick<BackupView, 'job' | 'obstacle'>> {
  const { metadata, status } = backup;
  const { namespace } = metadata;
  if (spec?.method !== 'Stream') return { job: undefined, obstacle: undefined };
  const isDeleting = metadata.deletionTimestamp !== undefined;
  const begun = status?.begun;
  const task = isDeleting
    ? deleteTask(backup, spec)
    : begun && keepTask(backup, spec, { begun, members: [] });
  const jobName = task && streamJobName(backup, name, task);
  const job = jobName && (await observeJob(reader, { namespace, cluster: name, name: jobName }));
  const isNews = !isDeleting && (job === undefined || job === '' || job.state === 'absent');
  const obstacle =
    isNews && cluster !== undefined
      ? await obstacleOf(spec, clusterSpec, { reader, namespace })
      : undefined;
  return { job: job === '' ? undefined : job, obstacle };
}

/** What a kubelet would wait for without a word. */
async function obstacleOf(
  { destination }: BackupSpec,
  clusterSpec: ClusterSpec | undefined,
  { reader, namespace }: { readonly reader: ClusterReader; readonly namespace: string | undefined },
): Promise<string | undefined> {
  if (!reader.canRead('Job', namespace)) return 'the operator may not make Jobs in this namespace';
  const secret = destination?.s3?.credentialsSecret;
  if (clusterSpec === undefined || secret === undefined) return undefined;
  return (await reader.getLive('Secret', namespace, secret)) === undefined
    ? `there is no Secret ${secret}`
    : undefined;
}

/** Only what the next step needs. */
async function ask(
  { backup }: Pick<BackupView, 'backup'>,
  member: Member,
  { password = '' }: Target,
  { databases }: Observers,
): Promise<Pick<BackupView, 'isAnswering' | 'databases' | 'archives'>> {
  const { phase, begun } = backup.status ?? {};
  try {
    const isAnswering = (await databases.isReady(member)) === true;
    const isNew = phase === undefined || phase === 'Pending';
    return {
      isAnswering,
      databases: isNew && isAnswering ? await databases.databaseNames(member, password) : undefined,
      archives:
        begun !== undefined && isAnswering
          ? await databases.archives(member, password, begun.database)
          : undefined,
    };
  } catch (error) {
    if (!(error instanceof MemberError)) throw error;
    return { isAnswering: false, databases: undefined, archives: undefined };
  }
}

/** @returns `problem`, a sentence that names the field, when the spec does not fit its schema */
export function parseKind<T>(
  schema: z.ZodType<T>,
  { spec }: KubernetesObject & { readonly spec?: unknown },
): { readonly spec: T | undefined; readonly problem: string | undefined } {
  const result = schema.safeParse(spec ?? {});
  if (result.success) return { spec: result.data, problem: undefined };
  const [issue] = result.error.issues;
  const field = ['spec', ...(issue?.path ?? [])].map(String).join('.');
  return { spec: undefined, problem: `${field}: ${issue?.message ?? 'is not valid'}` };
}
