import { booleanSetting, integerSetting, sizeSetting } from './setting.ts';

/* Settings of the log, of its transport and of group commits (ha.md 13). */

const restart = { reload: 'restart', fatal: true } as const;
const live = { reload: 'live', fatal: true } as const;
const mebi = 1024 * 1024;

export const haLogSegmentSize = sizeSetting('ha.logSegmentSize', {
  ...restart,
  default: 64 * mebi,
  min: mebi,
  max: 1024 * mebi,
  description: 'Length of a segment of the Raft log',
});
export const haLogPurgeGap = integerSetting('ha.logPurgeGap', {
  ...restart,
  default: 1024,
  description: 'Entries that stay in the log behind a checkpoint',
});
export const haGrpcMessageSizeMax = sizeSetting('ha.grpcMessageSizeMax', {
  ...restart,
  default: 128 * mebi,
  min: mebi,
  max: 512 * mebi,
  description: 'Longest message on the Raft port',
});
export const haGrpcFlowControlWindow = sizeSetting('ha.grpcFlowControlWindow', {
  ...restart,
  default: 4 * mebi,
  min: 64 * 1024,
  max: 64 * mebi,
  description: 'Flow-control window of a connection between members',
});
export const haGroupCommitBatchSize = integerSetting('ha.groupCommitBatchSize', {
  ...live,
  default: 500,
  min: 1,
  max: 10_000,
  description: 'Transactions that are appended together',
});
/** Nothing on the way may be shorter than the longest entry. */
export const haAppendBufferSize = sizeSetting('ha.appendBufferSize', {
  ...restart,
  default: 32 * mebi,
  min: 64 * 1024,
  max: 512 * mebi - 64 * 1024,
  description: 'Longest entry of the Raft log, at most 32 MiB whatever is said here',
});
export const haAppendElementLimit = integerSetting('ha.appendElementLimit', {
  ...restart,
  default: 64,
  min: 1,
  max: 10_000,
  description: 'Entries of one message to a follower',
});
export const haWriteBufferSize = sizeSetting('ha.writeBufferSize', {
  ...restart,
  default: 40 * mebi,
  min: 64 * 1024 + 8,
  description: 'Must hold the longest entry; writes take what they need',
});
export const haTsMaxSealedInlineSize = sizeSetting('ha.tsMaxSealedInlineSize', {
  ...restart,
  default: 48 * mebi,
  description: 'Accepted for compatibility: there are no stores of time series',
});
export const haLogPurgeUptoSnapshot = booleanSetting('ha.logPurgeUptoSnapshot', {
  ...restart,
  default: true,
  description:
    'The log goes up to a checkpoint although a member that can be reached has not got all of it; false: it waits',
});
export const haGroupCommitMaxQueuedBytes = sizeSetting('ha.groupCommitMaxQueuedBytes', {
  ...live,
  default: 256 * mebi,
  min: mebi,
  description: 'Transactions that may wait for a quorum, in bytes',
});
export const haHealthCheckInterval = integerSetting('ha.healthCheckInterval', {
  ...restart,
  default: 3000,
  description: 'Time between two looks at the health of the Raft server (ms); 0: none',
});
export const haRatisRestartMaxRetries = integerSetting('ha.ratisRestartMaxRetries', {
  ...restart,
  default: 10,
  description: 'Restarts of the Raft server in place for one incident; 0: as many as it takes',
});
export const haSnapshotMaxConcurrent = integerSetting('ha.snapshotMaxConcurrent', {
  ...live,
  default: 2,
  min: 1,
  description: 'Archives of databases that are sent to members at a time',
});
export const haSnapshotInstallRetries = integerSetting('ha.snapshotInstallRetries', {
  ...live,
  default: 3,
  description: 'Attempts to fetch a database after the first one failed',
});
export const haSnapshotInstallRetryBaseMs = integerSetting('ha.snapshotInstallRetryBaseMs', {
  ...live,
  default: 5000,
  min: 1,
  description: 'Pause before the second attempt to fetch a database (ms); doubled each time',
});
export const haRaftStorageMinFreeSpacePerc = integerSetting('ha.raftStorageMinFreeSpacePerc', {
  ...restart,
  default: 20,
  max: 90,
  description: 'Free space of the volume of the Raft log below which it is compacted (%); 0: never',
});
export const haSnapshotInterval = integerSetting('ha.snapshotInterval', {
  ...live,
  default: 300_000,
  description: 'Time between two compactions of the Raft log (ms); 0: only ha.snapshotThreshold',
});
export const haSnapshotMinEntries = integerSetting('ha.snapshotMinEntries', {
  ...live,
  default: 64,
  description: 'Entries below which that time brings no compaction',
});
