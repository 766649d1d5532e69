import { conditionDescriptions } from './condition-descriptions.ts';
import { z } from 'zod';
import { condition } from '../cluster-status.ts';
import type { KubernetesObject } from '../kubernetes-object.ts';
import { secretName } from '../pod-fragments.ts';

/*
 * `Backup` (operator.md 3.8): one object for one backup taken. Its spec never changes; what became of it is in its status.
 */

const text = (maxLength = 512) => z.string().max(maxLength).optional();
const long = z.int().meta({ format: 'int64' }).optional();
const byName = (key: string) => ({
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': [key],
});

export const databasesMax = 256;
export const databaseName = z.string().min(1).max(128);
export const clusterRef = z.object({ name: z.string().min(1).max(40) });

export const conditions = z.array(condition).max(8).meta(byName('type')).optional();

const destination = z.object({
  persistentVolumeClaim: z.object({ name: z.string().min(1).max(253), path: text() }).optional(),
  s3: z
    .object({
      endpoint: z.string().min(1).max(512),
      bucket: z.string().min(1).max(63),
      prefix: text(),
      credentialsSecret: secretName(),
    })
    .optional(),
});

/** A place outside of the volumes of members. */
export type Destination = z.output<typeof destination>;

/** What a `ScheduledBackup` makes Backups from. */
export const backupSpec = z.object({
  clusterRef,
  databases: z
    .array(databaseName)
    .max(databasesMax)
    .meta({ 'x-kubernetes-list-type': 'set' })
    .optional(),
  method: z.enum(['Server', 'Stream', 'VolumeSnapshot']).default('Server'),
  destination: destination.optional(),
  deletionPolicy: z.enum(['Retain', 'Delete']).default('Retain'),
  verify: z.boolean().default(false),
});

export const backupStatus = z.object({
  observedGeneration: long,
  phase: z.enum(['Pending', 'Running', 'Succeeded', 'Failed']).optional(),
  startedAt: text(64),
  finishedAt: text(64),
  member: text(63),
  databases: z
    .array(databaseName)
    .max(databasesMax)
    .meta({ 'x-kubernetes-list-type': 'set' })
    .optional(),
  begun: z.object({ database: databaseName, at: z.string().max(64) }).optional(),
  files: z
    .array(
      z.object({
        database: databaseName,
        name: z.string().max(1024),
        bytes: long,
        takenAt: text(64),
        sha256: text(64),
        commitIndex: long,
      }),
    )
    .max(databasesMax)
    .meta(byName('database'))
    .optional(),
  failures: z
    .array(z.object({ database: databaseName, message: z.string().max(512) }))
    .max(databasesMax)
    .meta(byName('database'))
    .optional(),
  error: text(1024),
  conditions,
});

export type BackupSpec = z.output<typeof backupSpec>;
export type BackupStatus = z.output<typeof backupStatus>;

/** A `Backup` as the API server gives it. */
export interface BackupObject extends KubernetesObject {
  readonly spec?: unknown;
  readonly status?: BackupStatus;
}

export const backupDescriptions: Readonly<Record<string, string>> = {
  spec: 'What to back up and how; it cannot be changed',
  'spec.clusterRef': 'The Cluster, in the same namespace',
  'spec.clusterRef.name': 'Name of the Cluster',
  'spec.databases': 'Names of the databases; none: all that there are when it begins',
  'spec.method':
    'Server: archives in the backup directory of the leader. Stream: a Job writes the snapshot of the leader to spec.destination, outside of its volumes. VolumeSnapshot is not supported yet and is refused',
  'spec.destination': 'Where Stream writes to, one of its fields; refused with the method Server',
  'spec.destination.persistentVolumeClaim': 'A volume outside of the Cluster',
  'spec.destination.persistentVolumeClaim.name': 'Name of the claim, in the same namespace',
  'spec.destination.persistentVolumeClaim.path':
    'Directory on the volume; its root when it is left out',
  'spec.destination.s3': 'S3-compatible storage',
  'spec.destination.s3.endpoint':
    'Address of the storage, http or https; buckets are part of the path',
  'spec.destination.s3.bucket': 'Name of the bucket',
  'spec.destination.s3.prefix': 'What names of objects begin with',
  'spec.destination.s3.credentialsSecret':
    'Secret with the keys accessKeyId and secretAccessKey, and if need be sessionToken, region (us-east-1 when absent) and ca.crt',
  'spec.deletionPolicy':
    'What becomes of the archives when this object is deleted: Retain keeps them, Delete deletes them where they are',
  'spec.verify':
    'Read archives back after they are made and compare them. With the method Server members always do; with Stream true costs reading them once more',
  'status.observedGeneration': 'Generation that the status speaks for',
  'status.phase': 'Pending, Running, Succeeded or Failed',
  'status.startedAt': 'When it began',
  'status.finishedAt': 'When it ended',
  'status.member':
    'Member that makes the archives; with the method Server it holds them on its volume',
  'status.databases': 'Databases that are backed up, as they were when it began',
  'status.begun': 'The archive that is being made, written before it is begun',
  'status.begun.database': 'Its database',
  'status.begun.at': 'When it was begun',
  'status.files': 'Archives made, one for each database',
  'status.files.database': 'The database',
  'status.files.name':
    'File name of the archive in the backup directory of its database; with Stream its path in the destination, below the prefix',
  'status.files.bytes': 'Size of the archive',
  'status.files.takenAt': 'The moment whose content it holds',
  'status.files.sha256': 'SHA-256 of the archive in hexadecimal digits; Stream only',
  'status.files.commitIndex':
    'Index of the log of the group up to which everything is in the archive; Stream only',
  'status.failures': 'Databases that could not be backed up',
  'status.failures.database': 'The database',
  'status.failures.message': 'What the member answered',
  'status.error': 'Why it failed',
  ...conditionDescriptions,
};
