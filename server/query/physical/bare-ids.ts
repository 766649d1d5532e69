import type { Expression, Slot } from '../algebra/expression.ts';
import { expressionsOf, walkPlan } from '../algebra/plan-walk.ts';
import type { LogicalPlan, QueryProgram } from '../algebra/plan.ts';
import { slotsRead, slotsReadBy } from '../algebra/slots.ts';
import { rewriteExpression, slotsOfOutput, walkExpression } from '../algebra/walk.ts';

/**
 * Slots of graph elements of which nobody wants more than the identity: they are written by steps and index searches, and read by
 * steps, degrees, DISTINCT and `@rid` only. They may hold bare record ids, which are numbers and cost nothing to make.
 */
export function bareIdSlots(program: QueryProgram): ReadonlySet<Slot> {
  const written = writtenIds(program.plan);
  if (written.size === 0) return written;
  const readAsValues = new Set<Slot>(slotsOfOutput(program.output));
  walkPlan(program.plan, {
    plan(node) {
      for (const slot of valuesReadBy(node)) readAsValues.add(slot);
    },
    expression(part) {
      if (part.op !== 'SubPlan') return;
      for (const slot of slotsRead(part)) readAsValues.add(slot);
      for (const slot of slotsOfOutput(part.output)) readAsValues.add(slot);
    },
  });
  for (const slot of readAsValues) written.delete(slot);
  return written;
}

function writtenIds(plan: LogicalPlan): Set<Slot> {
  const written = new Set<Slot>();
  walkPlan(plan, {
    plan(node) {
      if (node.op === 'Expand' && !node.into) written.add(node.to);
      if (node.op === 'IndexSearch' && node.order === undefined) written.add(node.as);
    },
  });
  return written;
}

/** What the node does with values; ids that it only walks from or to, or tells apart, are left out. */
function valuesReadBy(node: LogicalPlan): Iterable<Slot> {
  if (node.op === 'Expand' || node.op === 'Degree' || node.op === 'BranchCount') return [];
  if (node.op === 'IndexSearch')
    // Its own predicate is checked on the record before the id is left.
    return [...slotsReadBy(node)].filter((slot) => slot !== node.as);
  if (node.op === 'Distinct')
    return node.on.filter((on) => on.op !== 'Slot').flatMap(slotsReadAsValues);
  if (node.op === 'Project' || node.op === 'Filter' || node.op === 'Sort')
    return expressionsOf(node).flatMap(slotsReadAsValues);
  // Null stands in the slots of an optional part that found nothing.
  if (node.op === 'Apply' && node.transactions) return node.transactions.slots;
  if (node.op === 'Apply' && node.mode.kind === 'optional') return node.mode.slots;
  if (node.op === 'Apply' || node.op === 'Aggregate')
    return [...slotsReadBy(node), ...expressionsOf(node).flatMap((part) => [...slotsRead(part)])];
  return slotsReadBy(node);
}

/** The slots that the expression reads, but those of which it takes the `@rid` only. */
function slotsReadAsValues(expression: Expression): readonly Slot[] {
  let takesIds = false;
  walkExpression(expression, (part) => {
    if (takesIdOfSlot(part)) takesIds = true;
  });
  const others = takesIds
    ? rewriteExpression(expression, (part) => (takesIdOfSlot(part) ? nothing : part))
    : expression;
  return [...slotsRead(others)];
}

function takesIdOfSlot(part: Expression): boolean {
  return part.op === 'Attribute' && part.attribute === 'rid' && part.of.op === 'Slot';
}

const nothing: Expression = { op: 'Constant', value: null };
