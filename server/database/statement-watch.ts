import type { Runtime } from '#core/runtime.ts';
import type {
  ActiveStatement,
  ActiveStatementInfo,
  ActiveStatements,
  StatementBounds,
} from './active-statements.ts';

/**
 * Watches one execution, over all its attempts: it is entered among the active statements when it turns out to be long, which
 * is when its timers start too (counted from its beginning).
 */
export class StatementWatch {
  readonly #active: ActiveStatements;
  readonly #about: Omit<ActiveStatementInfo, 'id' | 'startedAt'>;
  readonly #bounds: StatementBounds;
  readonly #runtime: Runtime;
  readonly startedMs: number;
  #statement: ActiveStatement | undefined;

  constructor(options: {
    active: ActiveStatements;
    about: Omit<ActiveStatementInfo, 'id' | 'startedAt'>;
    bounds: StatementBounds;
    runtime: Runtime;
  }) {
    this.#active = options.active;
    this.#about = options.about;
    this.#bounds = options.bounds;
    this.#runtime = options.runtime;
    this.startedMs = options.runtime.clock.monotonicMs();
  }

  /** The statement goes on after its first slice. */
  statement(): ActiveStatement {
    this.#statement ??= this.#active.start(
      this.#about,
      this.#bounds,
      this.#runtime.clock.monotonicMs() - this.startedMs,
    );
    return this.#statement;
  }

  /** @throws DatabaseError `Cancelled`, `Timeout`, ... when the statement is to end */
  check(): void {
    this.statement().check();
  }

  finish(): void {
    this.#statement?.finish();
  }
}
