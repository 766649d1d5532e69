import type { ClusterObject } from '../../api/cluster.ts';
import type {
  ScheduleAction,
  ScheduledBackupObject,
  ScheduledBackupSpec,
} from '../../api/kinds/scheduled-backup.ts';
import type { KubernetesObject, OwnerReference } from '../../api/kubernetes-object.ts';
import { labelKeys } from '../../api/names.ts';
import { codeOf } from '../../kubernetes/kubernetes-error.ts';
import { observeSchedule } from '../../observe/kinds/observe-schedule.ts';
import { planSchedule } from '../../reconcile/kinds/plan-schedule.ts';
import { stableJson } from '../../resources/content-hash.ts';
import { writeStatus } from '../write-status.ts';
import type { KindContext } from './backup-controller.ts';

/** One look at one ScheduledBackup. @returns when to look again, undefined at the next resync */
export async function lookAtSchedule(
  object: ScheduledBackupObject,
  context: KindContext,
): Promise<number | undefined> {
  const { runtime, log, events, reader, facts } = context;
  const observed = await observeSchedule(object, { reader, identity: facts.identity });
  if (observed === undefined) return undefined;
  const decision = planSchedule(observed.view, runtime.clock.now());
  const { status, action, againAfterMs } = decision;
  if (stableJson(object.status ?? {}) !== stableJson(status))
    await writeStatus(object, status, context);
  for (const note of decision.events) await events.record(object, note);
  if (action !== undefined) {
    const { namespace, name } = object.metadata;
    log.info({ schedule: `${namespace ?? ''}/${name}`, backup: action.name }, action.kind);
    await act(action, { object, spec: observed.view.spec, cluster: observed.cluster, context });
  }
  return againAfterMs;
}

interface Task {
  readonly object: ScheduledBackupObject;
  readonly spec: ScheduledBackupSpec | undefined;
  readonly cluster: ClusterObject | undefined;
  readonly context: KindContext;
}

async function act(action: ScheduleAction, task: Task): Promise<void> {
  const { object, context } = task;
  const { namespace } = object.metadata;
  if (action.kind === 'delete')
    return context.api.delete(
      { kind: 'Backup', namespace, name: action.name },
      { uid: action.uid, propagation: 'background' },
    );
  try {
    // Not noted: the watch tells of it, and with that it is looked at.
    await context.api.create(backupOf(action.name, task));
  } catch (error) {
    // Named by its moment: it was made already, by us or by another instance.
    if (codeOf(error) !== 409) throw error;
  }
}

function backupOf(name: string, { object, spec, cluster }: Task): KubernetesObject {
  const { apiVersion, metadata } = object;
  const owner = { self: object, cluster, none: undefined }[spec?.backupOwner ?? 'none'];
  const labels = {
    [labelKeys.cluster]: spec?.template.clusterRef.name ?? '',
    [labelKeys.scheduledBy]: metadata.name,
  };
  return {
    apiVersion,
    kind: 'Backup',
    metadata: {
      name,
      ...(metadata.namespace === undefined ? undefined : { namespace: metadata.namespace }),
      labels,
      ...(owner === undefined ? undefined : { ownerReferences: [referenceTo(owner)] }),
    },
    spec: spec?.template,
  } as KubernetesObject;
}

/** Not as its controller, and it holds nobody's deletion up. */
function referenceTo({ apiVersion, kind, metadata }: KubernetesObject): OwnerReference {
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '' };
}
