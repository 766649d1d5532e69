import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkClusterSettings, snapshotWatchdogMs } from '#config/cluster-rules.ts';
import { Settings } from '#config/effective-settings.ts';
import { allSettings, requireSetting } from '#config/registry.ts';
import { loadSettings } from '#config/sources.ts';

type Row = readonly [
  name: string,
  reload: 'live' | 'restart',
  standard: string | number | boolean,
  good: readonly (string | number)[],
  bad: readonly (string | number)[],
];

const KB = 1024;
const MB = 1024 * KB;
const any = [''] as const;
const flags = ['true', 'false'];
const noFlags = ['yes', '1'];
const counts = ['-1', 'many', '1.5'];

/** Contract 3 (HA settings) and ha.md 13, in its order. */
const rows: readonly Row[] = [
  ['enabled', 'restart', false, flags, noFlags],
  ['serverList', 'restart', '', any, []],
  ['raftPort', 'restart', 2434, [1, 65_535], [0, 65_536, 'x']],
  ['clusterName', 'restart', 'service', ['orders'], ['', '  ', 'a:b']],
  ['quorum', 'restart', 'majority', ['majority', 'all'], ['none', 'one', 'two', 'three', '2']],
  ['quorumTimeout', 'live', 10_000, [100, 600_000], [99, 600_001]],
  [
    'readConsistency',
    'live',
    'read_your_writes',
    ['eventual', 'read_your_writes', 'linearizable'],
    ['strong'],
  ],
  ['electionTimeoutMin', 'restart', 2000, [100], [99]],
  ['electionTimeoutMax', 'restart', 5000, [101], [99]],
  ['serverRole', 'restart', 'any', ['any', 'replica'], ['leader']],
  ['startMode', 'restart', 'auto', ['auto', 'bootstrap', 'join'], ['never']],
  ['quorumRecovery', 'restart', '', any, []],
  ['autoJoin', 'restart', true, flags, noFlags],
  ['snapshotThreshold', 'restart', 100_000, [1], [0]],
  ['snapshotInterval', 'live', 300_000, [0, 1], counts],
  ['snapshotMinEntries', 'live', 64, [0], counts],
  ['logSegmentSize', 'restart', 64 * MB, [MB, '1GB'], [MB - 1, '1025MB']],
  ['logPurgeGap', 'restart', 1024, [0], counts],
  ['logPurgeUptoSnapshot', 'restart', true, flags, noFlags],
  ['raftStorageMinFreeSpacePerc', 'restart', 20, [0, 90], [-1, 91]],
  ['raftPersistStorage', 'restart', true, flags, noFlags],
  ['raftStorageDirectory', 'restart', '', any, []],
  ['appendBufferSize', 'restart', 32 * MB, ['1MB'], [1000, '512MB']],
  ['appendElementLimit', 'restart', 64, [1, 10_000], [0, 10_001]],
  ['writeBufferSize', 'restart', 40 * MB, ['64MB'], [8]],
  ['grpcMessageSizeMax', 'restart', 128 * MB, ['512MB'], ['513MB', 1]],
  ['grpcFlowControlWindow', 'restart', 4 * MB, [64 * KB, '64MB'], [64 * KB - 1, '65MB']],
  ['groupCommitBatchSize', 'live', 500, [1, 10_000], [0, 10_001]],
  ['groupCommitQueueSize', 'live', 10_000, [1], [0]],
  ['groupCommitOfferTimeout', 'live', 100, [0], counts],
  ['groupCommitMaxQueuedBytes', 'live', 256 * MB, ['32MB'], counts],
  ['bootstrapFromLocalDatabase', 'restart', true, flags, noFlags],
  ['bootstrapTimeoutMs', 'restart', 120_000, [1000], [999]],
  ['autoAcquireDatabases', 'restart', true, flags, noFlags],
  ['snapshotMaxConcurrent', 'live', 2, [1], [0]],
  ['snapshotDownloadTimeout', 'restart', 300_000, [1000], [999]],
  ['snapshotInstallRetries', 'live', 3, [0], counts],
  ['snapshotInstallRetryBaseMs', 'live', 5000, [1], [0]],
  ['snapshotWriteTimeout', 'restart', 300_000, [1000], [999]],
  ['snapshotMaxEntrySize', 'restart', 10 * KB * MB, ['1MB'], [1]],
  ['snapshotWatchdogTimeout', 'restart', 30_000, [20_000], [399]],
  ['snapshotGapTolerance', 'restart', 10, [0], counts],
  ['peerUnreachableThreshold', 'live', 10_000, [0], counts],
  ['peerChannelResetDuration', 'live', 60_000, [0], counts],
  ['peerChannelResetEscalation', 'live', true, flags, noFlags],
  ['stalledReplicaResyncDurationMs', 'live', 60_000, [0], counts],
  ['replicationLagWarning', 'live', 1000, [0], counts],
  ['staleFollowerLagThreshold', 'restart', 10_000, [0], counts],
  ['staleFollowerRecoveryDurationMs', 'restart', 60_000, [0], counts],
  ['divergedFollowerRecovery', 'restart', true, flags, noFlags],
  ['divergedFollowerMaxReformats', 'restart', 5, [1, 100], [0, 101]],
  ['healthCheckInterval', 'restart', 3000, [0], counts],
  ['ratisRestartMaxRetries', 'restart', 10, [0], counts],
  ['stopServerOnReplicationFailure', 'restart', false, flags, noFlags],
  ['resyncProgressLogging', 'live', true, flags, noFlags],
  ['resyncProgressInterval', 'live', 5000, [100], [99]],
  ['resyncCatchupLagThreshold', 'live', 1000, [0], counts],
  ['clusterToken', 'restart', '', any, []],
  ['clusterTokenPath', 'restart', '', any, []],
  ['tls.enabled', 'restart', false, flags, noFlags],
  ['tls.certChainFile', 'restart', '', any, []],
  ['tls.privateKeyFile', 'restart', '', any, []],
  ['tls.trustCertCollectionFile', 'restart', '', any, []],
  ['tls.mutualAuth', 'restart', true, flags, noFlags],
  ['peerAllowlist.enabled', 'restart', true, flags, noFlags],
  ['grpcAllowlistRefreshMs', 'restart', 30_000, [1000], [999]],
  ['peerAllowlistStartupGraceMs', 'restart', 60_000, [0], counts],
  ['peerAllowlistStickyTtlMs', 'restart', 300_000, [0], counts],
  ['k8s', 'restart', false, flags, noFlags],
  ['k8sSuffix', 'restart', '', any, []],
  ['logVerbose', 'live', 0, [0, 3], [4, -1]],
  ['proxyConnectTimeout', 'live', 5000, [1], [0]],
  ['proxyReadTimeout', 'live', 30_000, [1], [0]],
  ['proxyMaxBodySize', 'live', 16 * MB, [1024], [1023]],
  ['forwardLeaderWaitTimeoutMs', 'live', 20_000, [0], counts],
  ['clientElectionRetryCount', 'restart', 3, [0], counts],
  ['clientElectionRetryDelayMs', 'restart', 2000, [0], counts],
  ['idempotencyCacheTtlMs', 'live', 60_000, [0], counts],
  ['idempotencyCacheMaxEntries', 'live', 10_000, [0, 10_000], [10_001]],
  ['idempotencyCacheMaxBytes', 'live', 64 * MB, [0], counts],
  ['idempotencyCacheMaxBodyBytes', 'live', MB, [0], counts],
  ['tsMaxSealedInlineSize', 'restart', 48 * MB, [0], counts],
  ['securitySeedRetryTimeout', 'restart', 30_000, [1000], [999]],
  ['errorRetries', 'restart', 0, [0], counts],
  ['replicationChunkMaxSize', 'restart', 16 * MB, [0], counts],
];

test('every setting of a cluster has the default, the range and the reload class of the reference', () => {
  for (const [name, reload, standard, good, bad] of rows) {
    const spec = requireSetting(`service.ha.${name}`);
    assert.equal(spec.default, standard, name);
    assert.equal(spec.reload, reload, name);
    assert.equal(spec.scope, 'server', name);
    for (const text of good) spec.parse(String(text));
    for (const text of bad)
      assert.throws(() => spec.parse(String(text)), { code: 'InvalidSetting' });
  }
});

test('no setting of a cluster stands beside the reference', () => {
  const known = new Set(rows.map(([name]) => `service.ha.${name}`));
  const found = allSettings.map(({ key }) => key).filter((key) => key.startsWith('service.ha.'));
  assert.deepEqual(
    found.filter((key) => !known.has(key)),
    [],
  );
  assert.equal(found.length, known.size);
});

function start(texts: Readonly<Record<string, string>>) {
  const commandLine = Object.entries(texts).map(([name, text]) => `-Dservice.ha.${name}=${text}`);
  return loadSettings({ commandLine, environment: {}, readFile: () => undefined });
}

test('a value out of its range ends the start with the key, the value and the range', () => {
  for (const [name, , , , [text]] of rows) {
    if (text === undefined) continue;
    assert.throws(
      () => start({ [name]: String(text) }),
      (error: Error) =>
        error.message.includes(`service.ha.${name} is '${text}'; it must be `) &&
        error.message.includes('the command line'),
      name,
    );
  }
  assert.throws(() => start({ quorum: 'two' }), /majority, all; 'two' was removed/);
  assert.throws(() => start({ quorumTimout: '1' }), /did you mean 'service.ha.quorumTimeout'/);
});

function remarksOf(texts: Readonly<Record<string, string>>): readonly string[] {
  const keyed = Object.entries(texts).map(([name, text]) => [`service.ha.${name}`, text] as const);
  return checkClusterSettings(new Settings(new Map(keyed)));
}

test('settings of a cluster that bound each other are refused together, and what nobody set follows', () => {
  assert.deepEqual(remarksOf({}), []);
  const wrong: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
    [{ electionTimeoutMax: '2000' }, /electionTimeoutMax is '2000'.*electionTimeoutMin \(2000\)/],
    [
      { appendBufferSize: '32MB', grpcMessageSizeMax: '32MB' },
      /appendBufferSize is '33554432'; it must be at most 33488896.*grpcMessageSizeMax/,
    ],
    [{ writeBufferSize: '32MB' }, /writeBufferSize is '33554432'.*at least 33554440/],
    [{ groupCommitMaxQueuedBytes: '31MB' }, /groupCommitMaxQueuedBytes.*appendBufferSize/],
    [{ snapshotWatchdogTimeout: '19999' }, /at least 20000, four times .*electionTimeoutMax/],
    [{ tsMaxSealedInlineSize: '49MB' }, /at most 50331648, 1.5 times .*appendBufferSize/],
  ];
  for (const [texts, message] of wrong)
    assert.throws(() => remarksOf(texts), { code: 'InvalidSetting', message });
  const long = { electionTimeoutMin: '10000', electionTimeoutMax: '20000' };
  assert.deepEqual(remarksOf({ ...long, appendBufferSize: '64MB' }), []);
  const settings = new Settings(new Map([['service.ha.electionTimeoutMax', '20000']]));
  assert.equal(snapshotWatchdogMs(settings), 80_000);
});

test('close election timeouts and settings that are ignored are told at the start', () => {
  assert.match(remarksOf({ electionTimeoutMax: '2999' })[0] ?? '', /less than 1.5 times/);
  assert.match(remarksOf({ errorRetries: '2' })[0] ?? '', /errorRetries is accepted and ignored/);
  assert.match(remarksOf({ replicationChunkMaxSize: '1MB' })[0] ?? '', /accepted and ignored/);
});
