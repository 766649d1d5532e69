import type { SettingsReader } from '#config/effective-settings.ts';
import { serverPlugins } from '#config/server-settings.ts';

/** One entry of `server.plugins`. */
export interface PluginEntry {
  readonly name: string;
  /** What stands behind the colon; empty for a built-in plugin. */
  readonly className: string;
}

/** Plugins that this version has; `auto-backup` installs itself, so that naming it changes nothing. */
const availablePlugins: readonly string[] = ['prometheus', 'auto-backup', 'redis'];

/** Names of http-api.md 21.4 and wire-protocols.md whose plugins do not exist yet. */
const laterPlugins: readonly string[] = ['mongo', 'gremlin', 'postgres', 'bolt', 'grpc', 'mcp'];

/** Takes `name:class,name2:class2` apart; names in lower case, each once. */
export function parsePlugins(text: string): readonly PluginEntry[] {
  const entries = new Map<string, PluginEntry>();
  for (const part of text.split(',')) {
    const [given = '', className = ''] = part.split(':', 2).map((word) => word.trim());
    const name = given.toLowerCase();
    if (name !== '' && !entries.has(name)) entries.set(name, { name, className });
  }
  return [...entries.values()];
}

/** Whether `server.plugins` names it. */
export function isPluginOn(settings: SettingsReader, plugin: string): boolean {
  return parsePlugins(settings.get(serverPlugins)).some(({ name }) => name === plugin);
}

/** Why a plugin cannot be started; undefined when it can. */
export function unavailability(name: string): string | undefined {
  if (availablePlugins.includes(name)) return undefined;
  return laterPlugins.includes(name) ? 'not available in this version' : 'not known';
}
