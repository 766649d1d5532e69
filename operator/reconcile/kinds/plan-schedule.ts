import { Cron } from 'croner';
import { mergeConditions } from '../../api/conditions.ts';
import type { WantedCondition } from '../../api/conditions.ts';
import type { EventNote } from '../../api/decision.ts';
import type {
  MadeBackup,
  ScheduleAction,
  ScheduleDecision,
  ScheduledBackupSpec,
  ScheduledBackupStatus,
  ScheduleView,
} from '../../api/kinds/scheduled-backup.ts';
import { scheduleProblem } from '../maintenance-window.ts';
import { unsupported } from './plan-backup.ts';
import { isFinished, iso } from './progress.ts';

/*
 * One ScheduledBackup. A Backup is named by the moment for which it is made, so it is made once however often that is tried. Of
 * what fell due while no operator ran, only the last one is made up for.
 */

const hourMs = 3_600_000;
/** Until what was just made or deleted is seen. */
const soonMs = 500;
/** How far back is looked for what fell due. */
const spansMs = [hourMs, 24 * hourMs, 32 * 24 * hourMs, 367 * 24 * hourMs, 1465 * 24 * hourMs];

interface Draft {
  readonly status: ScheduledBackupStatus;
  readonly conditions: readonly WantedCondition[];
  readonly action?: ScheduleAction | undefined;
  readonly events?: readonly EventNote[];
  readonly againAfterMs?: number | undefined;
}

export function planSchedule(seen: ScheduleView, now: number): ScheduleDecision {
  const { object } = seen;
  const before = object.status ?? {};
  if (object.metadata.deletionTimestamp !== undefined)
    return { status: before, events: [], againAfterMs: undefined };
  const { status, conditions, action, events = [], againAfterMs } = draftOf(seen, before, now);
  const generation = object.metadata.generation ?? 0;
  return {
    status: {
      ...status,
      observedGeneration: generation,
      conditions: mergeConditions(conditions, before.conditions ?? [], {
        now: iso(now),
        generation,
      }),
    },
    ...(action === undefined ? undefined : { action }),
    events,
    againAfterMs,
  };
}

function draftOf(seen: ScheduleView, before: ScheduledBackupStatus, now: number): Draft {
  const { spec } = seen;
  const problem = spec === undefined ? (seen.problem ?? 'spec is not valid') : problemOf(spec);
  if (spec === undefined || problem !== undefined) return refused(before, problem ?? '');
  const { nextScheduleTime: _, suspended, ...rest } = before;
  if (spec.suspend)
    return {
      status: { ...rest, suspended: true },
      conditions: [ready('Suspended', 'spec.suspend is true: no Backup is made')],
    };
  const created = Date.parse(seen.object.metadata.creationTimestamp ?? '') || now;
  const isNew = before.countedUntil === undefined;
  const from = suspended ? now : isNew ? created : Date.parse(before.countedUntil ?? '');
  const due = isNew && spec.immediate && !suspended ? created : lastDue(spec, from, now);
  if (due !== undefined) return make(seen, spec, { status: rest, due });
  return rest.countedUntil === undefined || suspended
    ? { ...waiting(seen, spec, { ...rest, countedUntil: iso(from) }, now) }
    : waiting(seen, spec, rest, now);
}

function refused(
  { nextScheduleTime: _, ...status }: ScheduledBackupStatus,
  message: string,
): Draft {
  const isNew = !status.conditions?.some(
    ({ type, message: told }) => type === 'Stalled' && told === message,
  );
  const words = { reason: 'InvalidSpec', message };
  return {
    status,
    conditions: [
      { type: 'Ready', status: 'False', ...words },
      { type: 'Stalled', status: 'True', ...words },
    ],
    events: isNew ? [{ type: 'Warning', reason: 'InvalidSpec', note: message }] : [],
  };
}

function problemOf(spec: ScheduledBackupSpec): string | undefined {
  const why = scheduleProblem(spec.schedule, 5, spec.timezone);
  if (why !== undefined) return `spec.schedule: '${spec.schedule}' is no schedule: ${why}`;
  return unsupported(spec.template, 'spec.template');
}

function ready(reason: string, message: string): WantedCondition {
  return { type: 'Ready', status: 'True', reason, message };
}

/** Nothing is due: what is kept too long goes. */
function waiting(
  { made, hasOtherSchedule }: ScheduleView,
  spec: ScheduledBackupSpec,
  status: ScheduledBackupStatus,
  now: number,
): Draft {
  const next = cronOf(spec).nextRun(new Date(now))?.getTime();
  const expired = expiredOf(made, spec);
  const conditions = [ready('Scheduled', `makes Backups by '${spec.schedule}' ${spec.timezone}`)];
  if (hasOtherSchedule && spec.template.method === 'Server')
    conditions.push({
      type: 'SpecWarnings',
      status: 'True',
      reason: 'TwoSchedules',
      message:
        'spec.backup of the Cluster makes archives in the same directories, and its retention deletes those of Backups too',
    });
  return {
    status: { ...status, ...(next === undefined ? undefined : { nextScheduleTime: iso(next) }) },
    conditions,
    ...(expired === undefined
      ? { againAfterMs: next === undefined ? undefined : next - now }
      : { action: deletionOf(expired), againAfterMs: soonMs }),
  };
}

function make(
  seen: ScheduleView,
  spec: ScheduledBackupSpec,
  { status, due }: { readonly status: ScheduledBackupStatus; readonly due: number },
): Draft {
  const { object, made } = seen;
  const name = `${object.metadata.name}-${iso(due).replace(/\D/g, '').slice(0, 12)}`;
  const counted = { ...status, countedUntil: iso(due) };
  const conditions = [ready('Scheduled', `makes Backups by '${spec.schedule}' ${spec.timezone}`)];
  if (made.some((backup) => backup.name === name))
    return {
      status: { ...counted, lastScheduleTime: iso(due), lastBackup: name },
      conditions,
      againAfterMs: 0,
    };
  const running = made.find(({ phase, isDeleting }) => !isFinished(phase) && !isDeleting);
  if (running !== undefined && spec.concurrencyPolicy === 'Forbid')
    return {
      status: counted,
      conditions,
      events: [
        {
          type: 'Warning',
          reason: 'BackupSkipped',
          note: `${name} is left out: ${running.name} still runs`,
        },
      ],
      againAfterMs: 0,
    };
  const action = running === undefined ? ({ kind: 'make', name } as const) : deletionOf(running);
  return { status, conditions, action, againAfterMs: soonMs };
}

function deletionOf({ name, uid }: MadeBackup): ScheduleAction {
  return { kind: 'delete', name, uid };
}

/** The oldest one beyond what is kept. */
function expiredOf(made: readonly MadeBackup[], spec: ScheduledBackupSpec): MadeBackup | undefined {
  const beyond = (phase: string, kept: number) =>
    made
      .filter((backup) => backup.phase === phase && !backup.isDeleting)
      .sort((a, b) => b.createdAtMs - a.createdAtMs || (a.name < b.name ? 1 : -1))
      .slice(kept)
      .at(-1);
  return beyond('Succeeded', spec.successfulHistory) ?? beyond('Failed', spec.failedHistory);
}

function cronOf({ schedule, timezone }: ScheduledBackupSpec): Cron {
  return new Cron(schedule, { paused: true, timezone });
}

/** The last moment after `from` and not after `now` that the schedule names. */
function lastDue(spec: ScheduledBackupSpec, from: number, now: number): number | undefined {
  const cron = cronOf(spec);
  for (const spanMs of spansMs) {
    const start = Math.max(from, now - spanMs);
    let last: number | undefined;
    for (let at = cron.nextRun(new Date(start)); at !== null && at.getTime() <= now; )
      [last, at] = [at.getTime(), cron.nextRun(at)];
    if (last !== undefined || start === from) return last;
  }
  return undefined;
}
