import { type PausingWork, toEnd } from '#core/pausing-work.ts';
import { PAUSED, Stretches } from '#core/replayed-loops.ts';
import type { Catalog } from '#catalog/catalog.ts';
import type { Slot } from '../algebra/expression.ts';
import { mapInputs, mapParts, rewriteSubPlans } from '../algebra/plan-walk.ts';
import { walkPlanInSteps } from '../algebra/plan-walk-in-steps.ts';
import type { LogicalPlan, PlanOp, QueryProgram } from '../algebra/plan.ts';
import { freeSlots, slotsReadBy } from '../algebra/slots.ts';
import { slotsOfOutput } from '../algebra/walk.ts';
import type { FunctionRegistry } from '../evaluate/function-definition.ts';
import { mandatoryRules, rules } from './rules.ts';
import type { OptimizerContext, OptimizerRule, RequiredSlots } from './rule.ts';
import type { Statistics } from './statistics.ts';

export interface OptimizerEnvironment {
  readonly catalog: Catalog;
  readonly statistics: Statistics;
  readonly functions: FunctionRegistry;
}

export interface OptimizerOptions {
  /** Names of rules to leave out. Mandatory ones are done in the plainest way instead. */
  readonly disabled?: ReadonlySet<string>;
  /** Called after each rule that changed the plan. */
  readonly onChange?: (rule: string, program: QueryProgram) => void;
}

/**
 * Rewrites the plan of a program rule by rule. The result gives the same rows, whatever rules are switched off, and holds no
 * `Match` any more. Cost: some microseconds per node and rule.
 */
export function optimizeProgram(
  program: QueryProgram,
  environment: OptimizerEnvironment,
  options: OptimizerOptions = {},
): QueryProgram {
  return toEnd(optimizeSteps(program, environment, options));
}

/** As `optimizeProgram`; others may have their turn after each rule, and inside of rules where something is long. */
export function* optimizeSteps(
  program: QueryProgram,
  environment: OptimizerEnvironment,
  options: OptimizerOptions = {},
): PausingWork<QueryProgram> {
  const disabled = options.disabled ?? new Set<string>();
  let { slotCount } = program;
  /** Slots that the rule at hand has made. */
  const made = { count: 0 };
  const context: OptimizerContext = {
    ...environment,
    disabled,
    newSlot() {
      made.count += 1;
      return slotCount + made.count - 1;
    },
  };
  const required: RequiredSlots = () => new Set(slotsOfOutput(program.output));
  const stretches = new Stretches(made);
  let current = program;
  let present = yield* contentOf(program.plan);
  for (const rule of rules) {
    if (disabled.has(rule.name) && !mandatoryRules.has(rule.name)) continue;
    if (rule.needs !== 'any' && !rule.needs.some((op) => present.nodes.has(op))) continue;
    yield;
    const apply = present.hasSubPlans ? applied : appliedToInputs;
    const before = current.plan;
    let plan = stretches.attempt(() => apply(rule, before, required, context));
    while (plan === PAUSED) {
      yield;
      plan = stretches.attempt(() => apply(rule, before, required, context));
    }
    slotCount += made.count;
    made.count = 0;
    if (plan === before) continue;
    current = { ...current, plan, slotCount };
    yield;
    present = yield* contentOf(plan);
    options.onChange?.(rule.name, current);
  }
  return current;
}

interface PlanContent {
  readonly nodes: ReadonlySet<PlanOp>;
  readonly hasSubPlans: boolean;
}

function* contentOf(plan: LogicalPlan): PausingWork<PlanContent> {
  const nodes = new Set<PlanOp>();
  let hasSubPlans = false;
  yield* walkPlanInSteps(plan, {
    plan(node) {
      nodes.add(node.op);
    },
    subPlan() {
      hasSubPlans = true;
    },
  });
  return { nodes, hasSubPlans };
}

/** As `applied`, for a plan without plans in its expressions. */
function appliedToInputs(
  rule: OptimizerRule,
  plan: LogicalPlan,
  required: RequiredSlots,
  context: OptimizerContext,
): LogicalPlan {
  const rewritten = mapInputs(plan, (input) => {
    const below: RequiredSlots = () => requiredBelow(plan, input, required());
    return appliedToInputs(rule, input, below, context);
  });
  return rule.apply(rewritten, context, required) ?? rewritten;
}

/** The rule at every node, inputs first, plans inside expressions included. */
function applied(
  rule: OptimizerRule,
  plan: LogicalPlan,
  required: RequiredSlots,
  context: OptimizerContext,
): LogicalPlan {
  const rewritten = mapParts(plan, {
    plan: (input) => applied(rule, input, () => requiredBelow(plan, input, required()), context),
    expression: (expression) =>
      rewriteSubPlans(expression, (inner, output) =>
        applied(rule, inner, () => new Set(slotsOfOutput(output)), context),
      ),
  });
  return rule.apply(rewritten, context, required) ?? rewritten;
}

/** Slots that an input of the node must leave for what stands above it; more than needed does no harm. */
function requiredBelow(
  plan: LogicalPlan,
  input: LogicalPlan,
  required: ReadonlySet<Slot>,
): ReadonlySet<Slot> {
  if (plan.op === 'Union')
    return new Set(
      plan.inputs.filter((other) => other.plan === input).flatMap((other) => other.slots),
    );
  if (plan.op === 'Merge' && input !== plan.input)
    return new Set(input === plan.match.plan ? plan.match.slots : plan.create.slots);
  const all = new Set(required);
  for (const slot of slotsReadBy(plan)) all.add(slot);
  if (plan.op === 'InsertAll')
    for (const step of plan.steps) for (const slot of freeSlots(step)) all.add(slot);
  if (plan.op === 'Apply') for (const slot of freeSlots(plan.inner)) all.add(slot);
  if (plan.op === 'Merge')
    for (const side of [plan.match, plan.create])
      for (const slot of freeSlots(side.plan)) all.add(slot);
  return all;
}
