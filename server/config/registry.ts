import { DatabaseError } from '#core/errors.ts';
import { editDistance } from '#core/text/edit-distance.ts';
import * as betweenDoors from './cluster-http-settings.ts';
import * as ofClusterLogs from './cluster-log-settings.ts';
import * as ofClusterResyncs from './cluster-resync-settings.ts';
import * as ofClusters from './cluster-settings.ts';
import * as ofRedis from './redis-settings.ts';
import * as ofServer from './server-settings.ts';
import * as ofCypher from './cypher-settings.ts';
import * as ofDatabases from './settings.ts';
import * as ofTools from './mcp-settings.ts';
import { settingPrefix, type SettingSpec } from './setting.ts';

/** Every setting, sorted by key. */
export const allSettings: readonly SettingSpec<unknown>[] = Object.values({
  ...betweenDoors,
  ...ofClusterLogs,
  ...ofClusterResyncs,
  ...ofClusters,
  ...ofCypher,
  ...ofRedis,
  ...ofServer,
  ...ofTools,
  ...ofDatabases,
} as Readonly<Record<string, SettingSpec<unknown>>>).sort((a, b) => (a.key < b.key ? -1 : 1));

const byLowerKey = new Map(allSettings.map((spec) => [spec.key.toLowerCase(), spec]));
const byVariable = new Map(allSettings.map((spec) => [variableOf(spec.key), spec]));

/** The setting with this key, with or without prefix, in any case. */
export function findSetting(key: string): SettingSpec<unknown> | undefined {
  const lower = key.toLowerCase();
  return byLowerKey.get(lower) ?? byLowerKey.get(settingPrefix + lower);
}

/** @throws DatabaseError `InvalidSetting` that names the key and the nearest known one */
export function requireSetting(key: string): SettingSpec<unknown> {
  const found = findSetting(key);
  if (found) return found;
  const nearest = nearestKey(key);
  const hint = nearest === undefined ? '' : `, did you mean '${nearest}'?`;
  throw new DatabaseError('InvalidSetting', `unknown setting '${key}'${hint}`);
}

/** The setting that an environment variable such as `SERVICE_SERVER_NAME` stands for. */
export function settingOfVariable(name: string): SettingSpec<unknown> | undefined {
  return byVariable.get(name);
}

/** `service.server.httpIncomingPort` as `SERVICE_SERVER_HTTP_INCOMING_PORT`. */
export function variableOf(key: string): string {
  return key
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .replaceAll('.', '_')
    .toUpperCase();
}

/** The known key with the fewest edits, if at most a third of the name would have to change. */
function nearestKey(key: string): string | undefined {
  const wanted = withoutPrefix(key.slice(0, 200).toLowerCase());
  let nearest: string | undefined;
  let fewest = Math.ceil(wanted.length / 3) + 1;
  for (const spec of allSettings) {
    const distance = editDistance(wanted, withoutPrefix(spec.key.toLowerCase()));
    if (distance >= fewest) continue;
    fewest = distance;
    nearest = spec.key;
  }
  return nearest;
}

function withoutPrefix(key: string): string {
  return key.startsWith(settingPrefix) ? key.slice(settingPrefix.length) : key;
}
