import { commandTimeout } from '#config/settings.ts';
import type { Runtime } from '#core/runtime.ts';
import type { ActiveStatement, ActiveStatements } from './active-statements.ts';
import type { ExecutionWatch } from '../statement/plan-execution.ts';
import type { RunOptions, Statement } from '../session.ts';
import type { StatementLimits } from './statement-limits.ts';

/**
 * Watches one statement, over all its attempts. It is entered among the active ones when it turns out to be long, which is
 * when its timers start too, counted from its beginning; until then it costs a look at the clock.
 */
export class StatementWatch implements ExecutionWatch {
  readonly startedMs: number;
  /** On the monotonic clock; Infinity without a time limit. */
  readonly deadlineMs: number;
  readonly #about: WatchOptions;
  readonly #timeoutMs: number;
  #active: ActiveStatement | undefined;

  constructor(about: WatchOptions) {
    this.#about = about;
    this.startedMs = about.startedMs ?? about.runtime.clock.monotonicMs();
    this.#timeoutMs = shorter(about.limits.timeoutMs, about.options.readTimeoutMs ?? 0);
    this.deadlineMs = this.#timeoutMs > 0 ? this.startedMs + this.#timeoutMs : Infinity;
  }

  /** The statement goes on after its first slice. */
  statement(): ActiveStatement {
    this.#active ??= this.#start();
    return this.#active;
  }

  /** @throws DatabaseError `Cancelled`, `Timeout`, ... when the statement is to end */
  check(): void {
    this.statement().check();
  }

  finish(): void {
    this.#active?.finish();
  }

  #start(): ActiveStatement {
    const { active, statement, options, databaseName, runtime } = this.#about;
    return active.start(
      {
        database: databaseName,
        user: options.principal.name,
        language: statement.language,
        text: statement.text,
        requestId: options.requestId,
        isInSession: options.sessionId !== undefined,
      },
      {
        signal: options.signal,
        timeoutMs: this.#timeoutMs,
        timeoutOf:
          this.#timeoutMs === this.#about.limits.timeoutMs
            ? commandTimeout.key
            : "readTimeout of the user's groups",
        snapshotAgeMsMax: this.#about.snapshotAgeMsMax(),
      },
      runtime.clock.monotonicMs() - this.startedMs,
    );
  }
}

export interface WatchOptions {
  readonly active: ActiveStatements;
  readonly statement: Statement;
  readonly options: RunOptions;
  readonly databaseName: string;
  readonly limits: StatementLimits;
  readonly snapshotAgeMsMax: () => number;
  readonly runtime: Runtime;
  /** When the statement began; absent: now. */
  readonly startedMs?: number | undefined;
}

/** The shorter of two time limits; 0 or less means none. */
function shorter(a: number, b: number): number {
  if (a <= 0) return Math.max(0, b);
  return b <= 0 ? a : Math.min(a, b);
}
