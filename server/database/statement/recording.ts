import { maskSecrets } from '#core/text/masked-text.ts';
import type { ExplainedPlan, PlanSink, RunOptions, Statement } from '../session.ts';

/** One execution, as a recording keeps it. Milliseconds. */
export interface RecordedExecution {
  readonly database: string;
  readonly language: string;
  readonly text: string;
  readonly deserializationMs: number;
  readonly engineMs: number;
  readonly serializationMs: number;
  readonly totalMs: number;
  /** Measured; undefined for scripts and for what has no plan. */
  readonly plan: ExplainedPlan | undefined;
}

/** Times on the monotonic clock. */
export interface ExecutionTimes {
  readonly startedMs: number;
  /** When it had ended, or when its first rows were there. */
  readonly returnedMs: number;
  readonly closedMs: number;
  /** All rows were there at `returnedMs`. */
  readonly isComplete: boolean;
}

const textLengthMax = 4096;

/** Keeps the executions of a while, up to a number; what comes then is only counted. */
export class StatementRecording {
  readonly executions: RecordedExecution[] = [];
  readonly #countMax: number;
  #missed = 0;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /** Executions that were not kept. */
  get missed(): number {
    return this.#missed;
  }

  /** @returns undefined when nothing more is kept */
  begin(
    database: string,
    statement: Statement,
    options: RunOptions,
  ): RecordedStatement | undefined {
    if (this.executions.length < this.#countMax)
      return new RecordedStatement(database, statement, { options, recording: this });
    this.#missed += 1;
    return undefined;
  }

  add(execution: RecordedExecution): void {
    if (this.executions.length < this.#countMax) this.executions.push(execution);
    else this.#missed += 1;
  }
}

/** One statement under way. */
export class RecordedStatement implements PlanSink {
  plan: (() => ExplainedPlan) | undefined;
  readonly #options: RunOptions;
  readonly #database: string;
  readonly #statement: Statement;
  readonly #recording: StatementRecording;

  constructor(
    database: string,
    statement: Statement,
    given: { readonly options: RunOptions; readonly recording: StatementRecording },
  ) {
    this.#database = database;
    this.#statement = statement;
    this.#recording = given.recording;
    this.#options = given.options;
    given.options.planSink = this;
  }

  ended({ startedMs, returnedMs, closedMs, isComplete }: ExecutionTimes): void {
    const { language, text } = this.#statement;
    const { receivedMs = startedMs } = this.#options;
    this.#recording.add({
      database: this.#database,
      language,
      text: maskSecrets(text.slice(0, textLengthMax)),
      deserializationMs: Math.max(0, startedMs - receivedMs),
      engineMs: (isComplete ? returnedMs : closedMs) - startedMs,
      serializationMs: isComplete ? closedMs - returnedMs : 0,
      totalMs: closedMs - Math.min(receivedMs, startedMs),
      plan: this.plan?.(),
    });
  }
}
