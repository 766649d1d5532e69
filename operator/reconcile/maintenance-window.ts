import { Cron } from 'croner';
import type { ClusterSpec } from '../api/cluster-spec.ts';

type Windows = NonNullable<ClusterSpec['update']['maintenanceWindows']>;

/** Whether the moment lies in one of the windows. A window whose text is no schedule is never open; see `windowProblem`. */
export function isInMaintenanceWindow(windows: Windows, nowMs: number): boolean {
  return windows.some(({ cron, durationMinutes, timezone }) => {
    try {
      const schedule = new Cron(cron, { paused: true, timezone: timezone ?? 'UTC' });
      // The last start before now: the first one after now minus the length of the window.
      const start = schedule.nextRun(new Date(nowMs - durationMinutes * 60_000));
      return start !== null && start.getTime() <= nowMs;
    } catch {
      return false;
    }
  });
}

/** @returns a sentence that names the field and the text that is no schedule */
export function windowProblem(windows: Windows): string | undefined {
  for (const { cron, timezone } of windows) {
    const why = scheduleProblem(cron, 5, timezone);
    if (why !== undefined)
      return `spec.update.maintenanceWindows: '${cron}' is no schedule: ${why}`;
  }
  return undefined;
}

/** @returns a sentence that names the field of `spec.backup` and the text that is no schedule of six fields */
export function backupProblem(backup: ClusterSpec['backup']): string | undefined {
  const schedules = [
    ['defaults', backup?.defaults.schedule] as const,
    ...Object.entries(backup?.databases ?? {}).map(
      ([name, { schedule }]) => [`databases.${name}`, schedule] as const,
    ),
  ];
  for (const [field, schedule] of schedules) {
    if (schedule?.expression === undefined) continue;
    const why = scheduleProblem(schedule.expression, 6, undefined);
    if (why !== undefined)
      return `spec.backup.${field}.schedule.expression: '${schedule.expression}' is no schedule: ${why}`;
  }
  return undefined;
}

const countWords = { 5: 'five', 6: 'six' } as const;

/** @returns why the text is no schedule of that many fields */
export function scheduleProblem(
  text: string,
  fieldCount: 5 | 6,
  timezone: string | undefined,
): string | undefined {
  try {
    if (text.trim().split(/\s+/).length !== fieldCount)
      return `${countWords[fieldCount]} fields are needed`;
    new Cron(text, { paused: true, timezone: timezone ?? 'UTC' }).nextRun(new Date(0));
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
