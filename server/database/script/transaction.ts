import { DatabaseError } from '#core/errors.ts';
import type { BucketId, LogIndex } from '#core/value/rid.ts';
import type { Isolation, Savepoint, Transaction } from '#transaction/transaction.ts';

/** Where a script's transactions come from and go to: its own ones, or those of a session. */
export interface TransactionHost {
  readonly isSession: boolean;
  /** The transaction to work in now; the first call after one ended begins the next. */
  current(isolation: Isolation): Transaction;
  /** @throws DatabaseError `ConcurrentModification`, ...; the transaction has ended either way */
  commit(): Promise<LogIndex>;
  rollback(): void;
}

/** An explicit transaction that is open. */
interface Level {
  /** Where it began; undefined: nothing was written before BEGIN, so that the whole transaction is given up. */
  readonly place: Savepoint | undefined;
}

/**
 * The transactions of a running script (sql.md 17.5). There is one at a time. BEGIN marks a place in it (or begins a fresh one
 * when nothing is written yet); COMMIT commits everything up to it, what was written before BEGIN too, since the block may
 * build on that; ROLLBACK goes back to the mark.
 */
export class ScriptTransactions {
  readonly #host: TransactionHost;
  readonly #levels: Level[] = [];
  #isolation: Isolation = 'READ_COMMITTED';
  #isUsed = false;
  /** True when an explicit COMMIT has stored something: the script may not be run again. */
  hasCommitted = false;

  constructor(host: TransactionHost) {
    this.#host = host;
    this.#isUsed = host.isSession && host.current(this.#isolation).hasWrites;
  }

  get current(): Transaction {
    return this.#host.current(this.#isolation);
  }

  /** A statement that looks at data begins. */
  beginStatement(): Transaction {
    const transaction = this.current;
    transaction.beginStatement();
    this.#isUsed = true;
    return transaction;
  }

  begin(isolation: Isolation): void {
    if (this.#levels.length > 0 || this.current.hasWrites) {
      this.#levels.push({ place: this.current.savepoint() });
      return;
    }
    if (!this.#host.isSession) this.#giveUp();
    this.#isolation = isolation;
    this.#levels.push({ place: undefined });
  }

  /** @throws DatabaseError `IllegalArgument` when no transaction was begun that a COMMIT could end */
  requireOpen(): void {
    if (this.#host.isSession || this.#levels.length > 0) return;
    throw new DatabaseError('IllegalArgument', 'COMMIT: no transaction is open');
  }

  async commit(): Promise<void> {
    this.#levels.pop()?.place?.release();
    if (this.#levels.length > 0) return;
    const { hasWrites } = this.current;
    await this.#host.commit();
    this.#fresh();
    this.hasCommitted ||= hasWrites;
  }

  /** In a session it ends the whole transaction, and with it every block that is open. */
  rollback(): void {
    if (this.#host.isSession) this.#levels.length = 0;
    const place = this.#levels.pop()?.place;
    if (place === undefined) this.#giveUp();
    else place.undo();
  }

  /** True when a BEGIN now can be taken back as a whole, whatever happens, so that its block can be run again. */
  get isFresh(): boolean {
    return this.#levels.length === 0 && !this.current.hasWrites;
  }

  /** @throws DatabaseError `IllegalArgument` when the transaction has read or written, `LockTimeout` */
  async lock(buckets: readonly BucketId[]): Promise<void> {
    if (this.#isUsed || this.current.hasWrites) {
      throw new DatabaseError(
        'IllegalArgument',
        'LOCK must come before anything else that its transaction reads or writes',
      );
    }
    // The state to read is chosen after the lock is held.
    if (!this.#host.isSession) this.#host.rollback();
    await this.current.lock(buckets);
  }

  /** The end of the script: what BEGIN opened and nobody committed is taken back. */
  closeLevels(): void {
    const [outermost, ...inner] = this.#levels.splice(0);
    if (outermost === undefined) return;
    for (const level of inner) level.place?.release();
    if (outermost.place === undefined) this.#giveUp();
    else outermost.place.undo();
  }

  /** After an error: everything since the last COMMIT is gone. */
  giveUp(): void {
    this.#levels.length = 0;
    this.#giveUp();
  }

  #giveUp(): void {
    this.#host.rollback();
    this.#fresh();
  }

  #fresh(): void {
    this.#isolation = 'READ_COMMITTED';
    this.#isUsed = false;
  }
}
