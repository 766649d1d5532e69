import { assert } from '#core/assert.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import type { Authorizer } from '#core/principal.ts';
import type { LogIndex } from '#core/value/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import type { Isolation, Transaction } from '#transaction/transaction.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { ActiveStatements } from '../bounds/active-statements.ts';
import { ConflictLanes } from '../attempt/conflict-lanes.ts';
import type { CompiledStatement } from './compiled-statement.ts';
import type { CompiledOperation } from './compiled-operation.ts';
import type { CompiledScript } from '../script/compiled-script.ts';
import { CommandPipeline } from '../key-value/command-pipeline.ts';
import type { KeyValueStore } from '../key-value/key-value-store.ts';
import type { GlobalVariables } from '../script/global-variables.ts';
import { partlyDone, type ScriptOutcome, ScriptPipeline } from '../script/pipeline.ts';
import { OwnTransactions, SessionTransactions } from '../script/hosts.ts';
import { type Counters, timedCommit } from '../catalogue/counters.ts';
import { missingIn, TypesOnTheFly } from '../attempt/types-on-the-fly.ts';
import { LostAttempts } from '../attempt/lost-attempts.ts';
import { type Order, type Outcome, PlanRuns, type Scope } from './plan-runs.ts';
import { RecordGuard } from '../bounds/record-guard.ts';
import { isLongText, preparedIn, prepareLongText } from './prepared-texts.ts';
import { type OperationRoom, runOperation } from '../progress/operation-run.ts';
import type { ServerMemory } from '../bounds/memory-accounts.ts';
import { FinishedResult, type ResultFacts } from './results.ts';
import { runWithRetries } from '../attempt/retry.ts';
import type { OfferedKey, ReplayKeys } from '../session/replay-keys.ts';
import { runTogether } from './run-together.ts';
import type { ResultBatch, ResultStream, RunOptions, Statement } from '../session.ts';
import type { SessionLease, TransactionSessions } from '../session/sessions.ts';
import type { Compiled, StatementCompiler } from './compiler.ts';
import { isQuery, mayChange, requireOneTransaction } from './may-change.ts';
import { abbreviated, isConflict, isRefusal } from './refusals.ts';
import { lacksTypes, makeTypes } from './missing-types.ts';
import { StatementWatch } from '../bounds/statement-watch.ts';
import type { DatabaseThreads } from '../threads/database-threads.ts';

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

export interface PipelineOptions extends OperationRoom {
  readonly databaseName: string;
  readonly compiler: StatementCompiler;
  readonly transactions: TransactionSource;
  readonly sessions: TransactionSessions;
  readonly authorizer: Authorizer;
  readonly active: ActiveStatements;
  readonly memory: ServerMemory;
  readonly counters: Counters;
  readonly replayKeys: ReplayKeys;
  /** @throws DatabaseError `DatabaseReadOnly` when the databases of the server are opened for reading only */
  readonly requireWritable: () => void;
  readonly globals: GlobalVariables;
  /** Transient keys of the server. */
  readonly store: KeyValueStore;
  readonly log: Log;
  /** `service.server.maxSnapshotAge`, milliseconds. */
  readonly snapshotAgeMsMax: () => number;
  /** Where long reading statements may go on. */
  readonly threads?: DatabaseThreads | undefined;
  /** Its `yield` is fair among statements. */
  readonly runtime: Runtime;
}

export class StatementPipeline {
  readonly #options: PipelineOptions;
  readonly #lanes: ConflictLanes;
  readonly #scripts: ScriptPipeline;
  readonly #commands: CommandPipeline;
  readonly #plans: PlanRuns;
  readonly #guard: RecordGuard;
  readonly #types: TypesOnTheFly;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#guard = new RecordGuard(options.authorizer, options.databaseName);
    this.#types = new TypesOnTheFly(options);
    this.#plans = new PlanRuns({ ...options, guard: this.#guard });
    this.#lanes = new ConflictLanes(options.runtime.timers);
    this.#commands = new CommandPipeline({
      ...options,
      plans: this.#plans,
      lanes: this.#lanes,
      commit: (transaction, replayKey) => this.#commitOne(transaction, replayKey),
      countFailure: (error) => this.#countFailure(error),
    });
    this.#scripts = new ScriptPipeline({
      ...options,
      lanes: this.#lanes,
      view: () => options.transactions.view(),
      guard: this.#guard,
      authorize: (run, compiled) => this.#authorize(run, compiled),
    });
  }

  /**
   * Runs a statement. A short reading one outside sessions is answered without a promise, its rows in `complete`; that is the
   * path to keep lean. Close the result in any case.
   * @param startedMs now, when the caller has looked at the clock already
   */
  runNow(
    statement: Statement,
    options: RunOptions,
    startedMs?: number,
  ): ResultStream | Promise<ResultStream> {
    return isLongText(statement.text)
      ? this.#runLong(statement, options)
      : this.#begin(statement, options, startedMs);
  }

  async #runLong(statement: Statement, options: RunOptions): Promise<ResultStream> {
    const { compiler, transactions } = this.#options;
    using _prepared = await prepareLongText(compiler, statement, {
      ...this.#options,
      options,
      view: () => transactions.view(),
    });
    this.#options.requireOpen();
    return await this.#begin(statement, options);
  }

  #begin(
    statement: Statement,
    options: RunOptions,
    startedMs?: number,
  ): ResultStream | Promise<ResultStream> {
    const { compiler, counters } = this.#options;
    counters.queries += 1;
    if (options.sessionId !== undefined) {
      return this.#runInSession(statement, options, startedMs);
    }
    const view = this.#options.transactions.view();
    const settle = (): void => view[Symbol.dispose]();
    const { compileCount } = compiler;
    let compiled: Compiled;
    try {
      compiled = this.#admit(statement, options, view);
    } catch (error) {
      settle();
      throw error;
    }
    if (compiled.kind === 'operation') {
      settle();
      return this.#operate(compiled, statement, options);
    }
    if (compiled.kind === 'commands')
      return this.#commands.run(compiled, this.#order(statement, options, startedMs), {
        view,
        settle,
      });
    if (compiled.kind === 'script') {
      settle();
      return this.#retried(this.#order(statement, options), (order) => this.#runScript(order));
    }
    if (compiled.program.inspect === 'explain') {
      return this.#plans.explained(compiled, { view, transaction: undefined, settle });
    }
    // What compiling took is no part of the first slice.
    const isAtHand = compiler.compileCount === compileCount;
    const order = this.#order(statement, options, isAtHand ? startedMs : undefined);
    if (!isAtHand) order.beganMs = startedMs;
    if (compiled.isReadOnly) {
      counters.readTx += 1;
      return this.#plans.read(compiled, order, { view, transaction: undefined, settle });
    }
    settle();
    // The first attempt begins in the state in which it was admitted.
    let admitted: CompiledStatement | undefined = compiled;
    return this.#retried(
      order,
      (again) => {
        const attempt = this.#attempt(again, admitted);
        admitted = undefined;
        return attempt;
      },
      (error) =>
        missingIn(error) && this.#types.again(error, () => this.#attempt(order, undefined), order),
    );
  }

  /** The statement, if the caller may run it. What is refused here was not begun. */
  #admit(statement: Statement, options: RunOptions, view: ReadView): Compiled {
    const compiled = this.#options.compiler.compiled(statement, view);
    if (options.mustBeIdempotent && !isQuery(compiled)) {
      throw new DatabaseError(
        'NotIdempotent',
        `Query '${abbreviated(statement.text)}' is not idempotent`,
      );
    }
    if (options.sessionId !== undefined) requireOneTransaction(compiled);
    this.#authorize(options, compiled);
    if (compiled.kind === 'script') this.#scripts.authorize(compiled, { statement, options, view });
    if (compiled.kind === 'commands') this.#commands.authorize(compiled, options, view);
    if (!compiled.isReadOnly && mayChange(compiled)) this.#options.requireWritable();
    return compiled;
  }

  #authorize({ principal, judge }: RunOptions, compiled: Compiled): void {
    if (judge !== undefined)
      // The frame of a script or of commands touches nothing; its parts are judged one by one.
      for (const { effects, types } of compiled.accesses)
        if (compiled.kind === 'statement' || types?.length !== 0) judge(effects);
    if (principal.isRoot) return;
    for (const access of compiled.accesses)
      this.#options.authorizer.require(principal, this.#options.databaseName, access);
  }

  #order(statement: Statement, options: RunOptions, startedMs?: number): Order {
    const { databaseName, runtime, active, snapshotAgeMsMax } = this.#options;
    const limits = this.#options.limits();
    const watch = new StatementWatch({
      active,
      statement,
      options,
      databaseName,
      limits,
      snapshotAgeMsMax,
      runtime,
      startedMs,
    });
    return { statement, options, limits, watch };
  }

  /** A statement that commits by itself. Each one comes by here: an `await` would cost it a microsecond, here and below. */
  #retried(
    order: Order,
    attempt: (order: Order) => Promise<ResultStream>,
    supplied?: (error: unknown) => Promise<ResultStream> | undefined,
  ): Promise<ResultStream> {
    const { limits, options, watch } = order;
    if (options.isAborted ?? options.signal.aborted)
      return Promise.reject(new DatabaseError('Cancelled', 'the client has left'));
    return runWithRetries(
      () => attempt(order),
      () => ({
        attemptCountMax: options.retries ?? limits.attemptCountMax,
        delayMs: limits.retryDelayMs,
        conflictWaitMs: limits.conflictWaitMs,
        lanes: this.#lanes,
        check: () => watch.check(),
        supplied,
        runtime: this.#options.runtime,
      }),
      () => watch.finish(),
    );
  }

  /** @param admitted the statement, when it was admitted in the newest state */
  #attempt(order: Order, admitted: CompiledStatement | undefined): Promise<ResultStream> {
    const transaction = this.#options.transactions.begin('READ_COMMITTED');
    const toLock = order.lost?.toLock(order.limits.conflictWaitMs);
    if (toLock === undefined) return this.#attemptIn(transaction, order, admitted);
    return transaction.lock(toLock).then(
      () => this.#attemptIn(transaction, order, undefined),
      (error: unknown) => {
        throw this.#attemptFailed(transaction, error);
      },
    );
  }

  #attemptIn(
    transaction: Transaction,
    order: Order,
    admitted: CompiledStatement | undefined,
  ): Promise<ResultStream> {
    const failed = (error: unknown): never => {
      throw this.#attemptFailed(transaction, error);
    };
    const commit = ({ rows, facts }: Outcome): Promise<ResultStream> =>
      this.#commitOne(transaction, order.options.replayKey).then(
        ({ index }) => this.#committed({ ...facts, index }, rows),
        failed,
      );
    try {
      transaction.beginStatement();
      const compiled = admitted ?? this.#admit(order.statement, order.options, transaction);
      assert(compiled.kind === 'statement', 'what a text is does not change');
      if (lacksTypes(compiled))
        return makeTypes(transaction, compiled, order.watch)
          .then(() => this.#admittedWithTypes(order, transaction))
          .then((complete) => this.#attemptIn(transaction, order, complete), failed);
      const scope: Scope = { view: transaction, transaction, settle: nothing };
      const outcome = this.#plans.runToEnd(compiled, order, scope);
      if (!(outcome instanceof Promise)) return commit(outcome);
      const startedMs = this.#options.runtime.clock.monotonicMs();
      return outcome.then(commit, failed).catch((error: unknown) => {
        if (isConflict(error)) this.#noteLoss(order, transaction, startedMs);
        throw error;
      });
    } catch (error) {
      return Promise.reject(this.#attemptFailed(transaction, error));
    }
  }

  /** The statement again, now that its types are there: a long text takes as long as before. */
  async #admittedWithTypes(
    { statement, options }: Order,
    transaction: Transaction,
  ): Promise<CompiledStatement> {
    const around = { ...this.#options, options, view: transaction };
    using _prepared = await preparedIn(around.compiler, statement, around);
    const compiled = this.#admit(statement, options, transaction);
    assert(compiled.kind === 'statement', 'what a text is does not change');
    return compiled;
  }

  #noteLoss(order: Order, transaction: Transaction, startedMs: number): void {
    const { clock } = this.#options.runtime;
    order.lost ??= new LostAttempts();
    order.lost.add(transaction.changedBuckets(), clock.monotonicMs() - startedMs);
  }

  /** @returns what the caller is told */
  #attemptFailed(transaction: Transaction, error: unknown): unknown {
    transaction.rollback();
    this.#countFailure(error);
    // Batches that were committed stay, so the statement must not be executed again.
    return transaction.hasFlushed ? partlyDone(error) : error;
  }

  #countFailure(error: unknown): void {
    const { counters } = this.#options;
    counters.txRollbacks += 1;
    if (isConflict(error)) counters.concurrentModificationExceptions += 1;
  }

  /** An operation on the database as a whole: outside of transactions, executed once. */
  #operate({ program }: CompiledOperation, statement: Statement, options: RunOptions) {
    return runOperation({ ...this.#options, program, statement, options });
  }

  /** One attempt of a script, which is a transaction of its own (sql.md 17.5). */
  async #runScript(order: Order): Promise<ResultStream> {
    const { replayKey } = order.options;
    const host = new OwnTransactions(this.#options.transactions, (transaction) =>
      this.#commit(transaction, [replayKey]),
    );
    let hasCommitted = false;
    try {
      const script = this.#script(order, host.current('READ_COMMITTED'));
      const outcome = await this.#scripts.run({ ...order, script }, host);
      ({ hasCommitted } = outcome);
      const index = await host.commit();
      return this.#committed(
        { ...this.#factsOfScript(script, outcome, order), index },
        outcome.rows,
      );
    } catch (error) {
      host.rollback();
      this.#countFailure(error);
      if (replayKey !== undefined) this.#options.replayKeys.forget(replayKey);
      throw hasCommitted ? partlyDone(error) : error;
    }
  }

  #factsOfScript(
    script: CompiledScript,
    rows: ScriptOutcome,
    { options }: Order,
  ): Omit<ResultFacts, 'index'> {
    const { shape, statementLimit, explain, warnings } = rows;
    return {
      shape,
      isReadOnly: script.isReadOnly,
      statementLimit,
      explain: explain && (() => explain),
      warnings,
      requireOpen: this.#options.requireOpen,
      isShown: this.#guard.shown(options.principal),
    };
  }

  #script({ statement, options }: Order, view: ReadView): CompiledScript {
    const compiled = this.#admit(statement, options, view);
    assert(compiled.kind === 'script', 'what a text is does not change');
    return compiled;
  }

  async #runScriptInSession(
    script: CompiledScript,
    order: Order,
    lease: SessionLease,
  ): Promise<ResultStream> {
    const host = new SessionTransactions(lease, (transaction) =>
      this.#commit(transaction, [order.options.replayKey]),
    );
    const transaction = lease.transaction();
    const hadWrites = transaction.hasWrites;
    const settle = (error: unknown): void =>
      this.#leaveSession(lease, { compiled: script, transaction, hadWrites, error });
    try {
      const outcome = await this.#scripts.run({ ...order, script }, host);
      const view = lease.transaction();
      const facts = { ...this.#factsOfScript(script, outcome, order), index: view.snapshotIndex };
      return new FinishedResult(facts, outcome.rows, view, settle);
    } catch (error) {
      settle(error);
      const { replayKey } = order.options;
      if (replayKey !== undefined) this.#options.replayKeys.forget(replayKey);
      throw error;
    } finally {
      order.watch.finish();
    }
  }

  /** As the function of this name, in the pipeline's own transactions. */
  runTogether(
    statements: readonly { readonly statement: Statement; readonly options: RunOptions }[],
    timeMsMax: number,
  ): Promise<{ readonly count: number; readonly error: unknown }> {
    return runTogether(statements, timeMsMax, {
      ...this.#options,
      plans: this.#plans,
      admit: (...of) => this.#admit(...of),
      order: (...of) => this.#order(...of),
      commit: (...of) => this.#commit(...of),
    });
  }

  /** Never throws. */
  #commitOne(
    transaction: Transaction,
    replayKey: string | undefined,
  ): Promise<{ readonly index: LogIndex }> {
    const { counters, runtime } = this.#options;
    return replayKey === undefined
      ? timedCommit(transaction, counters, runtime.clock)
      : this.#commit(transaction, [replayKey]).then((index) => ({ index }));
  }

  /** Commits, and remembers with it that the requests of clients were executed. */
  async #commit(
    transaction: Transaction,
    keys: readonly (string | undefined)[],
  ): Promise<LogIndex> {
    const { replayKeys, counters, runtime } = this.#options;
    const offered: OfferedKey[] = [];
    for (const key of keys) if (key !== undefined) offered.push(replayKeys.offer(key));
    for (const { values } of offered)
      for (const { name, value } of values) transaction.attach(name, value);
    const hasWrites = transaction.hasWrites;
    const { index } = await timedCommit(transaction, counters, runtime.clock);
    if (hasWrites) for (const key of offered) key.committed(index);
    return index;
  }

  /** Rows of a committed statement; links in them are followed in the newest state, if anybody does. */
  #committed(facts: ResultFacts, rows: ResultBatch): ResultStream {
    let view: ReadView | undefined;
    const open = (): ReadView => {
      view ??= this.#options.transactions.view();
      return view;
    };
    return new FinishedResult(facts, rows, open, () => view?.[Symbol.dispose]());
  }

  /** Without a promise when the session is free and the statement short. */
  #runInSession(
    statement: Statement,
    options: RunOptions,
    startedMs: number | undefined,
  ): ResultStream | Promise<ResultStream> {
    const { sessions, databaseName } = this.#options;
    const { sessionId = '' } = options;
    const lease = sessions.acquireNow(options.principal, databaseName, sessionId);
    if (lease !== undefined) return this.#runLeased(statement, options, lease, startedMs);
    return sessions
      .acquire(options.principal, databaseName, sessionId)
      .then((own) => this.#runLeased(statement, options, own));
  }

  #runLeased(
    statement: Statement,
    options: RunOptions,
    lease: SessionLease,
    startedMs?: number,
  ): ResultStream | Promise<ResultStream> {
    const { compileCount } = this.#options.compiler;
    let compiled: Compiled;
    let transaction: Transaction;
    try {
      transaction = lease.transaction();
      transaction.beginStatement();
      compiled = this.#admit(statement, options, transaction);
    } catch (error) {
      if (isRefusal(error)) lease.release();
      else this.#endSession(lease);
      throw error;
    }
    if (compiled.kind === 'operation') {
      // sql.md 16.4: what was not committed is rolled back first.
      lease.detach()?.rollback();
      lease.release();
      return this.#operate(compiled, statement, options);
    }
    const isAtHand = this.#options.compiler.compileCount === compileCount;
    const order = this.#order(statement, options, isAtHand ? startedMs : undefined);
    if (compiled.kind === 'script') return this.#runScriptInSession(compiled, order, lease);
    const hadWrites = transaction.hasWrites;
    const settle = (error: unknown): void =>
      this.#leaveSession(lease, { compiled, transaction, hadWrites, error });
    if (compiled.kind === 'commands')
      return this.#commands.runIn(compiled, order, { transaction, settle });
    if (compiled.program.inspect === 'explain') {
      return this.#plans.explained(compiled, { view: transaction, transaction: undefined, settle });
    }
    if (compiled.isReadOnly) {
      return this.#plans.read(compiled, order, {
        view: transaction,
        transaction: undefined,
        settle,
      });
    }
    const scope: Scope = { view: transaction, transaction, settle };
    if (lacksTypes(compiled)) return this.#runWithTypes(compiled, order, scope);
    if (compiled.maySetLabels) return this.#setLabelsInSession(compiled, order, scope);
    return this.#plans.readToEnd(compiled, order, scope);
  }

  /** In a session: the types that a statement makes on the fly are there before it is planned. */
  async #runWithTypes(
    lacking: CompiledStatement,
    order: Order,
    scope: Scope,
  ): Promise<ResultStream> {
    const { transaction, settle } = scope;
    try {
      assert(transaction !== undefined, 'a session has a transaction');
      await this.#types.makeBeside(transaction, lacking.program.missingTypes ?? [], order.watch);
      const compiled = await this.#admittedWithTypes(order, transaction);
      return compiled.maySetLabels
        ? this.#setLabelsInSession(compiled, order, scope)
        : this.#plans.readToEnd(compiled, order, scope);
    } catch (error) {
      order.watch.finish();
      settle(error);
      throw error;
    }
  }

  /** As `readToEnd`. Attempts that found types missing leave nothing behind. */
  #setLabelsInSession(
    compiled: CompiledStatement,
    order: Order,
    scope: Scope,
  ): Promise<ResultStream> {
    const { statement, options } = order;
    const { transaction } = scope;
    assert(transaction !== undefined, 'a session has a transaction');
    const outcome = this.#types.inSession(transaction, order, (isAgain) => {
      const now = isAgain ? this.#admit(statement, options, transaction) : compiled;
      assert(now.kind === 'statement', 'what a text is does not change');
      return this.#plans.runToEnd(now, order, scope);
    });
    return this.#plans.finished(outcome, order, scope);
  }

  /** What is left of the session after a statement (house decision 52; limits.md 7). */
  #leaveSession(
    lease: SessionLease,
    after: {
      readonly compiled: Compiled;
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
      transaction.rest();
      lease.release();
      return;
    }
    this.#endSession(lease);
  }

  #endSession(lease: SessionLease): void {
    this.#options.counters.txRollbacks += 1;
    lease.end();
  }
}

function nothing(): void {}
