import { unreachable } from '#core/assert.ts';
import type { ValueMap } from '#core/value/value.ts';
import type { Maintenance } from '#query/algebra/maintenance.ts';
import type { ProgressReporter } from '../progress/progress-registry.ts';
import type { MaintenanceOrder } from '../statement/context.ts';
import { alterDatabase } from './alter-database.ts';
import { changeUser } from './change-user.ts';
import { checkDatabase } from './check/database.ts';
import { compactIndexes, rebuildIndexes } from './rebuild-index.ts';
import { rebuildType, repartitionType } from './rebuild-type.ts';
import type { MaintenanceRoom, MaintenanceTask } from './task.ts';
import { truncate } from './truncate.ts';

/**
 * Carries out a maintenance statement, in slices.
 * @returns its rows
 * @throws what `order.pause` throws, when the statement is to end; what was committed before stays
 */
export function maintain(
  work: Maintenance,
  order: MaintenanceOrder,
  room: MaintenanceRoom,
): Promise<readonly ValueMap[]> {
  switch (work.kind) {
    case 'alter-database':
      return alterDatabase(work, room.settings);
    case 'rebuild-index':
      return reported({ room, order }, 'rebuild index', (progress) =>
        rebuildIndexes(work, { order, room, progress }),
      );
    case 'compact-index':
      return reported({ room, order }, 'compact index', () =>
        compactIndexes(work, { order, room }),
      );
    case 'rebuild-type':
      return reported({ room, order }, 'rebuild type', (progress) =>
        rebuildType(work, { order, room, progress }),
      );
    case 'repartition':
      return reported({ room, order }, 'repartition', (progress) =>
        repartitionType(work, { order, room, progress }),
      );
    case 'truncate':
      return truncate(work, order, room);
    case 'check-database':
      return reported(
        { room, order },
        work.fix ? 'check database fix' : 'check database',
        (progress) => checkDatabase(work, { order, room, progress }),
      );
    case 'change-user':
      return changeUser(work, order, room.users);
    case 'create-view':
    case 'alter-view':
    case 'refresh-view':
    case 'drop-view':
      return room.views.perform(work, order);
    default:
      return unreachable(work);
  }
}

/** The work as an operation that `GET /progress` shows; cancelled there it ends at its next pause. */
async function reported<T>(
  { room, order }: Pick<MaintenanceTask, 'room' | 'order'>,
  operation: string,
  work: (progress: ProgressReporter) => Promise<T>,
): Promise<T> {
  const progress = room.progress.start({
    database: room.databaseName,
    operation,
    stepCount: 1,
    user: order.asker?.principal.name ?? '',
    requestId: order.asker?.requestId,
  });
  try {
    const result = await work(progress);
    progress.finish();
    return result;
  } catch (error) {
    progress.fail(error);
    throw error;
  }
}
