import type { Value } from '#core/value/value.ts';
import type { LogicalPlan } from '../algebra/plan.ts';
import type { Output, Slot } from '../algebra/expression.ts';
import type { EvaluationContext } from './context.ts';
import type { FunctionRegistry } from './function-definition.ts';

/** An expression ready to run against the frame of a statement. */
export type Evaluator = (context: EvaluationContext) => Value;
/** A three-valued condition: null is unknown. */
export type Condition = (context: EvaluationContext) => boolean | null;
/** A filter: true only when the condition is known to hold. */
export type Predicate = (context: EvaluationContext) => boolean;

/** What the compiler of expressions needs from the rest of the query room. */
export interface CompileEnvironment {
  readonly functions: FunctionRegistry;
  /** Runs a sub-plan to its end, in place; `collect` gives the list of its rows. */
  readonly compileSubPlan: (
    plan: LogicalPlan,
    output: Output,
    mode: 'collect' | 'exists' | 'count',
  ) => Evaluator;
  /** Slots that hold bare record ids (`physical/bare-ids.ts`); only `@rid` and properties may look into them. */
  readonly bareIds?: ReadonlySet<Slot>;
  /** A property of the element whose bare id a step leaves in the slot; undefined for other slots. */
  readonly compileColumn?: (slot: Slot, property: string) => Evaluator | undefined;
}
