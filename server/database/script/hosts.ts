import type { LogIndex } from '#core/value/rid.ts';
import type { Isolation, Transaction } from '#transaction/transaction.ts';
import type { TransactionHost } from './transaction.ts';
import type { SessionLease } from '../session/sessions.ts';

/** The transactions of a script that commits by itself. */
export class OwnTransactions implements TransactionHost {
  readonly isSession = false;
  readonly #source: { begin(isolation: Isolation): Transaction };
  readonly #commit: (transaction: Transaction) => Promise<LogIndex>;
  #transaction: Transaction | undefined;

  constructor(
    source: { begin(isolation: Isolation): Transaction },
    commit: (transaction: Transaction) => Promise<LogIndex>,
  ) {
    this.#source = source;
    this.#commit = commit;
  }

  current(isolation: Isolation): Transaction {
    this.#transaction ??= this.#source.begin(isolation);
    return this.#transaction;
  }

  async commit(): Promise<LogIndex> {
    const transaction = this.current('READ_COMMITTED');
    this.#transaction = undefined;
    try {
      return await this.#commit(transaction);
    } finally {
      transaction.rollback();
    }
  }

  rollback(): void {
    this.#transaction?.rollback();
    this.#transaction = undefined;
  }
}

/** The transactions of a script that runs in a session: COMMIT and ROLLBACK end the session's (http-api.md 8). */
export class SessionTransactions implements TransactionHost {
  readonly isSession = true;
  readonly #lease: SessionLease;
  readonly #commit: (transaction: Transaction) => Promise<LogIndex>;

  constructor(lease: SessionLease, commit: (transaction: Transaction) => Promise<LogIndex>) {
    this.#lease = lease;
    this.#commit = commit;
  }

  current(): Transaction {
    return this.#lease.transaction();
  }

  async commit(): Promise<LogIndex> {
    const transaction = this.#lease.transaction();
    this.#lease.detach();
    try {
      return await this.#commit(transaction);
    } finally {
      transaction.rollback();
    }
  }

  rollback(): void {
    this.#lease.detach()?.rollback();
  }
}
