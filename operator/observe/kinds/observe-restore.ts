import type { BackupObject } from '../../api/kinds/backup.ts';
import type { CallState } from '../../api/kinds/backup-view.ts';
import { restoreSpec } from '../../api/kinds/restore.ts';
import type { RestoreObject, RestoreView } from '../../api/kinds/restore.ts';
import { MemberError } from '../database-client.ts';
import type { Member } from '../database-client.ts';
import type { Observers } from '../observe-cluster.ts';
import { parseKind } from './observe-backup.ts';
import { observeTarget } from './observe-target.ts';

/** One Restore with the world around it, and how to reach the leader. */
export interface ObservedRestore {
  readonly view: RestoreView;
  readonly leader: Member | undefined;
  readonly password: string;
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
  if (target === 'absent')
    return { view: { ...parts, ...unasked, cluster: undefined }, leader: undefined, password: '' };
  const { view: cluster, password = '' } = target;
  const leader = cluster.leader === undefined ? undefined : target.member(cluster.leader);
  const asked =
    leader && target.password ? await ask(restore, leader, password, observers) : unasked;
  return { view: { ...parts, ...asked, cluster }, leader, password };
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
