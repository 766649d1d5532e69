import type { ExplainedPlan, ExplainedStep } from '#database/session.ts';

/** Fields of an answer that tell the plan of an EXPLAIN or PROFILE, each behind a comma. */
export function planFields(plan: ExplainedPlan): string {
  const fields = { explain: plan.text, explainPlan: planToJson(plan) };
  return `,${JSON.stringify(fields).slice(1, -1)}`;
}

function planToJson(plan: ExplainedPlan): unknown {
  const costs = plan.steps.map((step) => step.cost);
  const isMeasured = costs.some((cost) => cost >= 0);
  return {
    type: 'QueryExecutionPlan',
    cost: isMeasured ? costs.reduce((sum, cost) => sum + Math.max(0, cost), 0) : -1,
    prettyPrint: plan.text,
    steps: plan.steps.map(stepToJson),
  };
}

function stepToJson(step: ExplainedStep): unknown {
  return {
    name: step.name,
    type: step.name,
    targetNode: '<local>',
    cost: step.cost,
    ...(step.rowCount === undefined ? undefined : { rows: step.rowCount }),
    ...(step.estimate && {
      estimatedRows: step.estimate.rowCount,
      estimatedCost: step.estimate.cost,
    }),
    description: step.description,
    subSteps: step.steps.map(stepToJson),
  };
}
