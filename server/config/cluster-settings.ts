import {
  booleanSetting,
  choiceSetting,
  defineSetting,
  integerSetting,
  invalidSetting,
  textSetting,
} from './setting.ts';

/* Settings of a cluster that the contract names. They have a meaning with `service.ha.enabled=true` only. */

const whenReplicated = 'with service.ha.enabled=true';
const restart = { reload: 'restart', fatal: true } as const;
const live = { reload: 'live', fatal: true } as const;

type Reload = typeof restart | typeof live;

function text(name: string, what: string, standard = '') {
  return textSetting(name, {
    ...restart,
    default: standard,
    description: `${what}; ${whenReplicated}`,
  });
}

function flag(name: string, what: string, standard: boolean, when: Reload = restart) {
  return booleanSetting(name, {
    ...when,
    default: standard,
    description: `${what}; ${whenReplicated}`,
  });
}

function count(name: string, what: string, standard: number, min = 0, max?: number) {
  return integerSetting(name, { ...restart, ...bounded(what, standard, min, max) });
}

/** May be changed while the server runs. */
function liveCount(name: string, what: string, standard: number, min = 0, max?: number) {
  return integerSetting(name, { ...live, ...bounded(what, standard, min, max) });
}

function bounded(what: string, standard: number, min: number, max: number | undefined) {
  const description = `${what}; ${whenReplicated}`;
  return { default: standard, min, ...(max === undefined ? undefined : { max }), description };
}

export const haServerList = text('ha.serverList', 'Peers, [name@]host:raftPort:httpPort, ...');
export const haRaftPort = count('ha.raftPort', 'Port between members', 2434, 1, 65_535);
export const haClusterName = defineSetting('ha.clusterName', {
  ...restart,
  default: 'service',
  parse(name) {
    if (name.trim() !== '' && !name.includes(':')) return name;
    throw invalidSetting('ha.clusterName', name, "a name that is not blank and has no ':'");
  },
  description: `Name of the cluster; ${whenReplicated}`,
});
const quorums = ['majority', 'all'] as const;
/** Of the time when members were counted by hand. */
const removedQuorums = ['none', 'one', 'two', 'three'];
export const haQuorum = defineSetting<'majority' | 'all'>('ha.quorum', {
  ...restart,
  default: 'majority',
  parse(given) {
    const word = given.trim().toLowerCase();
    const found = quorums.find((quorum) => quorum === word);
    if (found !== undefined) return found;
    const hint = removedQuorums.includes(word) ? `; '${word}' was removed` : '';
    throw invalidSetting('ha.quorum', given, `one of ${quorums.join(', ')}${hint}`);
  },
  description: `Members that acknowledge a commit; ${whenReplicated}`,
});
export const haQuorumTimeout = liveCount(
  'ha.quorumTimeout',
  'Wait for the quorum (ms)',
  10_000,
  100,
  600_000,
);
export const haReadConsistency = choiceSetting('ha.readConsistency', {
  ...live,
  default: 'read_your_writes',
  choices: ['eventual', 'read_your_writes', 'linearizable'],
  description: `What a read on a follower may miss; ${whenReplicated}`,
});
export const haElectionTimeoutMin = count(
  'ha.electionTimeoutMin',
  'Shortest silence of a leader before an election (ms)',
  2000,
  100,
);
export const haElectionTimeoutMax = count(
  'ha.electionTimeoutMax',
  'Longest silence of a leader before an election (ms)',
  5000,
  100,
);
export const haServerRole = choiceSetting('ha.serverRole', {
  ...restart,
  default: 'any',
  choices: ['any', 'replica'],
  description: `replica: never leads; ${whenReplicated}`,
});
export const haStartMode = choiceSetting('ha.startMode', {
  ...restart,
  default: 'auto',
  choices: ['auto', 'bootstrap', 'join'],
  description: `Whether the first start forms or joins a cluster; ${whenReplicated}`,
});
export const haQuorumRecovery = textSetting('ha.quorumRecovery', {
  ...restart,
  default: '',
  description:
    'A word that approves the loss of the quorum: at its next start this server goes on alone with what it has; each word counts once',
});
export const haAutoJoin = flag('ha.autoJoin', 'A new member joins by itself', true);
export const haSnapshotThreshold = count(
  'ha.snapshotThreshold',
  'Log entries between snapshots',
  100_000,
  1,
);
export const haBootstrapFromLocalDatabase = flag(
  'ha.bootstrapFromLocalDatabase',
  'Databases that are there are the first state',
  true,
);
export const haBootstrapTimeoutMs = count(
  'ha.bootstrapTimeoutMs',
  "Wait for every peer's first state (ms)",
  120_000,
  1000,
);
export const haGroupCommitQueueSize = liveCount(
  'ha.groupCommitQueueSize',
  'Transactions that may wait for a quorum',
  10_000,
  1,
);
export const haGroupCommitOfferTimeout = liveCount(
  'ha.groupCommitOfferTimeout',
  'Wait for a place in that queue (ms)',
  100,
);
export const haRaftPersistStorage = flag('ha.raftPersistStorage', 'The log outlives a stop', true);
export const haRaftStorageDirectory = text('ha.raftStorageDirectory', 'Parent of the log');
export const haPeerUnreachableThreshold = liveCount(
  'ha.peerUnreachableThreshold',
  'Silence after which a follower is unreachable (ms); 0: never',
  10_000,
);
export const haPeerChannelResetDuration = liveCount(
  'ha.peerChannelResetDuration',
  'Time unreachable after which its channel is opened anew (ms); 0: never',
  60_000,
);
export const haPeerChannelResetEscalation = flag(
  'ha.peerChannelResetEscalation',
  'Leadership moves when that did not help',
  true,
  live,
);
export const haStalledReplicaResyncDurationMs = liveCount(
  'ha.stalledReplicaResyncDurationMs',
  'Standstill after which a follower is filled anew (ms); 0: never',
  60_000,
);
export const haStopServerOnReplicationFailure = flag(
  'ha.stopServerOnReplicationFailure',
  'The process ends when a leader cannot step down',
  false,
);
export const haClusterToken = textSetting('ha.clusterToken', {
  ...restart,
  secret: true,
  description: `Secret between members; ${whenReplicated}`,
});
export const haClusterTokenPath = text('ha.clusterTokenPath', 'File with that secret');
export const haTlsEnabled = flag('ha.tls.enabled', 'TLS between members', false);
export const haTlsCertChainFile = text('ha.tls.certChainFile', 'Certificate chain, PEM');
export const haTlsPrivateKeyFile = text('ha.tls.privateKeyFile', 'Private key, PEM (PKCS#8)');
export const haTlsTrustCertCollectionFile = text(
  'ha.tls.trustCertCollectionFile',
  'Certificates that members trust, PEM',
);
export const haTlsMutualAuth = flag('ha.tls.mutualAuth', 'Members show a certificate', true);
export const haLogVerbose = liveCount('ha.logVerbose', 'Detail of the log', 0, 0, 3);
export const haK8sSuffix = text('ha.k8sSuffix', 'DNS suffix of other members');
export const haPeerAllowlistStartupGraceMs = count(
  'ha.peerAllowlistStartupGraceMs',
  'Time in which unknown addresses are let in (ms)',
  60_000,
);
export const haPeerAllowlistStickyTtlMs = count(
  'ha.peerAllowlistStickyTtlMs',
  'Time for which addresses that vanished stay known (ms)',
  300_000,
);
export const haPeerAllowlistEnabled = flag(
  'ha.peerAllowlist.enabled',
  'Only known servers may connect to the Raft port',
  true,
);
export const haGrpcAllowlistRefreshMs = count(
  'ha.grpcAllowlistRefreshMs',
  'Time between two look-ups of their addresses (ms)',
  30_000,
  1000,
);
