import type { TestContext } from 'node:test';
import type {
  ClusterDatabase,
  ClusterView,
  DeclaredPeer,
  FeaturePort,
  VerifyPort,
} from '#cluster/cluster-view.ts';
import type {
  ConsensusPort,
  ConsensusStatus,
  MembershipChange,
  MembershipChanged,
  PeerProgress,
  Transferred,
} from '#cluster/consensus-port.ts';
import { sessionIdOf } from '#cluster/forwarding/session-owner.ts';
import { openClusterDoor } from '#cluster/open-door.ts';
import { ClusterToken } from '#cluster/token/cluster-token.ts';
import { DatabaseError } from '#core/errors.ts';
import type { HttpServer } from '#http/connection/server.ts';
import type { DoorDependencies } from '#http/door.ts';
import type { MountedRoutes } from '#http/routes/mounted-routes.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import type { Member, PeerId } from '#raft/vocabulary.ts';
import { type DoorFixture, startDoor } from '../../http/door-fixture.ts';

export const clusterToken = 'a token of the test cluster'.replaceAll(' ', '-');

/** One server whose part in consensus the test says. */
export class ScriptedServer implements ClusterView {
  readonly clusterName = 'service';
  readonly serverName: string;
  readonly id: PeerId;
  readonly consensus: ConsensusPort;
  applied = 5;
  term = 2;
  /** Rounds of linearizable reads; undefined: no quorum. */
  roundIndex: number | undefined = 5;
  roundCount = 0;
  /** How long each of them may take. */
  readonly roundLimitsMs: number[] = [];
  leaderReady = true;
  raftState: ConsensusStatus['raftState'] = 'RUNNING';
  progress: readonly PeerProgress[] = [];
  fillsNewMembers = true;
  readonly changes: MembershipChange[] = [];
  changed: MembershipChanged = { kind: 'done', configurationIndex: 9, isVoter: true };
  transferred: Transferred | undefined;
  shown: ClusterDatabase[] = [{ name: 'school', status: 'ONLINE', appliedIndex: 5 }];
  verifier?: VerifyPort;
  features?: FeaturePort;
  resync?: (database: string) => Promise<void>;
  readonly #cluster: ScriptedCluster;
  readonly #listeners = new Set<(status: ConsensusStatus) => void>();
  readonly #appliedListeners = new Set<(index: number) => void>();

  constructor(cluster: ScriptedCluster, place: number) {
    this.#cluster = cluster;
    this.serverName = `Service_${place}`;
    this.id = `127.0.0.1_${7000 + place}`;
    this.consensus = this.#makeConsensus();
  }

  get declared(): readonly DeclaredPeer[] {
    return this.#cluster.declared;
  }

  appliedIndex(): number {
    return this.applied;
  }

  onApplied(listener: (index: number) => void): () => void {
    this.#appliedListeners.add(listener);
    return () => this.#appliedListeners.delete(listener);
  }

  databases(): readonly ClusterDatabase[] {
    return this.shown;
  }

  apply(index: number): void {
    this.applied = index;
    for (const listener of [...this.#appliedListeners]) listener(index);
  }

  tellStatus(): void {
    for (const listener of [...this.#listeners]) listener(this.status());
  }

  status(): ConsensusStatus {
    const { leader, members } = this.#cluster;
    const isLeader = leader === this.id;
    return {
      raftState: this.raftState,
      logState: 'OK',
      clusterId: 'c-1',
      storageId: `s-${this.id}`,
      admitted: true,
      role: isLeader ? 'leader' : 'follower',
      term: this.term,
      leader,
      leaderReady: isLeader && this.leaderReady,
      commitIndex: 5,
      appliedIndex: this.applied,
      firstIndex: 1,
      lastIndex: 5,
      lastTerm: 0,
      configuration: {
        voters: members.filter(({ voter }) => voter),
        votersOutgoing: [],
        learners: members.filter(({ voter }) => !voter),
        learnersNext: [],
        autoLeave: false,
      },
      configurationIndex: 1,
      electionCount: 1,
      lastElectionMs: 1_786_370_000_000,
      progress: isLeader ? this.progress : [],
    };
  }

  /** A member that was added has the log, or does not get it. */
  #follow(id: PeerId): void {
    const { commitIndex } = this.status();
    const match = this.fillsNewMembers ? commitIndex : 0;
    const unknown = { lastContactMs: undefined, isReachable: true, roundTripMs: undefined };
    const fresh = { id, match, next: match + 1, state: 'replicate' as const, ...unknown };
    this.progress = [...this.progress.filter((peer) => peer.id !== id), fresh];
  }

  #makeConsensus(): ConsensusPort {
    const unused = (): never => {
      throw new Error('not scripted');
    };
    return {
      self: this.id,
      status: () => this.status(),
      onStatus: (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
      propose: unused,
      deliver: unused,
      readIndex: async (timeoutMs) => {
        this.roundCount += 1;
        this.roundLimitsMs.push(timeoutMs);
        if (this.roundIndex === undefined)
          throw new DatabaseError('QuorumNotReached', 'no quorum answered');
        return this.roundIndex;
      },
      compactTo: unused,
      offerSnapshot: unused,
      onSnapshot: unused,
      transferLeadership: async (to) => {
        if (this.transferred !== undefined) return this.transferred;
        const next = to ?? this.#cluster.members.find(({ id }) => id !== this.id)?.id;
        if (next === undefined) return { kind: 'refused', reason: 'no-eligible-peer' };
        this.#cluster.elect(next);
        return { kind: 'transferred', leader: next };
      },
      changeMembership: async (change) => {
        this.changes.push(change);
        if (change.kind === 'add') this.#follow(change.member.id);
        return this.changed;
      },
      close: async () => {},
    };
  }
}

/** Servers with real doors over scripted databases; who leads and what is applied is what the test says. */
export class ScriptedCluster {
  readonly servers: ScriptedServer[] = [];
  readonly doors: DoorFixture[] = [];
  leader: PeerId | undefined;
  members: Member[] = [];
  declared: DeclaredPeer[] = [];
  /** Before each check of a password, as servers do; off, so that tests count rounds of reads alone. */
  catchesUpLogins = false;

  /** Undefined: nobody leads. */
  elect(leader: PeerId | undefined): void {
    this.leader = leader;
    for (const server of this.servers) server.tellStatus();
  }

  server(place: number): ScriptedServer {
    return this.servers[place] as ScriptedServer;
  }

  door(place: number): DoorFixture {
    return this.doors[place] as DoorFixture;
  }
}

/** Starts servers 0, 1, ...; server 0 leads. */
export async function startCluster(
  context: TestContext,
  count = 3,
  texts: Readonly<Record<string, string>> = {},
  mounted?: () => MountedRoutes,
  /** Puts another door upon each. */
  mount?: (door: DoorDependencies, server: HttpServer) => void,
): Promise<ScriptedCluster> {
  const cluster = new ScriptedCluster();
  for (let place = 0; place < count; place += 1) {
    const view = new ScriptedServer(cluster, place);
    cluster.servers.push(view);
    const settings = { 'server.name': view.serverName, 'ha.quorumTimeout': '300', ...texts };
    const door = await startDoor(
      context,
      settings,
      undefined,
      mount,
      undefined,
      mounted?.(),
      async (parts) => {
        parts.scripted.newSessionId = () => sessionIdOf(view.id, systemRuntime.random);
        return openClusterDoor({
          view,
          token: new ClusterToken([clusterToken]),
          settings: parts.settings,
          runtime: systemRuntime,
          log: parts.log,
          ownPorts: () => ({ http: cluster.doors[place]?.port ?? 1, https: undefined }),
          version: parts.version,
          databaseNames: () => parts.databases.names(),
          endSessions: () => parts.databases.endAllSessions(),
          catchUpLogins: (caughtUp) =>
            parts.authenticator.catchUpBy(async () => {
              if (cluster.catchesUpLogins) await caughtUp();
            }),
          shareTokens: (remote) => parts.tokens.shareWith(remote),
        });
      },
    );
    cluster.doors.push(door);
    const { serverName: name, id } = view;
    cluster.declared.push({
      id,
      name,
      host: '127.0.0.1',
      raftPort: 7000 + place,
      http: door.port,
      priority: 0,
    });
    cluster.members.push({
      id,
      address: `127.0.0.1:${7000 + place}`,
      name,
      priority: 0,
      canLead: true,
      storageId: `s-${id}`,
      voter: true,
    });
  }
  // As the first entry of the log has it: one password of each user.
  const { text } = cluster.door(0).users;
  for (const { users } of cluster.doors.slice(1)) await users.take({ op: 'users', text });
  cluster.elect(cluster.server(0).id);
  return cluster;
}
