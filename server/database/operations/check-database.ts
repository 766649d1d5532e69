import type { ValueMap } from '#core/value.ts';
import type { CheckDatabase } from '#query/algebra/maintenance.ts';
import type { MaintenanceTask } from './task.ts';

export async function checkDatabase(
  _work: CheckDatabase,
  _task: MaintenanceTask,
): Promise<readonly ValueMap[]> {
  throw new Error('later');
}
