import { z } from 'zod';
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
export const fileShape = z.strictObject({
  version: z.literal(1).default(1),
  enabled: z.boolean().default(true),
  backupDirectory: z.string().min(1).max(1024).default('./backups'),
  defaults: policyShape.default({}),
  databases: z.record(z.string(), policyShape).default({}),
});

/** The file as it is written; `databases` are overrides. */
export type BackupConfig = z.infer<typeof fileShape>;
