import type { Index, PeerId } from '#raft/vocabulary.ts';
import type { Baseline } from './bootstrap/baseline.ts';
import type {
  Acquisition,
  ClusterDatabase,
  ClusterView,
  DeclaredPeer,
  FeaturePort,
  ReplicationMeasures,
  ResyncProgress,
  SnapshotPort,
  StageState,
  VerifyPort,
} from './cluster-view.ts';
import type { ConsensusPort } from './consensus-port.ts';
import type { DatabaseSeat } from './replication/database-seat.ts';
import type { ClusterReplication } from './replication/replication.ts';
import type { MemberDatabase, ServerEntries } from './replication/server-entries.ts';

export interface ClusterOptions {
  readonly consensus: ConsensusPort;
  readonly replication: ClusterReplication;
  readonly server: ServerEntries;
  readonly clusterName: string;
  readonly serverName: string;
  readonly declared: readonly DeclaredPeer[];
  /** Of this server, members of the log or not. */
  readonly databaseNames: () => readonly string[];
  readonly resync?: ((database: string) => Promise<void>) | undefined;
  readonly resyncOf?: ((database: string) => ResyncProgress | undefined) | undefined;
  readonly acquisitionOf?: ((database: string) => Acquisition | undefined) | undefined;
  /** Databases that are here by name only: their files are to be fetched. */
  readonly awaited?: (() => readonly string[]) | undefined;
  readonly verifier?: VerifyPort | undefined;
  readonly snapshots?: SnapshotPort | undefined;
  readonly stageOf?: ((uuid: string) => StageState) | undefined;
  readonly bootstrapState?: (() => unknown) | undefined;
  readonly bootstrapRefusal?: (() => string | undefined) | undefined;
  readonly entering?: (() => string | undefined) | undefined;
  readonly raftCertificateEndsAt?: (() => number | undefined) | undefined;
  readonly baseline?: (() => Baseline | undefined) | undefined;
  readonly features?: FeaturePort | undefined;
}

/** A server in a cluster, as its doors see it: consensus, the log that is applied here, and the databases in it. */
export class Cluster implements ClusterView {
  readonly consensus: ConsensusPort;
  readonly clusterName: string;
  readonly serverName: string;
  readonly declared: readonly DeclaredPeer[];
  readonly verifier?: VerifyPort;
  readonly snapshots?: SnapshotPort;
  readonly features?: FeaturePort;
  readonly stageOf?: (uuid: string) => StageState;
  readonly resync?: (database: string) => Promise<void>;
  readonly bootstrapState?: () => unknown;
  readonly bootstrapRefusal?: () => string | undefined;
  readonly entering?: () => string | undefined;
  readonly raftCertificateEndsAt?: () => number | undefined;
  readonly replication: ClusterReplication;
  readonly #server: ServerEntries;
  readonly #databaseNames: () => readonly string[];
  readonly #baseline: () => Baseline | undefined;
  readonly #resyncOf: (database: string) => ResyncProgress | undefined;
  readonly #acquisitionOf: (database: string) => Acquisition | undefined;
  readonly #awaited: () => readonly string[];

  constructor(options: ClusterOptions) {
    this.consensus = options.consensus;
    this.replication = options.replication;
    this.clusterName = options.clusterName;
    this.serverName = options.serverName;
    this.declared = options.declared;
    this.#server = options.server;
    this.#databaseNames = options.databaseNames;
    this.#baseline = options.baseline ?? (() => undefined);
    this.#resyncOf = options.resyncOf ?? (() => undefined);
    this.#acquisitionOf = options.acquisitionOf ?? (() => undefined);
    this.#awaited = options.awaited ?? (() => []);
    if (options.verifier !== undefined) this.verifier = options.verifier;
    if (options.snapshots !== undefined) this.snapshots = options.snapshots;
    if (options.features !== undefined) this.features = options.features;
    if (options.stageOf !== undefined) this.stageOf = options.stageOf;
    if (options.resync !== undefined) this.resync = options.resync;
    if (options.bootstrapRefusal !== undefined) this.bootstrapRefusal = options.bootstrapRefusal;
    if (options.entering !== undefined) this.entering = options.entering;
    if (options.raftCertificateEndsAt !== undefined)
      this.raftCertificateEndsAt = options.raftCertificateEndsAt;
    if (options.bootstrapState !== undefined) this.bootstrapState = options.bootstrapState;
  }

  get measures(): ReplicationMeasures {
    return this.replication.measures;
  }

  get isReadyLeader(): boolean {
    return this.replication.isReadyLeader;
  }

  leader(): PeerId | undefined {
    return this.consensus.status().leader;
  }

  appliedIndex(): Index {
    return this.replication.loop.applied;
  }

  onApplied(listener: (index: Index) => void): () => void {
    return this.replication.loop.onApplied(listener);
  }

  lacksRoom(): boolean {
    return this.replication.loop.lacksRoom;
  }

  databases(): readonly ClusterDatabase[] {
    const seats = new Map(this.replication.seats().map((seat) => [seat.member.uuid, seat]));
    const members = this.#server.members();
    const known = new Set(members.map(({ name }) => name));
    const local = this.#databaseNames().filter((name) => !known.has(name));
    return [
      ...members.map((member) => this.#described(member, seats.get(member.uuid))),
      ...local.map((name) => ({
        name,
        status: 'LOCAL_ONLY' as const,
        acquireStatus: 'LEADER_MISSING' as const,
      })),
    ].sort((x, y) => (x.name < y.name ? -1 : 1));
  }

  #described({ name, uuid }: MemberDatabase, seat: DatabaseSeat | undefined): ClusterDatabase {
    const begun = this.#baseline()?.databases.find((database) => database.uuid === uuid);
    // The leader has nobody to fetch from: it hands the lead over first.
    const isFollower = this.consensus.status().role !== 'leader';
    const isAwaited = isFollower && seat === undefined && this.#awaited().includes(name);
    const acquireStatus: ClusterDatabase['acquireStatus'] = isAwaited ? 'ACQUIRING' : 'LOCAL';
    const about = {
      name,
      uuid,
      ...(this.#acquisitionOf(name) ?? { acquireStatus }),
      bootstrapFingerprint: begun?.fingerprint,
      bootstrapLastTxId: begun?.lastTxId,
    };
    const resync = this.#resyncOf(name);
    if (resync !== undefined) return { ...about, status: 'INSTALLING', resync };
    if (seat === undefined) return { ...about, status: isAwaited ? 'INSTALLING' : 'CLOSED' };
    const { txId } = seat.engine.applied();
    const status = seat.damage === undefined ? 'ONLINE' : 'DIVERGED';
    return { ...about, status, appliedIndex: this.appliedIndex(), lastTxId: txId };
  }

  /** Applies what is committed, and lets go of everything but the databases. */
  async close(handOverMs: number): Promise<void> {
    await this.replication.stop();
    await this.consensus.close(handOverMs);
  }
}
