import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConsensusCounts, ConsensusStatus, PeerProgress } from '#cluster/consensus-port.ts';
import type { KnownPeer } from '#cluster/forwarding/peer-addresses.ts';
import { type AlertInput, alertsOf } from '#cluster/status/alerts.ts';
import type { ReplicaHealth } from '#cluster/status/replica-monitor.ts';
import type { Member } from '#raft/vocabulary.ts';

// Every alert of GET /cluster by what raises it (contract 3; ha.md 11.1): a cluster of three in order has none.

const dayMs = 86_400_000;
const nowMs = 10_000_000;

function member(id: string, change: Partial<Member> = {}): Member {
  return {
    id,
    address: `${id}:7000`,
    priority: 0,
    canLead: true,
    storageId: `s-${id}`,
    voter: true,
    ...change,
  };
}

function peer(id: string, change: Partial<KnownPeer> = {}): KnownPeer {
  return {
    id,
    name: `name-${id}`,
    host: id,
    address: `${id}:7000`,
    raftPort: 7000,
    http: 2480,
    https: undefined,
    bolt: undefined,
    grpc: undefined,
    priority: 0,
    member: member(id),
    isDeclared: true,
    ...change,
  };
}

function progress(id: string, change: Partial<PeerProgress> = {}): PeerProgress {
  return {
    id,
    match: 9,
    next: 10,
    state: 'replicate',
    lastContactMs: 1,
    isReachable: true,
    roundTripMs: 1,
    ...change,
  };
}

function free(logFreeBytes: number): ConsensusCounts {
  return { leaderChanges: 0, stepDowns: {}, uncommittedBytes: 0, logFreeBytes };
}

function configuration(voters: readonly Member[]): ConsensusStatus['configuration'] {
  return { voters, votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
}

const status: ConsensusStatus = {
  raftState: 'RUNNING',
  logState: 'OK',
  clusterId: 'c',
  storageId: 's-a',
  admitted: true,
  role: 'leader',
  term: 2,
  leader: 'a',
  leaderReady: true,
  commitIndex: 9,
  appliedIndex: 9,
  firstIndex: 1,
  lastIndex: 9,
  lastTerm: 0,
  configuration: configuration([member('a'), member('b'), member('c')]),
  configurationIndex: 1,
  electionCount: 1,
  lastElectionMs: 1,
  progress: [progress('b'), progress('c')],
};

const healthy: ReplicaHealth = {
  status: 'HEALTHY',
  lag: 0,
  laggingSinceMs: undefined,
  stalledSinceMs: undefined,
};

const inOrder: AlertInput = {
  self: 'a',
  status,
  peers: [peer('a'), peer('b'), peer('c')],
  databases: [{ name: 'school', status: 'ONLINE', acquireStatus: 'LOCAL' }],
  healthOf: (id) => (id === 'a' ? undefined : healthy),
  isAmbiguous: () => false,
  nowMs,
  leaderlessSinceMs: undefined,
  electionTimeoutMsMax: 5000,
  segmentBytes: 100,
  unreachableMs: 10_000,
  wallMs: 1_786_370_000_000,
  bootstrapRefusal: undefined,
  certificateEndsAt: 1_786_370_000_000 + 90 * dayMs,
  lacks: () => [],
};

function withStatus(change: Partial<ConsensusStatus>): Partial<AlertInput> {
  return { status: { ...status, ...change } };
}

function withHealth(change: Partial<ReplicaHealth>): Partial<AlertInput> {
  return { healthOf: (id) => (id === 'c' ? { ...healthy, ...change } : healthy) };
}

const outside = { member: undefined };
const silent = progress('c', { isReachable: false });

const cases: readonly (readonly [id: string, severity: string, change: Partial<AlertInput>])[] = [
  ['peers-not-in-configuration', 'warning', { peers: [peer('a'), peer('c', outside)] }],
  ['peers-not-in-configuration', 'critical', { peers: [peer('a', outside), peer('b')] }],
  ['peers-not-in-server-list', 'info', { peers: [peer('a'), peer('d', { isDeclared: false })] }],
  [
    'no-leader',
    'critical',
    {
      ...withStatus({ role: 'follower', leader: undefined, progress: [] }),
      leaderlessSinceMs: nowMs - 5001,
    },
  ],
  [
    'no-leader',
    'critical',
    {
      ...withStatus({ leader: undefined, progress: [], isNobodyAllowed: true }),
      leaderlessSinceMs: nowMs - 5001,
    },
  ],
  ['quorum-at-risk', 'warning', withStatus({ progress: [progress('b'), silent] })],
  ['lagging-followers', 'warning', withHealth({ status: 'FALLING_BEHIND' })],
  [
    'lagging-followers',
    'warning',
    withHealth({ status: 'CATCHING_UP', laggingSinceMs: nowMs - 30_001 }),
  ],
  ['stalled-replicas', 'critical', withHealth({ status: 'STALLED' })],
  [
    'channel-gave-up',
    'critical',
    withStatus({ progress: [progress('b'), progress('c', { gaveUp: 'cooldown' })] }),
  ],
  ['raft-log-failed', 'critical', withStatus({ logState: 'FAILED' })],
  ['raft-log-failed', 'critical', withStatus({ logState: 'GAVE_UP' })],
  ['raft-storage-pressure', 'warning', withStatus({ logState: 'PRESSURE' })],
  ['raft-storage-pressure', 'warning', withStatus({ logState: 'PRESSURE', counts: free(400) })],
  ['raft-storage-pressure', 'critical', withStatus({ logState: 'PRESSURE', counts: free(399) })],
  [
    'leader-missing-databases',
    'warning',
    { databases: [{ name: 'x', status: 'LOCAL_ONLY', acquireStatus: 'LEADER_MISSING' }] },
  ],
  [
    'failed-acquire-databases',
    'warning',
    { databases: [{ name: 'x', status: 'INSTALLING', acquireStatus: 'FAILED' }] },
  ],
  ['diverged-databases', 'critical', { databases: [{ name: 'x', status: 'DIVERGED' }] }],
  [
    'bootstrap-diverged-databases',
    'critical',
    { bootstrapRefusal: "database 'x' of this server has transaction 9" },
  ],
  ['storage-id-mismatch', 'critical', withStatus({ storageId: 's-new', admitted: false })],
  ['peer-address-ambiguous', 'warning', { isAmbiguous: (id) => id !== 'a' }],
  [
    'even-voter-count',
    'info',
    withStatus({ configuration: configuration(['a', 'b', 'c', 'd'].map((id) => member(id))) }),
  ],
  [
    'leader-not-preferred',
    'info',
    withStatus({
      configuration: configuration([member('a'), member('b'), member('c', { priority: 5 })]),
    }),
  ],
  ['replication-format-blocked', 'info', { lacks: (id) => (id === 'b' ? ['verify'] : []) }],
  ['certificate-expiry', 'warning', { certificateEndsAt: inOrder.wallMs + 29 * dayMs }],
  ['certificate-expiry', 'critical', { certificateEndsAt: inOrder.wallMs + 2 * dayMs }],
  ['certificate-expiry', 'critical', { certificateEndsAt: inOrder.wallMs - 1 }],
];

test('a cluster in order has no alerts', () => {
  assert.deepEqual(alertsOf(inOrder), []);
  assert.deepEqual(alertsOf({ ...inOrder, certificateEndsAt: undefined }), []);
});

test('a leader that has just been elected may be another one than is preferred', () => {
  const voters = [member('a'), member('b'), member('c', { priority: 5 })];
  const found = (lastElectionMs: number) =>
    alertsOf({
      ...inOrder,
      ...withStatus({ configuration: configuration(voters), lastElectionMs }),
    });
  assert.deepEqual(found(inOrder.wallMs - 5 * 60_000), []);
  assert.equal(found(inOrder.wallMs - 5 * 60_000 - 1)[0]?.id, 'leader-not-preferred');
});

test('each alert comes of its cause alone, with a text, a cure and what it is about', () => {
  for (const [id, severity, change] of cases) {
    const found = alertsOf({ ...inOrder, ...change });
    assert.deepEqual(
      found.map((alert) => [alert.id, alert.severity]),
      [[id, severity]],
      id,
    );
    const [{ title, message, recommendation, details } = assert.fail(id)] = found;
    for (const text of [title, message, recommendation])
      assert.ok(text.length > 5, `${id} ${text}`);
    assert.equal(typeof details, 'object');
  }
});

test('the worst comes first', () => {
  const found = alertsOf({
    ...inOrder,
    ...withHealth({ status: 'STALLED' }),
    lacks: () => ['verify'],
    isAmbiguous: () => true,
  });
  assert.deepEqual(
    found.map(({ severity }) => severity),
    ['critical', 'warning', 'info'],
  );
});
