import type { WantedCondition } from '../api/conditions.ts';
import type { ClusterStatus } from '../api/cluster-status.ts';
import type { DatabaseBackups } from '../api/observation.ts';
import { note } from './pass.ts';
import type { Draft, Pass } from './pass.ts';

type Backups = NonNullable<ClusterStatus['backups']>;
type OfDatabase = NonNullable<Backups['perDatabase']>[number];

const iso = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

/** Takes over what the member said of its backups, and notes what is new. What it did not say stays as it was. */
export function noteBackups({ seen, previous, group }: Pass, draft: Draft): void {
  const { backups } = (group.leader ?? seen.members[0])?.view ?? {};
  if (backups === undefined) return;
  const before = previous.backups?.perDatabase ?? [];
  const perDatabase = backups.map((history) =>
    ofDatabase(
      history,
      before.find(({ name }) => name === history.database),
    ),
  );
  const lastSuccessful = latest(perDatabase.map((entry) => entry.lastSuccessful));
  const lastFailed = latest(perDatabase.map((entry) => entry.lastFailed));
  draft.backups = {
    ...draft.backups,
    ...(lastSuccessful === undefined ? undefined : { lastSuccessful }),
    ...(lastFailed === undefined ? undefined : { lastFailed }),
    ...(perDatabase.length === 0 ? undefined : { perDatabase }),
  };
  noteNews(previous.backups, draft, perDatabase);
}

function ofDatabase(history: DatabaseBackups, before: OfDatabase | undefined): OfDatabase {
  const { database, succeededAtMs, failedAtMs, isFailing, problem } = history;
  const lastSuccessful = succeededAtMs === undefined ? undefined : iso(succeededAtMs);
  const lastFailed = failedAtMs === undefined ? before?.lastFailed : iso(failedAtMs);
  // A member that started anew knows of no failure before; only a later success ends it.
  const isOldFailure =
    isFailing === undefined && (before?.lastFailed ?? '') > (lastSuccessful ?? '');
  const message = isFailing ? (problem ?? 'it failed') : isOldFailure ? before?.message : undefined;
  return {
    name: database,
    ...(lastSuccessful === undefined ? undefined : { lastSuccessful }),
    ...(lastFailed === undefined ? undefined : { lastFailed }),
    ...(message === undefined ? undefined : { message: message.slice(0, 512) }),
  };
}

function noteNews(
  before: Backups | undefined,
  draft: Draft,
  perDatabase: readonly OfDatabase[],
): void {
  const isLater = (now: string | undefined, then: string | undefined) => (now ?? '') > (then ?? '');
  const of = (name: string) => before?.perDatabase?.find((entry) => entry.name === name);
  const made = perDatabase.filter((entry) =>
    isLater(entry.lastSuccessful, of(entry.name)?.lastSuccessful),
  );
  const failed = perDatabase.filter((entry) =>
    isLater(entry.lastFailed, of(entry.name)?.lastFailed),
  );
  if (made.length > 0) note(draft, 'BackupSucceeded', made.map(({ name }) => name).join(', '));
  if (failed.length > 0)
    note(
      draft,
      'BackupFailed',
      failed.map(({ name, message }) => `${name}: ${message ?? 'it succeeded later'}`).join('; '),
      'Warning',
    );
}

function latest(times: readonly (string | undefined)[]): string | undefined {
  return times
    .filter((time) => time !== undefined)
    .sort()
    .at(-1);
}

/** Undefined while the Cluster asks for no backups. */
export function lastBackupCondition({ spec }: Pass, draft: Draft): WantedCondition | undefined {
  if (spec.backup?.enabled !== true) return undefined;
  const type = 'LastBackupSucceeded';
  const { perDatabase = [], lastSuccessful } = draft.backups ?? {};
  const failing = perDatabase.filter(({ message }) => message !== undefined);
  if (failing.length > 0) {
    const message = failing.map((entry) => `${entry.name}: ${entry.message ?? ''}`).join('; ');
    return { type, status: 'False', reason: 'BackupFailed', message };
  }
  return lastSuccessful === undefined
    ? { type, status: 'Unknown', reason: 'NoBackupYet', message: 'no backup is known yet' }
    : { type, status: 'True', reason: 'Succeeded', message: `last at ${lastSuccessful}` };
}
