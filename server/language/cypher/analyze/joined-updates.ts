import type { Expression, Slot } from '#query/algebra/expression.ts';
import type { Assignment, LogicalPlan, PlanNode } from '#query/algebra/plan.ts';
import { walkExpression } from '#query/algebra/walk.ts';
import { cypherPrefix } from '#query/functions/cypher/arguments.ts';

/**
 * Items of SET and REMOVE one after the other on one record become one change of it: it is written once, and the plan does not nest
 * with the number of items. What an item reads must be the properties of that record alone, which show what the items before it
 * have assigned; other variables may be the same record and are to see it as it is written.
 *
 * @param from the plan that the items stand upon
 */
export function withJoinedUpdates(plan: LogicalPlan, from: LogicalPlan): LogicalPlan {
  const items: ItemNode[] = [];
  for (let node = plan; node !== from; ) {
    const item = node as ItemNode;
    items.push(item);
    node = item.input;
  }
  let joined = from;
  for (let at = items.length - 1; at >= 0; at -= 1) {
    const item = items[at] as ItemNode;
    if (item.op !== 'Update') {
      joined = { ...item, input: joined };
      continue;
    }
    const assignments: Assignment[] = [...item.assignments];
    for (; at > 0 && continues(items[at - 1] as ItemNode, item.record); at -= 1)
      assignments.push(...(items[at - 1] as PlanNode<'Update'>).assignments);
    joined = { ...item, input: joined, assignments };
  }
  return joined;
}

type ItemNode = PlanNode<'Update' | 'SetLabels' | 'Project'>;

function continues(item: ItemNode, record: Slot): boolean {
  if (item.op !== 'Update' || item.record !== record) return false;
  return item.assignments.every((assignment) =>
    expressionsOf(assignment).every((expression) => readsPropertiesOf(expression, record)),
  );
}

function expressionsOf(assignment: Assignment): readonly Expression[] {
  switch (assignment.kind) {
    case 'remove':
      return [];
    case 'entry':
      return [assignment.key, assignment.value];
    default:
      return [assignment.value];
  }
}

/** Nothing but those is read of the database and of the row. */
function readsPropertiesOf(expression: Expression, record: Slot): boolean {
  let slots = 0;
  let properties = 0;
  let isOwn = true;
  walkExpression(expression, (part) => {
    if (part.op === 'Slot') slots += 1;
    else if (part.op === 'Property' && part.of.op === 'Slot' && part.of.slot === record)
      properties += 1;
    else if (part.op === 'SubPlan') isOwn = false;
    else if (part.op === 'Call') isOwn &&= part.function.startsWith(cypherPrefix);
  });
  return isOwn && slots === properties;
}
