import { isInMaintenanceWindow } from '../maintenance-window.ts';
import { lookAgain } from '../pass.ts';
import type { Draft, Pass } from '../pass.ts';

/** Why a member that serves is not restarted now, whatever the restart is for. */
export function reasonToWait(pass: Pass, draft: Draft): string | undefined {
  const { update } = pass.spec;
  if (draft.isCertificateUnfit) return `no member could start: ${draft.certificateProblem ?? ''}`;
  if (update.strategy === 'OnDelete')
    return 'spec.update.strategy is OnDelete: delete the pod to restart it';
  if (update.paused) return 'spec.update.paused holds restarts';
  const windows = update.maintenanceWindows ?? [];
  if (windows.length === 0 || isInMaintenanceWindow(windows, pass.nowMs)) return undefined;
  lookAgain(draft, 60_000);
  return 'waiting for a maintenance window of spec.update.maintenanceWindows';
}
