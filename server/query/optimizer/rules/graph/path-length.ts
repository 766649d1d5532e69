import type { Expression, Slot } from '../../../algebra/expression.ts';
import type { LogicalPlan, PlanNode } from '../../../algebra/plan.ts';
import { mapParts } from '../../../algebra/plan-walk.ts';
import { slotsReadBy, slotsReadByAll } from '../../../algebra/slots.ts';
import { mapExpression } from '../../../algebra/walk.ts';
import { cypherPrefix } from '../../../functions/cypher/arguments.ts';
import { lengthOfPath, pathThrough } from '../../../functions/cypher/walked-paths.ts';
import type { OptimizerRule, RequiredSlots } from '../../rule.ts';

const lengthOf = `${cypherPrefix}length`;

/** The length of a path of which nothing else is asked is known without the path. */
export const pathLength: OptimizerRule = {
  name: 'path-length',
  needs: ['Project'],
  why: 'RETURN max(length(p)) would read every node and relationship of each path',
  apply(plan, _context, required) {
    if (plan.op !== 'Project' && plan.op !== 'Aggregate') return undefined;
    const { input } = plan;
    if (input.op !== 'Project') return undefined;
    const paths = new Map<Slot, readonly Expression[]>();
    for (const { slot, value } of input.columns)
      if (value.op === 'Call' && value.function === pathThrough) paths.set(slot, value.arguments);
    if (paths.size === 0) return undefined;
    const measured = mapParts(plan, {
      plan: (below) => below,
      expression: (expression) => mapExpression(expression, (part) => measure(part, paths)),
    });
    if (measured === plan) return undefined;
    for (const slot of pathsStillRead(measured, input, required)) paths.delete(slot);
    if (paths.size === 0) return undefined;
    const columns = input.columns.filter(({ slot }) => !paths.has(slot));
    const below = columns.length === 0 ? input.input : { ...input, columns };
    return mapParts(plan, {
      plan: () => below,
      expression: (expression) => mapExpression(expression, (part) => measure(part, paths)),
    });
  },
};

function measure(part: Expression, paths: ReadonlyMap<Slot, readonly Expression[]>): Expression {
  if (part.op !== 'Call' || part.function !== lengthOf) return part;
  const [path] = part.arguments;
  const through = path?.op === 'Slot' ? paths.get(path.slot) : undefined;
  return through ? { ...part, function: lengthOfPath, arguments: through } : part;
}

/** By the node whose lengths are known already, by columns beside them, or by what stands above. */
function pathsStillRead(
  node: LogicalPlan,
  { columns }: PlanNode<'Project'>,
  required: RequiredSlots,
): Iterable<Slot> {
  return [
    ...slotsReadBy(node),
    ...slotsReadByAll(columns.map(({ value }) => value)),
    ...required(),
  ];
}
