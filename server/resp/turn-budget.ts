import type { Runtime } from '#core/runtime.ts';

/** Of the work of all connections in one turn of the event loop. */
const turnMs = 3;

/**
 * The time that all connections together have in a turn: one socket may bring 32 chunks in a turn, and hundreds of them may be
 * readable at once, each with work of its own.
 */
export class TurnBudget {
  readonly #runtime: Pick<Runtime, 'clock' | 'timers'>;
  /** When the first of them began; undefined before. */
  #startMs: number | undefined;

  constructor(runtime: Pick<Runtime, 'clock' | 'timers'>) {
    this.#runtime = runtime;
  }

  /** A connection begins to work. */
  begin(): void {
    if (this.#startMs !== undefined) return;
    this.#startMs = this.#runtime.clock.monotonicMs();
    const { timers } = this.#runtime;
    const end = (): void => {
      this.#startMs = undefined;
    };
    if (timers.soon === undefined) end();
    else timers.soon(end);
  }

  get isSpent(): boolean {
    const now = this.#runtime.clock.monotonicMs();
    return this.#startMs !== undefined && now - this.#startMs >= turnMs;
  }
}
