import type { LogicalPlan } from '../algebra/plan.ts';
import type { PhysicalOperator } from '../operators/operator.ts';

/** The node of the plan that each operator stands for; where it stands for several, the uppermost. */
export type OperatorNodes = WeakMap<PhysicalOperator, LogicalPlan>;
