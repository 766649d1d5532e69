import { madeOnce, smallSteps } from '#core/replayed-loops.ts';
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
export function withJoinedUpdates(
  plan: LogicalPlan,
  from: LogicalPlan,
  itemCount: number,
): LogicalPlan {
  const begin = (): Joining => ({ at: 0, joined: from, last: undefined });
  if (itemCount < manyItems) {
    const joining = begin();
    for (const item of itemsAbove(plan, from)) joinTo(joining, item);
    return joining.joined;
  }
  const items = madeOnce(() => itemsAbove(plan, from));
  const { joined } = smallSteps(begin, (joining) => {
    joinTo(joining, items[joining.at] as ItemNode);
    joining.at += 1;
    return joining.at === items.length;
  });
  return joined;
}

/** Fewer are joined without a pause, upon whatever they stand upon at this beginning. */
const manyItems = 64;

/** Those below come first. */
function itemsAbove(plan: LogicalPlan, from: LogicalPlan): readonly ItemNode[] {
  const items: ItemNode[] = [];
  for (let node = plan; node !== from; ) {
    const item = node as ItemNode;
    items.push(item);
    node = item.input;
  }
  return items.reverse();
}

interface Joining {
  at: number;
  joined: LogicalPlan;
  /** The change that stands last, and its assignments, which may become more. */
  last: { readonly record: Slot; readonly assignments: Assignment[] } | undefined;
}

function joinTo(joining: Joining, item: ItemNode): void {
  const { joined, last } = joining;
  if (item.op !== 'Update') {
    joining.joined = { ...item, input: joined };
    joining.last = undefined;
  } else if (last !== undefined && continues(item, last.record))
    last.assignments.push(...item.assignments);
  else {
    const assignments = [...item.assignments];
    joining.last = { record: item.record, assignments };
    joining.joined = { ...item, input: joined, assignments };
  }
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
