import type { ByteText } from '#core/text/byte-text.ts';
import { redisTransientMaxBytes } from '#config/redis-settings.ts';
import type { WireSurroundings } from './surroundings.ts';

/** The version of Redis whose commands and replies these are. */
export const spokenVersion = '7.2.0';

type Section = readonly [name: string, lines: (around: WireSurroundings) => readonly string[]];

/** INFO: what clients look at before they send commands (redis.md 2), and what the keys take. */
const sections: readonly Section[] = [
  [
    'Server',
    (around) => [
      `redis_version:${spokenVersion}`,
      'redis_mode:standalone',
      'server_name:polyad',
      `tcp_port:${around.counts().port}`,
    ],
  ],
  ['Clients', (around) => [`connected_clients:${around.counts().clients}`]],
  [
    'Memory',
    ({ store, settings }) => [
      `used_memory:${store.usedBytes}`,
      `maxmemory:${settings.get(redisTransientMaxBytes)}`,
      'maxmemory_policy:noeviction',
    ],
  ],
  ['Persistence', () => ['loading:0']],
  ['Replication', () => ['role:master', 'connected_slaves:0']],
  ['Cluster', () => ['cluster_enabled:0']],
];

const whole = new Set(['all', 'default', 'everything']);

/** @param asked names of sections; none: all */
export function infoText(around: WireSurroundings, asked: readonly ByteText[]): ByteText {
  const names = asked.map((name) => name.toLowerCase());
  const isWhole = names.length === 0 || names.some((name) => whole.has(name));
  return sections
    .filter(([name]) => isWhole || names.includes(name.toLowerCase()))
    .map(([name, lines]) => `# ${name}\r\n${lines(around).join('\r\n')}\r\n`)
    .join('\r\n');
}
