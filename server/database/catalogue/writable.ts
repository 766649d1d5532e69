import { serverDefaultDatabaseMode } from '#config/server-settings.ts';
import type { SettingsReader } from '#config/effective-settings.ts';
import { DatabaseError } from '#core/errors.ts';

/**
 * @param isAlone the server is in a cluster of which the database is no member: what it wrote, the others would not have
 * @throws DatabaseError `DatabaseReadOnly` (http-api.md 21.3), `NotSupported`
 */
export function requireWritable(name: string, settings: SettingsReader, isAlone: boolean): void {
  if (settings.get(serverDefaultDatabaseMode) !== 'READ_WRITE')
    throw new DatabaseError(
      'DatabaseReadOnly',
      `Database '${name}' is read only (${serverDefaultDatabaseMode.key})`,
    );
  if (isAlone)
    throw new DatabaseError(
      'NotSupported',
      `not supported yet: writing to '${name}', which was on this server before the cluster and is no member of it; export it and import it into one that is`,
    );
}
