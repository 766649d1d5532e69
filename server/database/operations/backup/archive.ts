import type { SettingsReader } from '#config/effective-settings.ts';
import type { SettingSpec } from '#config/setting.ts';
import { serverRestoreMaxEntrySize, serverRestoreMaxRatio } from '#config/server-settings.ts';
import type { ArchiveLimits } from '#platform/archive/reader.ts';

/** What an archive of a database holds (http-api.md 18.3): the environment and what is to be known of it. */
export const dataFileName = 'data.mdb';
export const manifestName = 'manifest.json';

/** Bounds of archives that come from elsewhere. */
export function archiveLimits(
  settings: SettingsReader,
  entryLimit: SettingSpec<number> = serverRestoreMaxEntrySize,
): ArchiveLimits {
  return {
    entryCountMax: 2,
    entryBytesMax: settings.get(entryLimit),
    entryBytesSetting: entryLimit.key,
    ratioMax: settings.get(serverRestoreMaxRatio),
    ratioSetting: serverRestoreMaxRatio.key,
  };
}
