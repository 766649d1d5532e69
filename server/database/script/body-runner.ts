import type { FunctionDefinition, TriggerDefinition } from '#catalog/definitions.ts';
import { fullName } from '#catalog/definitions.ts';
import { DatabaseError } from '#core/errors.ts';
import {
  countInPlace,
  doneInPlace,
  type PausingWork,
  stepsPerPause,
  type Wait,
} from '#core/pausing-work.ts';
import { Link } from '#core/value/record.ts';
import { noRid } from '#core/value/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import { isMap, type Value } from '#core/value/value.ts';
import type { MemoryAccount, VariableScope } from '#query/evaluate/context.ts';
import { approximateBytes } from '#query/evaluate/turns/held-bytes.ts';
import { END, ROW } from '#query/operators/operator.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { Transaction } from '#transaction/transaction.ts';
import type { TriggerSubject, TriggerVerdict } from '#transaction/trigger/trigger-runner.ts';
import type { CompiledStatement } from '../statement/compiled-statement.ts';
import { type ServerMemory, StatementMemory } from '../bounds/memory-accounts.ts';
import type { BodyLanguage } from './body-program.ts';
import type { ScriptBodies, ScriptPlace } from './bodies.ts';
import type { CallPlace } from '../statement/context.ts';
import type { StatementLimits } from '../bounds/statement-limits.ts';

export interface BodyRunnerOptions {
  /** @param language default: SQL */
  readonly compile: (body: string, view: ReadView, language?: BodyLanguage) => CompiledStatement;
  readonly limits: () => StatementLimits;
  readonly memory: ServerMemory;
  readonly runtime: Runtime;
  readonly globals: VariableScope;
  /** Bodies in JavaScript. */
  readonly scripts: ScriptBodies;
}

/** Where a body runs. */
interface Surroundings extends CallPlace {
  readonly parameters: ReadonlyMap<string, Value>;
  readonly variables: VariableScope | undefined;
}

/** The first row, when there is one, and how many there are. */
interface BodyRows {
  readonly rowCount: number;
  readonly first: readonly Value[];
}

/** Between two looks at the clock, in rows. */
const pullsPerLook = 64;
/** A body works about as long before whoever called it may pause. */
const stepMs = 1;
/** After one that has worked longer in one step, the caller pauses. */
const longBodyMs = 0.3;

/**
 * Runs the bodies of triggers and functions: one statement each, in the transaction and on the state of the statement that calls
 * it, in steps between which the caller pauses (`#core/pausing-work.ts`). A body with all that it calls may work for
 * `service.sql.maxBodyTime`, the turns of others not counted, and bodies nest no deeper than `service.sql.maxBodyDepth`.
 */
export class BodyRunner {
  readonly #options: BodyRunnerOptions;
  /** Of the body whose step runs now; bodies of several statements take turns. */
  #depth = 0;
  #untilMs = Number.POSITIVE_INFINITY;

  constructor(options: BodyRunnerOptions) {
    this.#options = options;
  }

  /**
   * Fires a trigger (sql.md 14.1).
   * @param transaction undefined: the action may not write
   * @returns false when it is a query of exactly one row with one column that is false, or a script that returns false
   */
  fire(
    trigger: TriggerDefinition,
    subject: TriggerSubject,
    view: ReadView,
    transaction: Transaction | undefined,
  ): PausingWork<TriggerVerdict> {
    return this.#nested(`trigger '${trigger.name}'`, () =>
      this.#fire(trigger, subject, view, transaction),
    );
  }

  /** As `fire` where nobody can pause, without writing: it has some thousand steps. */
  fireInPlace(trigger: TriggerDefinition, subject: TriggerSubject, view: ReadView): boolean {
    const work = this.fire(trigger, subject, view, undefined);
    const { clock } = this.#options.runtime;
    return doneInPlace(work, clock, `trigger '${trigger.name}'`) !== false;
  }

  *#fire(
    trigger: TriggerDefinition,
    subject: TriggerSubject,
    view: ReadView,
    transaction: Transaction | undefined,
  ): PausingWork<TriggerVerdict> {
    if (trigger.language === 'JAVASCRIPT')
      return yield* this.#options.scripts.fire(
        trigger,
        subject,
        this.#scriptPlace({ view, transaction }),
      );
    const { record = null, oldRecord = null, rid } = subject;
    const named = new Map<string, Value>([
      ['record', record],
      ['oldRecord', oldRecord],
      ['rid', rid === noRid ? null : new Link(rid)],
    ]);
    const compiled = this.#options.compile(trigger.action, view);
    const rows = yield* this.#run(compiled, `trigger '${trigger.name}'`, {
      view,
      transaction,
      parameters: named,
      variables: {
        get: (name) =>
          named.get(name) ?? (named.has(name) ? null : this.#options.globals.get(name)),
      },
    });
    return !(compiled.isReadOnly && rows.rowCount === 1 && onlyColumnOf(compiled, rows) === false);
  }

  /**
   * The value of a function (sql.md 14.2): column `result` of the first row, else its only column; null without a row. A record or
   * a row of several columns is given as it is.
   */
  call(name: string, args: readonly Value[], place: CallPlace): PausingWork<Value> {
    const defined = place.view.catalog.definitions.functionNamed(name);
    if (defined === undefined)
      throw new DatabaseError('CommandExecution', `Unknown function name '${name}'`);
    const what = `function '${fullName(defined)}'`;
    return this.#nested(what, () => this.#call(defined, args, place));
  }

  *#call(
    defined: FunctionDefinition,
    args: readonly Value[],
    place: CallPlace,
  ): PausingWork<Value> {
    if (defined.language === 'js')
      return yield* this.#options.scripts.call(defined, args, this.#scriptPlace(place));
    const { parameters } = defined;
    const compiled = this.#options.compile(defined.body, place.view, defined.language);
    const rows = yield* this.#run(compiled, `function '${fullName(defined)}'`, {
      ...place,
      parameters: new Map(parameters.map((name, at) => [name, args[at] ?? null])),
      variables: undefined,
    });
    return resultOf(compiled, rows);
  }

  #scriptPlace(place: CallPlace): ScriptPlace {
    return {
      owner: place.transaction ?? place.view,
      limits: this.#options.limits(),
      run: (text, parameters, mayWrite) => this.#statement(text, { parameters, mayWrite, place }),
    };
  }

  /** A statement of a script: all of its rows. */
  *#statement(
    text: string,
    how: {
      readonly parameters: ReadonlyMap<string, Value>;
      readonly mayWrite: boolean;
      readonly place: CallPlace;
    },
  ): PausingWork<readonly Value[]> {
    const compiled = this.#options.compile(text, how.place.view);
    if (!compiled.isReadOnly && !how.mayWrite)
      throw new DatabaseError('NotIdempotent', `Query '${text}' is not idempotent`);
    const { shape } = compiled;
    const rows: Value[] = [];
    const surroundings = { ...how.place, parameters: how.parameters, variables: undefined };
    const what = 'a statement of a script';
    const run = (): PausingWork<BodyRows> => this.#run(compiled, what, surroundings, keep);
    const keep = (values: readonly Value[]): void => {
      const isRow = shape.kind === 'columns';
      rows.push(isRow ? new Map(namedValues(shape.names, values)) : (values[0] ?? null));
    };
    // The script may catch the error and go on: a statement that was refused has done nothing then.
    const place = compiled.isReadOnly ? undefined : how.place.transaction?.savepoint();
    try {
      yield* this.#nested(what, run);
    } catch (error) {
      place?.undo();
      throw error;
    } finally {
      place?.release();
    }
    return rows;
  }

  /** A body one level deeper, within its time. */
  *#nested<T>(what: string, begin: () => PausingWork<T>): PausingWork<T> {
    const limits = this.#options.limits();
    if (this.#depth >= limits.bodyDepthMax)
      throw new DatabaseError(
        'IllegalArgument',
        `${what}: triggers and functions call each other deeper than service.sql.maxBodyDepth (${limits.bodyDepthMax})`,
      );
    const { clock } = this.#options.runtime;
    const depth = this.#depth + 1;
    let leftMs = limits.bodyTimeMs;
    const work = begin();
    try {
      for (;;) {
        const [outerDepth, outerMs] = [this.#depth, this.#untilMs];
        const startedMs = clock.monotonicMs();
        this.#depth = depth;
        this.#untilMs = Math.min(outerMs, startedMs + leftMs);
        let step: IteratorResult<Wait | undefined, T>;
        try {
          step = work.next();
        } finally {
          this.#depth = outerDepth;
          this.#untilMs = outerMs;
        }
        const pausedMs = clock.monotonicMs();
        if (step.done === true) {
          // Rows with such bodies count by their time.
          if (pausedMs - startedMs > longBodyMs) yield undefined;
          return step.value;
        }
        leftMs -= pausedMs - startedMs;
        yield step.value;
        if (step.value?.isWork === true) leftMs -= clock.monotonicMs() - pausedMs;
      }
    } finally {
      work.return(undefined as T);
    }
  }

  /** @param each told of every row */
  *#run(
    compiled: CompiledStatement,
    what: string,
    place: Surroundings,
    each?: (values: readonly Value[]) => void,
  ): PausingWork<BodyRows> {
    if (!compiled.isReadOnly && place.transaction === undefined)
      throw new DatabaseError('IllegalArgument', `${what} writes, which it may not here`);
    const limits = this.#options.limits();
    const memory = new StatementMemory(this.#options.memory, limits.memoryBytesMax);
    const instance = compiled.take();
    instance.context.enter({
      ...place,
      transaction: compiled.isReadOnly ? undefined : place.transaction,
      limits,
      memory,
      deadlineMs: this.#untilMs,
      rowCap: undefined,
      script: place.variables,
    });
    try {
      return yield* this.#pull(compiled, instance, { what, each, memory });
    } finally {
      memory.close();
    }
  }

  *#pull(
    compiled: CompiledStatement,
    instance: ReturnType<CompiledStatement['take']>,
    how: {
      readonly what: string;
      readonly each: ((values: readonly Value[]) => void) | undefined;
      readonly memory: MemoryAccount;
    },
  ): PausingWork<BodyRows> {
    const { what, each, memory } = how;
    const { root, context } = instance;
    const { frame, pending } = context;
    const first: Value[] = [];
    let rowCount = 0;
    let hasEnded = false;
    let pauseMs = this.#nextPauseMs();
    root.open(context);
    try {
      for (let pulls = 1; ; pulls += 1) {
        const pulled = root.next();
        if (pulled === END) break;
        countInPlace(pulled === ROW ? 1 : stepsPerPause);
        if (pulled === ROW) {
          if (rowCount === 0)
            for (const slot of compiled.outputSlots) first.push(frame[slot] ?? null);
          rowCount += 1;
          if (each !== undefined) {
            const values = compiled.outputSlots.map((slot) => frame[slot] ?? null);
            memory.reserve(approximateBytes(values));
            each(values);
          }
          if (pulls % pullsPerLook !== 0) continue;
        } else if (pending.work !== undefined)
          throw new DatabaseError('NotSupported', `not supported in ${what}: schema changes`);
        if (this.#checkTime(what) < pauseMs && pulled === ROW) continue;
        const { wait } = pending;
        pending.wait = undefined;
        yield wait;
        context.deadlineMs = this.#untilMs;
        pauseMs = this.#nextPauseMs();
      }
      hasEnded = true;
      return { rowCount, first };
    } finally {
      root.close();
      // Operators that were stopped in the middle are not used again.
      if (hasEnded) compiled.give(instance);
    }
  }

  #nextPauseMs(): number {
    return this.#options.runtime.clock.monotonicMs() + stepMs;
  }

  /** @returns the time */
  #checkTime(what: string): number {
    const { runtime, limits } = this.#options;
    const nowMs = runtime.clock.monotonicMs();
    if (nowMs <= this.#untilMs) return nowMs;
    throw new DatabaseError(
      'Timeout',
      `${what} takes longer than service.sql.maxBodyTime (${limits().bodyTimeMs} ms)`,
    );
  }
}

function resultOf(compiled: CompiledStatement, { rowCount, first }: BodyRows): Value {
  if (rowCount === 0) return null;
  const { shape } = compiled;
  if (shape.kind === 'columns') return columnOf(new Map(namedValues(shape.names, first)));
  const row = first[0] ?? null;
  return isMap(row) ? columnOf(row) : row;
}

/** @returns undefined when the row has no column or several, or is a record */
function onlyColumnOf({ shape }: CompiledStatement, { first }: BodyRows): Value | undefined {
  if (shape.kind === 'columns') return shape.names.length === 1 ? first[0] : undefined;
  const row = first[0] ?? null;
  return isMap(row) && row.size === 1 ? [...row.values()][0] : undefined;
}

function namedValues(
  names: readonly string[],
  values: readonly Value[],
): readonly (readonly [string, Value])[] {
  return names.map((name, at) => [name, values[at] ?? null]);
}

function columnOf(row: ReadonlyMap<string, Value>): Value {
  const result = row.get('result');
  if (result !== undefined) return result;
  if (row.size !== 1) return row;
  for (const value of row.values()) return value;
  return null;
}
