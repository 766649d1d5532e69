import { integerSetting, sizeSetting } from './setting.ts';

/* Settings of the traffic between the HTTP doors of a cluster (ha.md 6.2, 13). */

const live = { reload: 'live', fatal: true } as const;

export const haProxyConnectTimeout = integerSetting('ha.proxyConnectTimeout', {
  ...live,
  default: 5000,
  min: 1,
  description: 'Wait for a connection to another server of the cluster (ms)',
});
export const haProxyReadTimeout = integerSetting('ha.proxyReadTimeout', {
  ...live,
  default: 30_000,
  min: 1,
  description: 'Wait for the first byte of an answer of the leader, and between bytes (ms)',
});
export const haProxyMaxBodySize = sizeSetting('ha.proxyMaxBodySize', {
  ...live,
  default: 16 * 1024 * 1024,
  min: 1024,
  description: 'Longest body of a command that a follower forwards',
});
export const haForwardLeaderWaitTimeoutMs = integerSetting('ha.forwardLeaderWaitTimeoutMs', {
  ...live,
  default: 20_000,
  description: 'Wait for a leader to forward to (ms)',
});
export const haReplicationLagWarning = integerSetting('ha.replicationLagWarning', {
  ...live,
  default: 1000,
  description: 'Entries that a follower may be behind without a warning',
});
