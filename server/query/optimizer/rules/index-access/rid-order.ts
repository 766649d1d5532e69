import type { LogicalPlan } from '../../../algebra/plan.ts';
import { belowProject } from '../../projected.ts';
import type { OptimizerRule } from '../../rule.ts';
import { isSpread } from './spread-types.ts';

/** A sort with a limit by record id alone is an order in which a scan can meet the records, forwards or backwards. */
export const ridOrder: OptimizerRule = {
  name: 'rid-order',
  needs: ['Sort'],
  why: 'ORDER BY @rid DESC LIMIT 10 would read every record to give the newest ten',
  apply(plan, context) {
    if (plan.op !== 'Sort' || plan.limit === undefined || plan.keys.length !== 1) return undefined;
    const [key] = plan.keys;
    if (key === undefined || typeof key.descending !== 'boolean') return undefined;
    const project = plan.input.op === 'Project' ? plan.input : undefined;
    const source = project ? project.input : plan.input;
    const filter = source.op === 'Filter' ? source : undefined;
    const scan = filter ? filter.input : source;
    if (scan.op !== 'TypeScan') return undefined;
    if (isSpread(scan, context.catalog)) return undefined;
    const value = belowProject(project?.columns ?? [])(key.value);
    if (value?.op !== 'Attribute' || value.attribute !== 'rid') return undefined;
    if (value.of.op !== 'Slot' || value.of.slot !== scan.as) return undefined;
    const order = key.descending ? 'descending' : 'ascending';
    const ordered: LogicalPlan = { ...scan, order };
    const rows = filter ? { ...filter, input: ordered } : ordered;
    const limited: LogicalPlan = { op: 'Limit', input: rows, count: plan.limit };
    return project ? { ...project, input: limited } : limited;
  },
};
