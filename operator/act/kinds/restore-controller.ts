import type { RestoreCall, RestoreObject } from '../../api/kinds/restore.ts';
import { MemberError } from '../../observe/database-client.ts';
import { observeRestore } from '../../observe/kinds/observe-restore.ts';
import type { ObservedRestore } from '../../observe/kinds/observe-restore.ts';
import { planRestore } from '../../reconcile/kinds/plan-restore.ts';
import { isFinished } from '../../reconcile/kinds/progress.ts';
import { stableJson } from '../../resources/content-hash.ts';
import { writeStatus } from '../write-status.ts';
import type { KindContext } from './backup-controller.ts';

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
    const make = callOf(decision.call, observed, context);
    calls.begin(owner, subject, make);
  }
  return againAfterMs;
}

/** @throws MemberError when the leader has no address any more */
function callOf(
  call: RestoreCall,
  { leader, password }: ObservedRestore,
  { databases }: KindContext,
): () => Promise<string> {
  if (leader === undefined) throw new MemberError(0, 'the leader has no address yet');
  switch (call.kind) {
    case 'backup':
      return () => databases.triggerBackup(leader, password, call.database);
    case 'archive':
      return () => databases.restoreArchive(leader, password, call);
    case 'url':
      return () => databases.restoreUrl(leader, password, call);
  }
}
