import { assert } from '#core/assert.ts';
import { DatabaseError } from '#core/errors.ts';
import {
  countInPlace,
  standStillMsMax,
  stepsInPlaceMax,
  stepsPerPause,
  tooLongInPlace,
} from '#core/pausing-work.ts';
import { enterTurn, leaveTurn } from '#core/turn-end.ts';
import { isMap, type Value } from '#core/value/value.ts';
import type { Slot } from '#query/algebra/expression.ts';
import { END, type PhysicalOperator, ROW } from '#query/operators/operator.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { CompiledStatement } from './compiled-statement.ts';
import { refusalOfOverflow } from './compile-steps.ts';
import type { StatementContext } from './context.ts';
import type { StatementCompiler } from './compiler.ts';
import type { StatementLimits } from '../bounds/statement-limits.ts';

/**
 * Whoever asks for the value cannot pause.
 * @returns undefined without a row
 * @throws DatabaseError `TooLarge` after as many steps as work in place may take, `Timeout` when it waits too long for a script
 */
function firstInPlace(
  text: string,
  root: PhysicalOperator,
  { runtime, pending, frame }: StatementContext,
  outputSlot: Slot | undefined,
): Value | undefined {
  let waitUntilMs: number | undefined;
  for (let stepsLeft = stepsInPlaceMax; stepsLeft > 0; stepsLeft -= stepsPerPause) {
    const pulled = root.next();
    if (pulled === END) return undefined;
    if (pulled === ROW) return outputSlot === undefined ? undefined : (frame[outputSlot] ?? null);
    countInPlace(stepsPerPause);
    const { wait } = pending;
    pending.wait = undefined;
    if (wait === undefined) continue;
    const nowMs = runtime.clock.monotonicMs();
    waitUntilMs ??= nowMs + standStillMsMax;
    if (nowMs >= waitUntilMs)
      throw new DatabaseError('Timeout', `'${text}' waits longer than ${standStillMsMax} ms`);
    wait.standStill(waitUntilMs - nowMs);
    stepsLeft += stepsPerPause;
  }
  throw tooLongInPlace(`'${text}'`);
}

const unlimited = { reserve() {}, release() {} };

/**
 * Expressions that are kept as text: DEFAULT of a property, the condition of `eval()`. They are compiled as the statement
 * `SELECT (text)` and run in place; the text was checked when it was declared, or is refused when it is no expression.
 */
export class TextEvaluator {
  readonly #compiler: StatementCompiler;
  readonly #limits: () => StatementLimits;
  readonly #view: () => ReadView;

  /** @param options `view` opens the newest state, for the defaults, which look at no record */
  constructor(options: {
    compiler: StatementCompiler;
    limits: () => StatementLimits;
    view: () => ReadView;
  }) {
    this.#compiler = options.compiler;
    this.#limits = options.limits;
    this.#view = options.view;
  }

  /** The value of an expression without a current record; undefined when it is null (sql.md 13.7). */
  default(source: string): Value | undefined {
    using view = this.#view();
    const value = this.#first(`SELECT (${source}) AS value`, new Map(), view);
    return value ?? undefined;
  }

  /**
   * Refuses a DEFAULT that is no expression, writes, or is a bare name.
   * @throws DatabaseError as a statement with it
   */
  checkDefault(source: string): void {
    using view = this.#view();
    const compiled = this.#compiled(`SELECT (${source}) AS value`, view);
    if (!compiled.isReadOnly) {
      throw new DatabaseError('IllegalArgument', `the default '${source}' writes`);
    }
  }

  /** A condition on a record or map; null when unknown. */
  condition(text: string, current: Value, view: ReadView): boolean | null {
    const parameters = new Map<string, Value>([['current', isMap(current) ? [current] : current]]);
    const value = this.#first(
      `SELECT (${text}) AS value FROM (SELECT expand(:current))`,
      parameters,
      view,
    );
    return value === undefined || value === null ? null : value === true;
  }

  #compiled(text: string, view: ReadView): CompiledStatement {
    const statement = { language: 'sql', text, parameters: new Map() };
    const compiled = this.#compiler.compiled(statement, view);
    assert(compiled.kind === 'statement', 'SELECT is no script');
    return compiled;
  }

  #first(text: string, parameters: ReadonlyMap<string, Value>, view: ReadView): Value | undefined {
    const compiled = this.#compiled(text, view);
    if (!compiled.isReadOnly) throw new DatabaseError('IllegalArgument', `'${text}' writes`);
    const limits = this.#limits();
    const instance = compiled.take();
    const { root, context } = instance;
    context.enter({
      view,
      transaction: undefined,
      parameters,
      limits,
      memory: unlimited,
      deadlineMs: Infinity,
      rowCap: undefined,
    });
    const outer = enterTurn(undefined);
    try {
      root.open(context);
      return firstInPlace(text, root, context, compiled.outputSlots[0]);
    } catch (error) {
      throw refusalOfOverflow(error);
    } finally {
      leaveTurn(outer);
      root.close();
      compiled.give(instance);
    }
  }
}
