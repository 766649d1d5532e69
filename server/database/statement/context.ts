import { isEnginePrepared, type RegexBudget } from '#core/text/regular-expression.ts';
import { DatabaseError } from '#core/errors.ts';
import type { PausingWork, Wait } from '#core/pausing-work.ts';
import type { Runtime } from '#core/runtime.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type {
  EvaluationLimits,
  Frame,
  LongCallRunner,
  MemoryAccount,
  VariableScope,
} from '#query/evaluate/context.ts';
import type { Maintenance } from '#query/algebra/maintenance.ts';
import {
  clearStatistics,
  emptyStatistics,
  type ExecutionContext,
  type PendingWork,
  type RowFile,
  type UserList,
  type WriteStatistics,
} from '#query/operators/operator.ts';
import { GuardedView } from '#transaction/read/guarded-view.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { DefaultEvaluator, Transaction } from '#transaction/transaction.ts';
import type { RunOptions } from '../session.ts';
import type { StatementLimits } from '../bounds/statement-limits.ts';

/** Where a function is called: its body works in the transaction of the caller, who must be allowed to do what it does. */
export interface CallPlace {
  readonly view: ReadView;
  readonly transaction: Transaction | undefined;
  readonly requireWrite?: ExecutionContext['requireWrite'];
}

/** What stays the same for all statements of a database. */
export interface StatementSurroundings {
  readonly runtime: Runtime;
  readonly databaseName: string;
  readonly serverVersion: string;
  readonly defaults: DefaultEvaluator;
  readonly schemaSource: (
    view: ReadView,
    kind: string,
    name: string | undefined,
  ) => Iterable<ValueMap>;
  readonly evaluateCondition: (text: string, current: Value, view: ReadView) => boolean | null;
  readonly globals: VariableScope;
  /** The view with the triggers on READ around it. */
  readonly watched: (view: ReadView) => ReadView;
  readonly callFunction: (
    name: string,
    args: readonly Value[],
    place: CallPlace,
  ) => PausingWork<Value>;
  /** Work on the database as a whole. @returns the rows of the statement */
  readonly maintain: (work: Maintenance, order: MaintenanceOrder) => Promise<readonly ValueMap[]>;
  readonly openRows: (
    order: { readonly url: string; readonly delimiter: string },
    asker: StatementAsker | undefined,
  ) => RowFile;
  /** The users of the server. @throws DatabaseError `Forbidden` for others than root */
  readonly users: (asker: StatementAsker | undefined) => ReturnType<UserList['all']>;
}

/** Whose statement it is, for lists of what runs. */
export type StatementAsker = Pick<RunOptions, 'principal' | 'requestId' | 'judge'>;

/** What a maintenance statement runs in. */
export interface MaintenanceOrder {
  readonly transaction: Transaction;
  readonly asker: StatementAsker | undefined;
  /** The statement stands alone and was sent with `autoCommit: false`: it may commit in pieces. */
  readonly mayCommitInPieces: boolean;
  /** Others have their turn; throws when the statement is to end. */
  readonly pause: () => Promise<void>;
}

const noParameters: ReadonlyMap<string, Value> = new Map();
/** Stands in between executions, when nothing looks at it: a context must not keep a transaction's writes alive. */
const noView = Object.freeze({}) as ReadView;
const noMemory: MemoryAccount = { reserve() {}, release() {} };

/** Name of the variable that holds the row cap of an execution; no statement can write it. */
export const rowCapVariable = '#rowCap';

/**
 * Pulls before the first look. They grow while the executions of a plan turn out to be quick: reading the clock costs as
 * much as a few rows, and short statements do without.
 */
export const pullsUnwatchedMin = 2;

const noBudget = { remainingMs: 0 };

/**
 * What operators and expressions see of one execution. It belongs to a lowered plan and is used again for the plan's next
 * execution, so that a repeated statement makes no objects of its own; `enter` and `leave` bracket an execution.
 */
export class StatementContext implements ExecutionContext {
  readonly frame: Frame;
  readonly runtime: Runtime;
  readonly databaseName: string;
  readonly serverVersion: string;
  readonly defaults: DefaultEvaluator;
  readonly statistics: WriteStatistics = emptyStatistics();
  readonly pending: { work: PendingWork | undefined; wait: Wait | undefined } = {
    work: undefined,
    wait: undefined,
  };
  /** A fresh object per execution: constants of an execution are kept under it. */
  regexBudget: RegexBudget = { remainingMs: 0 };
  readonly evaluateCondition: (text: string, current: Value) => boolean | null;
  readonly callFunction: (name: string, args: readonly Value[]) => PausingWork<Value>;
  readonly schemaSource: (kind: string, name: string | undefined) => Iterable<ValueMap>;
  readonly maintain: ExecutionContext['maintain'];
  readonly users: UserList;
  readonly openRows: ExecutionContext['openRows'];
  readonly variables: VariableScope;
  readonly #watched: (view: ReadView) => ReadView;
  /** Pulls that an execution makes before it first looks at the clock; learned from those before. */
  pullsUnwatched = pullsUnwatchedMin;
  view: ReadView = noView;
  requireWrite: ExecutionContext['requireWrite'] = undefined;
  transaction: Transaction | undefined = undefined;
  parameters: ReadonlyMap<string, Value> = noParameters;
  formats: TemporalFormats;
  limits: EvaluationLimits;
  memory: MemoryAccount = noMemory;
  madeBytesMax = Number.POSITIVE_INFINITY;
  deadlineMs = Number.POSITIVE_INFINITY;
  rowCap: number | undefined = undefined;
  mayCommitInPieces = false;
  asker: StatementAsker | undefined = undefined;
  longCalls: LongCallRunner | undefined = undefined;
  mayBeSuspended = false;
  /** The variables of the script that the statement stands in. */
  script: VariableScope | undefined = undefined;

  constructor(slotCount: number, surroundings: StatementSurroundings, limits: StatementLimits) {
    this.frame = new Array<Value>(slotCount).fill(null);
    this.runtime = surroundings.runtime;
    this.databaseName = surroundings.databaseName;
    this.serverVersion = surroundings.serverVersion;
    this.defaults = surroundings.defaults;
    this.evaluateCondition = (text, current) =>
      surroundings.evaluateCondition(text, current, this.view);
    this.#watched = surroundings.watched;
    this.callFunction = (name, args) => {
      const { view, transaction, requireWrite } = this;
      return surroundings.callFunction(name, args, { view, transaction, requireWrite });
    };
    this.schemaSource = (kind, name) => surroundings.schemaSource(this.view, kind, name);
    this.maintain = (work, pause) => {
      const { transaction, mayCommitInPieces, asker } = this;
      if (transaction === undefined)
        throw new DatabaseError('Internal', 'maintenance was started without a transaction');
      return surroundings.maintain(work, { transaction, mayCommitInPieces, asker, pause });
    };
    this.openRows = (order) => surroundings.openRows(order, this.asker);
    this.users = new UsersSeen(this, surroundings);
    this.variables = {
      get: (name) =>
        name === rowCapVariable
          ? (this.rowCap ?? -1)
          : (this.script ?? surroundings.globals).get(name),
    };
    this.formats = limits.formats;
    this.limits = limits.evaluation;
  }

  enter(execution: {
    readonly view: ReadView;
    readonly transaction: Transaction | undefined;
    readonly parameters: ReadonlyMap<string, Value>;
    readonly limits: StatementLimits;
    readonly memory: MemoryAccount;
    readonly deadlineMs: number;
    readonly rowCap: number | undefined;
    readonly script?: VariableScope | undefined;
    readonly requireWrite?: ExecutionContext['requireWrite'];
    readonly mayCommitInPieces?: boolean;
    readonly asker?: StatementAsker;
  }): void {
    this.view = execution.view.catalog.definitions.hasReadTriggers
      ? this.#watchedView(execution.view)
      : execution.view;
    this.transaction = execution.transaction;
    this.requireWrite = execution.requireWrite;
    this.parameters = execution.parameters;
    this.formats = execution.limits.formats;
    this.limits = execution.limits.evaluation;
    this.memory = execution.memory;
    this.madeBytesMax = Number.POSITIVE_INFINITY;
    this.deadlineMs = execution.deadlineMs;
    this.rowCap = execution.rowCap;
    this.script = execution.script;
    this.mayCommitInPieces = execution.mayCommitInPieces === true;
    this.asker = execution.asker;
    this.regexBudget = {
      remainingMs: execution.limits.regexMs,
      isEngineNew: !isEnginePrepared(),
    };
    this.pending.work = undefined;
    this.pending.wait = undefined;
    if (execution.transaction !== undefined) clearStatistics(this.statistics);
  }

  /** Triggers have the rights of their makers, so they read behind the guard of the caller. */
  #watchedView(view: ReadView): ReadView {
    return view instanceof GuardedView ? view.over(this.#watched) : this.#watched(view);
  }

  /** Lets go of what the execution held: values in the frame may be large. */
  leave(): void {
    const { frame } = this;
    // A frame has a few slots: a loop is quicker than `fill`.
    for (let slot = 0; slot < frame.length; slot += 1) frame[slot] = null;
    this.view = noView;
    this.memory = noMemory;
    // What is kept under it may be large: values of constant expressions, results of sub-queries.
    this.regexBudget = noBudget;
    this.script = undefined;
    this.asker = undefined;
    this.transaction = undefined;
    this.parameters = noParameters;
    this.pending.work = undefined;
    this.pending.wait = undefined;
  }
}

/** The users as the asker of a context may see them; a class, since the literal of a getter costs a microsecond per plan. */
class UsersSeen implements UserList {
  readonly #context: StatementContext;
  readonly #surroundings: StatementSurroundings;

  constructor(context: StatementContext, surroundings: StatementSurroundings) {
    this.#context = context;
    this.#surroundings = surroundings;
  }

  get current(): string | undefined {
    return this.#context.asker?.principal.name;
  }

  all(): ReturnType<UserList['all']> {
    return this.#surroundings.users(this.#context.asker);
  }
}
