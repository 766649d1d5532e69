import { parseSpec } from '../../api/cluster.ts';
import type { ClusterObject } from '../../api/cluster.ts';
import type { BackupObject } from '../../api/kinds/backup.ts';
import { scheduledBackupSpec } from '../../api/kinds/scheduled-backup.ts';
import type { ScheduledBackupObject, ScheduleView } from '../../api/kinds/scheduled-backup.ts';
import { labelKeys } from '../../api/names.ts';
import type { ClusterReader } from '../cluster-reader.ts';
import { parseKind } from './observe-backup.ts';

export interface ObservedSchedule {
  readonly view: ScheduleView;
  /** Undefined: there is none, or it belongs to another installation. */
  readonly cluster: ClusterObject | undefined;
}

/** @returns undefined when its Cluster belongs to another installation of the operator */
export async function observeSchedule(
  object: ScheduledBackupObject,
  { reader, identity }: { readonly reader: ClusterReader; readonly identity: string },
): Promise<ObservedSchedule | undefined> {
  const { spec, problem } = parseKind(scheduledBackupSpec, object);
  const { namespace, name } = object.metadata;
  const clusterName = spec?.template.clusterRef.name ?? '';
  const cluster = (await reader.get('Cluster', namespace, clusterName)) as
    | ClusterObject
    | undefined;
  const hidden = cluster === undefined && spec !== undefined;
  if (hidden && (await reader.getLive('Cluster', namespace, clusterName)) !== undefined)
    return undefined;
  const actor = cluster?.status?.operator;
  if (actor !== undefined && actor !== identity) return undefined;
  const backups = (await reader.list('Backup', namespace, clusterName)) as readonly BackupObject[];
  const made = backups
    .filter(({ metadata }) => metadata.labels?.[labelKeys.scheduledBy] === name)
    .map(({ metadata, status }) => ({
      name: metadata.name,
      uid: metadata.uid ?? '',
      phase: status?.phase,
      createdAtMs: Date.parse(metadata.creationTimestamp ?? '') || 0,
      isDeleting: metadata.deletionTimestamp !== undefined,
    }));
  const own = cluster === undefined ? undefined : parseSpec(cluster).spec;
  const hasOtherSchedule = own?.backup?.enabled === true;
  return { view: { object, spec, problem, made, hasOtherSchedule }, cluster };
}
