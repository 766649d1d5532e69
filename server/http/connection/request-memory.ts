import type { SettingsReader } from '#config/effective-settings.ts';
import { serverHttpMaxRequestMemory } from '#config/server-settings.ts';
import { serverMaxContainerMemory } from '#config/settings.ts';
import { type ContainerMemory, ServerMemory } from '#database/bounds/memory-accounts.ts';

/** Of the container's limit. */
const containerShare = 1 / 4;

/** What the bodies of all requests take, and what is made of them, until they are answered (limits.md 33). */
export function requestMemory(
  settings: SettingsReader,
  container: ContainerMemory | undefined,
): ServerMemory {
  const shareBytes =
    container === undefined ? Number.MAX_SAFE_INTEGER : container.limitBytes * containerShare;
  return new ServerMemory({
    bytesMax: settings.get(serverHttpMaxRequestMemory) || Math.floor(shareBytes),
    settingKey: serverHttpMaxRequestMemory.key,
    what: 'requests',
    container,
    containerPercentMax: settings.get(serverMaxContainerMemory),
    percentSettingKey: serverMaxContainerMemory.key,
  });
}
