import type { z } from 'zod';
import type { BackupObject } from '../../api/kinds/backup.ts';
import { backupSpec } from '../../api/kinds/backup.ts';
import type { BackupView, CallState } from '../../api/kinds/backup-view.ts';
import type { KubernetesObject } from '../../api/kubernetes-object.ts';
import { MemberError } from '../database-client.ts';
import type { Member } from '../database-client.ts';
import type { Observers } from '../observe-cluster.ts';
import { observeTarget } from './observe-target.ts';
import type { Target } from './observe-target.ts';

/** One Backup with the world around it, and how to reach the member that makes its archives. */
export interface ObservedBackup {
  readonly view: BackupView;
  readonly member: Member | undefined;
  readonly password: string;
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
  const nothing = { isAnswering: false, databases: undefined, archives: undefined } as const;
  const parts = { backup, spec, problem, call };
  if (target === 'absent')
    return {
      view: { ...parts, ...nothing, cluster: undefined, member: undefined },
      member: undefined,
      password: '',
    };
  const memberName = backup.status?.member ?? target.view.leader;
  const view = { ...parts, cluster: target.view, member: memberName };
  const { password = '' } = target;
  const member = memberName === undefined ? undefined : target.member(memberName);
  if (member === undefined || target.password === undefined)
    return { view: { ...view, ...nothing }, member: undefined, password };
  return { view: { ...view, ...(await ask(view, member, target, observers)) }, member, password };
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
