import {
  haElectionTimeoutMax,
  haPeerUnreachableThreshold,
  haQuorum,
  haStartMode,
} from '#config/cluster-settings.ts';
import { haLogSegmentSize } from '#config/cluster-log-settings.ts';
import type { SettingsReader } from '#config/effective-settings.ts';
import type { Clock } from '#core/runtime.ts';
import type { PeerId } from '#raft/vocabulary.ts';
import type { ClusterDatabase, ClusterView } from '../cluster-view.ts';
import type { ConsensusStatus } from '../consensus-port.ts';
import type { KnownPeer, PeerAddresses } from '../forwarding/peer-addresses.ts';
import { alertsOf } from './alerts.ts';
import type { CapabilityPoll } from './capabilities.ts';
import type { ReplicaMonitor, ReplicaStatus } from './replica-monitor.ts';

type Json = Readonly<Record<string, unknown>>;

export interface StatusReportOptions {
  readonly view: ClusterView;
  readonly settings: SettingsReader;
  readonly clock: Clock;
  readonly addresses: PeerAddresses;
  readonly monitor: ReplicaMonitor;
  readonly poll: CapabilityPoll;
  readonly version: string;
  readonly capabilities: readonly string[];
  /** Names of the databases of this server. */
  readonly databaseNames: () => readonly string[];
}

/**
 * `GET /cluster` (contract 3; ha.md 11.1). It tells what this server knows: nobody else is asked but for the presence of
 * databases, so that it answers without a quorum, too.
 */
export class ClusterStatusReport {
  readonly #options: StatusReportOptions;
  readonly #startedMs: number;
  /** Since when no leader is known; kept by `watch`. */
  #leaderlessSinceMs: number | undefined;
  readonly #stop: () => void;

  constructor(options: StatusReportOptions) {
    this.#options = options;
    this.#startedMs = options.clock.monotonicMs();
    this.#leaderlessSinceMs = this.#startedMs;
    this.#stop = options.view.consensus.onStatus(({ leader }) => {
      if (leader !== undefined) this.#leaderlessSinceMs = undefined;
      else this.#leaderlessSinceMs ??= options.clock.monotonicMs();
    });
  }

  close(): void {
    this.#stop();
  }

  async read(withPresence: boolean): Promise<Json> {
    const presence = withPresence ? { databasePresence: await this.#presence() } : undefined;
    return {
      ...this.#server(),
      peers: this.#peers(),
      databases: this.#databases(),
      ...presence,
      alerts: this.alerts(),
    };
  }

  /** What the leader thinks of a follower. */
  replicaStatus(peer: PeerId): ReplicaStatus {
    return this.#options.monitor.of(peer)?.status ?? 'UNKNOWN';
  }

  /** Who leads and who follows, by name. */
  roles(): { clusterName: string; leader: string | null; replicas: readonly string[] } {
    const { view, addresses } = this.#options;
    const { leader } = view.consensus.status();
    const members = addresses.known().filter(({ member }) => member !== undefined);
    const nameOf = ({ id, name }: KnownPeer) => name ?? id;
    return {
      clusterName: view.clusterName,
      leader: members.filter(({ id }) => id === leader).map(nameOf)[0] ?? null,
      replicas: members.filter(({ id }) => id !== leader).map(nameOf),
    };
  }

  /** The form that old clients read (http-api.md 11.3). */
  network(mayAccess: (database: string) => boolean): Json {
    const { view, addresses, settings } = this.#options;
    const status = view.consensus.status();
    const http = addresses.addresses('http');
    const joinedOn = status.lastElectionMs;
    const entryOf = ({ id, name }: KnownPeer) => ({
      name: name ?? id,
      address: http.get(id) ?? null,
      role: id === status.leader ? 'Leader' : 'Replica',
      joinedOn,
    });
    const members = addresses.known().filter(({ member }) => member !== undefined);
    const current = members.find(({ id }) => id === view.consensus.self);
    const leader = members.find(({ id }) => id === status.leader);
    const replicas = members.filter(({ id }) => id !== status.leader).map(entryOf);
    return {
      clusterName: view.clusterName,
      leader: leader ? (leader.name ?? leader.id) : null,
      electionStatus: leader ? 'DONE' : 'VOTING',
      network: {
        ...(current && { current: entryOf(current) }),
        ...(leader && { leader: entryOf(leader) }),
        replicas,
      },
      databases: view
        .databases()
        .filter(({ name }) => mayAccess(name))
        .map(({ name }) => ({ name, quorum: String(settings.get(haQuorum)).toUpperCase() })),
      leaderAddress: leader ? (http.get(leader.id) ?? null) : null,
      replicaAddresses: replicas.flatMap(({ address }) => address ?? []).join(','),
    };
  }

  alerts() {
    const { view, addresses, monitor, clock, settings } = this.#options;
    return alertsOf({
      self: view.consensus.self,
      status: view.consensus.status(),
      peers: addresses.known(),
      databases: view.databases(),
      healthOf: (id) => monitor.of(id),
      isAmbiguous: (id) => addresses.isAmbiguous(id),
      nowMs: clock.monotonicMs(),
      wallMs: clock.now(),
      bootstrapRefusal: view.bootstrapRefusal?.(),
      certificateEndsAt: view.raftCertificateEndsAt?.(),
      lacks: (id) => this.#lacks(id),
      leaderlessSinceMs: this.#leaderlessSinceMs,
      electionTimeoutMsMax: settings.get(haElectionTimeoutMax),
      segmentBytes: settings.get(haLogSegmentSize),
      unreachableMs: settings.get(haPeerUnreachableThreshold),
    });
  }

  /** Capabilities of this build that a member does not have, as far as it is known. */
  #lacks(id: PeerId): readonly string[] {
    const { poll, capabilities, view } = this.#options;
    const known = id === view.consensus.self ? undefined : poll.known(id)?.capabilities;
    return known === undefined ? [] : capabilities.filter((name) => !known.includes(name));
  }

  #server(): Json {
    const { view, settings, addresses, clock } = this.#options;
    const status = view.consensus.status();
    const { configuration, leader } = status;
    const applied = view.appliedIndex();
    return {
      implementation: 'raft',
      clusterName: view.clusterName,
      ...(status.clusterId === undefined ? undefined : { clusterId: status.clusterId }),
      localPeerId: view.consensus.self,
      localServerName: view.serverName,
      storageId: status.storageId,
      raftState: status.raftState,
      logState: status.logState,
      isLeader: status.role === 'leader',
      leaderReady: status.leaderReady,
      leaderId: leader ?? null,
      leaderHttpAddress: (leader && addresses.addresses('http').get(leader)) ?? null,
      currentTerm: status.term,
      // The status is published now and then; what is applied here is committed.
      commitIndex: Math.max(status.commitIndex, applied),
      appliedIndex: applied,
      lastAppliedIndex: applied,
      lastLogIndex: status.lastIndex,
      lastLogTerm: status.lastTerm,
      firstLogIndex: status.firstIndex,
      configurationIndex: status.configurationIndex,
      joint: configuration.votersOutgoing.length > 0,
      electionCount: status.electionCount,
      lastElectionTime: status.lastElectionMs,
      uptime: Math.round(clock.monotonicMs() - this.#startedMs),
      quorum: settings.get(haQuorum),
      admitted: status.admitted,
      startMode: settings.get(haStartMode),
    };
  }

  #peers(): readonly Json[] {
    const { view, addresses } = this.#options;
    const status = view.consensus.status();
    const http = addresses.addresses('http');
    return addresses
      .known()
      .map((peer) => this.#peer(peer, status, http))
      .sort((a, b) => Number(b['role'] === 'LEADER') - Number(a['role'] === 'LEADER'));
  }

  #peer(peer: KnownPeer, status: ConsensusStatus, http: ReadonlyMap<PeerId, string>): Json {
    const { view, version, capabilities, poll } = this.#options;
    const { id, name, member } = peer;
    const isLocal = id === view.consensus.self;
    const address = http.get(id);
    const known = isLocal ? { version, capabilities } : poll.known(id);
    const isLeader = status.role === 'leader';
    const unknownReason =
      isLeader && !isLocal && known === undefined
        ? (poll.unknownReason(id) ?? 'unreachable')
        : undefined;
    return {
      id,
      ...(name === undefined ? undefined : { name }),
      address: peer.address,
      ...(address === undefined ? { httpAddressAmbiguous: true } : { httpAddress: address }),
      ...this.#advertised(peer),
      role:
        member === undefined
          ? 'NOT_IN_CONFIGURATION'
          : id === status.leader
            ? 'LEADER'
            : 'FOLLOWER',
      inConfiguration: member !== undefined,
      voter: member?.voter ?? false,
      priority: peer.priority,
      canLead: member?.canLead ?? false,
      ...(member === undefined || member.storageId === ''
        ? undefined
        : { storageId: member.storageId }),
      ...(isLocal ? { local: true } : undefined),
      ...(isLeader && !isLocal && member !== undefined ? this.#replication(id, status) : undefined),
      ...(isLocal ? resyncOf(view.databases()) : undefined),
      ...(known && { version: known.version, capabilities: [...known.capabilities].sort() }),
      ...(unknownReason && { capabilitiesUnknownReason: unknownReason }),
    };
  }

  /** Ports for clients of other doors, where they are declared; one that two servers share tells of neither. */
  #advertised({ id, bolt, grpc }: KnownPeer): Json {
    const { addresses } = this.#options;
    const shown: Record<string, unknown> = {};
    for (const [protocol, port] of Object.entries({ bolt, grpc })) {
      if (port === undefined) continue;
      const address = addresses.addresses(protocol as 'bolt' | 'grpc').get(id);
      if (address === undefined) shown[`${protocol}AddressAmbiguous`] = true;
      else shown[`${protocol}Address`] = address;
    }
    return shown;
  }

  #replication(id: PeerId, status: ConsensusStatus): Json | undefined {
    const { monitor, clock } = this.#options;
    const progress = status.progress.find((found) => found.id === id);
    if (progress === undefined) return undefined;
    const health = monitor.of(id);
    const laggingSinceMs = health?.laggingSinceMs;
    const nowMs = clock.monotonicMs();
    return {
      matchIndex: progress.match > 0 ? progress.match : -1,
      nextIndex: progress.next,
      replicationLag: Math.max(0, status.commitIndex - Math.max(0, progress.match)),
      lastContactMs: progress.lastContactMs === undefined ? -1 : Math.round(progress.lastContactMs),
      reachable: progress.isReachable,
      replicaStatus: health?.status ?? 'UNKNOWN',
      lagging: laggingSinceMs !== undefined,
      laggingForMs: laggingSinceMs === undefined ? 0 : Math.round(nowMs - laggingSinceMs),
      replicationRttMs: progress.roundTripMs ?? -1,
      replicationRttP99Ms: progress.roundTripP99Ms ?? progress.roundTripMs ?? -1,
    };
  }

  #databases(): readonly Json[] {
    return this.#options.view.databases().map((database) => {
      const { resync, ...shown } = database;
      return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined));
    });
  }

  /** Who holds which database; whoever cannot be told by an address of its own counts as unreachable. */
  async #presence(): Promise<Json> {
    const { view, addresses, poll, databaseNames } = this.#options;
    const { self } = view.consensus;
    const nodes = addresses.known().map(({ id }) => id);
    const held = new Map<PeerId, readonly string[]>([[self, databaseNames()]]);
    const unreachable: PeerId[] = [];
    await Promise.all(
      nodes
        .filter((id) => id !== self)
        .map(async (id) => {
          const isIdentified = addresses.dial(id).kind === 'address';
          const found = isIdentified ? await poll.ask(id) : 'not-identified';
          if (typeof found === 'string') unreachable.push(id);
          else held.set(id, found.databases ?? []);
        }),
    );
    const names = [...new Set([...held.values()].flat())].sort();
    return {
      nodes,
      unreachable: unreachable.sort(),
      databases: names.map((name) => {
        const present = nodes.filter((id) => held.get(id)?.includes(name));
        const missing = nodes.filter((id) => held.has(id) && !present.includes(id));
        return { name, present, missing };
      }),
    };
  }
}

function resyncOf(databases: readonly ClusterDatabase[]): Json | undefined {
  const resync = databases.find((database) => database.resync !== undefined)?.resync;
  return resync && { resync };
}
