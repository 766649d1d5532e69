import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import type { BucketId } from '#core/value/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import { isList, isMap, isRecord, kindOf, type Value, type ValueMap } from '#core/value/value.ts';
import { textOf } from '#core/text/text-form.ts';
import { withPlace } from '#language/name-place.ts';
import type { Block, OperationStep, Part, RetryStep, Step } from '#language/script-steps.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { CompiledStatement } from '../statement/compiled-statement.ts';
import type { ConflictLanes } from '../attempt/conflict-lanes.ts';
import type { GlobalVariables } from './global-variables.ts';
import { runWithRetries } from '../attempt/retry.ts';
import { didNotFind } from './names.ts';
import type { ScriptTransactions } from './transaction.ts';
import type { ScriptVariables } from './variables.ts';
import type { ExplainedPlan, ResultBatch, ResultShape } from '../session.ts';
import type { StatementLimits } from '../bounds/statement-limits.ts';
import type { StatementWatch } from '../bounds/statement-watch.ts';

/** As long as a slice of a plan (plan-execution.ts). */
const sliceMs = 5;
/** limits.md 32. */

/** The rows of one part. */
export interface PartRows {
  readonly compiled: CompiledStatement;
  readonly rows: ResultBatch;
  /** Its own LIMIT. */
  readonly statementLimit?: number | undefined;
  readonly explain?: ExplainedPlan | undefined;
}

/** What a script gives. */
export interface ScriptRows {
  readonly shape: ResultShape;
  readonly rows: ResultBatch;
  readonly statementLimit: number | undefined;
  readonly explain: ExplainedPlan | undefined;
}

/** When the running slice began, for plans and for the loop; and whether the script is to end. */
export interface Pace {
  startedMs: number;
  check(): void;
}

export interface ScriptRunnerOptions {
  readonly transactions: ScriptTransactions;
  readonly variables: ScriptVariables;
  readonly globals: GlobalVariables;
  readonly limits: StatementLimits;
  readonly watch: StatementWatch;
  readonly pace: Pace;
  readonly runtime: Runtime;
  readonly lanes: ConflictLanes;
  readonly log: Log;
  readonly databaseName: string;
  /** As many rows of the result as the caller takes. */
  readonly rowCountMax: number;
  /** The newest committed state, for the names in LOCK. */
  readonly view: () => ReadView;
  /** Runs a part to its end; a short one without a promise. @param keeps how many rows; or those that the caller takes */
  readonly run: (part: Part, keeps: number | 'taken') => PartRows | Promise<PartRows>;
  /** Runs BACKUP, EXPORT or IMPORT DATABASE. @returns its row */
  readonly operate: (step: OperationStep, signal: AbortSignal) => Promise<ValueMap>;
}

/** How a block ended; undefined: at its end. */
type End = 'break' | 'return' | undefined;

/**
 * Runs a script's steps in order (sql.md 17). The event loop has its turn every 5 ms, between steps and inside them; there the
 * script is ended when it was cancelled or its time is over. One runner serves one attempt.
 */
export class ScriptRunner {
  readonly #options: ScriptRunnerOptions;
  #result: ScriptRows = noRows;

  constructor(options: ScriptRunnerOptions) {
    this.#options = options;
  }

  /** @throws whatever a statement raises; the caller gives the transaction up */
  async run(steps: Block): Promise<ScriptRows> {
    await this.#block(steps, true);
    this.#options.transactions.closeLevels();
    return this.#result;
  }

  /** @param isLast the rows of the block's last statement are the result of the script */
  async #block(steps: Block, isLast: boolean): Promise<End> {
    for (let at = 0; at < steps.length; at += 1) {
      if (this.#isSliceSpent()) await this.#yield();
      const step = steps[at] as Step;
      const end = this.#step(step, isLast && at === steps.length - 1);
      const ended = end instanceof Promise ? await end : end;
      if (ended !== undefined) return ended;
    }
    return undefined;
  }

  /** A block with variables of its own. */
  async #scoped(steps: Block, isLast: boolean): Promise<End> {
    const { variables } = this.#options;
    variables.enterBlock();
    const end = await this.#block(steps, isLast);
    variables.leaveBlock();
    return end;
  }

  #step(step: Step, isLast: boolean): End | Promise<End> {
    switch (step.kind) {
      case 'query':
        return this.#query(step.query, isLast);
      case 'let':
        return this.#let(step.items);
      case 'if':
        return this.#if(step, isLast);
      case 'while':
        return this.#while(step.condition, step.body);
      case 'forEach':
        return this.#forEach(step);
      case 'break':
        return 'break';
      case 'return':
        return this.#return(step.value);
      case 'retry':
        return this.#retry(step, isLast);
      case 'profile':
        return this.#profile(step, isLast);
      default:
        return this.#operation(step, isLast);
    }
  }

  // --- values

  async #query(part: Part, isLast: boolean): Promise<End> {
    const { run } = this.#options;
    const isCall = part.gives !== 'rows';
    const ran = run(part, isLast ? 'taken' : 0);
    const { compiled, rows, statementLimit, explain } = ran instanceof Promise ? await ran : ran;
    if (!isLast) return undefined;
    if (isCall) this.#give(rowsOfValue(rows.values[0] ?? null, part.gives === 'map'));
    else {
      this.#result = { shape: compiled.shape, rows, statementLimit, explain };
    }
    return undefined;
  }

  /** The value of an expression, the list of the rows of a statement. */
  #value(part: Part): Value | Promise<Value> {
    const ran = this.#options.run(part, part.gives === 'rows' ? Infinity : 1);
    return ran instanceof Promise
      ? ran.then((result) => this.#valueOf(part, result))
      : this.#valueOf(part, ran);
  }

  #valueOf(part: Part, { compiled, rows, explain }: PartRows): Value {
    if (part.gives !== 'rows') return rows.values[0] ?? null;
    if (explain !== undefined && compiled.program.inspect !== undefined)
      return [new Map([['executionPlan', explain.text]])];
    const { elementCountMax } = this.#options.limits.evaluation;
    if (elementCountMax > 0 && rows.rowCount > elementCountMax)
      throw new DatabaseError(
        'IllegalArgument',
        `a variable would hold more than ${elementCountMax} rows; the limit is service.queryMaxHeapElementsAllowedPerOp`,
      );
    return listOfRows(compiled.shape, rows);
  }

  #let(items: Extract<Step, { kind: 'let' }>['items'], from = 0): End | Promise<End> {
    for (let at = from; at < items.length; at += 1) {
      const { name, value } = items[at] as (typeof items)[number];
      const given = this.#value(value);
      if (given instanceof Promise) {
        return given.then((later) => {
          this.#options.variables.assign(name, later);
          return this.#let(items, at + 1);
        });
      }
      this.#options.variables.assign(name, given);
    }
    return undefined;
  }

  async #return(part: Part | undefined): Promise<End> {
    if (part === undefined) this.#give(rowsOfValue(null, false));
    else if (part.gives === 'rows') await this.#query(part, true);
    else this.#give(rowsOfValue(await this.#value(part), part.gives === 'map'));
    return 'return';
  }

  #give(values: readonly Value[]): void {
    const kept = values.slice(0, this.#options.rowCountMax);
    this.#result = { ...noRows, shape: valueShape, rows: { rowCount: kept.length, values: kept } };
  }

  // --- control flow

  async #if(step: Extract<Step, { kind: 'if' }>, isLast: boolean): Promise<End> {
    // Unknown is false.
    const isTrue = (await this.#value(step.condition)) === true;
    return this.#scoped(isTrue ? step.taken : step.otherwise, isLast);
  }

  async #while(condition: Part, body: Block): Promise<End> {
    for (;;) {
      if (this.#isSliceSpent()) await this.#yield();
      const given = this.#value(condition);
      if ((given instanceof Promise ? await given : given) !== true) return undefined;
      const end = await this.#scoped(body, false);
      if (end === 'break') return undefined;
      if (end !== undefined) return end;
    }
  }

  async #forEach(step: Extract<Step, { kind: 'forEach' }>): Promise<End> {
    const { variables } = this.#options;
    for (const element of elementsOf(await this.#value(step.list))) {
      if (this.#isSliceSpent()) await this.#yield();
      variables.assign(step.variable, element);
      const end = await this.#scoped(step.body, false);
      if (end === 'break') return undefined;
      if (end !== undefined) return end;
    }
    variables.assign(step.variable, null);
    return undefined;
  }

  // --- transactions

  /** BEGIN ... COMMIT RETRY n (sql.md 17.5 rule 3). */
  async #retry(step: RetryStep, isLast: boolean): Promise<End> {
    const { transactions, variables, limits, runtime, lanes, watch } = this.#options;
    const mayRepeat = transactions.isFresh;
    const restoreVariables = variables.savepoint();
    let end: End;
    const attempt = async (): Promise<void> => {
      try {
        transactions.begin(step.isolation);
        end = await this.#block(step.body, false);
        if (end === undefined) await transactions.commit();
      } catch (error) {
        if (mayRepeat && isRetryable(error)) {
          transactions.giveUp();
          restoreVariables();
        }
        throw error;
      }
    };
    try {
      await runWithRetries(attempt, () => ({
        attemptCountMax: mayRepeat ? step.attemptCount : 1,
        delayMs: limits.retryDelayMs,
        conflictWaitMs: limits.conflictWaitMs,
        lanes,
        check: () => watch.check(),
        runtime,
      }));
    } catch (error) {
      // What was written before BEGIN is lost with a failed commit: then the script as a whole has failed.
      if (!mayRepeat || !isRetryable(error)) throw error;
      const left = await this.#scoped(step.otherwise, isLast);
      if (!step.goesOn) throw error;
      return left;
    }
    if (end === undefined && isLast) this.#give([operation('commit')]);
    return end;
  }

  /** Its rows are not shown, but how long it took (sql.md 16.1). */
  async #profile(step: Extract<Step, { kind: 'profile' }>, isLast: boolean): Promise<End> {
    const { clock } = this.#options.runtime;
    const startedMs = clock.monotonicMs();
    const end = await this.#block(step.body, false);
    if (!isLast && end === undefined) return end;
    const ms = clock.monotonicMs() - startedMs;
    const { name } = step;
    const cost = Math.round(ms * 1e6);
    const shown = { name, description: '', cost, rowCount: undefined, steps: [] };
    const explain = { text: `+ ${name} (${ms.toFixed(3)} ms)`, steps: [shown] };
    this.#result = { ...noRows, explain };
    return end;
  }

  async #operation(step: Step, isLast: boolean): Promise<End> {
    const row = await this.#performed(step);
    if (isLast && row !== undefined) this.#give([row]);
    return undefined;
  }

  async #performed(step: Step): Promise<Value | undefined> {
    const { transactions, globals } = this.#options;
    switch (step.kind) {
      case 'begin':
        transactions.begin(step.isolation);
        return operation('begin');
      case 'commit':
        if (step.needsOpen) transactions.requireOpen();
        await transactions.commit();
        return operation('commit');
      case 'rollback':
        transactions.rollback();
        return operation('rollback');
      case 'lock':
        await this.#lock(this.#bucketsToLock(step));
        return operation('lock');
      case 'operate':
        return this.#operate(step);
      case 'sleep':
        return this.#sleep(await this.#value(step.millis));
      case 'console':
        return this.#print(step.level, await this.#value(step.message));
      case 'setGlobal':
        await globals.assign(step.name, await this.#value(step.value));
        return undefined;
      default:
        return undefined;
    }
  }

  /** A pending transaction is rolled back first (sql.md 16.4); what the operation did may stand on disk, so it is done once. */
  async #operate(step: OperationStep): Promise<Value> {
    const { transactions, operate, watch, runtime, pace } = this.#options;
    const active = watch.statement();
    active.check();
    transactions.hasCommitted = true;
    const abort = new AbortController();
    active.onEnd(() => abort.abort());
    try {
      return await operate(step, abort.signal);
    } catch (error) {
      // Whatever an abort made fail: the reason is what the client is told.
      active.check();
      throw error;
    } finally {
      active.onEnd(undefined);
      pace.startedMs = runtime.clock.monotonicMs();
    }
  }

  /** Waits for the lock, or for the end of the script, whichever comes first. */
  async #lock(buckets: readonly BucketId[]): Promise<void> {
    const { transactions, watch, runtime, pace } = this.#options;
    const active = watch.statement();
    active.check();
    const locked = transactions.lock(buckets);
    // A transaction that has ended lets go of what it is given later.
    locked.catch(() => {});
    const ended = new Promise<void>((resolve) => {
      active.onEnd(resolve);
    });
    await Promise.race([locked, ended]);
    active.onEnd(undefined);
    pace.startedMs = runtime.clock.monotonicMs();
    active.check();
  }

  #bucketsToLock(step: Extract<Step, { kind: 'lock' }>): readonly BucketId[] {
    try {
      return this.#bucketsNamed(step.what, step.names);
    } catch (error) {
      throw withPlace(error, step.source);
    }
  }

  #bucketsNamed(what: 'type' | 'bucket', names: readonly string[]): readonly BucketId[] {
    using view = this.#options.view();
    const { catalog } = view;
    return names.flatMap((name) => {
      if (what === 'bucket') {
        const bucket = catalog.bucketNamed(name);
        return [(bucket ?? didNotFind('Bucket', name, catalog)).id];
      }
      const type = catalog.typeNamed(name) ?? didNotFind('Type', name, catalog);
      return catalog.withSubtypes(type.id).flatMap((id) => catalog.typeWithId(id).buckets);
    });
  }

  // --- the rest

  async #sleep(given: Value): Promise<Value> {
    const { sleepMsMax } = this.#options.limits;
    if (typeof given !== 'number' || !Number.isInteger(given) || given < 0 || given > sleepMsMax)
      throw new DatabaseError(
        'IllegalArgument',
        `SLEEP takes 0 to ${sleepMsMax} milliseconds (service.command.maxSleep), not ${shown(given, this.#options.limits)}`,
      );
    const { watch, runtime, pace } = this.#options;
    const active = watch.statement();
    active.check();
    let cancel: () => void = () => {};
    await new Promise<void>((resolve) => {
      cancel = runtime.timers.after(given, resolve);
      active.onEnd(resolve);
    });
    cancel();
    active.onEnd(undefined);
    pace.startedMs = runtime.clock.monotonicMs();
    active.check();
    return new Map<string, Value>([
      ['operation', 'sleep'],
      ['result', 'OK'],
      ['millis', given],
    ]);
  }

  #print(level: string, value: Value): Value {
    const { log, limits, databaseName } = this.#options;
    const message = shown(value, limits);
    const fields = { database: databaseName, console: message.slice(0, 10_000) };
    if (level === 'error') log.error('script console', fields);
    else if (level === 'warn') log.warn('script console', fields);
    else if (level === 'debug') log.debug('script console', fields);
    else log.info('script console', fields);
    return new Map<string, Value>([
      ['operation', 'console'],
      ['level', level],
      ['message', message],
    ]);
  }

  #isSliceSpent(): boolean {
    const { runtime, pace } = this.#options;
    return runtime.clock.monotonicMs() - pace.startedMs >= sliceMs;
  }

  async #yield(): Promise<void> {
    const { runtime, pace } = this.#options;
    await runtime.timers.yield();
    pace.startedMs = runtime.clock.monotonicMs();
    pace.check();
  }
}

const valueShape: ResultShape = { kind: 'value' };
const noRows: ScriptRows = {
  shape: { kind: 'columns', names: [] },
  rows: { rowCount: 0, values: [] },
  statementLimit: undefined,
  explain: undefined,
};

function operation(name: string): Value {
  return new Map([['operation', name]]);
}

function isRetryable(error: unknown): boolean {
  return error instanceof DatabaseError && error.mayRunAgain;
}

function shown(value: Value, limits: StatementLimits): string {
  return value === null ? 'null' : textOf(value, limits.formats);
}

/** What FOREACH goes through (sql.md 17.4 rule 2). */
function elementsOf(value: Value): Iterable<Value> {
  if (value === null) return [];
  if (isList(value)) return value;
  return isMap(value) ? value.values() : [value];
}

/** The rows that RETURN makes of a value (sql.md 17.2 rule 2). */
function rowsOfValue(value: Value, isMapLiteral: boolean): readonly Value[] {
  if (isMapLiteral) return [new Map([['value', value]])];
  return isList(value) ? value.map(rowOfElement) : [rowOfElement(value)];
}

function rowOfElement(value: Value): Value {
  return isRecord(value) || isMap(value) || kindOf(value) === 'embedded'
    ? value
    : new Map([['value', value]]);
}

function listOfRows(shape: ResultShape, rows: ResultBatch): readonly Value[] {
  if (shape.kind === 'value') return rows.values;
  const { names } = shape;
  const list: Value[] = [];
  for (let row = 0; row < rows.rowCount; row += 1) {
    const map = new Map<string, Value>();
    for (let at = 0; at < names.length; at += 1)
      map.set(names[at] as string, rows.values[row * names.length + at] ?? null);
    list.push(map);
  }
  return list;
}
