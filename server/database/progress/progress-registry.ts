import { DatabaseError } from '#core/errors.ts';
import { maskSecrets } from '#core/text/masked-text.ts';
import type { Clock, EpochMs } from '#core/runtime.ts';

/** `cancelling`: told to stop, not over yet. */
export type OperationState = 'running' | 'cancelling' | 'completed' | 'failed' | 'cancelled';

/** One operation that takes long, as `GET /progress/{database}` and the list of operations show it (http-api.md 13). */
export interface ProgressEntry {
  readonly id: number;
  readonly database: string;
  /** Lower case: `rebuild index`, `backup database`, ... */
  readonly operation: string;
  /** Who started it; empty for the server itself. */
  readonly user: string;
  /** `X-Request-Id` of the request that started it. */
  readonly requestId: string | undefined;
  readonly state: OperationState;
  readonly startedAt: EpochMs;
  /** Undefined while it runs. */
  readonly endedAt: EpochMs | undefined;
  readonly stepIndex: number;
  readonly stepCount: number;
  readonly step: string;
  readonly done: number;
  /** -1 while unknown. */
  readonly total: number;
  /** floor(done * 100 / total), at most 100; -1 while unknown. */
  readonly percentage: number;
  /** What was counted so far, by name: `vertices`, `edges`, `bytes`, ... */
  readonly counts: Readonly<Record<string, number>>;
  /** Why it failed or was cancelled. */
  readonly reason: string | undefined;
}

/** What is said of an operation when it starts. */
export interface OperationStart {
  readonly database: string;
  readonly operation: string;
  readonly stepCount: number;
  readonly user?: string;
  readonly requestId?: string | undefined;
  /** Aborts the operation too: that of the statement or request that started it. */
  readonly signal?: AbortSignal;
}

/** What an operation reports to, and hears from that it is to stop. `finish` or `fail` in any case. */
export interface ProgressReporter {
  readonly id: number;
  /** Aborted when somebody cancels the operation, or its own signal was. */
  readonly signal: AbortSignal;
  /** Enters the next step; `total` undefined when nobody knows how much work it is. */
  step(name: string, total: number | undefined): void;
  advance(units: number): void;
  /** Sets one of the counts. */
  count(name: string, value: number): void;
  /** @throws DatabaseError `Cancelled` when the operation is to stop; to be called between pieces of work */
  check(): void;
  /** As it is now; for streams of progress events. */
  entry(): ProgressEntry;
  /** Over, successfully. */
  finish(): void;
  /** Over, because of this error. After `finish` without effect, so that it may stand in a `catch`. */
  fail(error: unknown): void;
}

/** When an operation on a database was last completed. */
export interface CompletedOperation {
  readonly operation: string;
  readonly database: string;
  readonly endedAt: EpochMs;
  readonly elapsedMs: number;
}

const completedMax = 5_000;
const runningMax = 1_000;
const endedMax = 200;
const endedLifetimeMs = 3_600_000;

/**
 * Operations of all databases: those that run, and for an hour the last ones that ended. An entry of `of` vanishes when its
 * operation ends. Reports cost a few assignments; nothing here waits or locks.
 */
export class ProgressRegistry {
  readonly #clock: Clock;
  readonly #nextId: () => number;
  readonly #running = new Map<number, Operation>();
  #ended: Operation[] = [];
  /** By operation and database. */
  readonly #completed = new Map<string, CompletedOperation>();

  /** @param nextId shared with what else is cancelled by id; absent: a sequence of its own */
  constructor(clock: Clock, nextId: () => number = idSequence()) {
    this.#clock = clock;
    this.#nextId = nextId;
  }

  /** @throws DatabaseError `Busy` when 1,000 operations run */
  start(about: OperationStart): ProgressReporter {
    if (this.#running.size >= runningMax)
      throw new DatabaseError('Busy', `${runningMax} operations run already`);
    const operation = new Operation(this.#nextId(), about, this.#clock, () => {
      this.#running.delete(operation.id);
      this.#ended.push(operation);
      this.#forgetOld();
      this.#keep(operation.entry());
    });
    this.#running.set(operation.id, operation);
    return operation;
  }

  /** Those that run on a database, in start order. */
  of(database: string): readonly ProgressEntry[] {
    const entries: ProgressEntry[] = [];
    for (const operation of this.#running.values())
      if (operation.database === database) entries.push(operation.entry());
    return entries;
  }

  /** All that run, in start order. */
  running(): readonly ProgressEntry[] {
    return [...this.#running.values()].map((operation) => operation.entry());
  }

  /** The last ones that ended, newest last. */
  ended(): readonly ProgressEntry[] {
    this.#forgetOld();
    return this.#ended.map((operation) => operation.entry());
  }

  /** The last one of each database that was completed since the start, however long ago. */
  lastCompleted(operation: string): readonly CompletedOperation[] {
    return [...this.#completed.values()].filter((last) => last.operation === operation);
  }

  /** @returns false when no such operation runs */
  cancel(id: number, reason = 'cancelled'): boolean {
    const operation = this.#running.get(id);
    operation?.cancel(`operation ${id} was ${reason}`);
    return operation !== undefined;
  }

  /** Cancels what runs on a database, when it is closed or dropped. */
  cancelOf(database: string, reason: string): void {
    for (const operation of [...this.#running.values()])
      if (operation.database === database) operation.cancel(reason);
  }

  #keep({ operation, database, state, startedAt, endedAt }: ProgressEntry): void {
    if (state !== 'completed' || endedAt === undefined) return;
    const key = JSON.stringify([operation, database]);
    this.#completed.delete(key);
    this.#completed.set(key, { operation, database, endedAt, elapsedMs: endedAt - startedAt });
    const [oldest] = this.#completed.keys();
    if (this.#completed.size > completedMax && oldest !== undefined) this.#completed.delete(oldest);
  }

  #forgetOld(): void {
    const oldest = this.#clock.now() - endedLifetimeMs;
    const from = Math.max(0, this.#ended.length - endedMax);
    this.#ended = this.#ended.filter(
      (operation, index) => index >= from && (operation.endedAt ?? 0) >= oldest,
    );
  }
}

/** 1, 2, 3, ... */
export function idSequence(): () => number {
  let last = 0;
  return () => {
    last += 1;
    return last;
  };
}

class Operation implements ProgressReporter {
  readonly id: number;
  readonly database: string;
  readonly #about: OperationStart;
  readonly #clock: Clock;
  readonly #whenOver: () => void;
  readonly #abort = new AbortController();
  readonly #counts: Record<string, number> = {};
  readonly #startedAt: EpochMs;
  readonly #onOuterAbort: () => void;
  #state: OperationState = 'running';
  #endedAt: EpochMs | undefined;
  #reason: string | undefined;
  #stepIndex = -1;
  #step = '';
  #done = 0;
  #total = -1;

  constructor(id: number, about: OperationStart, clock: Clock, whenOver: () => void) {
    this.id = id;
    this.database = about.database;
    this.#about = about;
    this.#clock = clock;
    this.#whenOver = whenOver;
    this.#startedAt = clock.now();
    this.#onOuterAbort = () => this.cancel('the client has left');
    about.signal?.addEventListener('abort', this.#onOuterAbort, { once: true });
    if (about.signal?.aborted) this.#onOuterAbort();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get endedAt(): EpochMs | undefined {
    return this.#endedAt;
  }

  step(name: string, total: number | undefined): void {
    this.#stepIndex += 1;
    this.#step = name;
    this.#done = 0;
    this.#total = total ?? -1;
  }

  advance(units: number): void {
    const done = this.#done + units;
    // A total may be an estimate: what is done never goes beyond it.
    this.#done = this.#total < 0 ? done : Math.min(done, this.#total);
  }

  count(name: string, value: number): void {
    this.#counts[name] = value;
  }

  check(): void {
    if (this.#abort.signal.aborted) throw new DatabaseError('Cancelled', this.#reason ?? '');
  }

  cancel(reason: string): void {
    if (this.#state !== 'running') return;
    this.#state = 'cancelling';
    this.#reason = reason;
    this.#abort.abort();
  }

  finish(): void {
    this.#end('completed', undefined);
  }

  fail(error: unknown): void {
    const reason = reasonText(error);
    this.#end(this.#state === 'cancelling' ? 'cancelled' : 'failed', this.#reason ?? reason);
  }

  entry(): ProgressEntry {
    const { database, operation, stepCount, user = '', requestId } = this.#about;
    return {
      id: this.id,
      database,
      operation,
      user,
      requestId,
      state: this.#state,
      startedAt: this.#startedAt,
      endedAt: this.#endedAt,
      stepIndex: Math.max(0, this.#stepIndex),
      stepCount,
      step: this.#step,
      done: this.#done,
      total: this.#total,
      percentage: percentageOf(this.#done, this.#total),
      counts: { ...this.#counts },
      reason: this.#reason,
    };
  }

  #end(state: OperationState, reason: string | undefined): void {
    if (this.#endedAt !== undefined) return;
    this.#state = state;
    this.#reason = reason;
    this.#endedAt = this.#clock.now();
    this.#about.signal?.removeEventListener('abort', this.#onOuterAbort);
    this.#whenOver();
  }
}

const reasonLengthMax = 1000;

/** On one line, without the user part of addresses. */
function reasonText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return maskSecrets(text.slice(0, reasonLengthMax)).replaceAll(/\p{Cc}/gu, ' ');
}

/** A step without work is done at once. */
function percentageOf(done: number, total: number): number {
  if (total < 0) return -1;
  return total === 0 ? 100 : Math.min(100, Math.floor((done * 100) / total));
}
