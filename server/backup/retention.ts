import type { BackupPolicy, TieredRetention } from './config.ts';

/** An archive as retention sees it. */
export interface KeptBackup {
  readonly fileName: string;
  /** Epoch milliseconds. */
  readonly takenAt: number;
}

/**
 * The archives that go. The newest one never does. Pure.
 *
 * With tiers: per tier the most recent archive of each of its newest buckets stays; an archive stays when one tier keeps it.
 * Buckets are hours, days, ISO weeks, months and years of the server's time zone (contract 3, http-api.md 18.2).
 */
export function expiredBackups<T extends KeptBackup>(
  backups: readonly T[],
  retention: BackupPolicy['retention'],
): readonly T[] {
  const newestFirst = [...backups].sort(
    (a, b) => b.takenAt - a.takenAt || (a.fileName < b.fileName ? 1 : -1),
  );
  if ('maxFiles' in retention) return newestFirst.slice(Math.max(1, retention.maxFiles));
  const kept = new Set<T>(newestFirst.slice(0, 1));
  for (const tier of tiers) {
    const buckets = new Set<string>();
    const bucketMax = retention.tiered[tier.name];
    for (const backup of newestFirst) {
      const bucket = tier.bucket(new Date(backup.takenAt));
      if (buckets.has(bucket)) continue;
      if (buckets.size >= bucketMax) break;
      buckets.add(bucket);
      kept.add(backup);
    }
  }
  return newestFirst.filter((backup) => !kept.has(backup));
}

interface Tier {
  readonly name: keyof TieredRetention;
  readonly bucket: (date: Date) => string;
}

const tiers: readonly Tier[] = [
  { name: 'hourly', bucket: (date) => `${dayOf(date)} ${date.getHours()}` },
  { name: 'daily', bucket: dayOf },
  { name: 'weekly', bucket: weekOf },
  { name: 'monthly', bucket: (date) => `${date.getFullYear()}-${date.getMonth()}` },
  { name: 'yearly', bucket: (date) => String(date.getFullYear()) },
];

function dayOf(date: Date): string {
  return `${date.getFullYear()}-${date.getMonth()}-${date.getDate()}`;
}

/** The Thursday of an ISO week names it. */
function weekOf(date: Date): string {
  const daysToThursday = 3 - ((date.getDay() + 6) % 7);
  return dayOf(new Date(date.getFullYear(), date.getMonth(), date.getDate() + daysToThursday));
}
