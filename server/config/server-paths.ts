import { join, resolve } from 'node:path';
import type { SettingsReader } from './effective-settings.ts';
import {
  serverBackupDirectory,
  serverDatabaseDirectory,
  serverLogsDirectory,
  serverRootPath,
} from './server-settings.ts';

/** Absolute directories of a server. Nothing is created. */
export interface ServerPaths {
  readonly root: string;
  readonly config: string;
  readonly databases: string;
  readonly backups: string;
  readonly logs: string;
}

/** Relative directories lie below the root path, which is relative to the current directory. */
export function serverPaths(settings: SettingsReader): ServerPaths {
  const root = resolve(settings.get(serverRootPath));
  const below = (directory: string, otherwise: string) => resolve(root, directory || otherwise);
  return {
    root,
    config: join(root, 'config'),
    databases: below(settings.get(serverDatabaseDirectory), 'databases'),
    backups: below(settings.get(serverBackupDirectory), 'backups'),
    logs: below(settings.get(serverLogsDirectory), 'log'),
  };
}
