import type { TriggerDefinition } from '#catalog/definitions.ts';
import { fullName } from '#catalog/definitions.ts';
import { DatabaseError } from '#core/errors.ts';
import { Link } from '#core/record.ts';
import { noRid } from '#core/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import { isMap, type Value } from '#core/value.ts';
import type { MemoryAccount, VariableScope } from '#query/evaluate/context.ts';
import { approximateBytes } from '#query/evaluate/held-bytes.ts';
import { END, ROW } from '#query/operators/operator.ts';
import type { ReadView } from '#transaction/read-view.ts';
import type { Transaction } from '#transaction/transaction.ts';
import type { TriggerSubject, TriggerVerdict } from '#transaction/trigger-runner.ts';
import type { CompiledStatement } from './compiled-statement.ts';
import { type ServerMemory, StatementMemory } from './memory-accounts.ts';
import type { ScriptBodies, ScriptPlace } from './script-bodies.ts';
import type { StatementLimits } from './statement-limits.ts';

export interface BodyRunnerOptions {
  readonly compile: (body: string, view: ReadView) => CompiledStatement;
  readonly limits: () => StatementLimits;
  readonly memory: ServerMemory;
  readonly runtime: Runtime;
  readonly globals: VariableScope;
  /** Bodies in JavaScript. */
  readonly scripts: ScriptBodies;
}

/** Where a body runs. */
interface Surroundings {
  readonly view: ReadView;
  readonly transaction: Transaction | undefined;
  readonly parameters: ReadonlyMap<string, Value>;
  readonly variables: VariableScope | undefined;
}

/** The first row, when there is one, and how many there are. */
interface BodyRows {
  readonly rowCount: number;
  readonly first: readonly Value[];
}

/** Between two looks at the clock, in rows or pauses. */
const pullsPerLook = 64;

/**
 * Runs the bodies of triggers and functions: one statement each, in the transaction and on the state of the statement that calls
 * it, to its end in one go, since a write or an expression cannot wait. So that nothing is held up by it, a body with all that it
 * calls has `service.sql.maxBodyTime`, and bodies nest no deeper than `service.sql.maxBodyDepth`.
 */
export class BodyRunner {
  readonly #options: BodyRunnerOptions;
  #depth = 0;
  /** For the bodies that run now. */
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
  ): TriggerVerdict {
    if (trigger.language === 'JAVASCRIPT')
      return this.#nested(`trigger '${trigger.name}'`, () =>
        this.#options.scripts.fire(trigger, subject, this.#scriptPlace({ view, transaction })),
      );
    const { record = null, oldRecord = null, rid } = subject;
    const named = new Map<string, Value>([
      ['record', record],
      ['oldRecord', oldRecord],
      ['rid', rid === noRid ? null : new Link(rid)],
    ]);
    const compiled = this.#options.compile(trigger.action, view);
    const rows = this.#run(compiled, `trigger '${trigger.name}'`, {
      view,
      transaction,
      parameters: named,
      variables: {
        get: (name) =>
          named.get(name) ?? (named.has(name) ? null : this.#options.globals.get(name)),
      },
    });
    const isColumn = compiled.shape.kind === 'columns' && compiled.shape.names.length === 1;
    return !(compiled.isReadOnly && isColumn && rows.rowCount === 1 && rows.first[0] === false);
  }

  /**
   * The value of a function (sql.md 14.2): column `result` of the first row, else its only column; null without a row. A record or
   * a row of several columns is given as it is.
   */
  call(
    name: string,
    args: readonly Value[],
    place: { readonly view: ReadView; readonly transaction: Transaction | undefined },
  ): Value {
    const defined = place.view.catalog.definitions.functionNamed(name);
    if (defined === undefined)
      throw new DatabaseError('CommandExecution', `Unknown function name '${name}'`);
    if (defined.language === 'js')
      return this.#nested(`function '${fullName(defined)}'`, () =>
        this.#options.scripts.call(defined, args, this.#scriptPlace(place)),
      );
    const { parameters } = defined;
    const compiled = this.#options.compile(defined.body, place.view);
    const rows = this.#run(compiled, `function '${fullName(defined)}'`, {
      ...place,
      parameters: new Map(parameters.map((name, at) => [name, args[at] ?? null])),
      variables: undefined,
    });
    return resultOf(compiled, rows);
  }

  #scriptPlace(place: Pick<Surroundings, 'view' | 'transaction'>): ScriptPlace {
    const { clock } = this.#options.runtime;
    return {
      owner: place.transaction ?? place.view,
      bodyMs: this.#untilMs - clock.monotonicMs(),
      limits: this.#options.limits(),
      run: (text, parameters, mayWrite) => this.#statement(text, { parameters, mayWrite, place }),
    };
  }

  /** A statement of a script: all of its rows. */
  #statement(
    text: string,
    how: {
      readonly parameters: ReadonlyMap<string, Value>;
      readonly mayWrite: boolean;
      readonly place: Pick<Surroundings, 'view' | 'transaction'>;
    },
  ): readonly Value[] {
    const compiled = this.#options.compile(text, how.place.view);
    if (!compiled.isReadOnly && !how.mayWrite)
      throw new DatabaseError('NotIdempotent', `Query '${text}' is not idempotent`);
    const { shape } = compiled;
    const rows: Value[] = [];
    const surroundings = { ...how.place, parameters: how.parameters, variables: undefined };
    this.#run(compiled, 'a statement of a script', surroundings, (values) => {
      const isRow = shape.kind === 'columns';
      rows.push(isRow ? new Map(namedValues(shape.names, values)) : (values[0] ?? null));
    });
    return rows;
  }

  /** Runs a body one level deeper, within its time. */
  #nested<T>(what: string, run: () => T): T {
    const limits = this.#options.limits();
    if (this.#depth >= limits.bodyDepthMax)
      throw new DatabaseError(
        'IllegalArgument',
        `${what}: triggers and functions call each other deeper than service.sql.maxBodyDepth (${limits.bodyDepthMax})`,
      );
    const outerMs = this.#untilMs;
    const { clock } = this.#options.runtime;
    this.#untilMs = Math.min(outerMs, clock.monotonicMs() + limits.bodyTimeMs);
    this.#depth += 1;
    try {
      return run();
    } finally {
      this.#depth -= 1;
      this.#untilMs = outerMs;
    }
  }

  /** @param each told of every row */
  #run(
    compiled: CompiledStatement,
    what: string,
    place: Surroundings,
    each?: (values: readonly Value[]) => void,
  ): BodyRows {
    if (!compiled.isReadOnly && place.transaction === undefined)
      throw new DatabaseError('IllegalArgument', `${what} writes, which it may not here`);
    return this.#nested(what, () => this.#execute(compiled, what, place, each));
  }

  #execute(
    compiled: CompiledStatement,
    what: string,
    place: Surroundings,
    each: ((values: readonly Value[]) => void) | undefined,
  ): BodyRows {
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
      return this.#pull(compiled, instance, { what, each, memory });
    } finally {
      memory.close();
    }
  }

  #pull(
    compiled: CompiledStatement,
    instance: ReturnType<CompiledStatement['take']>,
    how: {
      readonly what: string;
      readonly each: ((values: readonly Value[]) => void) | undefined;
      readonly memory: MemoryAccount;
    },
  ): BodyRows {
    const { what, each, memory } = how;
    const { root, context } = instance;
    const { frame, pending } = context;
    const first: Value[] = [];
    let rowCount = 0;
    let pulls = 0;
    let hasEnded = false;
    root.open(context);
    try {
      for (;;) {
        const pulled = root.next();
        if (pulled === END) break;
        if (pulled === ROW) {
          if (rowCount === 0)
            for (const slot of compiled.outputSlots) first.push(frame[slot] ?? null);
          rowCount += 1;
          if (each !== undefined) {
            const values = compiled.outputSlots.map((slot) => frame[slot] ?? null);
            memory.reserve(approximateBytes(values));
            each(values);
          }
        } else if (pending.work !== undefined)
          throw new DatabaseError('NotSupported', `not supported in ${what}: schema changes`);
        pulls += 1;
        if (pulls % pullsPerLook === 0 || pulled !== ROW) this.#checkTime(what);
      }
      hasEnded = true;
      return { rowCount, first };
    } finally {
      root.close();
      // Operators that were stopped in the middle are not used again.
      if (hasEnded) compiled.give(instance);
    }
  }

  #checkTime(what: string): void {
    const { runtime, limits } = this.#options;
    if (runtime.clock.monotonicMs() <= this.#untilMs) return;
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
