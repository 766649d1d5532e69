import { DatabaseError } from '#core/errors.ts';
import { defaultTemporalFormats } from '#core/temporal/format.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import { sqlFrontend } from '#language/sql/frontend.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import type { Output } from '#query/algebra/expression.ts';
import { checkProgram } from '#query/algebra/invariants.ts';
import type { QueryProgram } from '#query/algebra/plan.ts';
import { slotsOfOutput } from '#query/algebra/walk.ts';
import type { Frame } from '#query/evaluate/context.ts';
import { functionRegistry } from '#query/functions/registry.ts';
import {
  emptyStatistics,
  END,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
} from '#query/operators/operator.ts';
import { optimizeProgram } from '#query/optimizer/optimizer.ts';
import { statisticsOf } from '#query/optimizer/statistics.ts';
import { planProgram } from '#query/physical/planner.ts';
import { serverProcedures } from '#query/procedures/registry.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { Transaction } from '#transaction/transaction.ts';
import { openTestState, type TestState } from '#test/transaction/support/open-state.ts';

export interface RunOptions {
  readonly parameters?: ReadonlyMap<string, Value>;
  /** Optimizer rules that are switched off. */
  readonly disabled?: ReadonlySet<string>;
  readonly limits?: Partial<ExecutionContext['limits']>;
  /** Run in this transaction, without commit. */
  readonly transaction?: Transaction;
  /** The statement writes nothing, and its operators are told so. */
  readonly isRead?: boolean;
  /** The engine of regular expressions has not run yet. */
  readonly isEngineNew?: boolean;
  /** Counts what is written. */
  readonly statistics?: ExecutionContext['statistics'];
  /** Bytes that the statement may hold. */
  readonly bytesMax?: number;
  /** Sees each operator tree before it runs. */
  readonly inspect?: (root: PhysicalOperator) => void;
}

export type Row = readonly Value[];

export interface StatementResult {
  readonly columns: readonly string[];
  /** One value per column; the row itself when there are no columns. */
  readonly rows: readonly Row[];
  /** PAUSE answers seen. */
  readonly pauseCount: number;
  /** Most bytes held at one time, as accounted. */
  readonly bytesMax: number;
  /** Bytes that were not given back. */
  readonly bytesLeft: number;
}

/** A database in a directory of its own that runs SQL through the query room alone, without doors, sessions and plan cache. */
export class SqlDatabase implements AsyncDisposable {
  readonly #test: TestState;

  private constructor(test: TestState) {
    this.#test = test;
  }

  static async open(): Promise<SqlDatabase> {
    return new SqlDatabase(await openTestState());
  }

  get state(): TestState['state'] {
    return this.#test.state;
  }

  program(text: string, view: ReadView): QueryProgram {
    const ast = sqlFrontend.parse(text, {
      expressionDepthMax: 200,
      statementBytesMax: 4 * 1024 * 1024,
    });
    const program = sqlFrontend.analyze(ast, {
      catalog: view.catalog,
      variables: new Map(),
      parameterNames: undefined,
      expressionDepthMax: 200,
    });
    if (program.kind !== 'query') throw new Error(`${text} is no query`);
    checkProgram(program);
    return program;
  }

  /** The invariants of plans are checked after every rule that changed something. */
  optimized(
    program: QueryProgram,
    view: ReadView,
    disabled?: ReadonlySet<string>,
    onChange?: (rule: string) => void,
  ): QueryProgram {
    return optimizeProgram(
      program,
      { catalog: view.catalog, statistics: statisticsOf(view), functions: functionRegistry },
      {
        ...(disabled && { disabled }),
        onChange: (rule, changed) => {
          checkProgram(changed);
          onChange?.(rule);
        },
      },
    );
  }

  /** Reads or writes; a write is committed before its rows are given. */
  async run(text: string, options: RunOptions = {}): Promise<StatementResult> {
    const own = options.transaction ? undefined : this.state.begin('READ_COMMITTED');
    const transaction = options.transaction ?? (own as Transaction);
    transaction.beginStatement();
    try {
      const result = await this.#execute(text, transaction, options);
      if (own) await own.commit();
      return result;
    } catch (error) {
      own?.rollback();
      throw error;
    }
  }

  async #execute(
    text: string,
    transaction: Transaction,
    options: RunOptions,
  ): Promise<StatementResult> {
    return this.execute(this.program(text, transaction), transaction, options);
  }

  /** A program that was made by hand, in a transaction that the caller ends. */
  async execute(
    given: QueryProgram,
    transaction: Transaction,
    options: RunOptions = {},
  ): Promise<StatementResult> {
    checkProgram(given);
    const program = this.optimized(given, transaction, options.disabled);
    const factory = planProgram(program, {
      catalog: transaction.catalog,
      functions: functionRegistry,
      procedures: serverProcedures,
    });
    const memory = new CountingMemory(options.bytesMax);
    const context = contextFor(program, transaction, memory, options);
    const root = factory();
    options.inspect?.(root);
    const rows: Row[] = [];
    const slots = slotsOfOutput(program.output);
    let pauseCount = 0;
    root.open(context);
    try {
      for (let pulled = root.next(); pulled !== END; pulled = root.next()) {
        if (pulled === ROW) rows.push(slots.map((slot) => context.frame[slot] ?? null));
        else {
          pauseCount += 1;
          const { work } = context.pending;
          context.pending.work = undefined;
          await work?.(async () => {});
        }
      }
    } finally {
      root.close();
    }
    const columns = columnsOf(program.output);
    return { columns, rows, pauseCount, bytesMax: memory.peak, bytesLeft: memory.held };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#test[Symbol.asyncDispose]();
  }
}

class CountingMemory {
  readonly #bytesMax: number;
  peak = 0;
  held = 0;
  constructor(bytesMax = Number.POSITIVE_INFINITY) {
    this.#bytesMax = bytesMax;
  }
  reserve(bytes: number): void {
    if (this.held + bytes > this.#bytesMax) throw new DatabaseError('TooLarge', 'out of memory');
    this.held += bytes;
    this.peak = Math.max(this.peak, this.held);
  }
  release(bytes: number): void {
    this.held -= bytes;
  }
}

function columnsOf(output: Output): readonly string[] {
  return output.kind === 'value' ? [] : output.columns.map((column) => column.name);
}

function contextFor(
  program: QueryProgram,
  transaction: Transaction,
  memory: ExecutionContext['memory'],
  options: RunOptions,
): ExecutionContext {
  const frame: Frame = new Array<Value>(program.slotCount).fill(null);
  return {
    frame,
    view: transaction,
    transaction: options.isRead === true ? undefined : transaction,
    parameters: options.parameters ?? new Map(),
    variables: { get: () => null },
    runtime: systemRuntime,
    formats: defaultTemporalFormats,
    limits: {
      elementCountMax: 500_000,
      rangeSizeMax: 10_000_000,
      valueBytesMax: 64 * 1024 * 1024,
      ...options.limits,
    },
    memory,
    regexBudget: { remainingMs: 1000, isEngineNew: options.isEngineNew === true },
    databaseName: 'test',
    serverVersion: '0.0.0',
    defaults: () => undefined,
    openRows: () => {
      throw new Error('there are no files here');
    },
    users: { current: undefined, all: () => [] },
    maintain: async () => [],
    statistics: options.statistics ?? emptyStatistics(),
    pending: { work: undefined, wait: undefined },
    schemaSource: (): Iterable<ValueMap> => [],
  };
}
