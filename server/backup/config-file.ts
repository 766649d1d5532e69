import { z } from 'zod';
import { DatabaseError } from '#core/errors.ts';
import { merged } from './config.ts';
import { isPossibleCron } from './schedule.ts';

// The form of `config/backup.json`. Loaded when there is such a file: an idle server would hold some MB for zod.

const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day, HH:mm');
const timeWindow = z.strictObject({ start: timeOfDay, end: timeOfDay });
const expression = z.string().superRefine((text, context) => {
  try {
    isPossibleCron(text);
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

/**
 * Checks a configuration as it comes from a command.
 * @throws DatabaseError `IllegalArgument` naming the field
 */
export function parseBackupConfig(value: unknown): BackupConfig {
  const config = checkForm(value);
  const [impossible] = impossibleSchedules(config);
  if (impossible !== undefined) throw invalid(impossible);
  return config;
}

/**
 * What is said of each schedule that no date fulfils, such as 30 February. In a file it concerns its databases only (http-api.md
 * 18.2): they have no backups, the others do.
 */
export function impossibleSchedules(config: BackupConfig): readonly string[] {
  const places: readonly (readonly [string, string | undefined])[] = [
    ['defaults', config.defaults.schedule?.expression],
    ...Object.entries(config.databases).map(
      ([name, { schedule }]) => [`databases.${name}`, schedule?.expression] as const,
    ),
  ];
  return places
    .filter(([, expression]) => expression !== undefined && !isPossibleCron(expression))
    .map(
      ([place, text]) => `${place}.schedule.expression: no date fulfils the expression '${text}'`,
    );
}

function checkForm(value: unknown): BackupConfig {
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

/** As `parseBackupConfig`, from the text of a file, in which a schedule may be impossible. */
export function parseBackupText(text: string): BackupConfig {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalid(`it is no JSON (${cause instanceof Error ? cause.message : cause})`);
  }
  return checkForm(value);
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
