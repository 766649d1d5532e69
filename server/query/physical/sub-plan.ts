import { DatabaseError } from '#core/errors.ts';
import { madeBytes } from '#core/value/made-bytes.ts';
import { standStillMsMax } from '#core/pausing-work.ts';
import type { Value } from '#core/value/value.ts';
import type { Output } from '../algebra/expression.ts';
import type { LogicalPlan } from '../algebra/plan.ts';
import { freeSlots, slotsOf } from '../algebra/slots.ts';
import { slotsOfOutput } from '../algebra/walk.ts';
import type { EvaluationContext, LongWork } from '../evaluate/context.ts';
import type { Evaluator } from '../evaluate/evaluator.ts';
import { rowValue } from '../operators/flow/apply.ts';
import { approximateBytes } from '../evaluate/turns/held-bytes.ts';
import { HeldMemory } from '../operators/hold/held-memory.ts';
import { END, PAUSE, type ExecutionContext, type PhysicalOperator } from '../operators/operator.ts';
import type { Lowering, OperatorFactory } from './lowering.ts';

/**
 * A sub-plan that stands inside an expression: it runs in slices where the expression can pause, else to its end in place;
 * analyzers lift what they can into `Apply`. A sub-plan that depends on no row runs once per statement.
 */
export function compileSubPlan(
  plan: LogicalPlan,
  output: Output,
  mode: 'collect' | 'exists' | 'count',
  lowering: Lowering,
): Evaluator {
  const outputSlots = mode === 'collect' ? slotsOfOutput(output) : [];
  const factory = lowering.lower(plan, new Set(outputSlots));
  const written = slotsOf(plan);
  const isFree = freeSlots(plan).size === 0 && outputSlots.every((slot) => written.has(slot));
  // One set of operators and one kept result per execution. Contexts are used again by later executions, regex budgets are not.
  const runs = new WeakMap<EvaluationContext['regexBudget'], SubPlanRun>();
  return (context) => {
    let run = runs.get(context.regexBudget);
    if (run === undefined) {
      run = new SubPlanRun(factory, output, mode, isFree);
      runs.set(context.regexBudget, run);
    }
    return run.value(context as ExecutionContext);
  };
}

/** Rows between two looks at the clock where nobody can pause. */
const rowsPerStep = 256;

class SubPlanRun {
  readonly #operator: PhysicalOperator;
  readonly #output: Output;
  readonly #mode: 'collect' | 'exists' | 'count';
  readonly #isFree: boolean;
  #kept: Value | undefined;

  constructor(
    factory: OperatorFactory,
    output: Output,
    mode: 'collect' | 'exists' | 'count',
    isFree: boolean,
  ) {
    this.#operator = factory();
    this.#output = output;
    this.#mode = mode;
    this.#isFree = isFree;
  }

  value(context: ExecutionContext): Value {
    const { longCalls } = context;
    // An expression that is evaluated anew meets the same calls each time, so what is kept is asked for as a call.
    const value =
      longCalls === undefined
        ? (this.#kept ?? this.#inPlace(context))
        : longCalls.result(this, () => this.#keptOrSteps(context));
    if (this.#isFree) this.#kept = value;
    return value;
  }

  *#keptOrSteps(context: ExecutionContext): LongWork {
    return this.#kept ?? (yield* this.#steps(context));
  }

  #inPlace(context: ExecutionContext): Value {
    const steps = this.#steps(context);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      step.value?.standStill(standStillMsMax);
      checkTime(context);
    }
  }

  /** The plan from its start to its end; stops where the plan pauses. */
  *#steps(context: ExecutionContext): LongWork {
    const memory = new HeldMemory(context, 'a sub-query');
    const rows: Value[] = [];
    let rowCount = 0;
    let isOver = false;
    this.#operator.open(context);
    try {
      for (;;) {
        const { total: before, rowStart } = madeBytes;
        const pulled = this.#operator.next();
        // What its rows made is garbage by now, or held by whoever accounts it: the row outside has not made it.
        const made = madeBytes.total - before;
        madeBytes.rowStart = rowStart + made;
        if (context.madeBytesMax !== undefined) context.madeBytesMax += made;
        if (pulled === END) break;
        if (pulled === PAUSE) {
          if (context.pending.work !== undefined)
            throw new DatabaseError('NotSupported', 'a schema change inside an expression');
          yield context.pending.wait;
          continue;
        }
        rowCount += 1;
        if (this.#mode === 'exists') break;
        if (this.#mode === 'collect') {
          const row = rowValue(this.#output, context.frame);
          memory.addElement(approximateBytes(row));
          rows.push(row);
        }
        if (rowCount % rowsPerStep === 0) yield;
      }
      isOver = true;
    } finally {
      this.#operator.close();
      // What is kept stays accounted; the statement's account gives it back at its end.
      if (!isOver || !this.#isFree) memory.release();
    }
    if (this.#mode === 'collect') return rows;
    return this.#mode === 'count' ? rowCount : rowCount > 0;
  }
}

/** Work in place cannot be awaited or cancelled from outside, but it does not outlive the statement's time. */
function checkTime(context: ExecutionContext): void {
  const { deadlineMs } = context;
  if (deadlineMs !== undefined && context.runtime.clock.monotonicMs() > deadlineMs)
    throw new DatabaseError('Timeout', 'the statement took longer than its time limit');
}
