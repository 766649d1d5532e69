import type { ClusterSpec } from '../../api/cluster-spec.ts';
import type { BackupObject, BackupSpec } from '../../api/kinds/backup.ts';
import type { CallState } from '../../api/kinds/backup-view.ts';
import { restoreSpec } from '../../api/kinds/restore.ts';
import type { RestoreObject, RestoreView } from '../../api/kinds/restore.ts';
import { backupSubPath, streamJobName } from '../../resources/stream-job.ts';
import type { JobCluster } from '../../resources/stream-job.ts';
import { fetchTask } from '../../resources/stream-tasks.ts';
import type { ClusterReader } from '../cluster-reader.ts';
import { MemberError } from '../database-client.ts';
import type { Member } from '../database-client.ts';
import type { Observers } from '../observe-cluster.ts';
import { parseKind } from './observe-backup.ts';
import { observeJob } from './observe-job.ts';
import { observeTarget } from './observe-target.ts';

/** One Restore with the world around it, and how to reach the leader. */
export interface ObservedRestore {
  readonly view: RestoreView;
  readonly leader: Member | undefined;
  readonly password: string;
  /** What Jobs of it need; undefined without a Cluster. */
  readonly job: JobCluster | undefined;
  readonly nodeOf: (member: string) => string | undefined;
}

/** @returns undefined when its Cluster belongs to another installation of the operator */
export async function observeRestore(
  restore: RestoreObject,
  call: CallState | undefined,
  observers: Observers,
): Promise<ObservedRestore | undefined> {
  const { spec, problem } = parseKind(restoreSpec, restore);
  const { namespace } = restore.metadata;
  const target =
    spec === undefined ? 'absent' : await observeTarget(observers, namespace, spec.clusterRef.name);
  if (target === 'left-alone') return undefined;
  const backupName = spec?.source.backupRef?.name;
  const backup = (backupName && (await observers.reader.get('Backup', namespace, backupName))) as
    | BackupObject
    | undefined;
  const parts = { restore, spec, problem, backup, call };
  const unasked = { existing: undefined, archives: undefined } as const;
  if (target === 'absent') {
    const view = { ...parts, ...unasked, cluster: undefined, job: undefined, obstacle: undefined };
    return { view, leader: undefined, password: '', job: undefined, nodeOf: () => undefined };
  }
  const { view: cluster, password = '' } = target;
  const leader = cluster.leader === undefined ? undefined : target.member(cluster.leader);
  const asked =
    leader && target.password ? await ask(restore, leader, password, observers) : unasked;
  const { job, nodeOf } = target;
  const jobs = await askJob(parts, job, observers.reader);
  return { view: { ...parts, ...asked, ...jobs, cluster }, leader, password, job, nodeOf };
}

/** The Job that was begun, or what would keep it from running. */
async function askJob(
  { restore, spec, backup }: Pick<RestoreView, 'restore' | 'spec' | 'backup'>,
  target: JobCluster,
  reader: ClusterReader,
): Promise<Pick<RestoreView, 'job' | 'obstacle'>> {
  const { begun } = restore.status ?? {};
  const kept = backup?.spec as Partial<BackupSpec> | undefined;
  const isFetched = kept?.method === 'Stream' || spec?.source.credentialsSecret !== undefined;
  if (spec === undefined || !isFetched) return { job: undefined, obstacle: undefined };
  const { namespace } = restore.metadata;
  const { source } = spec;
  const task = begun?.step === 'Fetch' ? fetchTask({ source, backup, begun, node: '' }) : undefined;
  const name = task && streamJobName(restore, target.name, task);
  const job = name && (await observeJob(reader, { namespace, cluster: target.name, name }));
  if (job !== undefined && job !== '' && job.state !== 'absent')
    return { job, obstacle: undefined };
  const secret = source.credentialsSecret ?? kept?.destination?.s3?.credentialsSecret;
  const isMissing =
    secret !== undefined && (await reader.getLive('Secret', namespace, secret)) === undefined;
  return {
    job: job === '' ? undefined : job,
    obstacle: isMissing ? `there is no Secret ${secret}` : volumeObstacle(target.spec),
  };
}

/** Why nothing can be brought to the volume of a member. */
function volumeObstacle(spec: ClusterSpec | undefined): string | undefined {
  if (spec === undefined) return 'the spec of the Cluster is not valid';
  const remedy = 'give spec.source.url without credentialsSecret instead';
  if (spec.ephemeral) return `members of an ephemeral Cluster have no volume: ${remedy}`;
  if (spec.storage.accessMode === 'ReadWriteOncePod')
    return `spec.storage.accessMode ReadWriteOncePod lets no Job to the volume: ${remedy}`;
  return backupSubPath(spec) === undefined
    ? `spec.backup.directory ${spec.backup?.directory ?? ''} is not on the volume of backups`
    : undefined;
}

/** Only what the next step needs. */
async function ask(
  { status = {} }: RestoreObject,
  leader: Member,
  password: string,
  { databases }: Observers,
): Promise<Pick<RestoreView, 'existing' | 'archives'>> {
  const { begun } = status;
  const replaced = status.databases?.find(({ name }) => name === begun?.name)?.as;
  try {
    if ((await databases.isReady(leader)) !== true)
      return { existing: undefined, archives: undefined };
    return {
      existing: await databases.databaseNames(leader, password),
      archives:
        begun?.step === 'Backup' && replaced !== undefined
          ? await databases.archives(leader, password, replaced)
          : undefined,
    };
  } catch (error) {
    if (!(error instanceof MemberError)) throw error;
    return { existing: undefined, archives: undefined };
  }
}
