import type { BackupSpec } from '../api/backup-spec.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';

/** `config/service.json` of the members: all settings of the spec; the guard installs it before each start. */
export function serviceJson(spec: ClusterSpec, list: string | undefined): string {
  const settings = {
    ...spec.settings,
    ...(list === undefined ? undefined : { 'service.ha.serverList': list }),
  };
  return `${JSON.stringify(settings, undefined, 2)}\n`;
}

/** `config/backup.json`, version 1 (contract document 3); undefined when the spec has no backup. */
export function backupJson(backup: BackupSpec | undefined): string | undefined {
  if (backup === undefined) return undefined;
  const config = {
    version: 1,
    enabled: backup.enabled,
    backupDirectory: backup.directory,
    defaults: backup.defaults,
    ...(backup.databases === undefined ? undefined : { databases: backup.databases }),
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}
