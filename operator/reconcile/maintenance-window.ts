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
    try {
      const fields = cron.trim().split(/\s+/);
      if (fields.length !== 5) throw new Error('five fields are needed');
      new Cron(cron, { paused: true, timezone: timezone ?? 'UTC' }).nextRun(new Date(0));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return `spec.update.maintenanceWindows: '${cron}' is no schedule: ${why}`;
    }
  }
  return undefined;
}
