import { DatabaseError } from '#core/errors.ts';
import type { Access, Authorizer } from '#core/principal.ts';
import { shownBytes } from '#core/text/byte-text.ts';
import type { LogIndex } from '#core/value/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import type { Value } from '#core/value/value.ts';
import type { Command, CommandUnit, RecordStep, Reply } from '#query/algebra/commands.ts';
import { effectsOf } from '#query/algebra/effects.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { Isolation, Transaction } from '#transaction/transaction.ts';
import type { ConflictLanes } from '../attempt/conflict-lanes.ts';
import { runWithRetries } from '../attempt/retry.ts';
import { type ServerMemory, StatementMemory } from '../bounds/memory-accounts.ts';
import { partlyDone } from '../script/pipeline.ts';
import type { ResultStream, RunOptions } from '../session.ts';
import type { StatementCompiler } from '../statement/compiler.ts';
import type { Order, PlanRuns, Scope } from '../statement/plan-runs.ts';
import { FinishedResult, type ResultFacts } from '../statement/results.ts';
import { CommandRun } from './command-run.ts';
import { accessesOfStep, commandsOf, type CompiledCommands } from './compiled-commands.ts';
import type { KeyValueStore } from './key-value-store.ts';
import { keysOfRequest } from './located-keys.ts';
import { Pace } from './pace.ts';
import { type LocateSpace, StagedKeys } from './staged-keys.ts';

export interface CommandPipelineOptions {
  readonly databaseName: string;
  readonly compiler: StatementCompiler;
  readonly plans: PlanRuns;
  readonly store: KeyValueStore;
  readonly authorizer: Authorizer;
  readonly lanes: ConflictLanes;
  readonly memory: ServerMemory;
  readonly runtime: Runtime;
  readonly transactions: { view(): ReadView; begin(isolation: Isolation): Transaction };
  readonly requireOpen: () => void;
  /** Never throws. @param replayKey remembered with the commit */
  readonly commit: (
    transaction: Transaction,
    replayKey: string | undefined,
  ) => Promise<{ readonly index: LogIndex }>;
  readonly countFailure: (error: unknown) => void;
}

/** What a reply takes beside its text. */
const replyBytes = 32;

/**
 * Runs programs of commands: each command by itself, each block as one. Commands on transient keys are done at once; those on
 * records are plans, which run and commit as the statements of other languages do.
 */
export class CommandPipeline {
  readonly #options: CommandPipelineOptions;

  constructor(options: CommandPipelineOptions) {
    this.#options = options;
  }

  /**
   * Refuses commands on records that the caller may not run, before the first of several is done; what is not there (a type, an index)
   * fails when its turn comes.
   * @throws DatabaseError `Forbidden`
   */
  authorize(compiled: CompiledCommands, options: RunOptions, view: ReadView): void {
    options.judge?.(effectsOf(compiled.program));
    if (options.principal.isRoot) return;
    // A refusal before the first command keeps a session (house decision 52).
    if (compiled.program.units.length < 2 && options.sessionId === undefined) return;
    for (const command of commandsOf(compiled.program))
      if (command.kind === 'records') this.#judgeEarly(command, options, view);
  }

  #judgeEarly(command: Command & { kind: 'records' }, options: RunOptions, view: ReadView): void {
    const { compiler } = this.#options;
    try {
      const resolved = command.resolve(compiler.recordContext(view, this.#options.databaseName));
      if (resolved.kind === 'transient') return;
      const { steps, isUniform } = resolved;
      const count = isUniform ? Math.min(1, steps.length) : steps.length;
      for (let at = 0; at < count; at += 1) {
        const step = steps.at(at) as RecordStep;
        const compiledStep = compiler.compiledStep(step, view);
        for (const access of accessesOfStep(step, compiledStep)) this.#require(options, access);
      }
    } catch (error) {
      if (error instanceof DatabaseError && error.code === 'Forbidden') throw error;
    }
  }

  #require({ principal }: RunOptions, access: Access): void {
    if (principal.isRoot) return;
    this.#options.authorizer.require(principal, this.#options.databaseName, access);
  }

  /** Outside of sessions: each unit commits by itself. A short program of reads gives no promise. */
  run(
    compiled: CompiledCommands,
    order: Order,
    admitted: { readonly view: ReadView; readonly settle: () => void },
  ): ResultStream | Promise<ResultStream> {
    const index = admitted.view.snapshotIndex;
    const read = loneRead(compiled);
    if (read !== undefined) return this.#runRead(compiled, read, order, admitted);
    admitted.settle();
    const host: UnitHost = {
      run: (unit, isLast, shared) => this.#unit(unit, order, isLast, shared),
      hasCommitted: false,
    };
    const done = (replies: readonly Reply[]) => {
      order.watch.finish();
      return this.#result(compiled, order, replies, index);
    };
    const failed = (error: unknown): never => {
      order.watch.finish();
      throw host.hasCommitted ? partlyDone(error) : error;
    };
    return this.#all(compiled, order, host, { done, failed });
  }

  /** A command that reads records, in the state in which it was admitted: the path to keep lean. */
  #runRead(
    compiled: CompiledCommands,
    command: Command,
    order: Order,
    { view, settle }: { readonly view: ReadView; readonly settle: () => void },
  ): ResultStream | Promise<ResultStream> {
    const end = (): void => {
      settle();
      order.watch.finish();
    };
    let replies: readonly Reply[] | Promise<readonly Reply[]>;
    try {
      const scope: Scope = { view, transaction: undefined, settle: nothing };
      replies = this.#commandRun(order).all([command], scope);
    } catch (error) {
      end();
      throw error;
    }
    const { snapshotIndex } = view;
    if (replies instanceof Promise)
      return replies
        .finally(end)
        .then((later) => this.#result(compiled, order, later, snapshotIndex));
    end();
    return this.#result(compiled, order, replies, snapshotIndex);
  }

  /** In the transaction of a session; transient keys are changed at once. */
  runIn(
    compiled: CompiledCommands,
    order: Order,
    session: { readonly transaction: Transaction; readonly settle: (error: unknown) => void },
  ): ResultStream | Promise<ResultStream> {
    const { transaction, settle } = session;
    const scope: Scope = { view: transaction, transaction, settle: nothing };
    const host: UnitHost = {
      run: (unit, _isLast, shared) => this.#unitIn(unit, order, scope, shared),
      hasCommitted: false,
    };
    const done = async (replies: readonly Reply[]) => {
      const row = await this.#row(replies, compiled, order);
      order.watch.finish();
      const facts = this.#facts(compiled, transaction.snapshotIndex);
      return new FinishedResult(facts, row, transaction, settle);
    };
    const failed = (error: unknown): never => {
      order.watch.finish();
      settle(error);
      throw error;
    };
    return this.#all(compiled, order, host, { done, failed });
  }

  /** The units one after the other, with a turn for others after each slice. */
  #all(
    compiled: CompiledCommands,
    order: Order,
    host: UnitHost,
    end: {
      readonly done: (replies: readonly Reply[]) => ResultStream | Promise<ResultStream>;
      readonly failed: (error: unknown) => never;
    },
  ): ResultStream | Promise<ResultStream> {
    const { units } = compiled.program;
    const [only] = units;
    if (only === undefined || units.length > 1)
      return this.#many(compiled, order, host).then(end.done, end.failed);
    try {
      const replies = host.run(only, true, undefined);
      return replies instanceof Promise ? replies.then(end.done, end.failed) : end.done(replies);
    } catch (error) {
      return end.failed(error);
    }
  }

  async #many(compiled: CompiledCommands, order: Order, host: UnitHost): Promise<readonly Reply[]> {
    const { limits } = order;
    const { units } = compiled.program;
    const pace = this.#pace(order);
    const memory = new StatementMemory(this.#options.memory, limits.memoryBytesMax);
    const lastWriting = compiled.writesRecords ? units.findLastIndex(writesRecords) : -1;
    const shared = this.#commandRun(order);
    const replies: Reply[] = [];
    try {
      for (let at = 0; at < units.length; at += 1) {
        const given = host.run(units[at] as CommandUnit, at === lastWriting, shared);
        const some = given instanceof Promise ? await given : given;
        for (const reply of some) {
          memory.reserve(replyBytes + (typeof reply === 'string' ? 2 * reply.length : 0));
          replies.push(reply);
        }
        host.hasCommitted ||= writesRecords(units[at] as CommandUnit);
        if (pace.isSpent) await pace.pause();
      }
      return replies;
    } finally {
      memory.close();
    }
  }

  #unit(
    unit: CommandUnit,
    order: Order,
    isLast: boolean,
    shared: CommandRun | undefined,
  ): readonly Reply[] | Promise<readonly Reply[]> {
    if (unit.kind === 'single') {
      const { command } = unit;
      if (command.kind === 'constant') return [command.reply];
      if (command.kind !== 'records') return (shared ?? this.#commandRun(order)).transient(command);
      if (command.does === 'read') return this.#read([command], order);
    } else if (!unit.commands.some(isRecords)) return this.#block(unit.commands, order, undefined);
    const commands = unit.kind === 'single' ? [unit.command] : unit.commands;
    return this.#write(commands, order, isLast ? order.options.replayKey : undefined);
  }

  /** A unit in the transaction of a session. */
  #unitIn(
    unit: CommandUnit,
    order: Order,
    scope: Scope,
    shared: CommandRun | undefined,
  ): readonly Reply[] | Promise<readonly Reply[]> {
    if (unit.kind === 'block') return this.#block(unit.commands, order, scope);
    const { command } = unit;
    return (shared ?? this.#commandRun(order)).all([command], scope);
  }

  /** Commands on records that only read: they see one state. */
  #read(commands: readonly Command[], order: Order): readonly Reply[] | Promise<readonly Reply[]> {
    const view = this.#options.transactions.view();
    const settle = (): void => view[Symbol.dispose]();
    let replies: readonly Reply[] | Promise<readonly Reply[]>;
    try {
      const scope: Scope = { view, transaction: undefined, settle: nothing };
      replies = this.#commandRun(order).all(commands, scope);
    } catch (error) {
      settle();
      throw error;
    }
    if (replies instanceof Promise) return replies.finally(settle);
    settle();
    return replies;
  }

  /** A block without records, or one whose records are committed by somebody else. */
  #block(
    commands: readonly Command[],
    order: Order,
    scope: Scope | undefined,
  ): readonly Reply[] | Promise<readonly Reply[]> {
    const staged = new StagedKeys(this.#options.store, this.#locate(order));
    const run = this.#commandRun(order, staged);
    const done = (replies: readonly Reply[]): readonly Reply[] => {
      staged.prepare();
      staged.apply();
      staged.close();
      return replies;
    };
    const failed = (error: unknown): never => {
      staged.close();
      throw error;
    };
    try {
      const replies = run.all(commands, scope);
      return replies instanceof Promise ? replies.then(done).catch(failed) : done(replies);
    } catch (error) {
      return failed(error);
    }
  }

  #write(
    commands: readonly Command[],
    order: Order,
    replayKey: string | undefined,
  ): Promise<readonly Reply[]> {
    const { limits, options, watch } = order;
    if (options.isAborted ?? options.signal.aborted)
      return Promise.reject(new DatabaseError('Cancelled', 'the client has left'));
    return runWithRetries(
      () => this.#attempt(commands, order, replayKey),
      () => ({
        attemptCountMax: options.retries ?? limits.attemptCountMax,
        delayMs: limits.retryDelayMs,
        conflictWaitMs: limits.conflictWaitMs,
        lanes: this.#options.lanes,
        check: () => watch.check(),
        runtime: this.#options.runtime,
      }),
    );
  }

  /** Records and transient keys are changed together: nobody gets at the keys while the records are committed. */
  async #attempt(
    commands: readonly Command[],
    order: Order,
    replayKey: string | undefined,
  ): Promise<readonly Reply[]> {
    const { transactions, store, commit, countFailure } = this.#options;
    const transaction = transactions.begin('READ_COMMITTED');
    const staged = new StagedKeys(store, this.#locate(order));
    try {
      const scope: Scope = { view: transaction, transaction, settle: nothing };
      const run = this.#commandRun(order, staged).all(commands, scope);
      const replies = run instanceof Promise ? await run : run;
      staged.prepare();
      await commit(transaction, replayKey);
      staged.apply();
      return replies;
    } catch (error) {
      transaction.rollback();
      countFailure(error);
      throw transaction.hasFlushed ? partlyDone(error) : error;
    } finally {
      staged.close();
    }
  }

  #commandRun(order: Order, staged?: StagedKeys): CommandRun {
    const { databaseName, store, compiler, plans } = this.#options;
    const locate = staged === undefined ? this.#locate(order) : undefined;
    return new CommandRun({
      databaseName,
      store,
      compiler,
      plans,
      order,
      locateSpace: locate,
      locate: staged?.locate ?? (locate as LocateSpace),
      require: (access) => this.#require(order.options, access),
      pace: this.#pace(order),
    });
  }

  #pace({ watch }: Order): Pace {
    return new Pace(this.#options.runtime, () => watch.check());
  }

  #locate({ statement, options }: Order): LocateSpace {
    const given = statement.commands?.locate;
    if (given !== undefined) return given;
    return keysOfRequest({ ...this.#options, principal: options.principal });
  }

  #result(
    compiled: CompiledCommands,
    order: Order,
    replies: readonly Reply[],
    index: LogIndex,
  ): ResultStream | Promise<ResultStream> {
    let view: ReadView | undefined;
    const open = (): ReadView => {
      view ??= this.#options.transactions.view();
      return view;
    };
    const facts = this.#facts(compiled, index);
    const release = (): void => view?.[Symbol.dispose]();
    const row = this.#row(replies, compiled, order);
    return row instanceof Promise
      ? row.then((later) => new FinishedResult(facts, later, open, release))
      : new FinishedResult(facts, row, open, release);
  }

  /** `{value: reply}`; who has read the commands itself takes texts as bytes. Long lists are made texts of with turns for others. */
  #row(replies: readonly Reply[], { program }: CompiledCommands, order: Order): Row | Promise<Row> {
    const value: Reply = program.isList ? replies : (replies[0] ?? null);
    if (order.statement.commands !== undefined) return { rowCount: 1, values: [value as Value] };
    const list = isLongList(value) ? value : undefined;
    if (list === undefined) return { rowCount: 1, values: [shownReply(value)] };
    return this.#shownInSlices(list, this.#pace(order)).then((shown) => ({
      rowCount: 1,
      values: [shown],
    }));
  }

  async #shownInSlices(replies: readonly Reply[], pace: Pace): Promise<Value> {
    const shown: Value[] = [];
    for (const reply of replies) {
      shown.push(isLongList(reply) ? await this.#shownInSlices(reply, pace) : shownReply(reply));
      if (shown.length % repliesPerLook === 0 && pace.isSpent) await pace.pause();
    }
    return shown;
  }

  #facts(compiled: CompiledCommands, index: LogIndex): ResultFacts {
    return {
      shape,
      isReadOnly: compiled.isReadOnly,
      statementLimit: undefined,
      index,
      explain: undefined,
      requireOpen: this.#options.requireOpen,
      isShown: undefined,
    };
  }
}

interface UnitHost {
  /** @param isLast it is the last one that writes records */
  readonly run: (
    unit: CommandUnit,
    isLast: boolean,
    /** Of programs of several units. */
    shared: CommandRun | undefined,
  ) => readonly Reply[] | Promise<readonly Reply[]>;
  hasCommitted: boolean;
}

const shape = { kind: 'columns', names: ['value'] } as const;

function nothing(): void {}

function isRecords(command: Command): boolean {
  return command.kind === 'records';
}

/** The only command of a program, when it reads records. */
function loneRead({ program: { units } }: CompiledCommands): Command | undefined {
  const [unit] = units;
  if (units.length !== 1 || unit?.kind !== 'single') return undefined;
  const { command } = unit;
  return command.kind === 'records' && command.does === 'read' ? command : undefined;
}

function writesRecords(unit: CommandUnit): boolean {
  const commands = unit.kind === 'single' ? [unit.command] : unit.commands;
  return commands.some((command) => command.kind === 'records' && command.does !== 'read');
}

interface Row {
  readonly rowCount: number;
  readonly values: readonly Value[];
}

const listAtOnceMax = 1000;
const repliesPerLook = 64;

function isLongList(reply: Reply): reply is readonly Reply[] {
  return Array.isArray(reply) && reply.length > listAtOnceMax;
}

function shownReply(reply: Reply): Value {
  if (typeof reply === 'string') return shownBytes(reply);
  return Array.isArray(reply) ? reply.map(shownReply) : (reply as Value);
}
