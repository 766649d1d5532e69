import type { Runtime } from '#core/runtime.ts';
import type { StorageEngine } from '#storage/engine.ts';
import type { DatabaseState } from '#transaction/database-state.ts';
import type { ProgressRegistry, ProgressReporter } from '../progress/progress-registry.ts';
import type { MaintenanceOrder } from '../statement/context.ts';
import type { MaterializedViews } from '../views/materialized-views.ts';
import type { UserChanges } from './change-user.ts';
import type { ChangeableSettings } from './alter-database.ts';

/** What maintenance needs of the database it works on. */
export interface MaintenanceRoom {
  readonly databaseName: string;
  readonly state: DatabaseState;
  readonly engine: StorageEngine;
  readonly runtime: Runtime;
  readonly progress: ProgressRegistry;
  readonly settings: ChangeableSettings;
  readonly views: MaterializedViews;
  /** `service.truncateBatchSize` */
  readonly truncateBatchSize: () => number;
  /** Absent: there are no users here. */
  readonly users?: UserChanges | undefined;
}

/** What long work is given. */
export interface MaintenanceTask {
  readonly order: MaintenanceOrder;
  readonly room: MaintenanceRoom;
  readonly progress: ProgressReporter;
}

/** Others have their turn. @throws when the statement is to end or somebody cancelled the operation */
export async function pauseOf({ order, progress }: MaintenanceTask): Promise<void> {
  progress.check();
  await order.pause();
}
