import { isAbsolute, join, relative } from 'node:path';
import { z } from 'zod';
import { DatabaseError } from '#core/errors.ts';
import { cronSchedule } from './schedule.ts';

// `config/backup.json` (contract 3, http-api.md 18.1). Unknown fields are refused, since a misspelt one would leave a database
// without backups and nobody would notice (house decision 42).

const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day, HH:mm');
const timeWindow = z.strictObject({ start: timeOfDay, end: timeOfDay });
const expression = z.string().superRefine((text, context) => {
  try {
    cronSchedule(text);
  } catch (error) {
    context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : '' });
  }
});
const count = z.int().min(0).max(100_000);

const scheduleShape = z.strictObject({
  type: z.enum(['frequency', 'cron']).optional(),
  frequencyMinutes: z.int().min(1).max(527_040).optional(),
  expression: expression.optional(),
  timeWindow: timeWindow.optional(),
});
const tieredShape = z.strictObject({
  hourly: count.optional(),
  daily: count.optional(),
  weekly: count.optional(),
  monthly: count.optional(),
  yearly: count.optional(),
});
const policyShape = z.strictObject({
  enabled: z.boolean().optional(),
  runOnServer: z.string().min(1).max(128).optional(),
  schedule: scheduleShape.optional(),
  retention: z
    .strictObject({
      maxFiles: z.int().min(1).max(100_000).optional(),
      tiered: tieredShape.optional(),
    })
    .optional(),
  compressionLevel: z.int().min(0).max(9).optional(),
  compressionThreads: z.int().min(0).max(1024).optional(),
  maxMBPerSecond: z.int().min(0).max(1_000_000).optional(),
});
const fileShape = z.strictObject({
  version: z.literal(1).default(1),
  enabled: z.boolean().default(true),
  backupDirectory: z.string().min(1).max(1024).default('./backups'),
  defaults: policyShape.default({}),
  databases: z.record(z.string(), policyShape).default({}),
});

/** The file as it is written; `databases` are overrides. */
export type BackupConfig = z.infer<typeof fileShape>;

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

/**
 * Checks a configuration as it comes from a file or a command.
 * @throws DatabaseError `IllegalArgument` naming the field
 */
export function parseBackupConfig(value: unknown): BackupConfig {
  const parsed = fileShape.safeParse(value);
  if (parsed.success) {
    requireExpressions(parsed.data);
    return parsed.data;
  }
  const [issue] = parsed.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  const path = [...(issue?.path ?? []), ...(unknown === undefined ? [] : [unknown])].join('.');
  const reason = unknown === undefined ? issue?.message : 'unknown field';
  throw invalid(
    path === '' ? `it is no object of the expected form (${reason})` : `${path}: ${reason}`,
  );
}

/** As `parseBackupConfig`, from the text of a file. */
export function parseBackupText(text: string): BackupConfig {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalid(`it is no JSON (${cause instanceof Error ? cause.message : cause})`);
  }
  return parseBackupConfig(value);
}

function invalid(reason: string): DatabaseError {
  return new DatabaseError('IllegalArgument', `invalid backup configuration: ${reason}`);
}

function requireExpressions(config: BackupConfig): void {
  for (const name of [undefined, ...Object.keys(config.databases)]) {
    const { schedule } = merged(config, name);
    if (schedule.type !== 'cron' || schedule.expression !== undefined) continue;
    const where = name === undefined ? 'defaults' : `databases.${name}`;
    throw invalid(`${where}.schedule.expression: a schedule of type 'cron' needs it`);
  }
}

function merged(config: BackupConfig, database: string | undefined) {
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
  const inherited: z.infer<typeof tieredShape> =
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
    `backup directory '${directory.replace(/[\u0000-\u001f]/g, '?')}' must be relative and stay below the root path of the server`,
  );
}
