import type { BackupObject, BackupStatus } from '../../api/kinds/backup.ts';
import type { BackupAction } from '../../api/kinds/backup-view.ts';
import type { Log } from '../../api/runtime.ts';
import { MemberError } from '../../observe/database-client.ts';
import type { Observers } from '../../observe/observe-cluster.ts';
import { observeBackup } from '../../observe/kinds/observe-backup.ts';
import type { ObservedBackup } from '../../observe/kinds/observe-backup.ts';
import { isFinished } from '../../reconcile/kinds/progress.ts';
import { planBackup } from '../../reconcile/kinds/plan-backup.ts';
import { stableJson } from '../../resources/content-hash.ts';
import { streamJob } from '../../resources/stream-job.ts';
import { deleteTask, keepTask } from '../../resources/stream-tasks.ts';
import type { Actors } from '../actors.ts';
import type { EventRecorder } from '../event-recorder.ts';
import { setFinalizer } from '../set-finalizer.ts';
import { writeStatus } from '../write-status.ts';
import { dropJob, isOfEndingNamespace, makeJob } from './jobs.ts';
import type { LongCalls } from './long-calls.ts';

/** What the controllers of the kinds beside `Cluster` share. */
export interface KindContext extends Actors, Observers {
  readonly log: Log;
  readonly events: EventRecorder;
  readonly calls: LongCalls;
}

/** One look at one Backup. @returns when to look again, undefined at the next resync */
export async function lookAtBackup(
  backup: BackupObject,
  owner: string,
  context: KindContext,
): Promise<number | undefined> {
  const { calls, runtime, log, events } = context;
  const { begun, phase } = backup.status ?? {};
  // At rest nothing is asked.
  if (isFinished(phase) && backup.metadata.deletionTimestamp === undefined) return undefined;
  const call = begun && calls.of(owner, subjectOf(backup, begun.database));
  const observed = await observeBackup(backup, call, context);
  if (observed === undefined) return undefined;
  const {
    status,
    action,
    events: notes,
    againAfterMs,
  } = planBackup(observed.view, runtime.clock.now());
  const { name, namespace } = backup.metadata;
  if (action !== undefined) log.info({ backup: `${namespace ?? ''}/${name}` }, action.kind);
  if (stableJson(backup.status ?? {}) !== stableJson(status)) {
    await writeStatus(backup, status, context);
    for (const note of notes) await events.record(backup, note);
  }
  if (isFinished(status.phase)) calls.forget(owner);
  if (action !== undefined) await act(action, { backup, status, owner, observed, context });
  return againAfterMs;
}

interface Task {
  readonly backup: BackupObject;
  /** As it was just written. */
  readonly status: BackupStatus;
  readonly owner: string;
  readonly observed: ObservedBackup;
  readonly context: KindContext;
}

async function act(action: BackupAction, task: Task): Promise<void> {
  const { backup, owner, observed, context } = task;
  const { member, password } = observed;
  const { databases, calls } = context;
  switch (action.kind) {
    case 'set-finalizer':
      return setFinalizer(action.isPresent, backup, context);
    case 'begin':
      if (member === undefined) throw new MemberError(0, `${action.member} has no address yet`);
      calls.begin(owner, subjectOf(backup, action.database), () =>
        databases.triggerBackup(member, password, action.database),
      );
      return;
    case 'stream':
    case 'delete-streamed':
    case 'drop-job':
      return changeJob(action.kind, task);
    case 'delete-archives':
      if (member === undefined) throw new MemberError(0, `${action.member} has no address yet`);
      for (const { database, name } of backup.status?.files ?? [])
        await databases.deleteArchive(member, password, { database, name });
      return setFinalizer(false, backup, context);
  }
}

/** Another object of the same name begins anew. */
function subjectOf({ metadata }: BackupObject, database: string): string {
  return `${metadata.uid ?? ''} ${database}`;
}

/** The Job of what is begun, or of the deletion, is made or taken away. */
async function changeJob(
  kind: 'stream' | 'delete-streamed' | 'drop-job',
  { backup, status, observed, context }: Task,
): Promise<void> {
  const { spec, cluster } = observed.view;
  if (spec === undefined) return;
  const now = { ...backup, status };
  const { begun } = status;
  const members = cluster?.members ?? [];
  const task =
    kind === 'delete-streamed'
      ? deleteTask(now, spec)
      : begun && keepTask(now, spec, { begun, members });
  if (task === undefined) return;
  const job = streamJob(now, observed.job, task);
  if (kind === 'drop-job') return dropJob(job, context);
  try {
    await makeJob(job, context);
  } catch (error) {
    // Nothing is made in a namespace that ends, and nothing may hold its end up.
    if (kind !== 'delete-streamed' || !isOfEndingNamespace(error)) throw error;
    await setFinalizer(false, backup, context);
  }
}
