import type { StorageEngine } from '#storage/engine.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import type { Clock } from '#core/runtime.ts';
import type { CompiledStatement } from '../statement/compiled-statement.ts';
import type { StatementLimits } from '../bounds/statement-limits.ts';
import type { RenderedRows, RowForm, RunOptions, Statement } from '../session.ts';
import { encodeParameters, type ThreadedDatabase } from './messages.ts';
import { ChosenRows, type Move, MovedRows } from './moved-rows.ts';
import type { ReaderThreads } from './reader-threads.ts';
import { staysHereFor, staysHereInSteps } from './where-it-runs.ts';

/** A statement that took less in a thread stays the next time. */
const shortMsMax = 5;

/** What moves. */
export interface Movable {
  readonly compiled: CompiledStatement;
  readonly order: {
    readonly statement: Statement;
    readonly options: RunOptions;
    readonly limits: StatementLimits;
    readonly watch: { readonly startedMs: number };
  };
  readonly view: ReadView;
}

export interface DatabaseThreadsOptions {
  readonly threads: ReaderThreads;
  readonly engine: StorageEngine;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly database: Omit<ThreadedDatabase, 'key'>;
  readonly planCountMax: () => number;
  readonly snapshotAgeMsMax: () => number;
  /** Work of a statement that is worth the way. */
  readonly workMsMin: number;
}

/** Moves long reading statements of one database to reader threads. */
export class DatabaseThreads {
  readonly #options: DatabaseThreadsOptions;
  readonly #database: ThreadedDatabase;
  #isClosing = false;

  constructor(options: DatabaseThreadsOptions) {
    this.#options = options;
    this.#database = { ...options.database, key: options.threads.newKey() };
  }

  /** Whether a statement of so much work is better off in a thread: its estimate may have been too low. */
  isWorth(workMs: number): boolean {
    return workMs >= this.#options.workMsMin;
  }

  /** Even short statements move. */
  get takesAll(): boolean {
    return this.#options.workMsMin === 0;
  }

  /**
   * Why the statement runs where it is; undefined: it may move as soon as a thread has room.
   * The estimate is that of EXPLAIN; a statement that has moved before is known to be long.
   */
  staysFor({ compiled, order, view }: Movable): string | undefined {
    const { profile, planSink, sessionId } = order.options;
    if (profile !== undefined || planSink !== undefined) return 'it is measured';
    if (sessionId !== undefined) return 'it stands in a transaction';
    if (view.catalog.definitions.hasReadTriggers) return 'there are triggers on READ';
    const why = staysHereFor(compiled.program, view.catalog);
    if (why !== undefined) return why;
    if (compiled.isLong || this.takesAll) return undefined;
    const { engine, workMsMin } = this.#options;
    const msMin = workMsMin + engine.checkpointMs();
    return compiled.expectedMs(view) < msMin ? 'it is expected to be short' : undefined;
  }

  /** Finds out what `staysFor` will want to know of a long plan. */
  *judgeInSteps(compiled: CompiledStatement, view: ReadView): PausingWork<void> {
    const why = yield* staysHereInSteps(compiled.program, view.catalog);
    if (why !== undefined) return;
    yield;
    compiled.expectedMs(view);
  }

  /** Its rows, which begin to run when they are first pulled, in a thread or, when none is free, by `here`; undefined: it stays. */
  rows(statement: Movable, move: Move, here: () => RenderedRows): ChosenRows | undefined {
    const { form } = move.renderer;
    if (form === undefined || this.#isClosing || this.staysFor(statement) !== undefined)
      return undefined;
    statement.compiled.isLong = true;
    if (this.#options.threads.free(this.#database.key) === undefined) return undefined;
    const choose = () => this.#chosen(statement, { ...move, form }, here);
    return new ChosenRows(choose, move.failed);
  }

  /** Resolves when no thread has the database open. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#options.threads.leave(this.#database.key);
  }

  /** What was committed before it must be where a thread sees it. A disk that is full keeps nobody from reading here. */
  async #chosen(
    statement: Movable,
    move: Move & { readonly form: RowForm },
    here: () => RenderedRows,
  ): Promise<RenderedRows> {
    const { threads, engine } = this.#options;
    const isSaved = await engine.checkpoint().then(
      () => true,
      () => false,
    );
    move.check();
    const thread = isSaved && !this.#isClosing ? threads.free(this.#database.key) : undefined;
    if (thread === undefined) return here();
    const { compiled, order } = statement;
    const { options, limits, watch } = order;
    const parameters = encodedParameters(statement);
    if (parameters === undefined) return here();
    move.moved();
    const rows = new MovedRows({
      renderer: move.renderer,
      rowCountMax: move.rowCountMax,
      check: move.check,
      taken: (spent) => thread.post({ kind: 'taken', id, spent }, spent && [spent]),
      stop: () => thread.stop(id),
    });
    const ended = (tookMs: number): void => {
      if (tookMs < shortMsMax) compiled.isLong = false;
    };
    const id = threads.run(
      thread,
      {
        database: this.#database,
        language: order.statement.language,
        text: order.statement.text,
        parameters,
        limits,
        planCountMax: this.#options.planCountMax(),
        user: options.principal.name,
        rowCountMax: options.rowCountMax,
        limitedRowCountMax: options.limitedRowCountMax,
        readTimeoutMs: options.readTimeoutMs,
        snapshotAgeMsMax: this.#options.snapshotAgeMsMax(),
        elapsedMs: this.#options.clock.monotonicMs() - watch.startedMs,
        form: move.form,
        renderedMax: move.rowCountMax,
      },
      { rows, ended },
    );
    return rows;
  }
}

/** undefined for values that cannot be sent. */
function encodedParameters({ order }: Movable): Uint8Array | undefined {
  try {
    return encodeParameters(order.statement.parameters);
  } catch {
    return undefined;
  }
}
