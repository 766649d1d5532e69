import { functionRegistry } from '#query/functions/registry.ts';
import { optimizeSteps } from '#query/optimizer/optimizer.ts';
import { statisticsOf } from '#query/optimizer/statistics.ts';
import { planProgram } from '#query/physical/planner.ts';
import { serverProcedures } from '#query/procedures/registry.ts';
import type { PlanMaker } from './compiler.ts';

const functions = functionRegistry;
const procedures = serverProcedures;

/** Optimizer and planner of the query room with this server's functions and procedures. */
export const planMaker: PlanMaker = {
  writing: { procedures: new Map(), functions: new Map() },
  optimize: (program, view) =>
    optimizeSteps(program, {
      catalog: view.catalog,
      statistics: statisticsOf(view),
      functions,
    }),
  lower: (program, catalog, areDescribed) =>
    planProgram(program, { catalog, functions, procedures, areDescribed }),
};
