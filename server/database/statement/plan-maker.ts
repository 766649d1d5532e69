import { functionRegistry } from '#query/functions/registry.ts';
import { estimatesOf } from '#query/optimizer/estimates.ts';
import { optimizeSteps } from '#query/optimizer/optimizer.ts';
import { statisticsOf } from '#query/optimizer/statistics.ts';
import { planInSteps, planProgram } from '#query/physical/planner.ts';
import { serverProcedures } from '#query/procedures/registry.ts';
import type { PlanMaker } from './compiler.ts';

const functions = functionRegistry;
const procedures = serverProcedures;

/** Optimizer and planner of the query room with this server's functions and procedures. */
export const planMaker: PlanMaker = {
  writing: { procedures: new Map(), functions: new Map() },
  optimize: (program, view, catalog) =>
    optimizeSteps(program, { catalog, statistics: statisticsOf(view, catalog), functions }),
  lower: (program, catalog) =>
    planInSteps(program, { catalog, functions, procedures, areDescribed: false }),
  describe: (program, catalog, nodes) =>
    planProgram(program, { catalog, functions, procedures, nodes }),
  estimates: (view, catalog) =>
    estimatesOf({ catalog, statistics: statisticsOf(view, catalog), functions }),
};
