import { booleanSetting, integerSetting, sizeSetting, textSetting } from './setting.ts';
import { portSetting } from './port-setting.ts';

/* Settings of the key-value protocol (redis.md): its transient keys, and the wire of plugin `redis`. */

const MiB = 1024 * 1024;

export const redisTransientMaxBytes = sizeSetting('redis.transientMaxBytes', {
  default: 64 * MiB,
  min: 1,
  description: 'Memory of all transient keys together, over HTTP and on the wire',
});
export const redisHost = textSetting('redis.host', {
  default: '0.0.0.0',
  description: 'Address that plugin redis listens on',
  reload: 'restart',
  fatal: true,
});
export const redisPort = portSetting('redis.port', {
  default: 6379,
  description: 'Port of plugin redis, or a range of ports',
});
export const redisTls = booleanSetting('redis.tls', {
  default: false,
  description: 'Plugin redis speaks TLS, with key and certificates of ssl.keyStore',
  reload: 'restart',
});
export const redisDefaultDatabase = textSetting('redis.defaultDatabase', {
  description: 'Database of connections to plugin redis that have selected none; empty: none',
});
export const redisMaxMultiBulkDepth = integerSetting('redis.maxMultiBulkDepth', {
  default: 32,
  min: 1,
  max: 1000,
  description: 'Levels of nested arrays in a request on the wire of redis',
});
export const redisMaxMultiBulkLength = integerSetting('redis.maxMultiBulkLength', {
  default: 1_048_576,
  min: 1,
  max: 16_777_216,
  description: 'Elements of a request on the wire of redis',
});
export const redisMaxBulkLength = sizeSetting('redis.maxBulkLength', {
  default: 512 * MiB,
  min: 1024,
  max: 512 * MiB,
  description: 'Largest argument of a request on the wire of redis',
});
export const redisMaxRequestSize = sizeSetting('redis.maxRequestSize', {
  default: 64 * MiB,
  min: 64 * 1024,
  max: 512 * MiB,
  description:
    'Arguments of one request on the wire of redis, and commands between MULTI and EXEC; what is longer is refused',
});
export const redisMaxPendingBytes = sizeSetting('redis.maxPendingBytes', {
  default: 1 * MiB,
  min: 1024,
  description: 'Unsent replies of a redis connection at which its requests are read no further',
});
export const redisMaxConnections = integerSetting('redis.maxConnections', {
  default: 10_000,
  min: 1,
  description: 'Connections to plugin redis; more are refused',
});
export const networkMaxPreAuthConnections = integerSetting('network.maxPreAuthConnections', {
  default: 500,
  min: 1,
  description: 'Connections to plugin redis that have not logged in yet; more are refused',
});
