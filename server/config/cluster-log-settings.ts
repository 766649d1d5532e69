import { integerSetting, sizeSetting } from './setting.ts';

/* Settings of the log, of its transport and of group commits (ha.md 13). */

const restart = { reload: 'restart', fatal: true } as const;
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
  default: 500,
  min: 1,
  max: 10_000,
  description: 'Transactions that are appended together',
});
export const haGroupCommitMaxQueuedBytes = sizeSetting('ha.groupCommitMaxQueuedBytes', {
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
  default: 2,
  min: 1,
  description: 'Archives of databases that are sent to members at a time',
});
export const haSnapshotInstallRetries = integerSetting('ha.snapshotInstallRetries', {
  default: 3,
  description: 'Attempts to fetch a database after the first one failed',
});
export const haSnapshotInstallRetryBaseMs = integerSetting('ha.snapshotInstallRetryBaseMs', {
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
  default: 300_000,
  description: 'Time between two compactions of the Raft log (ms); 0: only ha.snapshotThreshold',
});
export const haSnapshotMinEntries = integerSetting('ha.snapshotMinEntries', {
  default: 64,
  description: 'Entries below which that time brings no compaction',
});
