import { DatabaseError } from '#core/errors.ts';
import type { Value } from '#core/value.ts';
import type { Output } from '../algebra/expression.ts';
import type { LogicalPlan } from '../algebra/plan.ts';
import { freeSlots, slotsOf } from '../algebra/slots.ts';
import { slotsOfOutput } from '../algebra/walk.ts';
import type { EvaluationContext } from '../evaluate/context.ts';
import type { Evaluator } from '../evaluate/evaluator.ts';
import { rowValue } from '../operators/apply.ts';
import { approximateBytes } from '../evaluate/held-bytes.ts';
import { HeldMemory } from '../operators/held-memory.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
} from '../operators/operator.ts';
import type { Lowering, OperatorFactory } from './lowering.ts';

/**
 * A sub-plan that stands inside an expression: it runs to its end in place, without giving up the event loop, so analyzers and
 * the optimizer lift what they can into `Apply`. A sub-plan that depends on no row runs once per statement.
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
    if (this.#kept !== undefined) return this.#kept;
    const value = this.#run(context);
    if (this.#isFree) this.#kept = value;
    return value;
  }

  #run(context: ExecutionContext): Value {
    const memory = new HeldMemory(context, 'a sub-query');
    const rows: Value[] = [];
    let rowCount = 0;
    this.#operator.open(context);
    try {
      for (;;) {
        const pulled = this.#operator.next();
        if (pulled === END) break;
        if (pulled === PAUSE) {
          checkTime(context);
          continue;
        }
        rowCount += 1;
        if (this.#mode === 'exists') break;
        if (this.#mode === 'collect') {
          const row = rowValue(this.#output, context.frame);
          memory.addElement(approximateBytes(row));
          rows.push(row);
        }
        if (pulled === ROW && rowCount % 1024 === 0) checkTime(context);
      }
    } catch (error) {
      memory.release();
      throw error;
    } finally {
      this.#operator.close();
    }
    // What is kept stays accounted; the statement's account gives it back at its end.
    if (!this.#isFree) memory.release();
    if (this.#mode === 'collect') return rows;
    return this.#mode === 'count' ? rowCount : rowCount > 0;
  }
}

/** Work in place cannot be awaited or cancelled from outside, but it does not outlive the statement's time. */
function checkTime(context: ExecutionContext): void {
  if (context.pending.work !== undefined)
    throw new DatabaseError('NotSupported', 'a schema change inside an expression');
  const { deadlineMs } = context;
  if (deadlineMs !== undefined && context.runtime.clock.monotonicMs() > deadlineMs)
    throw new DatabaseError('Timeout', 'the statement took longer than its time limit');
}
