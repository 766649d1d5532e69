import { functionRegistry } from '#query/functions/registry.ts';
import { planProgram } from '#query/physical/planner.ts';
import { procedureRegistry } from '#query/procedures/registry.ts';
import type { PlanMaker } from './statement-compiler.ts';

const procedures = procedureRegistry();

/** Optimizer and planner of the query room with this server's functions and procedures. */
export const planMaker: PlanMaker = {
  writing: { procedures: new Map(), functions: new Map() },
  optimize: (program) => program,
  lower: (program, catalog) =>
    planProgram(program, { catalog, functions: functionRegistry, procedures }),
};
