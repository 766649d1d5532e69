import type { Value } from '#core/value/value.ts';
import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import type { EvaluationContext } from './context.ts';

/** How many arguments a call may have. A method counts its receiver, which is its first argument. */
export interface Arity {
  readonly min: number;
  /** `Number.POSITIVE_INFINITY` for any number. */
  readonly max: number;
}

/**
 * A function of its arguments, called once per row. Methods are registered under `.name` and get the receiver as the
 * first argument. The expression compiler has checked the arity before the first call.
 */
export interface ScalarFunction {
  /** Canonical spelling, shown in error messages; lookup ignores case. */
  readonly name: string;
  readonly arity: Arity;
  /** Same arguments, same result within one statement, so calls on constants may be computed once. */
  readonly isDeterministic: boolean;
  /** One call may work for seconds: it is evaluated where the statement can pause (`long-calls.ts`). */
  readonly mayTakeLong?: boolean;
  /** A call on a large value works in turns by itself, where it can; others are then remembered by whoever calls. */
  readonly worksInTurns?: boolean;
  /** The analyzer puts the current record before what was written. */
  readonly takesRecord?: boolean;
  /** As documented, for arity errors: `substring(from [, to])`. */
  readonly syntax: string;
  /**
   * `args` belongs to the call: it may be kept, never changed.
   * @throws DatabaseError `IllegalArgument` for a value that the function cannot use
   */
  evaluate(args: readonly Value[], context: EvaluationContext): Value;
}

/** A function over the rows of a group. */
export interface AggregateFunction {
  readonly name: string;
  readonly arity: Arity;
  readonly syntax: string;
  /** A fresh accumulator for one group. */
  create(): Accumulator;
}

/** The running state of one aggregate in one group. */
export interface Accumulator {
  /** `args` is reused by the caller between rows: copy what must be kept. `count(*)` passes no arguments. */
  add(args: readonly Value[], context: EvaluationContext): void;
  /** As `add`, in turns, for a large list; only accumulators for which one may take milliseconds have it. */
  addInTurns?(
    args: readonly Value[],
    context: EvaluationContext,
    meter: WorkMeter,
  ): PausingWork<void>;
  /** The value for the rows added so far; may be called for zero rows. */
  result(context: EvaluationContext): Value;
}

/**
 * All functions by name. Lookup ignores case. A function that is an aggregate only with exactly one argument (`sum`,
 * `min`, ...) is found under both kinds; the analyzer decides by the number of arguments (sql-functions.md, key A1).
 */
export interface FunctionRegistry {
  scalar(name: string): ScalarFunction | undefined;
  aggregate(name: string): AggregateFunction | undefined;
  /** The known name closest to a misspelt one, for the help text of `Unknown function name`. */
  suggest(name: string): string | undefined;
}
