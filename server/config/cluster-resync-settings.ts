import { booleanSetting, integerSetting, sizeSetting } from './setting.ts';

/* Settings of members that are behind, of what is repeated, and those that are only accepted (ha.md 13). */

const restart = { reload: 'restart', fatal: true } as const;
const live = { reload: 'live', fatal: true } as const;
const mebi = 1024 * 1024;

export const haAutoAcquireDatabases = booleanSetting('ha.autoAcquireDatabases', {
  ...restart,
  default: true,
  description: 'A member fetches databases of the cluster that are missing on its disk',
});
export const haSnapshotDownloadTimeout = integerSetting('ha.snapshotDownloadTimeout', {
  ...restart,
  default: 300_000,
  min: 1000,
  description: 'Wait for the next byte of a database that is fetched (ms)',
});
export const haSnapshotWriteTimeout = integerSetting('ha.snapshotWriteTimeout', {
  ...restart,
  default: 300_000,
  min: 1000,
  description: 'Wait for a member to take the next byte of a database that is sent (ms)',
});
export const haSnapshotMaxEntrySize = sizeSetting('ha.snapshotMaxEntrySize', {
  ...restart,
  default: 10 * 1024 * mebi,
  min: mebi,
  description: 'Largest file within a database that is fetched',
});
export const haSnapshotWatchdogTimeout = integerSetting('ha.snapshotWatchdogTimeout', {
  ...restart,
  default: 30_000,
  min: 400,
  description: 'Wait of a member whose log begins behind its databases before it fetches them (ms)',
});
export const haSnapshotGapTolerance = integerSetting('ha.snapshotGapTolerance', {
  ...restart,
  default: 10,
  description: 'Entries between its databases and its log that such a member waits for',
});
export const haStaleFollowerLagThreshold = integerSetting('ha.staleFollowerLagThreshold', {
  ...restart,
  default: 10_000,
  description:
    'Own lag (entries) at which a member that stands still fetches its databases; 0: never',
});
export const haStaleFollowerRecoveryDurationMs = integerSetting(
  'ha.staleFollowerRecoveryDurationMs',
  {
    ...restart,
    default: 60_000,
    description: 'How long that lag must not shrink (ms); 0: never',
  },
);
export const haDivergedFollowerRecovery = booleanSetting('ha.divergedFollowerRecovery', {
  ...restart,
  default: true,
  description: 'A member whose log is damaged sets it aside and joins its cluster anew',
});
export const haDivergedFollowerMaxReformats = integerSetting('ha.divergedFollowerMaxReformats', {
  ...restart,
  default: 5,
  min: 1,
  max: 100,
  description: 'Logs that are set aside in a row; five healthy minutes end the row',
});
export const haResyncProgressLogging = booleanSetting('ha.resyncProgressLogging', {
  ...live,
  default: true,
  description: 'The log tells how far a database is that is fetched',
});
export const haResyncProgressInterval = integerSetting('ha.resyncProgressInterval', {
  ...live,
  default: 5000,
  min: 100,
  description: 'Time between two such lines (ms)',
});
export const haResyncCatchupLagThreshold = integerSetting('ha.resyncCatchupLagThreshold', {
  ...live,
  default: 1000,
  description: 'Entries behind the leader at which a database that was fetched has caught up',
});
export const haClientElectionRetryCount = integerSetting('ha.clientElectionRetryCount', {
  ...restart,
  default: 3,
  max: 1000,
  description: 'Repetitions of a statement of the command line that met an election',
});
export const haClientElectionRetryDelayMs = integerSetting('ha.clientElectionRetryDelayMs', {
  ...restart,
  default: 2000,
  description: 'Pause before each of them (ms)',
});
export const haSecuritySeedRetryTimeout = integerSetting('ha.securitySeedRetryTimeout', {
  ...restart,
  default: 30_000,
  min: 1000,
  description: 'Wait until a new member has the users of the cluster (ms)',
});
export const haIdempotencyCacheTtlMs = integerSetting('ha.idempotencyCacheTtlMs', {
  ...live,
  default: 60_000,
  description: 'How long answers are kept for repetition by X-Request-Id (ms)',
});
/** Slots of the table in each database are 10,000. */
export const haIdempotencyCacheMaxEntries = integerSetting('ha.idempotencyCacheMaxEntries', {
  ...live,
  default: 10_000,
  max: 10_000,
  description: 'Requests that are remembered for repetition, of each database',
});
export const haIdempotencyCacheMaxBytes = sizeSetting('ha.idempotencyCacheMaxBytes', {
  ...live,
  default: 64 * mebi,
  description: 'Answers that are kept for repetition, together',
});
export const haIdempotencyCacheMaxBodyBytes = sizeSetting('ha.idempotencyCacheMaxBodyBytes', {
  ...live,
  default: mebi,
  description: 'Largest answer that is kept for repetition',
});
export const haErrorRetries = integerSetting('ha.errorRetries', {
  ...restart,
  default: 0,
  description: 'Accepted and ignored',
});
export const haReplicationChunkMaxSize = sizeSetting('ha.replicationChunkMaxSize', {
  ...restart,
  default: 16 * mebi,
  description: 'Accepted and ignored',
});
