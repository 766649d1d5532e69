import { DatabaseError, errorSpecs } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import type { Runtime } from '#core/runtime.ts';
import { explainOperators } from '#query/explain.ts';
import { measureOperators } from '#query/profile.ts';
import { withPlace } from '#language/name-place.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import { type Warning, warningsMax } from '#core/warnings.ts';
import type { OperationStep, Part } from '#language/script-steps.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { Transaction } from '#transaction/transaction.ts';
import type { CompiledScript } from './compiled-script.ts';
import type { CompiledStatement, PlanInstance } from '../statement/compiled-statement.ts';
import type { ConflictLanes } from '../attempt/conflict-lanes.ts';
import type { GlobalVariables } from './global-variables.ts';
import { KeptRows } from '../statement/kept-rows.ts';
import { type ServerMemory, StatementMemory } from '../bounds/memory-accounts.ts';
import type { OperationRoom } from '../progress/operation-run.ts';
import { PlanExecution } from '../statement/plan-execution.ts';
import { type Pace, type PartRows, ScriptRunner, type ScriptRows } from './runner.ts';
import { ScriptTransactions, type TransactionHost } from './transaction.ts';
import { ScriptVariables } from './variables.ts';
import type { ExplainedPlan, ResultBatch, RunOptions, Statement } from '../session.ts';
import type { CompileSteps } from '../statement/compile-steps.ts';
import type { StatementCompiler } from '../statement/compiler.ts';
import { completedInTurns, isLongText } from '../statement/prepared-texts.ts';
import type { StatementLimits } from '../bounds/statement-limits.ts';
import type { StatementWatch } from '../bounds/statement-watch.ts';
import type { RecordGuard } from '../bounds/record-guard.ts';
import { warningsOf } from '../statement/statement-warnings.ts';
import { limitOf, takenRows } from '../statement/taken-rows.ts';

export interface ScriptPipelineOptions {
  readonly databaseName: string;
  readonly compiler: StatementCompiler;
  readonly memory: ServerMemory;
  readonly lanes: ConflictLanes;
  readonly globals: GlobalVariables;
  readonly runtime: Runtime;
  readonly log: Log;
  readonly view: () => ReadView;
  readonly guard: RecordGuard;
  readonly operate: OperationRoom['operate'];
  /** @throws DatabaseError `Forbidden` */
  readonly authorize: (options: RunOptions, compiled: CompiledStatement) => void;
}

/** A script that is to be run. */
export interface ScriptOrder {
  readonly script: CompiledScript;
  readonly statement: Statement;
  readonly options: RunOptions;
  readonly limits: StatementLimits;
  readonly watch: StatementWatch;
}

/** What a script left when it came to its end. */
export interface ScriptOutcome extends ScriptRows {
  /** Of all statements that were run; undefined for none. */
  readonly warnings: readonly Warning[] | undefined;
  readonly hasCommitted: boolean;
}

/** Runs scripts: joins `ScriptRunner` with plans, rights and memory. */
export class ScriptPipeline {
  readonly #options: ScriptPipelineOptions;

  constructor(options: ScriptPipelineOptions) {
    this.#options = options;
  }

  /**
   * Refuses a script with a statement that the caller may not run, as far as that can be told before it runs; what cannot be
   * (a type that is not there yet, or whose name a variable gives) is judged when its turn comes.
   * @throws DatabaseError `Forbidden`
   */
  authorize(
    script: CompiledScript,
    about: {
      readonly statement: Statement;
      readonly options: RunOptions;
      readonly view: ReadView;
    },
  ): void {
    const { statement, options, view } = about;
    if (options.principal.isRoot && options.judge === undefined) return;
    const { compiler } = this.#options;
    const { parameters } = statement;
    for (const part of script.program.parts) {
      let compiled: CompiledStatement;
      try {
        compiled = compiler.compiledPart(script, part, { view, variables: noValues, parameters });
      } catch {
        continue;
      }
      this.#options.authorize(options, compiled);
    }
  }

  /**
   * One attempt. The host's transaction holds what was not committed by the script; the caller commits it.
   * @throws whatever a statement raises, with nothing left in the host's transaction; when the script has committed something,
   *   as `partlyDone` tells it
   */
  async run(order: ScriptOrder, host: TransactionHost): Promise<ScriptOutcome> {
    const { limits, options, watch } = order;
    const { runtime, lanes, log, globals, databaseName, view } = this.#options;
    const memory = new StatementMemory(this.#options.memory, limits.memoryBytesMax);
    const transactions = new ScriptTransactions(host);
    const variables = new ScriptVariables(globals, memory);
    const pace: Pace = {
      startedMs: runtime.clock.monotonicMs(),
      check: () => watch.check(),
    };
    const parts = new PartRunner(this.#options, order, { transactions, variables, pace });
    const runner = new ScriptRunner({
      transactions,
      variables,
      globals,
      limits,
      watch,
      pace,
      runtime,
      lanes,
      log,
      databaseName,
      rowCountMax: options.rowCountMax === undefined ? Infinity : options.rowCountMax + 1,
      view,
      run: (part, keeps) => parts.run(part, keeps),
      operate: (step, signal) => parts.operate(step, signal),
    });
    try {
      const rows = await runner.run(order.script.program.steps);
      return { ...rows, warnings: parts.warnings, hasCommitted: transactions.hasCommitted };
    } catch (error) {
      // What is left of a session after an error is the session's business.
      if (!host.isSession) transactions.giveUp();
      throw transactions.hasCommitted || parts.changedSchema ? partlyDone(error) : error;
    } finally {
      memory.close();
    }
  }
}

const noValues = { get: () => null };

/** What a running script has beside its order. */
interface ScriptState {
  readonly transactions: ScriptTransactions;
  readonly variables: ScriptVariables;
  readonly pace: Pace;
}

/** A plan at work. */
interface Opened {
  readonly compiled: CompiledStatement;
  readonly instance: PlanInstance;
  readonly execution: PlanExecution;
  readonly memory: StatementMemory;
  /** Undefined unless somebody wants to see the plan; its operators are then not used again. */
  readonly explain: (() => ExplainedPlan) | undefined;
}

/** Runs the statements and expressions of one attempt. */
class PartRunner {
  /** Schema changes stay whatever becomes of the script, so it may not be repeated. */
  changedSchema = false;
  warnings: Warning[] | undefined;
  /** Those of a loop are the same again and again. */
  readonly #warned = new Set<CompiledStatement>();
  readonly #services: ScriptPipelineOptions;
  readonly #order: ScriptOrder;
  readonly #state: ScriptState;

  constructor(services: ScriptPipelineOptions, order: ScriptOrder, state: ScriptState) {
    this.#services = services;
    this.#order = order;
    this.#state = state;
  }

  run(part: Part, keeps: number | 'taken'): PartRows | Promise<PartRows> {
    const steps = this.#longCompilation(part);
    if (steps === undefined) return this.#run(part, keeps);
    const { options } = this.#order;
    return completedInTurns(steps, this.#services.runtime, options).then((compiled) =>
      this.#run(part, keeps, compiled),
    );
  }

  /** Of a script of a long text, which may have long statements; undefined when there is nothing to compile. */
  #longCompilation(part: Part): CompileSteps<CompiledStatement> | undefined {
    const { script, statement } = this.#order;
    if (!isLongText(statement.text)) return undefined;
    const { transactions, variables } = this.#state;
    const view = transactions.current;
    if (script.known(part, view, variables) !== undefined) return undefined;
    const { parameters } = statement;
    return this.#services.compiler.partSteps(script, part, { view, variables, parameters });
  }

  /** @param prepared the part, compiled just now */
  #run(
    part: Part,
    keeps: number | 'taken',
    prepared?: CompiledStatement,
  ): PartRows | Promise<PartRows> {
    const { transactions, variables } = this.#state;
    const { script, statement, options } = this.#order;
    const { compiler, authorize } = this.#services;
    const { parameters } = statement;
    const view = transactions.current;
    let compiled = prepared ?? compiler.compiledPart(script, part, { view, variables, parameters });
    if (!compiled.isPure) {
      transactions.beginStatement();
      // The state that the statement sees may have another schema.
      compiled = compiler.compiledPart(script, part, { view, variables, parameters });
    }
    authorize(options, compiled);
    const { inspect } = compiled.program;
    if (inspect === 'explain')
      return { compiled, rows: noRows, explain: explainOperators(compiled.fresh().root) };
    if (compiled.changesSchema) this.changedSchema = true;
    this.#noteWarnings(compiled, parameters);
    const opened = this.#open(compiled, view);
    const statementLimit = limitOf(compiled.program.statementLimit, parameters);
    const wanted = keeps === 'taken' ? takenRows(options, statementLimit) + 1 : keeps;
    const kept = inspect === 'profile' ? 0 : wanted;
    let first: ResultBatch;
    try {
      first = opened.execution.pullNow();
    } catch (error) {
      close(opened);
      throw withPlace(error, compiled.program.source);
    }
    if (!opened.execution.hasEnded) return this.#drain(opened, first, kept);
    const explain = opened.explain?.();
    close(opened);
    if (first.rowCount <= kept) return { compiled, rows: first, statementLimit, explain };
    const rows = new KeptRows(kept, noAccount);
    rows.add(first);
    return { compiled, rows, statementLimit, explain };
  }

  #noteWarnings(compiled: CompiledStatement, parameters: ReadonlyMap<string, Value>): void {
    const found = warningsOf(compiled, parameters);
    if (found === undefined || this.#warned.has(compiled)) return;
    this.#warned.add(compiled);
    const all = [...(this.warnings ?? []), ...found];
    this.warnings = all.slice(0, warningsMax);
  }

  /** The right to it was asked for with the script as a whole (`CompiledScript.accesses`). */
  async operate(step: OperationStep, signal: AbortSignal): Promise<ValueMap> {
    const { transactions, variables } = this.#state;
    const { script, statement, options } = this.#order;
    const { compiler, operate } = this.#services;
    const { parameters } = statement;
    const view = transactions.current;
    const program = compiler.operationOf(script, step, { view, variables, parameters });
    transactions.giveUp();
    return operate({ program, principal: options.principal, signal });
  }

  #open(compiled: CompiledStatement, transaction: Transaction): Opened {
    const { limits, statement, options, watch } = this.#order;
    const { memory: server, runtime, guard } = this.#services;
    const { variables, pace } = this.#state;
    const memory = new StatementMemory(server, limits.memoryBytesMax);
    const isProfile = compiled.program.inspect === 'profile';
    const isShown = isProfile || options.profile !== undefined;
    const instance = isShown ? compiled.fresh() : compiled.take();
    const { root, context } = instance;
    const isMeasured = isProfile || options.profile === 'detailed';
    const measured = isMeasured ? measureOperators(root, runtime.clock) : undefined;
    context.enter({
      view: guard.guarded(transaction, options.principal),
      transaction: compiled.isReadOnly ? undefined : transaction,
      requireWrite: compiled.isReadOnly ? undefined : guard.requireWrite(options.principal),
      parameters: statement.parameters,
      limits,
      memory,
      deadlineMs: watch.deadlineMs,
      rowCap: undefined,
      asker: options,
      script: variables,
    });
    const execution = new PlanExecution({
      root,
      context,
      outputSlots: compiled.outputSlots,
      timers: runtime.timers,
      watch: pace,
      rowCountMax: Infinity,
    });
    const explain = isShown ? () => explainOperators(root, measured) : undefined;
    return { compiled, instance, execution, memory, explain };
  }

  async #drain(opened: Opened, first: ResultBatch, wanted: number): Promise<PartRows> {
    const { compiled, execution, memory } = opened;
    const statementLimit = limitOf(
      compiled.program.statementLimit,
      this.#order.statement.parameters,
    );
    const { pace } = this.#state;
    try {
      const rows = new KeptRows(wanted, memory);
      rows.add(first);
      for (;;) {
        const more = await execution.nextBatch();
        if (more === undefined)
          return { compiled, rows, statementLimit, explain: opened.explain?.() };
        rows.add(more);
      }
    } catch (error) {
      throw withPlace(error, compiled.program.source);
    } finally {
      close(opened);
      pace.startedMs = this.#services.runtime.clock.monotonicMs();
    }
  }
}

function close({ compiled, instance, execution, memory, explain }: Opened): void {
  execution.close();
  memory.close();
  if (explain === undefined) compiled.give(instance);
}

const noRows: ResultBatch = { rowCount: 0, values: [] };
const noAccount = { reserve() {}, release() {} };

/**
 * What is told in place of an error that says "nothing was done, ask again" (503) when part of a script is stored (house
 * decision 9). A duplicated key says no such thing and keeps its name (409); it only may not be executed again.
 */
export function partlyDone(error: unknown): unknown {
  if (!(error instanceof DatabaseError) || errorSpecs[error.code].retry === 'never') return error;
  const code = error.code === 'DuplicatedKey' ? error.code : 'TransactionFailed';
  return new DatabaseError(code, `${error.message}; what the script committed before is stored`, {
    arguments: error.arguments,
    isPartlyDone: true,
    cause: error,
  });
}
