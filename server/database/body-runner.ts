import type { TriggerDefinition } from '#catalog/definitions.ts';
import { fullName } from '#catalog/definitions.ts';
import { DatabaseError } from '#core/errors.ts';
import { Link } from '#core/record.ts';
import { noRid } from '#core/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import { isMap, type Value } from '#core/value.ts';
import type { VariableScope } from '#query/evaluate/context.ts';
import { END, ROW } from '#query/operators/operator.ts';
import type { ReadView } from '#transaction/read-view.ts';
import type { Transaction } from '#transaction/transaction.ts';
import type { TriggerSubject } from '#transaction/trigger-runner.ts';
import type { CompiledStatement } from './compiled-statement.ts';
import { type ServerMemory, StatementMemory } from './memory-accounts.ts';
import type { StatementLimits } from './statement-limits.ts';

export interface BodyRunnerOptions {
  readonly compile: (body: string, view: ReadView) => CompiledStatement;
  readonly limits: () => StatementLimits;
  readonly memory: ServerMemory;
  readonly runtime: Runtime;
  readonly globals: VariableScope;
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
   * @returns false when it is a query of exactly one row with one column that is false
   */
  fire(
    trigger: TriggerDefinition,
    subject: TriggerSubject,
    view: ReadView,
    transaction: Transaction | undefined,
  ): boolean {
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
    const { parameters } = defined;
    const compiled = this.#options.compile(defined.body, place.view);
    const rows = this.#run(compiled, `function '${fullName(defined)}'`, {
      ...place,
      parameters: new Map(parameters.map((name, at) => [name, args[at] ?? null])),
      variables: undefined,
    });
    return resultOf(compiled, rows);
  }

  #run(compiled: CompiledStatement, what: string, place: Surroundings): BodyRows {
    const limits = this.#options.limits();
    const { clock } = this.#options.runtime;
    if (this.#depth >= limits.bodyDepthMax)
      throw new DatabaseError(
        'IllegalArgument',
        `${what}: triggers and functions call each other deeper than service.sql.maxBodyDepth (${limits.bodyDepthMax})`,
      );
    if (!compiled.isReadOnly && place.transaction === undefined)
      throw new DatabaseError('IllegalArgument', `${what} writes, which it may not here`);
    const outerMs = this.#untilMs;
    this.#untilMs = Math.min(outerMs, clock.monotonicMs() + limits.bodyTimeMs);
    this.#depth += 1;
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
      return this.#pull(compiled, instance, what);
    } finally {
      this.#depth -= 1;
      this.#untilMs = outerMs;
      memory.close();
    }
  }

  #pull(
    compiled: CompiledStatement,
    instance: ReturnType<CompiledStatement['take']>,
    what: string,
  ): BodyRows {
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
