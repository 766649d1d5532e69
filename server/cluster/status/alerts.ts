import type { PeerId } from '#raft/vocabulary.ts';
import type { ClusterDatabase } from '../cluster-view.ts';
import type { ConsensusStatus } from '../consensus-port.ts';
import type { KnownPeer } from '../forwarding/peer-addresses.ts';
import type { ReplicaHealth } from './replica-monitor.ts';

export interface ClusterAlert {
  readonly id: string;
  readonly severity: 'info' | 'warning' | 'critical';
  readonly title: string;
  readonly message: string;
  readonly recommendation: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** What alerts are made of; pure, so that a table of cases can test them. */
export interface AlertInput {
  readonly self: PeerId;
  readonly status: ConsensusStatus;
  readonly peers: readonly KnownPeer[];
  readonly databases: readonly ClusterDatabase[];
  readonly healthOf: (peer: PeerId) => ReplicaHealth | undefined;
  readonly isAmbiguous: (peer: PeerId) => boolean;
  readonly nowMs: number;
  /** Since when no leader is known (monotonic clock); undefined: one is. */
  readonly leaderlessSinceMs: number | undefined;
  readonly electionTimeoutMsMax: number;
  readonly unreachableMs: number;
  /** `service.ha.logSegmentSize` */
  readonly segmentBytes: number;
  /** Epoch ms. */
  readonly wallMs: number;
  /** Why this server does not serve what the cluster began with. */
  readonly bootstrapRefusal: string | undefined;
  /** Of the Raft port; undefined: it has no certificate. */
  readonly certificateEndsAt: number | undefined;
  /** Capabilities of this build that a member is known not to have. */
  readonly lacks: (peer: PeerId) => readonly string[];
}

/** The alerts of `GET /cluster` (contract 3; ha.md 11.1), the worst first. */
export function alertsOf(input: AlertInput): readonly ClusterAlert[] {
  const found = [
    notInConfiguration(input),
    notInServerList(input),
    noLeader(input),
    quorumAtRisk(input),
    lagging(input),
    stalled(input),
    channelGaveUp(input),
    storageMismatch(input),
    bootstrapDiverged(input),
    formatBlocked(input),
    certificateExpiry(input),
    logState(input),
    ambiguous(input),
    evenVoters(input),
    leaderNotPreferred(input),
    ...databaseAlerts(input.databases),
  ].filter((alert) => alert !== undefined);
  const rank = { critical: 0, warning: 1, info: 2 };
  return found.sort((a, b) => rank[a.severity] - rank[b.severity]);
}

function shown(peer: KnownPeer): string {
  return peer.name ?? peer.id;
}

function idsOf(peers: readonly KnownPeer[]): Readonly<Record<string, unknown>> {
  return { peers: peers.map(({ id }) => id) };
}

function notInConfiguration({ peers, self, status }: AlertInput): ClusterAlert | undefined {
  // Before a cluster is there nobody is missing from it.
  if (status.configuration.voters.length === 0) return undefined;
  const missing = peers.filter(({ member }) => member === undefined);
  if (missing.length === 0) return undefined;
  const isMe = missing.some(({ id }) => id === self);
  const names = missing.map(shown).join(', ');
  return {
    id: 'peers-not-in-configuration',
    severity: isMe ? 'critical' : 'warning',
    title: 'Declared peers are not cluster members',
    message: `${names} ${missing.length === 1 ? 'is' : 'are'} declared in service.ha.serverList but not part of the Raft configuration`,
    recommendation: 'Add the peer again or remove it from the server list',
    details: idsOf(missing),
  };
}

function notInServerList({ peers }: AlertInput): ClusterAlert | undefined {
  const added = peers.filter(({ isDeclared }) => !isDeclared);
  if (added.length === 0) return undefined;
  return {
    id: 'peers-not-in-server-list',
    severity: 'info',
    title: 'Members are not in the server list',
    message: `${added.map(shown).join(', ')} joined at runtime and is not in service.ha.serverList`,
    recommendation: 'Add it to service.ha.serverList of every server before the next restart',
    details: idsOf(added),
  };
}

function noLeader(input: AlertInput): ClusterAlert | undefined {
  const { status, leaderlessSinceMs, nowMs, electionTimeoutMsMax } = input;
  if (status.leader !== undefined || leaderlessSinceMs === undefined) return undefined;
  const ms = Math.round(nowMs - leaderlessSinceMs);
  if (ms <= electionTimeoutMsMax) return undefined;
  const why = status.isNobodyAllowed === true ? ': every voter is pinned as a replica' : '';
  return {
    id: 'no-leader',
    severity: 'critical',
    title: 'No leader',
    message: `No leader has been known for ${ms} ms${why}; writes and linearizable reads are refused`,
    recommendation:
      why === ''
        ? 'Check that a majority of the members runs and that they reach each other'
        : 'Set service.ha.serverRole to any on one of the voters and restart it',
    details: { leaderlessMs: ms },
  };
}

function quorumAtRisk({ status, self }: AlertInput): ClusterAlert | undefined {
  const { voters } = status.configuration;
  if (status.role !== 'leader' || voters.length < 2) return undefined;
  const quorum = Math.floor(voters.length / 2) + 1;
  const unreachable = status.progress
    .filter(({ id, isReachable }) => !isReachable && voters.some((voter) => voter.id === id))
    .map(({ id }) => id);
  const reachableCount = voters.length - unreachable.filter((id) => id !== self).length;
  if (unreachable.length === 0 || reachableCount - 1 >= quorum) return undefined;
  return {
    id: 'quorum-at-risk',
    severity: 'warning',
    title: 'Quorum at risk',
    message: `${reachableCount} of ${voters.length} voters are reachable; one more loss stops writes`,
    recommendation: 'Bring the unreachable members back',
    details: { unreachable, voters: voters.length, quorum },
  };
}

function lagging({ peers, healthOf, nowMs }: AlertInput): ClusterAlert | undefined {
  const found = peers.filter(({ id }) => {
    const health = healthOf(id);
    if (health === undefined || health.status === 'STALLED') return false;
    const sinceMs = health.laggingSinceMs;
    return (
      health.status === 'FALLING_BEHIND' || (sinceMs !== undefined && nowMs - sinceMs > 30_000)
    );
  });
  if (found.length === 0) return undefined;
  return {
    id: 'lagging-followers',
    severity: 'warning',
    title: 'Followers lag behind',
    message: `${found.map(shown).join(', ')} cannot keep up with the leader`,
    recommendation: 'Check disk, processor and network of the follower',
    details: idsOf(found),
  };
}

function stalled({ peers, healthOf }: AlertInput): ClusterAlert | undefined {
  const found = peers.filter(({ id }) => healthOf(id)?.status === 'STALLED');
  if (found.length === 0) return undefined;
  return {
    id: 'stalled-replicas',
    severity: 'critical',
    title: 'Followers stand still',
    message: `${found.map(shown).join(', ')} takes no entries while the leader commits`,
    recommendation:
      'Check the follower; POST /api/v1/cluster/resync/{database} there fills it anew',
    details: idsOf(found),
  };
}

function channelGaveUp({ peers, status }: AlertInput): ClusterAlert | undefined {
  const reasons = new Map(status.progress.map(({ id, gaveUp }) => [id, gaveUp]));
  const found = peers.filter(({ id }) => reasons.get(id) !== undefined);
  if (found.length === 0) return undefined;
  const why = found.map((peer) => `${shown(peer)} (${reasons.get(peer.id)})`).join(', ');
  return {
    id: 'channel-gave-up',
    severity: 'critical',
    title: 'Automatic recovery of a follower has ended',
    message: `${why} cannot be reached, and opening its channel anew did not help`,
    recommendation: 'Check the follower and the network between it and the leader',
    details: idsOf(found),
  };
}

/** The members count on the storage that it had: what it voted and acknowledged stood there. */
function storageMismatch({ status, self }: AlertInput): ClusterAlert | undefined {
  const { voters, learners } = status.configuration;
  const own = [...voters, ...learners].find(({ id }) => id === self);
  if (own === undefined || own.storageId === '' || own.storageId === status.storageId)
    return undefined;
  return {
    id: 'storage-id-mismatch',
    severity: 'critical',
    title: 'This server has another storage than its cluster knows',
    message: `the members know storage ${own.storageId} of this server, it has ${status.storageId} and does not vote`,
    recommendation: `Bring its storage back, or DELETE /api/v1/cluster/peer/${self} and add it again`,
    details: { known: own.storageId, here: status.storageId },
  };
}

function bootstrapDiverged({ bootstrapRefusal }: AlertInput): ClusterAlert | undefined {
  if (bootstrapRefusal === undefined) return undefined;
  return {
    id: 'bootstrap-diverged-databases',
    severity: 'critical',
    title: 'A database here is newer than what the cluster began with',
    message: bootstrapRefusal,
    recommendation: 'Move the database away, or form the cluster anew with this server in it',
    details: {},
  };
}

function formatBlocked({ peers, lacks }: AlertInput): ClusterAlert | undefined {
  const found = peers.filter(({ member, id }) => member !== undefined && lacks(id).length > 0);
  if (found.length === 0) return undefined;
  return {
    id: 'replication-format-blocked',
    severity: 'info',
    title: 'Members of an older build',
    message: found.map((peer) => `${shown(peer)} lacks ${lacks(peer.id).join(', ')}`).join('; '),
    recommendation: 'Upgrade them; what they do not understand is not used until then',
    details: idsOf(found),
  };
}

const dayMs = 86_400_000;

function certificateExpiry({ certificateEndsAt, wallMs }: AlertInput): ClusterAlert | undefined {
  if (certificateEndsAt === undefined) return undefined;
  const days = Math.floor((certificateEndsAt - wallMs) / dayMs);
  if (days >= 30) return undefined;
  return {
    id: 'certificate-expiry',
    severity: days < 3 ? 'critical' : 'warning',
    title: 'The certificate of the Raft port ends soon',
    message:
      days < 0
        ? 'it has ended: connections are refused'
        : `it ends in ${days} days; then members are cut off`,
    recommendation: 'Renew the file of service.ha.tls.certChainFile; it is read again by itself',
    details: { endsAt: certificateEndsAt },
  };
}

const segmentsLeft = 4;

function logState({ status, segmentBytes }: AlertInput): ClusterAlert | undefined {
  const { logState: state, counts } = status;
  if (state === 'OK') return undefined;
  const isNearEnd = (counts?.logFreeBytes ?? Infinity) < segmentsLeft * segmentBytes;
  const isPressed = state === 'PRESSURE';
  return {
    id: isPressed ? 'raft-storage-pressure' : 'raft-log-failed',
    severity: isPressed && !isNearEnd ? 'warning' : 'critical',
    title: isPressed ? 'Little room for the Raft log' : 'The Raft log has failed',
    message: isPressed
      ? 'The volume of the Raft log is nearly full'
      : `The Raft log takes no entries (${state})`,
    recommendation: 'Make room on the volume of the Raft log',
    details: { logState: state },
  };
}

function ambiguous({ peers, isAmbiguous }: AlertInput): ClusterAlert | undefined {
  const found = peers.filter(({ id }) => isAmbiguous(id));
  if (found.length === 0) return undefined;
  return {
    id: 'peer-address-ambiguous',
    severity: 'warning',
    title: 'HTTP addresses are shared',
    message: `${found.map(shown).join(', ')} have the same HTTP address, which identifies none of them`,
    recommendation: 'Declare http in service.ha.serverList',
    details: idsOf(found),
  };
}

function evenVoters({ status: { configuration } }: AlertInput): ClusterAlert | undefined {
  const count = configuration.voters.length;
  if (![2, 4, 6].includes(count)) return undefined;
  return {
    id: 'even-voter-count',
    severity: 'info',
    title: 'Even number of voters',
    message: `${count} voters outlast the loss of ${count / 2 - 1}, as ${count - 1} would`,
    recommendation: 'Add or remove one',
    details: { voters: count },
  };
}

const preferenceMs = 5 * 60_000;

function leaderNotPreferred({
  status,
  healthOf,
  self,
  wallMs,
}: AlertInput): ClusterAlert | undefined {
  const { voters } = status.configuration;
  // A leader gives the lead away by itself before that, when it can.
  if (status.role !== 'leader' || wallMs - status.lastElectionMs <= preferenceMs) return undefined;
  const own = voters.find(({ id }) => id === self)?.priority ?? 0;
  const better = voters.filter(
    ({ id, priority, canLead }) => canLead && priority > own && healthOf(id)?.status === 'HEALTHY',
  );
  if (better.length === 0) return undefined;
  return {
    id: 'leader-not-preferred',
    severity: 'info',
    title: 'Another server is preferred as leader',
    message: `${better.map(({ id }) => id).join(', ')} has a higher priority than the leader`,
    recommendation: 'POST /api/v1/cluster/leader hands the lead over',
    details: { peers: better.map(({ id }) => id) },
  };
}

function databaseAlerts(databases: readonly ClusterDatabase[]): (ClusterAlert | undefined)[] {
  const alert = (
    id: string,
    severity: ClusterAlert['severity'],
    found: readonly ClusterDatabase[],
    texts: { title: string; message: string; recommendation: string },
  ): ClusterAlert | undefined =>
    found.length === 0
      ? undefined
      : {
          id,
          severity,
          title: texts.title,
          message: `${found.map(({ name }) => name).join(', ')}: ${texts.message}`,
          recommendation: texts.recommendation,
          details: { databases: found.map(({ name }) => name) },
        };
  const acquired = (wanted: ClusterDatabase['acquireStatus']) =>
    databases.filter(({ acquireStatus }) => acquireStatus === wanted);
  return [
    alert('leader-missing-databases', 'warning', acquired('LEADER_MISSING'), {
      title: 'The leader lacks databases',
      message: 'here, but not in the catalog of the cluster',
      recommendation: 'Restore it through the leader, or drop it here',
    }),
    alert('failed-acquire-databases', 'warning', acquired('FAILED'), {
      title: 'Databases could not be fetched',
      message: 'could not be fetched from the leader',
      recommendation: 'See acquireError; POST /api/v1/cluster/resync/{database} tries again',
    }),
    alert(
      'diverged-databases',
      'critical',
      databases.filter(({ status }) => status === 'DIVERGED'),
      {
        title: 'Databases have diverged',
        message: 'differs from the other members and is closed here until it is filled anew',
        recommendation: 'It is fetched from the leader by itself; see the log for the cause',
      },
    ),
  ];
}
