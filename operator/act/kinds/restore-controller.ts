import type { RestoreCall, RestoreObject, RestoreStatus } from '../../api/kinds/restore.ts';
import { MemberError } from '../../observe/database-client.ts';
import { observeRestore } from '../../observe/kinds/observe-restore.ts';
import type { ObservedRestore } from '../../observe/kinds/observe-restore.ts';
import { planRestore } from '../../reconcile/kinds/plan-restore.ts';
import { isFinished } from '../../reconcile/kinds/progress.ts';
import { stableJson } from '../../resources/content-hash.ts';
import { streamJob } from '../../resources/stream-job.ts';
import { fetchTask } from '../../resources/stream-tasks.ts';
import { writeStatus } from '../write-status.ts';
import type { KindContext } from './backup-controller.ts';
import { makeJob } from './jobs.ts';

/** One look at one Restore. @returns when to look again, undefined at the next resync */
export async function lookAtRestore(
  restore: RestoreObject,
  owner: string,
  context: KindContext,
): Promise<number | undefined> {
  const { calls, runtime, log, events } = context;
  const { begun, phase } = restore.status ?? {};
  // At rest nothing is asked, and one that is being deleted begins nothing more.
  if (isFinished(phase) || restore.metadata.deletionTimestamp !== undefined) return undefined;
  const uid = restore.metadata.uid ?? '';
  const subjectOf = (name: string, step: string) => `${uid} ${step} ${name}`;
  const call = begun && calls.of(owner, subjectOf(begun.name, begun.step));
  const observed = await observeRestore(restore, call, context);
  if (observed === undefined) return undefined;
  const decision = planRestore(observed.view, runtime.clock.now());
  const { status, againAfterMs } = decision;
  if (stableJson(restore.status ?? {}) !== stableJson(status)) {
    await writeStatus(restore, status, context);
    for (const note of decision.events) await events.record(restore, note);
  }
  if (isFinished(status.phase)) calls.forget(owner);
  if (decision.call !== undefined && status.begun !== undefined) {
    const { namespace, name } = restore.metadata;
    log.info(
      { restore: `${namespace ?? ''}/${name}` },
      `${status.begun.step} ${status.begun.name}`,
    );
    const subject = subjectOf(status.begun.name, status.begun.step);
    if (decision.call.kind === 'fetch') {
      await bring(restore, status.begun, observed, context);
      return againAfterMs;
    }
    const make = callOf(decision.call, observed, context);
    calls.begin(owner, subject, make);
  }
  return againAfterMs;
}

/** The Job that brings the archive to the leader, on its node. */
async function bring(
  restore: RestoreObject,
  begun: NonNullable<RestoreStatus['begun']>,
  { view, job, nodeOf }: ObservedRestore,
  context: KindContext,
): Promise<void> {
  const { spec, backup } = view;
  const node = nodeOf(begun.member);
  const task = spec && fetchTask({ source: spec.source, backup, begun, node });
  if (task !== undefined && job !== undefined)
    await makeJob(streamJob(restore, job, task), context);
}

/** @throws MemberError when the leader has no address any more */
function callOf(
  call: Exclude<RestoreCall, { readonly kind: 'fetch' }>,
  { leader, password }: ObservedRestore,
  { databases }: KindContext,
): () => Promise<string> {
  if (leader === undefined) throw new MemberError(0, 'the leader has no address yet');
  switch (call.kind) {
    case 'backup':
      return () => databases.triggerBackup(leader, password, call.database);
    case 'archive':
      return async () => {
        const answer = await databases.restoreArchive(leader, password, call);
        const { database, fileName: name, isBrought } = call;
        // Left behind, it would be one archive more among those of the member.
        if (isBrought)
          await databases.deleteArchive(leader, password, { database, name }).catch(() => {});
        return answer;
      };
    case 'url':
      return () => databases.restoreUrl(leader, password, call);
  }
}
