import type { BackupObject, BackupSpec, BackupStatus } from '../api/kinds/backup.ts';
import type { RestoreSpec, RestoreStatus } from '../api/kinds/restore.ts';
import type { StreamTask } from './stream-job.ts';

/*
 * Names of archives outside of a Cluster: below the prefix the namespace, the Cluster, the Backup, and a file named as members name
 * theirs. Only what is written down goes into them, so that whoever asks gets the same.
 */

type Begun = NonNullable<BackupStatus['begun']>;

/** @param begunAt as the status holds it, `2026-11-24T02:00:00Z` */
export function archiveFileName(database: string, begunAt: string): string {
  const digits = begunAt.replace(/\D/g, '').padEnd(17, '0');
  return `${database}-backup-${digits.slice(0, 8)}-${digits.slice(8, 17)}.zip`;
}

/** Where the archive of a database is kept, below the prefix. */
export function archivePath({ metadata }: BackupObject, spec: BackupSpec, begun: Begun): string {
  const file = archiveFileName(begun.database, begun.at);
  return [metadata.namespace ?? 'default', spec.clusterRef.name, metadata.name, file].join('/');
}

/** In a bucket the prefix is part of the name. */
export function storedName(spec: BackupSpec, path: string): string {
  const prefix = (spec.destination?.s3?.prefix ?? '').replace(/^\/+|\/+$/g, '');
  return prefix === '' ? path : `${prefix}/${path}`;
}

export function keepTask(
  backup: BackupObject,
  spec: BackupSpec,
  given: { readonly begun: Begun; readonly members: readonly string[] },
): StreamTask {
  return {
    kind: 'keep',
    members: given.members,
    database: given.begun.database,
    name: storedName(spec, archivePath(backup, spec, given.begun)),
    verifies: spec.verify,
    destination: spec.destination ?? {},
  };
}

export function deleteTask(backup: BackupObject, spec: BackupSpec): StreamTask {
  const { files = [], begun } = backup.status ?? {};
  const paths = files.map(({ name }) => name);
  // One that was begun may have been written.
  if (begun !== undefined) paths.push(archivePath(backup, spec, begun));
  return {
    kind: 'delete',
    names: paths.map((path) => storedName(spec, path)),
    destination: spec.destination ?? {},
  };
}

/** What is brought from outside to a member. */
export interface Fetch {
  readonly source: RestoreSpec['source'];
  /** Undefined: its address is given. */
  readonly backup: BackupObject | undefined;
  readonly begun: NonNullable<RestoreStatus['begun']>;
  readonly node: string | undefined;
}

/** @returns undefined when it is not known where the archive is */
export function fetchTask({ source, backup, begun, node }: Fetch): StreamTask | undefined {
  const { name, at, member, attempts: attempt } = begun;
  const file = `${name}/${archiveFileName(name, at)}`;
  const shared = { kind: 'fetch', file, member, node, attempt } as const;
  const { url, credentialsSecret } = source;
  if (url !== undefined && credentialsSecret !== undefined)
    return { ...shared, source: { url, credentialsSecret } };
  const spec = backup?.spec as BackupSpec | undefined;
  const kept = backup?.status?.files?.find(({ database }) => database === name);
  if (spec?.destination === undefined || kept === undefined) return undefined;
  return {
    ...shared,
    source: spec.destination,
    name: storedName(spec, kept.name),
    sha256: kept.sha256,
  };
}
