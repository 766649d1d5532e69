import { z } from 'zod';
import type { EventNote } from '../decision.ts';
import type { KubernetesObject } from '../kubernetes-object.ts';
import { backupDescriptions, backupSpec, conditions } from './backup.ts';

/*
 * `ScheduledBackup` (operator.md 3.8): makes Backups at times. Schedules inside the server are `Cluster.spec.backup`.
 */

const time = z.string().max(64).optional();
const history = z.int().min(0).max(1000);

export const scheduledBackupSpec = z.object({
  schedule: z.string().min(1).max(128),
  timezone: z.string().min(1).max(64).default('UTC'),
  suspend: z.boolean().default(false),
  immediate: z.boolean().default(false),
  concurrencyPolicy: z.enum(['Forbid', 'Replace']).default('Forbid'),
  successfulHistory: history.default(7),
  failedHistory: history.default(3),
  backupOwner: z.enum(['self', 'cluster', 'none']).default('self'),
  template: backupSpec,
});

export const scheduledBackupStatus = z.object({
  observedGeneration: z.int().meta({ format: 'int64' }).optional(),
  lastScheduleTime: time,
  nextScheduleTime: time,
  lastBackup: z.string().max(253).optional(),
  countedUntil: time,
  suspended: z.boolean().optional(),
  conditions,
});

export type ScheduledBackupSpec = z.output<typeof scheduledBackupSpec>;
export type ScheduledBackupStatus = z.output<typeof scheduledBackupStatus>;

/** A `ScheduledBackup` as the API server gives it. */
export interface ScheduledBackupObject extends KubernetesObject {
  readonly spec?: unknown;
  readonly status?: ScheduledBackupStatus;
}

/** A Backup that a schedule made. */
export interface MadeBackup {
  readonly name: string;
  readonly uid: string;
  readonly phase: string | undefined;
  readonly createdAtMs: number;
  readonly isDeleting: boolean;
}

/** What a decision about one ScheduledBackup is made from. */
export interface ScheduleView {
  readonly object: ScheduledBackupObject;
  readonly spec: ScheduledBackupSpec | undefined;
  readonly problem: string | undefined;
  readonly made: readonly MadeBackup[];
  /** The Cluster has a schedule of its own for the same archives. */
  readonly hasOtherSchedule: boolean;
}

export type ScheduleAction =
  | { readonly kind: 'make'; readonly name: string }
  | { readonly kind: 'delete'; readonly name: string; readonly uid: string };

export interface ScheduleDecision {
  readonly status: ScheduledBackupStatus;
  readonly action?: ScheduleAction;
  readonly events: readonly EventNote[];
  readonly againAfterMs: number | undefined;
}

const templateDescriptions = Object.entries(backupDescriptions).flatMap(([field, text]) =>
  field.startsWith('spec.') ? [[field.replace('spec.', 'spec.template.'), text] as const] : [],
);

export const scheduledBackupDescriptions: Readonly<Record<string, string>> = {
  spec: 'When to make Backups, and which',
  'spec.schedule': 'When, in five fields: minute, hour, day of the month, month, day of the week',
  'spec.timezone': 'Zone of the schedule, by its name in the time zone database',
  'spec.suspend': 'Makes none; what falls due meanwhile is not made up for',
  'spec.immediate': 'Makes one when this object is made too',
  'spec.concurrencyPolicy':
    'While the last one still runs: Forbid leaves one out, Replace deletes the one that runs',
  'spec.successfulHistory': 'How many Backups that succeeded are kept; older ones are deleted',
  'spec.failedHistory': 'How many Backups that failed are kept; older ones are deleted',
  'spec.backupOwner':
    'With what the Backups go: self, with this object; cluster, with the Cluster; none, with nothing',
  'spec.template': 'The spec of each Backup; a change counts from the next one on',
  ...Object.fromEntries(templateDescriptions),
  'status.observedGeneration': 'Generation that the status speaks for',
  'status.lastScheduleTime': 'The moment for which the last Backup was made',
  'status.nextScheduleTime': 'When the next one falls due',
  'status.lastBackup': 'Name of the last Backup',
  'status.countedUntil': 'What fell due until then was made or left out',
  'status.suspended': 'It was suspended when it was looked at last',
  'status.conditions':
    'Ready while it makes Backups; Stalled when it cannot; SpecWarnings when it may not be meant so',
  'status.conditions.type': 'Ready, Stalled or SpecWarnings',
  'status.conditions.status': 'True, False or Unknown',
  'status.conditions.reason': 'One word for machines',
  'status.conditions.message': 'A sentence for people',
  'status.conditions.lastTransitionTime': 'When its status changed',
  'status.conditions.observedGeneration': 'Generation that it speaks for',
};
