import { DatabaseError } from '#core/errors.ts';
import type { Principal } from '#core/principal.ts';
import type { Cancel, Runtime } from '#core/runtime.ts';
import type { Isolation, Transaction } from '#transaction/transaction.ts';

/** Asked at each use, so that changed settings hold at once. */
export interface SessionLimits {
  /** `service.server.httpTxExpireTimeout`; idle time, from the end of the last request. */
  readonly expireMs: () => number;
  /** `service.server.httpTxSessionMax`, of all databases together. */
  readonly countMax: () => number;
  /** `service.server.httpTxLockTimeout` */
  readonly lockWaitMs: () => number;
  /** `service.server.maxSnapshotAge` */
  readonly snapshotAgeMsMax: () => number;
}

/** Where what open transactions hold between statements is counted with what running statements hold (limits.md 33). */
export interface SessionMemory {
  note(bytes: number): void;
  /** @throws DatabaseError `Busy` when too much is held */
  requireRoom(): void;
}

/** What a request holds while it runs in a session. Exactly one of `release`, `end` and `take` is called, at the end. */
export interface SessionLease {
  readonly isolation: Isolation;
  /** The session's transaction; begun at its first use, when the snapshot of REPEATABLE_READ is taken. */
  transaction(): Transaction;
  readonly hasTransaction: boolean;
  /** The request is over; the idle time starts now. */
  release(): void;
  /** The session is over and rolled back. */
  end(): void;
  /** Hands the transaction over (undefined: there is none); the session goes on and begins another at its next statement. */
  detach(): Transaction | undefined;
  /** Ends the session without rolling back and hands its transaction over (undefined: no statement ran): for commit. */
  take(): Transaction | undefined;
}

/**
 * All open transaction sessions of the server (http-api.md 8). A session belongs to one user and one database; to anybody
 * else its id is unknown. One request runs in it at a time.
 *
 *     begin -> idle -> acquire -> busy -> release -> idle ... -> end
 *
 * Idle sessions end after `expireMs`, busy ones never do.
 */
export class TransactionSessions {
  readonly #runtime: Runtime;
  readonly #limits: SessionLimits;
  readonly #memory: SessionMemory | undefined;
  readonly #newId: () => string;
  readonly #sessions = new Map<string, TransactionSession>();

  constructor(options: {
    runtime: Runtime;
    limits: SessionLimits;
    memory?: SessionMemory;
    /** `AS-<uuid>`; absent: any UUID. */
    newId?: (() => string) | undefined;
  }) {
    this.#memory = options.memory;
    this.#newId = options.newId ?? (() => `AS-${options.runtime.random.uuid()}`);
    this.#runtime = options.runtime;
    this.#limits = options.limits;
  }

  get count(): number {
    return this.#sessions.size;
  }

  /**
   * @param open begins the transaction, at the first statement
   * @returns the session id
   * @throws DatabaseError `Busy` when there are too many sessions
   */
  begin(
    principal: Principal,
    about: { database: string; isolation: Isolation; open: () => Transaction },
  ): string {
    if (this.#sessions.size >= this.#limits.countMax()) {
      throw new DatabaseError(
        'Busy',
        `${this.#sessions.size} transaction sessions are open, service.server.httpTxSessionMax allows no more`,
      );
    }
    const id = this.#newId();
    const session = new TransactionSession({
      user: principal.name,
      ...about,
      runtime: this.#runtime,
      limits: this.#limits,
      memory: this.#memory,
      forget: () => this.#sessions.delete(id),
    });
    this.#sessions.set(id, session);
    session.startIdling();
    return id;
  }

  has(principal: Principal, database: string, id: string): boolean {
    return this.#find(principal, database, id) !== undefined;
  }

  /**
   * Waits for the session's running request, at most `lockWaitMs`.
   * @throws DatabaseError `SessionNotFound`, `LockTimeout`; `Busy` when its snapshot grew too old, which ends it
   */
  async acquire(principal: Principal, database: string, id: string): Promise<SessionLease> {
    return this.acquireNow(principal, database, id) ?? this.#found(principal, database, id).turn();
  }

  /** As `acquire`; undefined while another request runs in the session. */
  acquireNow(principal: Principal, database: string, id: string): SessionLease | undefined {
    return this.#found(principal, database, id).acquireNow();
  }

  #found(principal: Principal, database: string, id: string): TransactionSession {
    const session = this.#find(principal, database, id);
    if (session === undefined) throw unknownSession();
    return session;
  }

  /** Rolls back the sessions of a user who was dropped or has a new password. */
  endOfUser(user: string): void {
    for (const session of [...this.#sessions.values()]) if (session.user === user) session.end();
  }

  endOfDatabase(database: string): void {
    for (const session of [...this.#sessions.values()]) {
      if (session.database === database) session.end();
    }
  }

  endAll(): void {
    for (const session of [...this.#sessions.values()]) session.end();
  }

  #find(principal: Principal, database: string, id: string): TransactionSession | undefined {
    const session = this.#sessions.get(id);
    if (session === undefined) return undefined;
    return session.user === principal.name && session.database === database ? session : undefined;
  }
}

function unknownSession(): DatabaseError {
  return new DatabaseError('SessionNotFound', 'Remote transaction session not found or expired');
}

class TransactionSession {
  readonly user: string;
  readonly database: string;
  readonly #isolation: Isolation;
  readonly #open: () => Transaction;
  readonly #forget: () => void;
  readonly #runtime: Runtime;
  readonly #limits: SessionLimits;
  readonly #memory: SessionMemory | undefined;
  /** Of the transaction, between statements. */
  #notedBytes = 0;
  readonly #waiting: (() => void)[] = [];
  #transaction: Transaction | undefined;
  #state: 'idle' | 'busy' | 'stale' | 'ended' = 'idle';
  #cancelIdleTimer: Cancel | undefined;
  #idleUntilMs = 0;
  /** When the idle timer goes off. */
  #idleTimerMs = 0;
  #cancelAgeTimer: Cancel | undefined;
  #isOverAge = false;
  readonly #lease: SessionLease;

  constructor(options: {
    user: string;
    database: string;
    isolation: Isolation;
    open: () => Transaction;
    forget: () => void;
    runtime: Runtime;
    limits: SessionLimits;
    memory: SessionMemory | undefined;
  }) {
    this.#memory = options.memory;
    this.user = options.user;
    this.database = options.database;
    this.#isolation = options.isolation;
    this.#open = options.open;
    this.#forget = options.forget;
    this.#runtime = options.runtime;
    this.#limits = options.limits;
    this.#lease = new Lease(this, options.isolation);
  }

  /** One timer serves many short requests: where it goes off before the idle time is over it is set anew. */
  startIdling(): void {
    this.#idleUntilMs = this.#runtime.clock.monotonicMs() + this.#limits.expireMs();
    if (this.#cancelIdleTimer !== undefined && this.#idleTimerMs <= this.#idleUntilMs) return;
    this.#cancelIdleTimer?.();
    this.#setIdleTimer();
  }

  #setIdleTimer(): void {
    const { timers, clock } = this.#runtime;
    this.#idleTimerMs = this.#idleUntilMs;
    const leftMs = Math.max(0, this.#idleUntilMs - clock.monotonicMs());
    this.#cancelIdleTimer = timers.after(leftMs, () => {
      this.#cancelIdleTimer = undefined;
      if (this.#state === 'busy' || this.#state === 'ended') return;
      if (clock.monotonicMs() >= this.#idleUntilMs) this.end();
      else this.#setIdleTimer();
    });
  }

  /** @returns undefined while another request runs in it */
  acquireNow(): SessionLease | undefined {
    return this.#state === 'busy' ? undefined : this.#taken(false);
  }

  /** Waits for the request that runs in it. */
  async turn(): Promise<SessionLease> {
    return this.#taken(await this.#turn());
  }

  #taken(hasTurn: boolean): SessionLease {
    if (this.#state === 'ended') {
      if (hasTurn) this.#rollback();
      throw unknownSession();
    }
    if (this.#state === 'stale') {
      this.end();
      throw new DatabaseError(
        'Busy',
        `the snapshot of the session is older than service.server.maxSnapshotAge (${this.#limits.snapshotAgeMsMax() / 1000} s); the session was rolled back`,
      );
    }
    this.#state = 'busy';
    return this.#lease;
  }

  /** Rolls back now, or as soon as the running request is over. */
  end(): void {
    if (this.#state === 'ended') return;
    const isBusy = this.#state === 'busy';
    this.#state = 'ended';
    this.#forget();
    this.#cancelIdleTimer?.();
    if (!isBusy) this.#rollback();
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** @returns false when the session ended before the turn came */
  #turn(): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const cancel = this.#runtime.timers.after(this.#limits.lockWaitMs(), () => {
        this.#waiting.splice(this.#waiting.indexOf(wake), 1);
        reject(new DatabaseError('LockTimeout', 'timeout on acquiring session lock'));
      });
      const wake = (): void => {
        cancel();
        // The turn is taken here, not after the promise resolves: nobody may come in between.
        const isTurn = this.#state === 'idle';
        if (isTurn) this.#state = 'busy';
        resolve(isTurn);
      };
      this.#waiting.push(wake);
    });
  }

  /** The session's transaction; begun at its first use. */
  transaction(): Transaction {
    this.#note(0);
    this.#memory?.requireRoom();
    return this.#begun();
  }

  get hasTransaction(): boolean {
    return this.#transaction !== undefined;
  }

  endNow(): void {
    this.end();
    this.#rollback();
  }

  detach(): Transaction | undefined {
    this.#note(0);
    this.#cancelAgeTimer?.();
    this.#isOverAge = false;
    const transaction = this.#transaction;
    this.#transaction = undefined;
    return transaction;
  }

  take(): Transaction | undefined {
    this.#note(0);
    const transaction = this.#transaction;
    this.#transaction = undefined;
    this.endNow();
    return transaction;
  }

  #begun(): Transaction {
    if (this.#transaction === undefined) {
      this.#transaction = this.#open();
      // READ_COMMITTED takes a new snapshot for each statement, so none of them grows old.
      if (this.#isolation === 'REPEATABLE_READ') {
        const ageMs = this.#limits.snapshotAgeMsMax();
        this.#cancelAgeTimer = this.#runtime.timers.after(ageMs, () => this.#grewTooOld());
      }
    }
    return this.#transaction;
  }

  release(): void {
    if (this.#state === 'ended') {
      this.#rollback();
      return;
    }
    this.#state = 'idle';
    this.#note(this.#transaction?.heldBytes ?? 0);
    if (this.#isOverAge) this.#grewTooOld();
    const next = this.#waiting.shift();
    if (next) next();
    else if (this.#state === 'idle' || this.#state === 'stale') this.startIdling();
  }

  /** The pinned state is let go of at once; the next request learns why. */
  #grewTooOld(): void {
    this.#isOverAge = true;
    if (this.#state !== 'idle') return;
    this.#rollback();
    this.#state = 'stale';
  }

  #note(bytes: number): void {
    if (bytes === this.#notedBytes) return;
    this.#memory?.note(bytes - this.#notedBytes);
    this.#notedBytes = bytes;
  }

  #rollback(): void {
    this.#note(0);
    this.#cancelAgeTimer?.();
    const transaction = this.#transaction;
    this.#transaction = undefined;
    transaction?.rollback();
  }
}

/** One for all requests of a session: they come one after the other, and a statement should not make one. */
class Lease implements SessionLease {
  readonly isolation: Isolation;
  readonly #session: TransactionSession;

  constructor(session: TransactionSession, isolation: Isolation) {
    this.#session = session;
    this.isolation = isolation;
  }

  get hasTransaction(): boolean {
    return this.#session.hasTransaction;
  }

  transaction(): Transaction {
    return this.#session.transaction();
  }

  release(): void {
    this.#session.release();
  }

  end(): void {
    this.#session.endNow();
  }

  detach(): Transaction | undefined {
    return this.#session.detach();
  }

  take(): Transaction | undefined {
    return this.#session.take();
  }
}
