import type { DatabaseError } from '#core/errors.ts';
import type { LogIndex } from '#core/value/rid.ts';
import type { BulkWriter } from '#storage/bulk/writer.ts';
import { UnknownOutcome } from '#transaction/commit/unknown-outcome.ts';
import type { Index, Term } from '#raft/vocabulary.ts';
import type { DatabaseSeat } from './database-seat.ts';

export interface ProposalOptions {
  /** Undefined: an entry of the server. */
  readonly seat: DatabaseSeat | undefined;
  /** Encoded; its txId is written in when it is drained. None any more when the core has them. */
  bytes: Uint8Array;
  readonly isNumbered: boolean;
  /** The leadership it was validated under. */
  readonly term: Term;
  readonly queuedMs: number;
  readonly deadlineMs: number;
  /** Of a row run: what it was made from. */
  writer?: BulkWriter | undefined;
  readonly placed?: ((index: LogIndex) => void) | undefined;
}

const noBytes = new Uint8Array(0);
const nobody = () => {};

/** One entry on its way into the log, and the answer to who waits for it: one of the three outcomes of ha.md 12.1. */
export class Proposal {
  readonly options: ProposalOptions;
  /** `sent`: the core may have it; from then on only the log tells what becomes of it. */
  state: 'queued' | 'sent' | 'done' = 'queued';
  txId = 0;
  deadlineMs: number;
  readonly queuedMs: number;
  index: Index = 0;
  /** Of the entry in the log. */
  appendedIn: Term = 0;
  readonly answer: Promise<LogIndex>;
  readonly #answer = Promise.withResolvers<LogIndex>();
  #fate: PromiseWithResolvers<LogIndex | undefined> | undefined;
  #isAnswered = false;
  /** Told once, when it is applied or certainly lost. */
  onDone: () => void = nobody;

  constructor(options: ProposalOptions) {
    this.options = options;
    this.deadlineMs = options.deadlineMs;
    this.queuedMs = options.queuedMs;
    this.answer = this.#answer.promise;
  }

  get lsn(): LogIndex {
    return (this.index + (this.options.seat?.member.offset ?? 0)) as LogIndex;
  }

  get isWaited(): boolean {
    return !this.#isAnswered;
  }

  /** What the entry was made from, as long as somebody waits for it: it is given back then. */
  get writer(): BulkWriter | undefined {
    return this.options.writer;
  }

  /** The core has a copy: whoever looks after deadlines must not keep tens of megabytes until the last of them has passed. */
  sent(): void {
    this.options.bytes = noBytes;
  }

  appended(index: Index, term: Term): void {
    this.index = index;
    this.appendedIn = term;
    this.options.placed?.(this.lsn);
  }

  /** Committed, and applied here. */
  applied(): void {
    if (this.#end()) this.#answer.resolve(this.lsn);
    this.#fate?.resolve(this.lsn);
  }

  /** Committed, but this server could not apply it. */
  appliedElsewhere(error: DatabaseError): void {
    if (this.#end()) this.#answer.reject(error);
    this.#fate?.resolve(this.lsn);
  }

  /** It is certain that nothing was committed. */
  lost(error: DatabaseError): void {
    if (this.#end()) this.#answer.reject(error);
    this.#fate?.resolve(undefined);
  }

  /** The answer cannot wait any longer. */
  unknown(message: string): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.options.writer = undefined;
    this.#fate = Promise.withResolvers();
    this.#answer.reject(new UnknownOutcome(message, this.#fate.promise));
  }

  /** @returns whether somebody still waits */
  #end(): boolean {
    this.state = 'done';
    this.options.writer = undefined;
    this.onDone();
    const isWaited = !this.#isAnswered;
    this.#isAnswered = true;
    return isWaited;
  }
}
