import { isAbsolute, join, relative } from 'node:path';
import { DatabaseError } from '#core/errors.ts';
import type { BackupConfig } from './config-form.ts';

// `config/backup.json` (contract 3, http-api.md 18.1). Unknown fields are refused, since a misspelt one would leave a database
// without backups and nobody would notice (house decision 42).

export interface TieredRetention {
  readonly hourly: number;
  readonly daily: number;
  readonly weekly: number;
  readonly monthly: number;
  readonly yearly: number;
}

/** What holds for one database, everything inherited. */
export interface BackupPolicy {
  readonly enabled: boolean;
  readonly runOnServer: string;
  readonly schedule:
    | { readonly type: 'frequency'; readonly frequencyMinutes: number }
    | { readonly type: 'cron'; readonly expression: string };
  /** Start and end as `HH:mm`, both inclusive; the end before the start wraps midnight. */
  readonly timeWindow: { readonly start: string; readonly end: string } | undefined;
  readonly retention: { readonly maxFiles: number } | { readonly tiered: TieredRetention };
  /** Settings of BACKUP DATABASE. */
  readonly settings: ReadonlyMap<string, number>;
}

const defaultTiers: TieredRetention = { hourly: 24, daily: 7, weekly: 4, monthly: 12, yearly: 3 };

/** What holds for a database (undefined: for those without entries of their own) before defaults. */
export function merged(config: BackupConfig, database: string | undefined) {
  const { defaults } = config;
  const own =
    database !== undefined && Object.hasOwn(config.databases, database)
      ? (config.databases[database] ?? {})
      : {};
  const schedule = { ...defaults.schedule, ...own.schedule };
  return { defaults, own, schedule };
}

/** What holds for a database. */
export function policyOf(config: BackupConfig, database: string): BackupPolicy {
  const { defaults, own, schedule } = merged(config, database);
  const settings = new Map<string, number>();
  for (const name of ['compressionLevel', 'compressionThreads', 'maxMBPerSecond'] as const) {
    const value = own[name] ?? defaults[name];
    if (value !== undefined) settings.set(name, value);
  }
  return {
    enabled: config.enabled && (own.enabled ?? defaults.enabled ?? true),
    runOnServer: own.runOnServer ?? defaults.runOnServer ?? '$leader',
    schedule:
      schedule.type === 'cron'
        ? { type: 'cron', expression: schedule.expression ?? '' }
        : { type: 'frequency', frequencyMinutes: schedule.frequencyMinutes ?? 60 },
    timeWindow: schedule.timeWindow,
    retention: retentionOf(own.retention, defaults.retention),
    settings,
  };
}

type Retention = BackupConfig['defaults']['retention'];

/** An override that names a number of files and no tiers means the number, whatever the defaults say. */
function retentionOf(own: Retention, defaults: Retention): BackupPolicy['retention'] {
  const isCounted = own?.maxFiles !== undefined && own.tiered === undefined;
  const tiered = isCounted ? undefined : (own?.tiered ?? defaults?.tiered);
  if (tiered === undefined) return { maxFiles: own?.maxFiles ?? defaults?.maxFiles ?? 10 };
  const inherited: NonNullable<NonNullable<Retention>['tiered']> =
    own?.tiered === undefined ? {} : (defaults?.tiered ?? {});
  const value = (tier: keyof TieredRetention): number =>
    tiered[tier] ?? inherited[tier] ?? defaultTiers[tier];
  return {
    tiered: {
      hourly: value('hourly'),
      daily: value('daily'),
      weekly: value('weekly'),
      monthly: value('monthly'),
      yearly: value('yearly'),
    },
  };
}

/**
 * The directory of a configuration, below the root path of the server.
 * @throws DatabaseError `IllegalArgument` naming it when it is absolute or leads out
 */
export function directoryBelow(rootPath: string, directory: string): string {
  const path = join(rootPath, directory);
  const leadsOut =
    isAbsolute(directory) ||
    /^[A-Za-z]:[\\/]/.test(directory) ||
    directory.split(/[\\/]/).includes('..') ||
    relative(rootPath, path).startsWith('..') ||
    directory.includes('\u0000');
  if (!leadsOut) return path;
  throw new DatabaseError(
    'IllegalArgument',
    `backupDirectory '${directory.replace(/[\u0000-\u001f]/g, '?')}' must be relative and stay below the root path of the server`,
  );
}
