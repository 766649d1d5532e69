import type { OptimizerRule } from '../rule.ts';
import { belowProject } from '../projected.ts';

/** A projection gives one row per row, so what is distinct above it can be made distinct below it. */
export const pushDistinct: OptimizerRule = {
  name: 'push-distinct',
  needs: ['Distinct'],
  why: 'distinct elements of a graph step are cheap to tell apart inside the step, and dear above a projection',
  apply(plan) {
    if (plan.op !== 'Distinct' || plan.input.op !== 'Project') return undefined;
    const project = plan.input;
    const on = plan.on.map((part) => belowProject(part, project.columns));
    if (on.some((part) => part?.op !== 'Slot')) return undefined;
    const slots = on.filter((part) => part !== undefined);
    return { ...project, input: { ...plan, input: project.input, on: slots } };
  },
};
