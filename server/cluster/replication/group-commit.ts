import { DatabaseError } from '#core/errors.ts';
import { Histogram, LabelledCounts } from '#core/instruments.ts';
import type { Clock, Timers } from '#core/runtime.ts';
import type { Entry, Index, Term } from '#raft/vocabulary.ts';
import { type ConsensusPort, epochOf, type Proposed } from '../consensus-port.ts';
import type { DatabaseSeat } from './database-seat.ts';
import { setTxId } from './entry-codec.ts';
import { Proposal, type ProposalOptions } from './proposal.ts';

export interface GroupCommitBounds {
  /** `service.ha.groupCommitQueueSize` */
  readonly queueLengthMax: () => number;
  /** `service.ha.groupCommitMaxQueuedBytes` */
  readonly queuedBytesMax: () => number;
  /** `service.ha.groupCommitBatchSize` */
  readonly batchLengthMax: () => number;
  /** `service.ha.quorumTimeout` */
  readonly quorumTimeoutMs: () => number;
}

export interface GroupCommitOptions {
  readonly port: Pick<ConsensusPort, 'propose'>;
  readonly bounds: GroupCommitBounds;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly timers: Timers;
}

/** Bounds for transactions of a batch. */
const batchBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 500, 1000, 10_000];
const batchBytesMax = 4 * 1024 * 1024;
/** Batches on their way together: while these are synced and acknowledged, others gather. */
const batchesInFlightMax = 4;
/** Waiting entries among which answered ones are looked for. */
const deadlinesLook = 1024;
/** So many batches after one of several entries the next ones are expected to have company, too. */
const companyBatches = 8;

/**
 * The second phase of commits (ha.md 5.5): entries of all databases in one queue, proposed in batches that travel together.
 * txIds are given while draining, so that who leaves the queue makes no gap; a refused batch ends its epoch, and what was
 * numbered behind it is refused with it.
 */
export class GroupCommit {
  /** Seconds from the queue to the commit by a quorum. */
  readonly waits = new Histogram();
  readonly batchSizes = new Histogram(batchBounds);
  /** Writes whose fate was not known in time, by database. */
  readonly unknownOutcomes = new LabelledCounts();
  readonly #options: GroupCommitOptions;
  #queue: Proposal[] = [];
  #queuedBytes = 0;
  /** By their place in the log. */
  readonly #appended = new Map<Index, Proposal>();
  /** In the order of their deadlines, done ones among them. */
  #deadlines: Proposal[] = [];
  #nextLook = deadlinesLook;
  #cancelDeadline: (() => void) | undefined;
  #roomWaiters: (() => void)[] = [];
  #isScheduled = false;
  #company = 0;
  #batchesInFlight = 0;
  /** Batches whose answer of the core is out. */
  readonly #unanswered = new Set<readonly Proposal[]>();
  #isClosed = false;
  #isEpochOver = false;
  #epoch = 0;
  /** 0: this server does not lead. */
  #term: Term = 0;
  #newestTerm: Term = 0;
  readonly #numbered = new Set<DatabaseSeat>();

  constructor(options: GroupCommitOptions) {
    this.#options = options;
  }

  /** The leadership under which entries are taken; 0: none. What is queued for another one is certain not to be committed. */
  lead(term: Term): void {
    if (term === this.#term) return;
    this.#term = term;
    this.#epoch = 0;
    const queue = this.#queue;
    this.#queue = [];
    this.#queuedBytes = 0;
    for (const proposal of queue) proposal.lost(notCommitted('leadership moved'));
    this.#wakeRoom();
  }

  get queueLength(): number {
    return this.#queue.length;
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  hasRoom(): boolean {
    const { queueLengthMax, queuedBytesMax } = this.#options.bounds;
    return this.#queue.length < queueLengthMax() && this.#queuedBytes < queuedBytesMax();
  }

  room(): Promise<void> {
    if (this.hasRoom()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#roomWaiters.push(resolve);
    });
  }

  propose(options: Omit<ProposalOptions, 'queuedMs' | 'deadlineMs'>): Proposal {
    const queuedMs = this.#options.clock.monotonicMs();
    const deadlineMs = queuedMs + this.#options.bounds.quorumTimeoutMs();
    const proposal = new Proposal({ ...options, queuedMs, deadlineMs });
    if (options.term !== this.#term || this.#term === 0) {
      proposal.lost(notCommitted('this server does not lead any more'));
      return proposal;
    }
    this.#queue.push(proposal);
    this.#queuedBytes += options.bytes.length;
    this.#deadlines.push(proposal);
    this.#forgetAnswered();
    this.#watchDeadlines();
    this.#schedule();
    return proposal;
  }

  /**
   * An entry of the log is committed. @returns who waits for its apply. What was appended here in an earlier term and is not in
   * the log of this one is lost.
   */
  committed(entry: Entry): Proposal | undefined {
    if (entry.term > this.#newestTerm) this.#loseOlderThan(entry);
    const proposal = this.#appended.get(entry.index);
    if (proposal === undefined) return undefined;
    this.#appended.delete(entry.index);
    if (proposal.appendedIn === entry.term) {
      this.waits.observe((this.#options.clock.monotonicMs() - proposal.queuedMs) / 1000);
      return proposal;
    }
    proposal.lost(notCommitted('another leader was elected'));
    return undefined;
  }

  /** Terms never go back along the log. */
  #loseOlderThan({ index, term }: Entry): void {
    this.#newestTerm = term;
    for (const [place, proposal] of this.#appended) {
      if (proposal.appendedIn >= term || place < index) continue;
      this.#appended.delete(place);
      proposal.lost(notCommitted('another leader was elected'));
    }
  }

  /** The server stops: what is not decided stays open. */
  close(): void {
    this.#isClosed = true;
    this.#cancelDeadline?.();
    this.lead(0);
    for (const proposal of [...this.#appended.values(), ...[...this.#unanswered].flat()]) {
      proposal.unknown('the server stops; it is not known whether the transaction was committed');
      // Nobody writes here any more, so nothing has to be kept for it.
      proposal.lost(notCommitted('the server stops'));
    }
    this.#appended.clear();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#queue.length === 0) return;
    this.#isScheduled = true;
    const begin = (): void => {
      this.#isScheduled = false;
      this.#drain();
    };
    const { timers } = this.#options;
    // Where several write, the turns of all whose requests have arrived together come first.
    if (this.#company > 0 && timers.soon !== undefined) timers.soon(begin);
    else queueMicrotask(begin);
  }

  #drain(): void {
    while (
      this.#queue.length > 0 &&
      !this.#isEpochOver &&
      this.#batchesInFlight < batchesInFlightMax
    ) {
      const batch = this.#nextBatch();
      if (batch.length > 1) this.#company = companyBatches;
      else if (this.#company > 0) this.#company -= 1;
      if (batch.length > 0) void this.#send(batch);
    }
    this.#wakeRoom();
  }

  #nextBatch(): readonly Proposal[] {
    const lengthMax = this.#options.bounds.batchLengthMax();
    const batch: Proposal[] = [];
    let bytes = 0;
    let taken = 0;
    for (const proposal of this.#queue) {
      const { length } = proposal.options.bytes;
      if (batch.length > 0 && (batch.length >= lengthMax || bytes + length > batchBytesMax)) break;
      taken += 1;
      this.#queuedBytes -= length;
      // Its deadline has passed while it was queued.
      if (proposal.state !== 'queued') continue;
      bytes += length;
      batch.push(proposal);
    }
    this.#queue = taken === this.#queue.length ? [] : this.#queue.slice(taken);
    for (const proposal of batch) this.#number(proposal);
    return batch;
  }

  #number(proposal: Proposal): void {
    const { seat, bytes, isNumbered } = proposal.options;
    proposal.state = 'sent';
    if (seat === undefined || !isNumbered) return;
    seat.lastTxId += 1;
    proposal.txId = seat.lastTxId;
    setTxId(bytes, proposal.txId);
    this.#numbered.add(seat);
  }

  async #send(batch: readonly Proposal[]): Promise<void> {
    let left = batch.length;
    this.batchSizes.observe(left);
    this.#batchesInFlight += 1;
    const onDone = () => {
      left -= 1;
      if (left > 0) return;
      this.#batchesInFlight -= 1;
      this.#schedule();
    };
    for (const proposal of batch) proposal.onDone = onDone;
    this.#unanswered.add(batch);
    let outcome: Proposed;
    try {
      const epoch = epochOf(this.#term, this.#epoch);
      const answer = this.#options.port.propose(
        batch.map(({ options }) => options.bytes),
        epoch,
      );
      for (const proposal of batch) proposal.sent();
      outcome = await answer;
    } catch {
      // Nobody knows whether it was appended; deadlines will say so.
      return;
    } finally {
      this.#unanswered.delete(batch);
    }
    // Everybody was answered.
    if (this.#isClosed) return;
    if (outcome.kind === 'accepted') this.#accepted(batch, outcome.firstIndex, outcome.term);
    else {
      this.#isEpochOver = true;
      for (const proposal of batch) proposal.lost(notCommitted(outcome.reason));
    }
    if (this.#isEpochOver && this.#unanswered.size === 0) this.#nextEpoch();
  }

  #accepted(batch: readonly Proposal[], firstIndex: Index, term: Term): void {
    for (let i = 0; i < batch.length; i++) {
      const proposal = batch[i] as Proposal;
      proposal.appended(firstIndex + i, term);
      this.#appended.set(proposal.index, proposal);
      const { seat } = proposal.options;
      if (seat !== undefined && proposal.txId > 0) seat.acceptedTxId = proposal.txId;
    }
  }

  /** Every batch of the old one is answered: numbers go on behind the last one that the log has. */
  #nextEpoch(): void {
    this.#isEpochOver = false;
    this.#epoch += 1;
    for (const seat of this.#numbered) seat.lastTxId = seat.acceptedTxId;
    this.#numbered.clear();
    this.#schedule();
  }

  // --- deadlines

  /** Those that are answered hold their entry; there is a look at all when they may be most. */
  #forgetAnswered(): void {
    if (this.#deadlines.length < this.#nextLook) return;
    this.#deadlines = this.#deadlines.filter((proposal) => proposal.isWaited);
    this.#nextLook = Math.max(deadlinesLook, this.#deadlines.length * 2);
  }

  #watchDeadlines(): void {
    if (this.#cancelDeadline !== undefined) return;
    let passed = 0;
    while (passed < this.#deadlines.length && !this.#deadlines[passed]?.isWaited) passed += 1;
    if (passed > 0) this.#deadlines = this.#deadlines.slice(passed);
    const first = this.#deadlines[0];
    if (first === undefined) return;
    const delayMs = Math.max(1, first.deadlineMs - this.#options.clock.monotonicMs());
    this.#cancelDeadline = this.#options.timers.after(delayMs, () => {
      this.#cancelDeadline = undefined;
      this.#passDeadlines();
      this.#watchDeadlines();
    });
  }

  #passDeadlines(): void {
    const now = this.#options.clock.monotonicMs();
    const again: Proposal[] = [];
    let count = 0;
    for (const proposal of this.#deadlines) {
      if (proposal.isWaited && proposal.deadlineMs > now) break;
      count += 1;
      if (!proposal.isWaited) continue;
      if (proposal.state === 'queued')
        proposal.lost(notCommitted('no quorum within quorumTimeout'));
      else if (proposal.deadlineMs === proposal.options.deadlineMs) {
        // Most cases are decided within one election.
        proposal.deadlineMs = now + this.#options.bounds.quorumTimeoutMs();
        again.push(proposal);
      } else {
        this.unknownOutcomes.add(proposal.options.seat?.member.name ?? '');
        proposal.unknown(
          'no quorum has answered in time; it is not known whether the transaction was committed',
        );
      }
    }
    this.#deadlines = [...this.#deadlines.slice(count), ...again];
  }

  #wakeRoom(): void {
    if (this.#roomWaiters.length > 0 && this.hasRoom())
      for (const wake of this.#roomWaiters.splice(0)) wake();
  }
}

export function notCommitted(why: string): DatabaseError {
  return new DatabaseError(
    'QuorumNotReached',
    `the transaction was rolled back: ${why}; run it again`,
  );
}
