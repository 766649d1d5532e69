import { DatabaseError } from '#core/errors.ts';
import type { Authorizer } from '#core/principal.ts';
import type { LogIndex } from '#core/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import type { PhysicalOperator } from '#query/operators/operator.ts';
import type { Isolation, Transaction } from '#transaction/transaction.ts';
import type { ReadView } from '#transaction/read-view.ts';
import type { ActiveStatements } from './active-statements.ts';
import type { CompiledStatement, PlanInstance } from './compiled-statement.ts';
import type { Counters } from './counters.ts';
import { StatementMemory, type ServerMemory } from './memory-accounts.ts';
import { batchRowsMax, PlanCursor, type RowBuffer, sliceMs } from './plan-cursor.ts';
import { FinishedResult, type ResultFacts, StreamingResult } from './results.ts';
import { runWithRetries } from './retry.ts';
import type { ExplainedPlan, ResultStream, RunOptions, Statement } from './session.ts';
import type { SessionLease, TransactionSessions } from './sessions.ts';
import type { StatementCompiler } from './statement-compiler.ts';
import type { StatementLimits } from './statement-limits.ts';
import { StatementWatch } from './statement-watch.ts';

// The one path of every statement:
//
//   text -> compiled (parse, analyze, optimize, lower; cached) -> idempotence gate -> authorization -> run
//
// A reading statement runs its first slice at once; if that was all, its rows are complete, else pulling them drives the
// rest. A writing statement runs to its end and commits before its rows are given. Inside a transaction session both run in
// the session's transaction. Start reading at `runNow`.

/** Where transactions and views come from. */
export interface TransactionSource {
  /** The newest committed state. */
  view(): ReadView;
  begin(isolation: Isolation): Transaction;
}

/** EXPLAIN and PROFILE; the query room's part. */
export interface Inspector {
  explain(root: PhysicalOperator): ExplainedPlan;
  /** The same plan, measured. */
  profiled(root: PhysicalOperator): { readonly root: PhysicalOperator; plan(): ExplainedPlan };
}

export interface PipelineOptions {
  readonly databaseName: string;
  readonly compiler: StatementCompiler;
  readonly transactions: TransactionSource;
  readonly sessions: TransactionSessions;
  readonly authorizer: Authorizer;
  readonly active: ActiveStatements;
  readonly memory: ServerMemory;
  readonly counters: Counters;
  readonly inspector: Inspector;
  readonly limits: () => StatementLimits;
  /** `service.server.maxSnapshotAge`, milliseconds. */
  readonly snapshotAgeMsMax: () => number;
  /** Its `yield` is fair among statements. */
  readonly runtime: Runtime;
}

/** What a statement runs in; `settle` is called once, when nothing of it is used any more. */
interface Scope {
  readonly view: ReadView;
  readonly transaction: Transaction | undefined;
  readonly settle: (error: unknown) => void;
}

interface Execution {
  readonly statement: Statement;
  readonly options: RunOptions;
  readonly limits: StatementLimits;
  readonly watch: StatementWatch;
}

/** A plan made ready to run in a scope. */
interface Opened {
  readonly compiled: CompiledStatement;
  readonly cursor: PlanCursor;
  readonly memory: StatementMemory;
  readonly explain: () => ExplainedPlan | undefined;
}

export class StatementPipeline {
  readonly #options: PipelineOptions;

  constructor(options: PipelineOptions) {
    this.#options = options;
  }

  /** As `runNow`, always with a promise. */
  async run(statement: Statement, options: RunOptions): Promise<ResultStream> {
    return this.runNow(statement, options);
  }

  /**
   * Runs a statement. A short reading one outside sessions is answered without a promise, its rows in `complete`; that is the
   * path to keep lean. Close the result in any case.
   */
  runNow(statement: Statement, options: RunOptions): ResultStream | Promise<ResultStream> {
    if (options.signal.aborted) throw new DatabaseError('Cancelled', 'the client has left');
    this.#options.counters.queries += 1;
    if (options.sessionId !== undefined) {
      return this.#runInSession(statement, options, options.sessionId);
    }
    const view = this.#options.transactions.view();
    let compiled: CompiledStatement;
    try {
      compiled = this.#admit(statement, options, view);
    } catch (error) {
      view[Symbol.dispose]();
      throw error;
    }
    const execution = this.#execution(statement, options);
    const scope: Scope = {
      view,
      transaction: undefined,
      settle: () => view[Symbol.dispose](),
    };
    if (compiled.program.inspect === 'explain') return this.#explain(compiled, execution, scope);
    if (compiled.isReadOnly) {
      this.#options.counters.readTx += 1;
      return this.#read(compiled, execution, scope);
    }
    view[Symbol.dispose]();
    return this.#write(execution);
  }

  /** The statement, if the caller may run it. Everything refused here was not begun. */
  #admit(statement: Statement, options: RunOptions, view: ReadView): CompiledStatement {
    const compiled = this.#options.compiler.compiled(statement, view);
    const isExplained = compiled.program.inspect === 'explain';
    if (options.mustBeIdempotent && !compiled.isReadOnly && !isExplained) {
      throw new DatabaseError(
        'NotIdempotent',
        `Query '${abbreviated(statement.text)}' is not idempotent`,
      );
    }
    const { principal } = options;
    if (!principal.isRoot) {
      for (const access of compiled.accesses) {
        this.#options.authorizer.require(principal, this.#options.databaseName, access);
      }
    }
    return compiled;
  }

  #execution(statement: Statement, options: RunOptions): Execution {
    const limits = this.#options.limits();
    const watch = new StatementWatch({
      active: this.#options.active,
      about: {
        database: this.#options.databaseName,
        user: options.principal.name,
        language: statement.language,
        text: statement.text,
      },
      bounds: {
        signal: options.signal,
        timeoutMs: limits.timeoutMs,
        snapshotAgeMsMax: this.#options.snapshotAgeMsMax(),
      },
      runtime: this.#options.runtime,
    });
    return { statement, options, limits, watch };
  }

  /** Opens the plan in the scope. @throws with everything closed but the scope */
  #open(compiled: CompiledStatement, execution: Execution, scope: Scope): Opened {
    const { options, limits, statement } = execution;
    const memory = new StatementMemory(this.#options.memory, limits.memoryBytesMax);
    const rowCap = options.rowCountMax === undefined ? undefined : options.rowCountMax + 1;
    const isMeasured = options.profile === 'detailed' || compiled.program.inspect === 'profile';
    let instance: PlanInstance = compiled.take();
    let explain: () => ExplainedPlan | undefined = noPlan;
    if (isMeasured) {
      const profiled = this.#options.inspector.profiled(instance.root);
      instance = { root: profiled.root, context: instance.context };
      explain = () => profiled.plan();
    } else if (options.profile !== undefined) {
      const { root } = instance;
      explain = () => this.#options.inspector.explain(root);
    }
    instance.context.enter({
      view: scope.view,
      transaction: scope.transaction,
      parameters: statement.parameters,
      limits,
      memory,
      rowCap,
    });
    try {
      const cursor = new PlanCursor(compiled, instance, {
        clock: this.#options.runtime.clock,
        rowCountMax: compiled.program.inspect === 'profile' ? 0 : (rowCap ?? Infinity),
        mustRunToEnd: !compiled.isReadOnly || compiled.program.inspect === 'profile',
      });
      return { compiled, cursor, memory, explain };
    } catch (error) {
      memory.close();
      closeQuietly(instance.root);
      throw error;
    }
  }

  #close({ compiled, cursor, memory }: Opened, error: unknown, isMeasured: boolean): void {
    memory.close();
    if (error === undefined) {
      cursor.close();
      // A measured plan is wrapped; its operators are not used again.
      if (!isMeasured) compiled.give(cursor.instance);
    } else {
      closeQuietly(cursor.instance.root);
    }
  }

  #read(compiled: CompiledStatement, execution: Execution, scope: Scope): ResultStream {
    const rows: RowBuffer = { rowCount: 0, values: [] };
    const { watch, options } = execution;
    const isMeasured = options.profile !== undefined || compiled.program.inspect !== undefined;
    let opened: Opened | undefined;
    try {
      opened = this.#open(compiled, execution, scope);
      const outcome = opened.cursor.pull(rows, batchRowsMax, watch.startedMs + sliceMs);
      const facts = factsOf(opened, scope.view.snapshotIndex);
      const view = (): ReadView => scope.view;
      if (outcome === 'end') {
        this.#close(opened, undefined, isMeasured);
        return new FinishedResult(facts, rows, { view, release: () => scope.settle(undefined) });
      }
      const running = opened;
      return new StreamingResult(facts, {
        cursor: opened.cursor,
        first: rows.rowCount > 0 ? rows : undefined,
        active: watch.statement(),
        runtime: this.#options.runtime,
        view,
        end: (error) => {
          watch.finish();
          this.#close(running, error, isMeasured);
          scope.settle(error);
        },
      });
    } catch (error) {
      if (opened !== undefined) this.#close(opened, error, isMeasured);
      scope.settle(error);
      throw error;
    }
  }

  #explain(compiled: CompiledStatement, execution: Execution, scope: Scope): ResultStream {
    const instance = compiled.take();
    const plan = this.#options.inspector.explain(instance.root);
    compiled.give(instance);
    void execution;
    const facts: ResultFacts = {
      shape: { kind: 'columns', names: [] },
      isReadOnly: true,
      statementLimit: undefined,
      index: scope.view.snapshotIndex,
      stats: undefined,
      explain: () => plan,
    };
    return new FinishedResult(facts, noRows, {
      view: () => scope.view,
      release: () => scope.settle(undefined),
    });
  }

  /** A writing statement that commits by itself. */
  async #write(execution: Execution): Promise<ResultStream> {
    const { limits, options, watch } = execution;
    try {
      return await runWithRetries(() => this.#attempt(execution), {
        attemptCountMax: options.retries ?? limits.attemptCountMax,
        delayMs: limits.retryDelayMs,
        conflictWaitMs: limits.conflictWaitMs,
        check: () => watch.check(),
        runtime: this.#options.runtime,
      });
    } finally {
      watch.finish();
    }
  }

  async #attempt(execution: Execution): Promise<ResultStream> {
    const { transactions, counters } = this.#options;
    const transaction = transactions.begin('READ_COMMITTED');
    try {
      transaction.beginStatement();
      const compiled = this.#admit(execution.statement, execution.options, transaction);
      const scope: Scope = { view: transaction, transaction, settle: nothing };
      const { rows, facts } = await this.#runToEnd(compiled, execution, scope);
      const receipt = await transaction.commit();
      counters.writeTx += 1;
      return this.#committed({ ...facts, index: receipt.index }, rows);
    } catch (error) {
      transaction.rollback();
      counters.txRollbacks += 1;
      if (error instanceof DatabaseError && error.code === 'ConcurrentModification') {
        counters.concurrentModificationExceptions += 1;
      }
      throw error;
    }
  }

  /** Rows of a committed statement; links in them are followed in the newest state. */
  #committed(facts: ResultFacts, rows: RowBuffer): ResultStream {
    let view: ReadView | undefined;
    return new FinishedResult(facts, rows, {
      view: () => {
        view ??= this.#options.transactions.view();
        return view;
      },
      release: () => view?.[Symbol.dispose](),
    });
  }

  /** Runs the plan to its end, slice by slice; keeps as many rows as the caller takes. */
  async #runToEnd(
    compiled: CompiledStatement,
    execution: Execution,
    scope: Scope,
  ): Promise<{ readonly rows: RowBuffer; readonly facts: ResultFacts }> {
    const { clock, timers } = this.#options.runtime;
    const { watch, options } = execution;
    const isMeasured = options.profile !== undefined || compiled.program.inspect !== undefined;
    const rows: RowBuffer = { rowCount: 0, values: [] };
    const opened = this.#open(compiled, execution, scope);
    try {
      let sliceStartMs = clock.monotonicMs();
      let accountedCount = 0;
      for (;;) {
        const outcome = opened.cursor.pull(rows, Infinity, sliceStartMs + sliceMs);
        opened.memory.reserve((rows.values.length - accountedCount) * valueBytes);
        accountedCount = rows.values.length;
        if (outcome === 'end') break;
        if (outcome === 'pending') await opened.cursor.resolvePending();
        else await timers.yield();
        watch.check();
        sliceStartMs = clock.monotonicMs();
      }
      const facts = factsOf(opened, scope.view.snapshotIndex);
      this.#close(opened, undefined, isMeasured);
      return { rows, facts };
    } catch (error) {
      this.#close(opened, error, isMeasured);
      throw error;
    }
  }

  async #runInSession(
    statement: Statement,
    options: RunOptions,
    sessionId: string,
  ): Promise<ResultStream> {
    const { sessions, databaseName } = this.#options;
    const lease = await sessions.acquire(options.principal, databaseName, sessionId);
    let compiled: CompiledStatement;
    let transaction: Transaction;
    try {
      transaction = lease.transaction();
      transaction.beginStatement();
      compiled = this.#admit(statement, options, transaction);
    } catch (error) {
      // Refused before it was executed: the session goes on (house decision 52).
      lease.release();
      throw error;
    }
    const hadWrites = transaction.hasWrites;
    const execution = this.#execution(statement, options);
    const scope: Scope = {
      view: transaction,
      transaction: compiled.isReadOnly ? undefined : transaction,
      settle: (error) => this.#leaveSession(lease, { compiled, transaction, hadWrites, error }),
    };
    if (compiled.program.inspect === 'explain') return this.#explain(compiled, execution, scope);
    if (compiled.isReadOnly) return this.#read(compiled, execution, scope);
    try {
      const { rows, facts } = await this.#runToEnd(compiled, execution, scope);
      return new FinishedResult(facts, rows, {
        view: () => transaction,
        release: () => scope.settle(undefined),
      });
    } catch (error) {
      scope.settle(error);
      throw error;
    } finally {
      execution.watch.finish();
    }
  }

  /** What is left of the session after a statement (house decision 52; limits.md 7). */
  #leaveSession(
    lease: SessionLease,
    after: {
      readonly compiled: CompiledStatement;
      readonly transaction: Transaction;
      readonly hadWrites: boolean;
      readonly error: unknown;
    },
  ): void {
    const { compiled, transaction, hadWrites, error } = after;
    const wasStopped =
      error instanceof DatabaseError && (error.code === 'Timeout' || error.code === 'Cancelled');
    const wroteNothing = compiled.isReadOnly || (!hadWrites && !transaction.hasWrites);
    if (error === undefined || (wasStopped && wroteNothing)) {
      lease.release();
      return;
    }
    this.#options.counters.txRollbacks += 1;
    lease.end();
  }
}

/** What a kept value is counted with: its place in the list and a small object. */
const valueBytes = 32;

const noRows = { rowCount: 0, values: [] };

function noPlan(): undefined {
  return undefined;
}

function nothing(): void {}

function factsOf({ compiled, explain }: Opened, index: LogIndex): ResultFacts {
  const isProfiled = compiled.program.inspect === 'profile';
  return {
    shape: isProfiled ? { kind: 'columns', names: [] } : compiled.shape,
    isReadOnly: compiled.isReadOnly,
    statementLimit: compiled.program.statementLimit,
    index,
    stats: undefined,
    explain,
  };
}

/** The plan has failed already; what its close says adds nothing. */
function closeQuietly(root: PhysicalOperator): void {
  try {
    root.close();
  } catch {
    // The first error is the one to tell.
  }
}

function abbreviated(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}...` : text;
}
