import type { DatabaseBackups } from '../api/observation.ts';

/** Databases that are asked about: what a status holds. */
export const databasesMax = 32;

interface ServerEvent {
  readonly time?: string;
  readonly type?: string;
  readonly component?: string;
  readonly db?: string | null;
  readonly message?: string;
}

/** What a member answered: the newest archive of each database, and its events since it started, oldest first. */
export interface BackupAnswers {
  readonly archives: ReadonlyMap<string, readonly { readonly lastModified?: number }[]>;
  readonly events: readonly ServerEvent[];
}

export function backupHistory({ archives, events }: BackupAnswers): readonly DatabaseBackups[] {
  return [...archives].map(([database, list]) => {
    const times = list.flatMap(({ lastModified }) => lastModified ?? []);
    const own = events.filter(
      ({ component, db }) => component === 'Auto-Backup' && db === database,
    );
    const last = own.at(-1);
    const failure = own.findLast(({ type }) => type === 'CRITICAL');
    const isFailing = last === undefined ? undefined : last === failure;
    return {
      database,
      succeededAtMs: times.length === 0 ? undefined : Math.max(...times),
      failedAtMs: timeOf(failure),
      isFailing,
      problem: isFailing ? last?.message : undefined,
    };
  });
}

/** Members print the time of their zone, which is UTC in our image. */
function timeOf(event: ServerEvent | undefined): number | undefined {
  const ms = Date.parse(`${event?.time?.replace(' ', 'T') ?? ''}Z`);
  return Number.isNaN(ms) ? undefined : ms;
}
