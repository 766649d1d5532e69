import { conditionDescriptions } from './condition-descriptions.ts';
import { z } from 'zod';
import type { EventNote } from '../decision.ts';
import type { KubernetesObject } from '../kubernetes-object.ts';
import { secretName } from '../pod-fragments.ts';
import { clusterRef, conditions, databaseName, databasesMax } from './backup.ts';
import type { BackupObject } from './backup.ts';
import type { Archive, CallState, ClusterView, JobState } from './backup-view.ts';

/*
 * `Restore` (operator.md 3.8): databases made of archives, once. Its spec never changes; it is no field of `Cluster`, which a
 * tool would apply again and again.
 */

const time = z.string().max(64).optional();
const list = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] };

export const restoreSpec = z.object({
  clusterRef,
  source: z.object({
    backupRef: z.object({ name: z.string().min(1).max(253) }).optional(),
    url: z.string().min(1).max(2048).optional(),
    credentialsSecret: secretName().optional(),
  }),
  databases: z
    .array(z.object({ name: databaseName, as: databaseName.optional() }))
    .max(databasesMax)
    .meta(list)
    .optional(),
  ifExists: z.enum(['Fail', 'Replace']).default('Fail'),
});

export const restoreStatus = z.object({
  observedGeneration: z.int().meta({ format: 'int64' }).optional(),
  phase: z.enum(['Pending', 'Running', 'Succeeded', 'Failed']).optional(),
  startedAt: time,
  finishedAt: time,
  databases: z
    .array(
      z.object({
        name: databaseName,
        as: databaseName,
        phase: z.enum(['Pending', 'Succeeded', 'Failed']),
        before: z.string().max(253).optional(),
        message: z.string().max(512).optional(),
      }),
    )
    .max(databasesMax)
    .meta(list)
    .optional(),
  begun: z
    .object({
      name: databaseName,
      step: z.enum(['Backup', 'Fetch', 'Restore']),
      member: z.string().max(63),
      at: z.string().max(64),
      attempts: z.int().meta({ format: 'int32' }),
    })
    .optional(),
  error: z.string().max(1024).optional(),
  conditions,
});

export type RestoreSpec = z.output<typeof restoreSpec>;
export type RestoreStatus = z.output<typeof restoreStatus>;
export type RestoredDatabase = NonNullable<RestoreStatus['databases']>[number];

/** A `Restore` as the API server gives it. */
export interface RestoreObject extends KubernetesObject {
  readonly spec?: unknown;
  readonly status?: RestoreStatus;
}

/** What a decision about one Restore is made from. */
export interface RestoreView {
  readonly restore: RestoreObject;
  readonly spec: RestoreSpec | undefined;
  readonly problem: string | undefined;
  readonly cluster: ClusterView | undefined;
  /** The one that `spec.source` names. */
  readonly backup: BackupObject | undefined;
  /** Names of the databases that are there; undefined: the leader does not answer. */
  readonly existing: readonly string[] | undefined;
  /** Of the database that is about to be replaced. */
  readonly archives: readonly Archive[] | undefined;
  readonly call: CallState | undefined;
  /** The Job that brings the archive that was begun to the leader; undefined: none was begun. */
  readonly job: JobState | undefined;
  /** What keeps such Jobs from running, known before. */
  readonly obstacle: string | undefined;
}

export type RestoreCall =
  /** Makes the Job that brings the archive of what is begun to the leader. */
  | { readonly kind: 'fetch' }
  | { readonly kind: 'backup'; readonly database: string }
  | {
      readonly kind: 'archive';
      readonly database: string;
      readonly fileName: string;
      readonly as: string;
      readonly overwrites: boolean;
      /** It was brought for this alone, and goes afterwards. */
      readonly isBrought: boolean;
    }
  | { readonly kind: 'url'; readonly url: string; readonly as: string };

export interface RestoreDecision {
  readonly status: RestoreStatus;
  readonly call?: RestoreCall;
  readonly events: readonly EventNote[];
  readonly againAfterMs: number | undefined;
}

export const restoreDescriptions: Readonly<Record<string, string>> = {
  spec: 'What to restore and from where; it cannot be changed',
  'spec.clusterRef': 'The Cluster, in the same namespace',
  'spec.clusterRef.name': 'Name of the Cluster',
  'spec.source': 'Where the archives come from: one of its fields',
  'spec.source.backupRef':
    'A Backup in the same namespace; with the method Server of the same Cluster, with Stream of any, there or gone',
  'spec.source.backupRef.name': 'Name of the Backup',
  'spec.source.url': 'Address of one archive that the leader can read; needs one database',
  'spec.source.credentialsSecret':
    'Secret with the keys of an S3-compatible storage (as in a Backup): a Job fetches spec.source.url, https://storage/bucket/name, with them',
  'spec.databases': 'Which databases, and their names afterwards; none: all of the Backup',
  'spec.databases.name': 'Name of the database in the archive',
  'spec.databases.as': 'Name that it gets; the same one when it is left out',
  'spec.ifExists':
    'When a database of that name is there: Fail leaves everything as it is, Replace backs it up first and replaces it',
  'status.observedGeneration': 'Generation that the status speaks for',
  'status.phase': 'Pending, Running, Succeeded or Failed',
  'status.startedAt': 'When it began',
  'status.finishedAt': 'When it ended',
  'status.databases': 'Progress of each database',
  'status.databases.name': 'Name of the database in the archive',
  'status.databases.as': 'Name that it gets',
  'status.databases.phase': 'Pending, Succeeded or Failed',
  'status.databases.before': 'Archive of the database that was replaced, made before',
  'status.databases.message': 'Why it failed',
  'status.begun': 'What is being done, written before it is begun',
  'status.begun.name': 'Name of the database in the archive',
  'status.begun.step':
    'Backup of the database to be replaced, Fetch of an archive from outside, or Restore',
  'status.begun.member': 'The leader that was asked',
  'status.begun.at': 'When it was begun first',
  'status.begun.attempts': 'How often it was begun',
  'status.error': 'Why it failed',
  ...conditionDescriptions,
};
