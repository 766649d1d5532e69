import type { Catalog } from '#catalog/catalog.ts';
import type { Slot } from '../algebra/expression.ts';
import type { LogicalPlan, PlanOp } from '../algebra/plan.ts';
import type { FunctionRegistry } from '../evaluate/function-definition.ts';
import type { Statistics } from './statistics.ts';

/** What rules may look at while one program is optimized. */
export interface OptimizerContext {
  readonly catalog: Catalog;
  readonly statistics: Statistics;
  readonly functions: FunctionRegistry;
  /** Rules that are switched off; for those whose work must be done in some way or other (match planning). */
  readonly disabled: ReadonlySet<string>;
  /** A slot that nobody uses yet. */
  newSlot(): Slot;
}

/** Computed when asked: few rules do. */
export type RequiredSlots = () => ReadonlySet<Slot>;

/** One way to make a plan cheaper without changing its rows. */
export interface OptimizerRule {
  readonly name: string;
  /** Nodes of which at least one must be in the plan for the rule to find anything; most rules are passed over by this. */
  readonly needs: readonly PlanOp[] | 'any';
  /** What would be slow without it, in one sentence. */
  readonly why: string;
  /**
   * Looks at one node whose inputs this rule has been through already.
   * @param required slots that somebody above the node may read
   * @returns undefined when the rule does not apply
   */
  apply(
    plan: LogicalPlan,
    context: OptimizerContext,
    required: RequiredSlots,
  ): LogicalPlan | undefined;
}
