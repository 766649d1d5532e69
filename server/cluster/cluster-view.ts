import type { Histogram, LabelledCounts } from '#core/instruments.ts';
import type { Index, PeerId } from '#raft/vocabulary.ts';
import type { ConsensusPort } from './consensus-port.ts';

/**
 * What the HTTP side of a cluster (ha.md 6, 7, 11) needs of the rest: status, reads, forwarding and management stand on this.
 * `cluster.ts` implements it; tests have a fake of it over the double of consensus.
 */
export interface ClusterView {
  readonly consensus: ConsensusPort;
  readonly clusterName: string;
  /** `service.server.name` */
  readonly serverName: string;
  /** As `service.ha.serverList` says, this server among them. */
  readonly declared: readonly DeclaredPeer[];
  /** Up to which every write is visible here: the number that the apply loop committed with the data, of the slowest database. */
  appliedIndex(): Index;
  /** Called after each move of the applied index; returns the way to stop. */
  onApplied(listener: (index: Index) => void): () => void;
  /** Nothing is applied here, since the volume of the databases is full. */
  lacksRoom?(): boolean;
  /** Why this server does not serve what the cluster began with: its own copy is newer (ha.md 8.4.6). */
  bootstrapRefusal?(): string | undefined;
  /** Why nothing is applied yet: the catalog is not that of the group. */
  entering?(): string | undefined;
  /** When the certificate of the Raft port ends, epoch ms; undefined: there is none. */
  raftCertificateEndsAt?(): number | undefined;
  /** Of catalog and disk, by name (ha.md 11.1). */
  databases(): readonly ClusterDatabase[];
  /** Fetches the database anew from the leader (ha.md 9.7). @throws DatabaseError when it cannot begin */
  resync?(database: string): Promise<void>;
  /** Digests of a database at an index that is marked in the log (ha.md 9.6). */
  readonly verifier?: VerifyPort;
  /** Archives of databases for other members (ha.md 9.3). */
  readonly snapshots?: SnapshotPort;
  /** How far this server is with a database that is on its way into the cluster (ha.md 5.11). */
  stageOf?(uuid: string): StageState;
  /** Features that entries of the log have switched on (ha.md 16). */
  readonly features?: FeaturePort;
  /** What scrapes see of the way of writes. */
  readonly measures?: ReplicationMeasures;
  /** Before the first election: what formation needs from the other side (ha.md 8.4.1). */
  bootstrapState?(): unknown;
}

export interface ReplicationMeasures {
  readonly commits: {
    readonly queueLength: number;
    readonly queuedBytes: number;
    /** Seconds from the queue to the commit by a quorum. */
    readonly waits: Histogram;
    readonly batchSizes: Histogram;
    /** By database. */
    readonly unknownOutcomes: LabelledCounts;
  };
  /** Seconds of the steps in which the log is applied. */
  readonly applies: Histogram;
}

export interface FeaturePort {
  active(): readonly string[];
  /** On the leader. @throws DatabaseError `NotLeader`, `QuorumNotReached` */
  activate(feature: string): Promise<void>;
}

/** One entry of `service.ha.serverList` (ha.md 4.8). */
export interface DeclaredPeer {
  readonly id: PeerId;
  /** Explicit, or made of the local prefix. */
  readonly name: string;
  readonly host: string;
  readonly raftPort: number;
  /** Undefined: derived from this server's own port. */
  readonly http?: number | undefined;
  readonly https?: number | undefined;
  readonly bolt?: number | undefined;
  readonly grpc?: number | undefined;
  readonly priority: number;
}

export interface ClusterDatabase {
  readonly name: string;
  readonly uuid?: string | undefined;
  readonly status: 'ONLINE' | 'INSTALLING' | 'DIVERGED' | 'CLOSED' | 'LOCAL_ONLY';
  readonly appliedIndex?: Index | undefined;
  readonly lastTxId?: number | undefined;
  readonly bootstrapFingerprint?: string | undefined;
  readonly bootstrapLastTxId?: number | undefined;
  readonly acquireStatus?: 'LOCAL' | 'LEADER_MISSING' | Acquisition['acquireStatus'] | undefined;
  readonly acquireTimestamp?: number | undefined;
  readonly acquireError?: string | undefined;
  /** While it is installed. */
  readonly resync?: ResyncProgress | undefined;
}

/** What became of the last fetching of a database from another member. */
export interface Acquisition {
  readonly acquireStatus: 'ACQUIRING' | 'ACQUIRED' | 'FAILED';
  /** Since when, epoch ms. */
  readonly acquireTimestamp: number;
  /** With `FAILED`. */
  readonly acquireError?: string | undefined;
}

export interface ResyncProgress {
  readonly database: string;
  readonly phase: 'DOWNLOAD' | 'LOAD' | 'SWAP' | 'REPLAY';
  readonly bytes: number;
  readonly totalBytes: number;
  readonly startedAt: number;
}

export interface VerifyPort {
  /** Marks an index in the log. @throws DatabaseError `QuorumNotReached`, `DatabaseNotFound`, `DatabaseInstalling` */
  mark(database: string): Promise<{ readonly verifyId: string; readonly index: Index }>;
  /** What this server found at the mark; undefined while it is not done yet. @throws DatabaseError for an unknown mark */
  result(verifyId: string): VerifiedDatabase | undefined;
}

export interface VerifiedDatabase {
  readonly database: string;
  readonly index: Index;
  readonly files: readonly VerifiedFile[];
}

export interface VerifiedFile {
  /** `Person_0.bucket`, `schema.json`, ... */
  readonly name: string;
  readonly checksum: string;
  readonly size: number;
  readonly type: string;
  /** The checksum says why, and equals nobody's. */
  readonly isUnreadable?: true;
}

/** `unknown`: the entry that announces it was not applied here yet. */
export interface StageState {
  readonly state: 'unknown' | 'fetching' | 'staged' | 'failed';
  readonly error?: string;
}

export interface SnapshotPort {
  /**
   * @throws DatabaseError `DatabaseNotFound`, `DatabaseInstalling`, `Busy` when too many are on their way
   */
  open(
    database: string,
    range: {
      /** Parts of the state of `index` that the receiver has. */
      readonly from?: number | undefined;
      readonly index?: Index | undefined;
      /** As it travels between members, and not as an archive. */
      readonly isInParts?: boolean;
      /** The uuid of what is staged under this name, in place of the database. */
      readonly stage?: string | undefined;
    },
  ): Promise<SnapshotArchive>;
}

export interface SnapshotArchive {
  readonly form: 'zip' | 'parts';
  readonly appliedIndex: Index;
  /** Of the database that it holds; a name may have become that of another one meanwhile. */
  readonly uuid?: string | undefined;
  /** Of an archive it is known before its first byte how long it is. */
  readonly sizes: { readonly archiveBytes: number | undefined; readonly databaseBytes: number };
  /** Parts that the receiver has already, and that are not sent. */
  readonly from?: number;
  /** Of what is sent, in order. */
  readonly pieces: AsyncIterable<Uint8Array>;
  close(): void;
}

/** In a request: parts are understood; in the answer: parts come. */
export const partsHeader = 'x-service-snapshot-parts';
/** Says who fetches an archive, for what the sender counts. */
export const receiverHeader = 'x-service-snapshot-receiver';
