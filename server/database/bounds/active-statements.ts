import { DatabaseError } from '#core/errors.ts';
import { maskSecrets } from '#core/text/masked-text.ts';
import type { Cancel, EpochMs, Runtime } from '#core/runtime.ts';
import { letHeapGrow } from '#platform/heap-growth.ts';
import { idSequence } from '../progress/progress-registry.ts';

/** A statement that runs longer than one slice, as others see it. */
export interface ActiveStatementInfo {
  readonly id: number;
  readonly database: string;
  readonly user: string;
  readonly language: string;
  /** Abbreviated, without secrets. */
  readonly text: string;
  /** `X-Request-Id` of the request that asked for it. */
  readonly requestId: string | undefined;
  /** It runs in a transaction session of its client. */
  readonly isInSession: boolean;
  readonly startedAt: EpochMs;
}

/** What ends a statement before its time; looked at between slices and while it waits. */
export interface StatementBounds {
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  /** `service.command.timeout`, milliseconds; 0 means none. */
  readonly timeoutMs: number;
  /** What sets the time limit, for the message. */
  readonly timeoutOf: string;
  /** `service.server.maxSnapshotAge`, milliseconds. */
  readonly snapshotAgeMsMax: number;
}

const textLengthMax = 1024;

/**
 * The statements that outlived their first slice. Those that end within it cannot be seen or cancelled by anybody, since
 * nothing else runs meanwhile; so short statements pay nothing.
 */
export class ActiveStatements {
  readonly #runtime: Runtime;
  readonly #running = new Map<number, ActiveStatement>();
  readonly #nextId: () => number;

  /** @param nextId shared with what else is cancelled by id; absent: a sequence of its own */
  constructor(runtime: Runtime, nextId: () => number = idSequence()) {
    this.#runtime = runtime;
    this.#nextId = nextId;
  }

  get count(): number {
    return this.#running.size;
  }

  /** The statement started `elapsedMs` ago. Call `finish` on what this gives, in any case. */
  start(
    about: Omit<ActiveStatementInfo, 'id' | 'startedAt'>,
    bounds: StatementBounds,
    elapsedMs: number,
  ): ActiveStatement {
    const info: ActiveStatementInfo = {
      ...about,
      text: maskSecrets(about.text.slice(0, textLengthMax)),
      id: this.#nextId(),
      startedAt: Math.round(this.#runtime.clock.now() - elapsedMs),
    };
    const growthIsOver = letHeapGrow();
    const statement = new ActiveStatement(info, bounds, {
      runtime: this.#runtime,
      elapsedMs,
      forget: () => {
        this.#running.delete(info.id);
        growthIsOver();
      },
    });
    this.#running.set(info.id, statement);
    return statement;
  }

  /** In start order. */
  list(): readonly ActiveStatementInfo[] {
    return [...this.#running.values()].map(({ info }) => info);
  }

  /** @returns false when no such statement runs */
  cancel(id: number, reason = 'cancelled'): boolean {
    const statement = this.#running.get(id);
    statement?.end(new DatabaseError('Cancelled', `statement ${id} was ${reason}`));
    return statement !== undefined;
  }

  endOfDatabase(database: string, error: DatabaseError): void {
    for (const statement of [...this.#running.values()]) {
      if (statement.info.database === database) statement.end(error);
    }
  }
}

/** One running statement's reasons to stop. */
export class ActiveStatement {
  readonly info: ActiveStatementInfo;
  readonly #bounds: StatementBounds;
  readonly #forget: () => void;
  readonly #timers: readonly Cancel[];
  readonly #onAbort: () => void;
  #error: DatabaseError | undefined;
  #whenEnded: (() => void) | undefined;

  constructor(
    info: ActiveStatementInfo,
    bounds: StatementBounds,
    options: { runtime: Runtime; elapsedMs: number; forget: () => void },
  ) {
    this.info = info;
    this.#bounds = bounds;
    this.#forget = options.forget;
    this.#onAbort = () => this.end(reasonOf(bounds.signal));
    bounds.signal.addEventListener('abort', this.#onAbort, { once: true });
    const { timers } = options.runtime;
    const after = (ms: number, error: () => DatabaseError): Cancel =>
      timers.after(Math.max(0, ms - options.elapsedMs), () => this.end(error()));
    const age = after(bounds.snapshotAgeMsMax, () => tooOld(bounds.snapshotAgeMsMax));
    this.#timers =
      bounds.timeoutMs > 0 ? [age, after(bounds.timeoutMs, () => tookTooLong(bounds))] : [age];
    if (bounds.signal.aborted) this.#onAbort();
  }

  /** @throws the error that ended the statement */
  check(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  /** The first reason counts. */
  end(error: DatabaseError): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    this.#whenEnded?.();
  }

  /** Calls `listener` at once when the statement is ended from outside; the last listener counts. */
  onEnd(listener: (() => void) | undefined): void {
    this.#whenEnded = listener;
  }

  /** The statement is over; nothing ends it any more. */
  finish(): void {
    this.#forget();
    for (const cancel of this.#timers) cancel();
    this.#bounds.signal.removeEventListener('abort', this.#onAbort);
    this.#whenEnded = undefined;
  }
}

/** Without a reason of ours the client has left. */
function reasonOf({ reason }: AbortSignal): DatabaseError {
  return reason instanceof DatabaseError
    ? reason
    : new DatabaseError('Cancelled', 'the client has left');
}

/** The refusal of a statement that runs longer than its database, or a group of its user, allows. */
function tookTooLong({ timeoutMs, timeoutOf }: StatementBounds): DatabaseError {
  return new DatabaseError(
    'Timeout',
    `the statement ran longer than ${timeoutOf} (${timeoutMs} ms)`,
  );
}

function tooOld(ageMs: number): DatabaseError {
  return new DatabaseError(
    'Busy',
    `the snapshot of the statement is older than service.server.maxSnapshotAge (${ageMs / 1000} s)`,
  );
}
