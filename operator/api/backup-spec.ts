import { z } from 'zod';

/*
 * `spec.backup` becomes `config/backup.json` (contract document 3, backup scheduler). Overrides of single databases have
 * the same shape with everything optional and nothing defaulted, so that they inherit.
 */

const timeWindow = z.object({ start: z.string().max(5), end: z.string().max(5) });

const scheduleFields = {
  frequencyMinutes: z.int().min(1).max(527_040),
  expression: z.string().max(128).optional().describe('Six fields, second first'),
  timeWindow: timeWindow.optional(),
};

const kinds = z.enum(['frequency', 'cron']);
const count = (standard: number) => z.int().min(0).max(100_000).default(standard);
const optionalCount = z.int().min(0).max(100_000).optional();
const server = z.string().min(1).max(128);

const override = z.object({
  enabled: z.boolean().optional(),
  runOnServer: server.optional(),
  schedule: z
    .object({
      type: kinds.optional(),
      frequencyMinutes: scheduleFields.frequencyMinutes.optional(),
      expression: scheduleFields.expression,
      timeWindow: scheduleFields.timeWindow,
    })
    .optional(),
  retention: z
    .object({
      maxFiles: z.int().min(1).max(100_000).optional(),
      tiered: z
        .object({
          hourly: optionalCount,
          daily: optionalCount,
          weekly: optionalCount,
          monthly: optionalCount,
          yearly: optionalCount,
        })
        .optional(),
    })
    .optional(),
});

export const backupSpec = z.object({
  enabled: z.boolean().default(true),
  directory: z.string().min(1).max(255).default('./backups'),
  defaults: z
    .object({
      enabled: z.boolean().default(true),
      runOnServer: server.default('$leader').describe('$leader, $all or the name of a member'),
      schedule: z
        .object({
          type: kinds.default('frequency'),
          frequencyMinutes: scheduleFields.frequencyMinutes.default(60),
          expression: scheduleFields.expression,
          timeWindow: scheduleFields.timeWindow,
        })
        .prefault({}),
      retention: z
        .object({
          maxFiles: z.int().min(1).max(100_000).default(10),
          tiered: z
            .object({
              hourly: count(24),
              daily: count(7),
              weekly: count(4),
              monthly: count(12),
              yearly: count(3),
            })
            .prefault({}),
        })
        .prefault({}),
    })
    .prefault({}),
  databases: z.record(z.string(), override).meta({ maxProperties: 128 }).optional(),
});

export type BackupSpec = z.output<typeof backupSpec>;
