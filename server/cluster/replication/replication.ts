import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import type { Runtime } from '#core/runtime.ts';
import type {
  FollowingDatabase,
  ReplicatedLog,
  Replication,
} from '#database/catalogue/replication.ts';
import type { Index, PeerId, Term } from '#raft/vocabulary.ts';
import type { StorageEngine } from '#storage/engine.ts';
import type { Replicator } from '#transaction/commit/replicator.ts';
import type { ReplicationMeasures } from '../cluster-view.ts';
import type { ConsensusPort, ConsensusStatus } from '../consensus-port.ts';
import { ApplyLoop, type ApplyLoopOptions, type CompactionPace } from './apply-loop.ts';
import { DatabaseSeat } from './database-seat.ts';
import { encodeEntry, type EntryKindNumber, entryBytesMax, entryOverhead } from './entry-codec.ts';
import { type GroupCommitBounds, GroupCommit } from './group-commit.ts';
import { forceStepDown } from './forced-step-down.ts';
import { RaftReplicator } from './raft-replicator.ts';
import { LoadTime } from './load-time.ts';
import type { MemberDatabase, ServerEntries } from './server-entries.ts';
import { WholeQuorum } from './whole-quorum.ts';
import type { ServerProposer } from './server-proposer.ts';

const handOverMs = 5000;

export interface ClusterReplicationOptions {
  readonly port: ConsensusPort;
  readonly server: ServerEntries;
  readonly bounds: GroupCommitBounds;
  /** `service.ha.appendBufferSize`, at most what every entry may have. */
  readonly entryBytesMax?: number;
  /** Opens a member of the log that is closed, or not opened yet; what asks for it stays refused. */
  readonly openForApply: (name: string) => Promise<unknown>;
  /** Where the leader is reached, for the error that names it. */
  readonly addressOf?: (peer: PeerId) => string;
  readonly marked?: (seat: DatabaseSeat | undefined, index: Index, body: Uint8Array) => void;
  /** Everything up to the index is durable here; default: the log may go. */
  readonly checkpointed?: (index: Index) => void;
  readonly compaction?: CompactionPace;
  readonly hasRoom?: () => boolean;
  /** Told of each entry before it is applied. */
  readonly trace?: ApplyLoopOptions['trace'];
  /** A leader whose copy cannot go on finds nobody to lead (ha.md 5.13); told again and again while that is so. */
  readonly cannotStepDown?: (database: string, reason: string) => void;
  /** Set with `service.ha.quorum=all`: a voter that is silent for longer is away. */
  readonly allWithinMs?: (() => number) | undefined;
  /** Told that a load begins to be applied; what it returns is called when it is over. */
  readonly loading?: () => () => void;
  readonly runtime: Runtime;
  readonly log: Log;
}

/** A database that was here before the cluster, or that the cluster does not have any more: it can be read. */
function ofThisServerAlone(name: string): ReplicatedLog {
  const refuse = (): never => {
    throw new DatabaseError(
      'DatabaseReadOnly',
      `Database '${name}' is on this server alone and no member of the cluster: it can be read and backed up, not changed`,
    );
  };
  const replicator: Replicator = {
    role: () => 'follower',
    leadership: refuse,
    hasRoom: () => true,
    room: async () => {},
    replicate: async () => refuse(),
  };
  return { replicator, opened() {}, closing: async () => {}, requireSound() {} };
}

/**
 * Replicated transactions of one server: gives each database that is a member of the log its replicator, applies the log, and
 * makes databases ready when this server begins to lead.
 */
export class ClusterReplication implements Replication, ServerProposer {
  readonly loop: ApplyLoop;
  readonly #options: ClusterReplicationOptions;
  readonly #loads: LoadTime;
  readonly #commits: GroupCommit;
  readonly #wholeQuorum: WholeQuorum | undefined;
  readonly #seats = new Map<string, DatabaseSeat>();
  #stopStatus: (() => void) | undefined;
  #term: Term = 0;
  readonly #listeners = new Set<(leads: boolean) => void>();

  constructor(options: ClusterReplicationOptions) {
    this.#options = options;
    this.#loads = new LoadTime(options.loading ?? (() => () => {}), options.runtime.timers);
    const { port, bounds, runtime, server, log, marked, checkpointed } = options;
    const { clock, timers } = runtime;
    this.#commits = new GroupCommit({ port, bounds, clock, timers });
    const { allWithinMs: silentMsMax } = options;
    const timeoutMs = bounds.quorumTimeoutMs;
    if (silentMsMax !== undefined)
      this.#wholeQuorum = new WholeQuorum({ port, timeoutMs, silentMsMax, timers });
    this.loop = new ApplyLoop({
      port,
      server,
      seatOf: (uuid) => this.#seatOf(uuid),
      committed: (entry) => this.#commits.committed(entry),
      marked,
      checkpointed,
      compaction: options.compaction,
      hasRoom: options.hasRoom,
      trace: options.trace,
      remotely: (seat) => this.#remotely(seat),
      flush: async () => {
        await Promise.all(this.seats().map(({ engine }) => engine.checkpoint()));
      },
      timers,
      clock,
      log,
    });
  }

  get measures(): ReplicationMeasures {
    return { commits: this.#commits, applies: this.loop.times };
  }

  /** Begins to apply and to follow the leadership. */
  start(): void {
    const { port } = this.#options;
    this.#stopStatus = port.onStatus((status) => this.#follow(status));
    this.#follow(port.status());
    this.loop.start();
  }

  async stop(): Promise<void> {
    this.#stopStatus?.();
    this.#commits.close();
    for (const seat of this.#seats.values()) seat.follow();
    await this.loop.stop();
  }

  /** Leads, and has applied everything that was committed before. */
  get isReadyLeader(): boolean {
    return this.#term > 0;
  }

  /** Called when it begins to lead, ready, and when it ends. */
  onLeadership(listener: (leads: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  seats(): readonly DatabaseSeat[] {
    return [...this.#seats.values()];
  }

  // --- databases

  isMember(name: string): boolean {
    return this.#options.server.memberNamed(name) !== undefined;
  }

  join(name: string, engine: StorageEngine): ReplicatedLog | undefined {
    const { server, runtime, log } = this.#options;
    const member = server.memberNamed(name);
    if (member === undefined) return ofThisServerAlone(name);
    const { timers } = runtime;
    const seat = new DatabaseSeat(member, engine, { log, timers, loads: this.#loads });
    seat.onDamage = () => this.#giveUpLead(seat);
    const replicator = new RaftReplicator({
      seat,
      commits: this.#commits,
      clock: runtime.clock,
      requireTerm: () => this.requireTerm(),
      wholeQuorum: this.#wholeQuorum,
      entryBytesMax: this.#entryBytesMax,
    });
    return {
      replicator,
      requireSound: () => seat.requireSound(),
      opened: (database: FollowingDatabase) => {
        seat.opened(database);
        this.#seats.set(member.uuid, seat);
        if (this.#term > 0) seat.lead(this.#term);
      },
      closing: async () => {
        await seat.closing();
        if (this.#seats.get(member.uuid) === seat) this.#seats.delete(member.uuid);
      },
    };
  }

  #seatOf(uuid: string): DatabaseSeat | undefined | Promise<DatabaseSeat | undefined> {
    const seat = this.#seats.get(uuid);
    if (seat?.isOpen === true) return seat;
    const member = this.#options.server.member(uuid);
    return member === undefined ? undefined : this.#openedSeat(member);
  }

  async #openedSeat(member: MemberDatabase): Promise<DatabaseSeat | undefined> {
    try {
      await this.#options.openForApply(member.name);
    } catch (error) {
      this.#options.log.error('a database that the log writes to cannot be opened', {
        database: member.name,
        reason: error instanceof Error ? error.message : String(error),
      });
    }
    return this.#seats.get(member.uuid);
  }

  // --- leadership

  /** @throws DatabaseError `NotLeader`, `QuorumNotReached` */
  requireTerm(): Term {
    if (this.#term > 0) return this.#term;
    const { leader } = this.#options.port.status();
    if (leader === undefined)
      throw new DatabaseError('QuorumNotReached', 'the cluster has no leader now; run it again');
    if (leader === this.#options.port.self)
      throw new DatabaseError(
        'QuorumNotReached',
        'this server has just become the leader and does not serve writes yet; run it again',
      );
    const address = this.#options.addressOf?.(leader) ?? leader;
    throw new DatabaseError('NotLeader', `this server is not the leader; ${address} is`, {
      arguments: [address],
    });
  }

  #follow(status: ConsensusStatus): void {
    void this.loop.relieve(status.logState !== 'OK');
    const term = status.role === 'leader' && status.leaderReady ? status.term : 0;
    if (term === this.#term) return;
    const had = this.#term > 0;
    this.#term = term;
    this.#commits.lead(term);
    for (const seat of this.#seats.values()) {
      if (term > 0) seat.lead(term);
      else seat.follow();
    }
    if (had && term > 0) for (const listener of this.#listeners) listener(false);
    for (const listener of this.#listeners) listener(term > 0);
  }

  /** Others have what this server could not apply: one of them goes on (ha.md 5.13). */
  #giveUpLead(seat: DatabaseSeat): void {
    const { port, runtime, cannotStepDown } = this.#options;
    void forceStepDown({
      transfer: () => port.transferLeadership(undefined, handOverMs),
      isNeeded: () => this.#term > 0 && seat.damage !== undefined && !seat.isClosing,
      failed: () => cannotStepDown?.(seat.member.name, seat.damage ?? ''),
      timers: runtime.timers,
    });
  }

  /** What a quorum has and this copy could not apply (ha.md 5.13). */
  #remotely(seat: DatabaseSeat): DatabaseError {
    return new DatabaseError(
      'CommittedRemotely',
      `the transaction is committed, but this server could not apply it: ${seat.damage ?? ''}`,
    );
  }

  get #entryBytesMax(): number {
    return this.#options.entryBytesMax ?? entryBytesMax;
  }

  // --- entries of the server

  propose(kind: EntryKindNumber, body: Uint8Array): Promise<Index> {
    return this.#propose(kind, body, undefined);
  }

  proposeFor(database: string, kind: EntryKindNumber, body: Uint8Array): Promise<Index> {
    return this.#propose(kind, body, database);
  }

  async #propose(
    kind: EntryKindNumber,
    body: Uint8Array,
    database: string | undefined,
  ): Promise<Index> {
    const term = this.requireTerm();
    const size = body.length + entryOverhead;
    if (size > this.#entryBytesMax)
      throw new DatabaseError(
        'EntryTooLarge',
        `an entry of ${size} bytes does not fit into the log, at most ${this.#entryBytesMax} are allowed`,
      );
    const wallTimeMs = this.#options.runtime.clock.now();
    const bytes = encodeEntry({ kind, wallTimeMs, txId: 0, database, body });
    const proposal = this.#commits.propose({ seat: undefined, bytes, isNumbered: false, term });
    return await proposal.answer;
  }
}
