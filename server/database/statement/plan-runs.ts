import { withPlace } from '#language/name-place.ts';
import type { LogIndex } from '#core/value/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import { measureOperators } from '#query/profile.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { Transaction } from '#transaction/transaction.ts';
import type { CompiledStatement, PlanInstance } from './compiled-statement.ts';
import { KeptRows } from './kept-rows.ts';
import { StatementMemory, type ServerMemory } from '../bounds/memory-accounts.ts';
import { PlanExecution } from './plan-execution.ts';
import type { RecordGuard } from '../bounds/record-guard.ts';
import { FinishedResult, type MoveOn, type ResultFacts, StreamingResult } from './results.ts';
import type {
  ExplainedPlan,
  ResultBatch,
  ResultStream,
  RunOptions,
  Statement,
} from '../session.ts';
import type { LostAttempts } from '../attempt/lost-attempts.ts';
import type { StatementLimits } from '../bounds/statement-limits.ts';
import type { DatabaseThreads } from '../threads/database-threads.ts';
import type { StatementWatch } from '../bounds/statement-watch.ts';
import { warningsOf } from './statement-warnings.ts';
import { limitOf, takenRows } from './taken-rows.ts';
import { WriteWatch } from '../attempt/write-watch.ts';

/** What a statement runs in; `settle` is called once, when nothing of it is used any more. */
export interface Scope {
  readonly view: ReadView;
  readonly transaction: Transaction | undefined;
  readonly settle: (error: unknown) => void;
}

/** What is asked, and what bounds it. */
export interface Order {
  readonly statement: Statement;
  readonly options: RunOptions;
  readonly limits: StatementLimits;
  readonly watch: StatementWatch;
  /** Set when an attempt of several turns was in vain. */
  lost?: LostAttempts;
  /** When compiling it began, where it was compiled just now: that may have been the work of the turn. */
  beganMs?: number | undefined;
}

/** A plan at work in a scope. */
interface Opened {
  readonly compiled: CompiledStatement;
  readonly instance: PlanInstance;
  readonly execution: PlanExecution;
  readonly memory: StatementMemory;
  /** Undefined unless somebody wants to see the plan; its operators are then not used again. */
  readonly explain: (() => ExplainedPlan) | undefined;
  /** The caller wants to see it. */
  readonly isTold: boolean;
}

/** What a statement that ran to its end gives. */
export interface Outcome {
  readonly rows: ResultBatch;
  readonly facts: ResultFacts;
}

/** Runs the plan of an admitted statement in a scope that the pipeline chose. */
export class PlanRuns {
  readonly #memory: ServerMemory;
  readonly #runtime: Runtime;
  readonly #requireOpen: () => void;
  readonly #guard: RecordGuard;
  readonly #threads: DatabaseThreads | undefined;
  readonly #areAllLong: boolean;

  /** @param surroundings `requireOpen` throws when the database was closed or dropped */
  constructor(surroundings: {
    readonly memory: ServerMemory;
    readonly runtime: Runtime;
    readonly requireOpen: () => void;
    readonly guard: RecordGuard;
    /** Where long reading statements may go on; absent: nowhere else. */
    readonly threads?: DatabaseThreads | undefined;
  }) {
    this.#memory = surroundings.memory;
    this.#runtime = surroundings.runtime;
    this.#requireOpen = surroundings.requireOpen;
    this.#guard = surroundings.guard;
    this.#threads = surroundings.threads;
    this.#areAllLong = surroundings.threads?.takesAll === true;
  }

  /**
   * A reading statement: its first slice at once. If that was all, the rows are complete, else pulling them drives the rest, here
   * or, when it is expected to be long, in another thread.
   */
  read(
    compiled: CompiledStatement,
    order: Order,
    scope: Scope,
  ): ResultStream | Promise<ResultStream> {
    if (isProfile(compiled)) return this.readToEnd(compiled, order, scope);
    const opened = this.#open(compiled, order, scope, true);
    const { execution } = opened;
    try {
      const facts = this.#factsOf(opened, order, scope.view.snapshotIndex);
      const isLong = compiled.isLong || this.#areAllLong;
      const first = isLong ? this.#firstOfLong(opened, order, scope) : execution.pullNow();
      if (execution.hasEnded) {
        this.#close(opened);
        return new FinishedResult(facts, first, scope.view, scope.settle);
      }
      let isHere = true;
      const leave = (error: unknown): void => {
        if (!isHere) return;
        isHere = false;
        if (this.#threads?.isWorth(execution.workedMs) === true) compiled.isLong = true;
        this.#close(opened);
        scope.settle(error);
      };
      return new StreamingResult(facts, {
        execution,
        first,
        active: order.watch.statement(),
        view: scope.view,
        memory: opened.memory,
        told: (error) => withPlace(error, compiled.program.source),
        end: (error) => {
          order.watch.finish();
          leave(error);
        },
        move: this.#mover(opened, order, scope, () => leave(undefined)),
      });
    } catch (error) {
      this.#close(opened);
      scope.settle(error);
      throw withPlace(error, compiled.program.source);
    }
  }

  /** Another thread may run it from its beginning. */
  #firstOfLong({ compiled, execution }: Opened, order: Order, { view }: Scope): ResultBatch {
    const isMoved = this.#threads?.staysFor({ compiled, order, view }) === undefined;
    return isMoved ? noRows : execution.pullNow();
  }

  /** Undefined when the statement cannot go on elsewhere. */
  #mover(
    { compiled, explain }: Opened,
    order: Order,
    { view, transaction }: Scope,
    moved: () => void,
  ): MoveOn | undefined {
    const threads = this.#threads;
    if (threads === undefined || explain !== undefined || transaction !== undefined)
      return undefined;
    if (!this.#guard.readsAll(order.options.principal)) return undefined;
    return (move, here) => threads.rows({ compiled, order, view }, { ...move, moved }, here);
  }

  /** A statement whose rows are given when it is over: one that writes in a session, PROFILE of a reading one. */
  readToEnd(
    compiled: CompiledStatement,
    order: Order,
    scope: Scope,
  ): ResultStream | Promise<ResultStream> {
    let outcome: Outcome | Promise<Outcome>;
    try {
      outcome = this.runToEnd(compiled, order, scope);
    } catch (error) {
      scope.settle(error);
      order.watch.finish();
      throw error;
    }
    if (outcome instanceof Promise) return this.finished(outcome, order, scope);
    order.watch.finish();
    return new FinishedResult(outcome.facts, outcome.rows, scope.view, scope.settle);
  }

  /** The plan of a statement that is not run. */
  explained(compiled: CompiledStatement, scope: Scope): ResultStream {
    const facts: ResultFacts = {
      shape: noColumns,
      isReadOnly: true,
      statementLimit: undefined,
      index: scope.view.snapshotIndex,
      explain: compiled.teller(compiled.fresh(), scope.view),
      warnings: compiled.warnings,
      requireOpen: this.#requireOpen,
      isShown: undefined,
    };
    return new FinishedResult(facts, { rowCount: 0, values: [] }, scope.view, scope.settle);
  }

  /** The result of a statement that has ended when `outcome` is there. */
  async finished(outcome: Promise<Outcome>, order: Order, scope: Scope): Promise<ResultStream> {
    try {
      const { rows, facts } = await outcome;
      return new FinishedResult(facts, rows, scope.view, scope.settle);
    } catch (error) {
      scope.settle(error);
      throw error;
    } finally {
      order.watch.finish();
    }
  }

  /** Runs the plan to its end, slice by slice; keeps as many rows as the caller takes. A short one gives no promise. */
  runToEnd(compiled: CompiledStatement, order: Order, scope: Scope): Outcome | Promise<Outcome> {
    const opened = this.#open(compiled, order, scope);
    const facts = this.#factsOf(opened, order, scope.view.snapshotIndex);
    const taken = takenOf(compiled, order);
    const wanted = hidesRows(compiled) ? 0 : taken + 1;
    const { execution } = opened;
    let first: ResultBatch;
    try {
      first = execution.pullNow();
    } catch (error) {
      this.#close(opened);
      throw withPlace(error, compiled.program.source);
    }
    if (!execution.hasEnded || first.rowCount > wanted)
      return this.#runRest(opened, { rows: first, facts }, wanted);
    const done = { rows: first, facts: withStats(facts, opened) };
    this.#close(opened);
    return done;
  }

  async #runRest(
    opened: Opened,
    { rows: first, facts }: Outcome,
    wanted: number,
  ): Promise<Outcome> {
    const { compiled, execution, memory } = opened;
    try {
      const kept = new KeptRows(wanted, memory);
      kept.add(first);
      for (;;) {
        const rows = await execution.nextBatch();
        if (rows === undefined) return { rows: kept, facts: withStats(facts, opened) };
        kept.add(rows);
      }
    } catch (error) {
      throw withPlace(error, compiled.program.source);
    } finally {
      this.#close(opened);
    }
  }

  #open(
    compiled: CompiledStatement,
    order: Order,
    scope: Scope,
    keepsRowsOfFailure = false,
  ): Opened {
    const { options, limits, statement, watch } = order;
    const memory = new StatementMemory(this.#memory, limits.memoryBytesMax);
    if (options.memoryBytes !== undefined) memory.draw(options.memoryBytes);
    const taken = takenOf(compiled, order);
    const rowCap = taken === Infinity ? undefined : taken + 1;
    const isProfiled = isProfile(compiled);
    const { profile, planSink } = options;
    const isTold = isProfiled || profile !== undefined;
    const isShown = isTold || planSink !== undefined;
    const instance = isShown ? compiled.fresh() : compiled.take();
    const { root, context } = instance;
    const isMeasured = isProfiled || profile === 'detailed' || planSink !== undefined;
    const measured = isMeasured ? measureOperators(root, this.#runtime.clock) : undefined;
    context.enter({
      view: this.#guard.guarded(scope.view, options.principal),
      transaction: scope.transaction,
      requireWrite: scope.transaction && this.#guard.requireWrite(options.principal),
      parameters: statement.parameters,
      limits,
      memory,
      deadlineMs: watch.deadlineMs,
      rowCap,
      asker: options,
      mayCommitInPieces: options.autoCommit === false && options.sessionId === undefined,
    });
    const execution = new PlanExecution({
      root,
      context,
      outputSlots: compiled.outputSlots,
      timers: this.#runtime.timers,
      watch:
        scope.transaction === undefined ? watch : new WriteWatch(watch, memory, scope.transaction),
      // The rows after the caller's cap matter too, when they write or are measured.
      rowCountMax: !compiled.isReadOnly || isProfiled || rowCap === undefined ? Infinity : rowCap,
      keepsRowsOfFailure,
      beganMs: order.beganMs,
    });
    // Another attempt begins in a turn of its own.
    order.beganMs = undefined;
    const explain = isShown ? compiled.teller(instance, scope.view, measured) : undefined;
    if (planSink !== undefined) planSink.plan = explain;
    return { compiled, instance, execution, memory, explain, isTold };
  }

  #close({ compiled, instance, execution, memory, explain }: Opened): void {
    execution.close();
    memory.close();
    if (explain === undefined) compiled.give(instance);
  }

  #factsOf({ compiled, explain, isTold }: Opened, order: Order, index: LogIndex): ResultFacts {
    return {
      shape: hidesRows(compiled) ? noColumns : compiled.shape,
      isReadOnly: compiled.isReadOnly,
      statementLimit: limitOf(compiled.program.statementLimit, order.statement.parameters),
      index,
      explain: isTold ? explain : undefined,
      warnings: warningsOf(compiled, order.statement.parameters),
      requireOpen: this.#requireOpen,
      isShown: this.#guard.shown(order.options.principal),
    };
  }
}

/** With the counters of a statement of openCypher that has written something. */
function withStats(facts: ResultFacts, { compiled, instance }: Opened): ResultFacts {
  if (compiled.program.dialect !== 'cypher' || compiled.isReadOnly) return facts;
  const { statistics } = instance.context;
  const containsUpdates = Object.values(statistics).some((count) => count > 0);
  return containsUpdates ? { ...facts, stats: { ...statistics, containsUpdates } } : facts;
}

const noRows: ResultBatch = { rowCount: 0, values: [] };
const noColumns = { kind: 'columns', names: [] } as const;

export function isProfile(compiled: CompiledStatement): boolean {
  return compiled.program.inspect === 'profile';
}

/** True for PROFILE of SQL, which tells the plan alone; Cypher gives the rows as well (cypher.md 13). */
export function hidesRows(compiled: CompiledStatement): boolean {
  return isProfile(compiled) && compiled.program.dialect !== 'cypher';
}

/** How many rows the caller takes. */
function takenOf({ program }: CompiledStatement, { options, statement }: Order): number {
  return takenRows(options, limitOf(program.statementLimit, statement.parameters));
}
