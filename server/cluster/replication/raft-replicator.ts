import { DatabaseError } from '#core/errors.ts';
import type { Clock } from '#core/runtime.ts';
import { formatRid, type LogIndex } from '#core/value/rid.ts';
import { shapeIdOf, splitRow } from '#storage/format/row.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import type { ShapeRegistry } from '#storage/format/shape.ts';
import type { ProposedEntry, Replicator } from '#transaction/commit/replicator.ts';
import type { Term } from '#raft/vocabulary.ts';
import type { DatabaseSeat } from './database-seat.ts';
import {
  type EntryKindNumber,
  encodeEntry,
  entryBytesMax,
  entryKind,
  entryOverhead,
} from './entry-codec.ts';
import type { GroupCommit } from './group-commit.ts';
import type { WholeQuorum } from './whole-quorum.ts';
import { encodeRows, encodeTransaction } from './write-sets.ts';

/** So large may a row be in its block, whatever its neighbours are: 64 of them begin within the 512 KiB that offsets reach. */
const storedRowBytesMax = 8184;

/**
 * What a quorum has may not be refused by any copy, however it lays its blocks, so it is judged here.
 * @throws DatabaseError `IllegalArgument`
 */
function requireStorable(operations: readonly RowOperation[], shapes: ShapeRegistry): void {
  for (const operation of operations) {
    if (operation.op !== 'put-row' || operation.row.length <= storedRowBytesMax) continue;
    const { row } = splitRow(operation.row, shapes.shape(shapeIdOf(operation.row)));
    if (row.length > storedRowBytesMax)
      throw new DatabaseError(
        'IllegalArgument',
        `record ${formatRid(operation.rid)} has ${row.length} bytes beside its large values, at most ${storedRowBytesMax} are allowed in a cluster; use fewer or larger properties`,
      );
  }
}

export interface RaftReplicatorOptions {
  readonly seat: DatabaseSeat;
  readonly commits: GroupCommit;
  readonly clock: Pick<Clock, 'now'>;
  /** @throws DatabaseError `NotLeader`, `QuorumNotReached` when this server does not lead */
  readonly requireTerm: () => Term;
  /** `service.ha.appendBufferSize`, if lower than what every entry may have. */
  readonly entryBytesMax?: number;
  /** Set with `service.ha.quorum=all`. */
  readonly wholeQuorum?: WholeQuorum | undefined;
}

/** The log of one database in a cluster: its entries go into the Raft log of the server and come back through the apply loop. */
export class RaftReplicator implements Replicator {
  readonly #options: RaftReplicatorOptions;
  readonly entryBytesMax: number;

  constructor(options: RaftReplicatorOptions) {
    this.#options = options;
    this.entryBytesMax = options.entryBytesMax ?? entryBytesMax;
  }

  role(): 'leader' | 'follower' {
    return this.#options.seat.ledIn === 0 ? 'follower' : 'leader';
  }

  readonly leadership = (): number => {
    const { seat, requireTerm } = this.#options;
    const term = requireTerm();
    if (seat.ledIn === term) return term;
    throw new DatabaseError(
      'QuorumNotReached',
      'this server has just become the leader and does not serve writes of the database yet; run it again',
    );
  };

  hasRoom(): boolean {
    return this.#options.commits.hasRoom();
  }

  room(): Promise<void> {
    return this.#options.commits.room();
  }

  replicate(entry: ProposedEntry): Promise<LogIndex> {
    try {
      const term = this.#requireSame(entry);
      if (entry.bulk !== undefined) return this.#replicateRows(entry, entry.bulk, term);
      requireStorable(entry.operations, this.#options.seat.engine.shapes);
      const body = encodeTransaction(entry.operations, entry.guards);
      return this.#propose({ kind: entryKind.transaction, body, placed: entry.placed, term });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** The leadership that the entry was made under is the one of now. */
  #requireSame({ leadership }: ProposedEntry): Term {
    const { seat } = this.#options;
    seat.requireSound();
    const term = this.leadership();
    if (leadership === undefined || leadership === term) return term;
    throw new DatabaseError(
      'ConcurrentModification',
      'another server has led the cluster meanwhile; nothing was committed, run the transaction again',
    );
  }

  /** Nothing here keeps the run: it has tens of megabytes, and its copy is on its way. */
  #replicateRows(
    { operations, placed }: ProposedEntry,
    writer: NonNullable<ProposedEntry['bulk']>,
    term: Term,
  ): Promise<LogIndex> {
    const propose = (run: Uint8Array): Promise<LogIndex> => {
      const [body, ...rest] = encodeRows(run, operations);
      return this.#propose({ kind: entryKind.rows, body, rest, placed, term, writer });
    };
    return writer
      .runBytes()
      .then(propose)
      .then((index) => {
        writer.release();
        return index;
      });
  }

  /** @throws DatabaseError `EntryTooLarge` */
  #propose({
    kind,
    body,
    rest = [],
    placed,
    term,
    writer,
  }: {
    readonly kind: EntryKindNumber;
    readonly body: Uint8Array;
    /** What follows it. */
    readonly rest?: readonly Uint8Array[];
    readonly placed: (index: LogIndex) => void;
    readonly term: Term;
    readonly writer?: ProposedEntry['bulk'];
  }): Promise<LogIndex> {
    const { seat, commits, clock } = this.#options;
    const bytesMax = this.entryBytesMax;
    let size = body.length + entryOverhead;
    for (const piece of rest) size += piece.length;
    if (size > bytesMax)
      throw new DatabaseError(
        'EntryTooLarge',
        `the transaction takes ${size} bytes in the log, at most ${bytesMax} are allowed; nothing was committed, use smaller transactions`,
      );
    const database = seat.member.uuid;
    const bytes = encodeEntry({ kind, wallTimeMs: clock.now(), txId: 0, database, body }, rest);
    const order = { seat, bytes, isNumbered: true, term, placed, writer };
    const { wholeQuorum } = this.#options;
    if (wholeQuorum === undefined) return commits.propose(order).answer;
    wholeQuorum.requireAll();
    const { answer } = commits.propose(order);
    return answer.then(async (lsn) => {
      await wholeQuorum.reached(lsn - seat.member.offset);
      return lsn;
    });
  }
}
