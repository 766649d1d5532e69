import { DatabaseError } from '#core/errors.ts';
import { Histogram, LabelledCounts } from '#core/instruments.ts';
import type { Clock } from '#core/runtime.ts';
import type { ResultStream, RunOptions, Statement } from '../session.ts';
import type { StatementRecording } from './recording.ts';

/** Times of the statements of one language that read, or that write. */
export interface StatementTimes {
  readonly language: string;
  readonly kind: 'read' | 'write';
  readonly seconds: Histogram;
}

/** Told of each statement that took long, when its rows are all given. */
export type SlowStatementReport = (slow: {
  readonly database: string;
  readonly statement: Statement;
  readonly options: RunOptions;
  readonly ms: number;
}) => void;

/** A statement that was begun. */
interface Begun {
  readonly database: string;
  readonly statement: Statement;
  readonly options: RunOptions;
  readonly startedMs: number;
  readonly recorded: ReturnType<StatementRecording['begin']> | undefined;
}

/**
 * Measures the statements of all databases: how long each took, by language and kind, and how many failed, by error. While a
 * recording runs, it is told of each statement. Cost per statement: two looks at the clock, of which the statement shares the
 * first, and one observation. A look costs 50 to 130 ns: as much as several rows.
 */
export class StatementMeter {
  /** The recording that runs now; set and taken away by the profiler. */
  recording: StatementRecording | undefined;
  readonly failures = new LabelledCounts();
  readonly #clock: Clock;
  readonly #reads = new Map<string, StatementTimes>();
  readonly #writes = new Map<string, StatementTimes>();
  readonly #reportSlow: SlowStatementReport;
  #slowMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, reportSlow: SlowStatementReport = () => {}) {
    this.#clock = clock;
    this.#reportSlow = reportSlow;
  }

  /** @param ms `server.slowStatement`; 0: none */
  set slowMs(ms: number) {
    this.#slowMs = ms === 0 ? Number.POSITIVE_INFINITY : ms;
  }

  times(): readonly StatementTimes[] {
    return [...this.#reads.values(), ...this.#writes.values()];
  }

  /**
   * Runs a statement by `execute`, which is told when it began, and measures it until its rows are all given; without a
   * promise when `execute` gives none.
   * @throws what `execute` throws
   */
  measured(
    database: string,
    statement: Statement,
    options: RunOptions,
    execute: (startedMs: number) => ResultStream | Promise<ResultStream>,
  ): ResultStream | Promise<ResultStream> {
    const startedMs = this.#clock.monotonicMs();
    const recorded = this.recording?.begin(database, statement, options);
    const begun = { database, statement, options, startedMs, recorded };
    let given: ResultStream | Promise<ResultStream>;
    try {
      given = execute(startedMs);
    } catch (error) {
      throw this.#failed(error, begun);
    }
    if (!(given instanceof Promise)) return this.#returned(given, begun);
    return given.then(
      (result) => this.#returned(result, begun),
      (error: unknown) => {
        throw this.#failed(error, begun);
      },
    );
  }

  #failed(error: unknown, begun: Begun): unknown {
    this.#considerSlow(begun, this.#clock.monotonicMs() - begun.startedMs);
    this.failures.add(error instanceof DatabaseError ? error.exception : 'InternalException');
    return error;
  }

  #returned(result: ResultStream, begun: Begun): ResultStream {
    const { startedMs, recorded } = begun;
    const returnedMs = this.#clock.monotonicMs();
    if (result.complete !== undefined) this.#observe(begun, result, returnedMs - startedMs);
    if (recorded !== undefined || result.complete === undefined)
      result.whenClosed = (error) => {
        const closedMs = this.#clock.monotonicMs();
        if (error !== undefined) this.#failed(error, begun);
        else if (result.complete === undefined) this.#observe(begun, result, closedMs - startedMs);
        recorded?.ended({
          startedMs,
          returnedMs,
          closedMs,
          isComplete: result.complete !== undefined,
        });
      };
    return result;
  }

  #considerSlow({ database, statement, options }: Begun, ms: number): void {
    if (ms >= this.#slowMs) this.#reportSlow({ database, statement, options, ms });
  }

  #observe(begun: Begun, { isReadOnly }: ResultStream, ms: number): void {
    this.#considerSlow(begun, ms);
    const { language } = begun.statement;
    const kinds = isReadOnly ? this.#reads : this.#writes;
    let times = kinds.get(language);
    if (times === undefined) {
      times = { language, kind: isReadOnly ? 'read' : 'write', seconds: new Histogram() };
      kinds.set(language, times);
    }
    times.seconds.observe(ms / 1000);
  }
}
