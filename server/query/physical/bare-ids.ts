import type { Slot } from '../algebra/expression.ts';
import { expressionsOf, walkPlan } from '../algebra/plan-walk.ts';
import type { LogicalPlan, QueryProgram } from '../algebra/plan.ts';
import { slotsRead, slotsReadBy } from '../algebra/slots.ts';
import { slotsOfOutput } from '../algebra/walk.ts';

/**
 * Slots of graph elements of which nobody wants more than the identity: they are written by steps and index searches, and read by
 * steps, degrees and DISTINCT only. They may hold bare record ids, which are numbers and cost nothing to make.
 */
export function bareIdSlots(program: QueryProgram): ReadonlySet<Slot> {
  const written = new Set<Slot>();
  const readAsValues = new Set<Slot>(slotsOfOutput(program.output));
  walkPlan(program.plan, {
    plan(node) {
      if (node.op === 'Expand' && !node.into) written.add(node.to);
      if (node.op === 'IndexSearch' && node.order === undefined) written.add(node.as);
      for (const slot of valuesReadBy(node)) readAsValues.add(slot);
    },
    expression(part) {
      if (part.op === 'SubPlan') for (const slot of slotsRead(part)) readAsValues.add(slot);
    },
  });
  for (const slot of readAsValues) written.delete(slot);
  return written;
}

/** What the node does with values; ids that it only walks from or to, or tells apart, are left out. */
function valuesReadBy(node: LogicalPlan): Iterable<Slot> {
  if (node.op === 'Expand' || node.op === 'Degree') return [];
  if (node.op === 'IndexSearch')
    // Its own predicate is checked on the record before the id is left.
    return [...slotsReadBy(node)].filter((slot) => slot !== node.as);
  if (node.op === 'Distinct')
    return node.on.filter((on) => on.op !== 'Slot').flatMap((on) => [...slotsRead(on)]);
  // Null stands in the slots of an optional part that found nothing.
  if (node.op === 'Apply' && node.mode.kind === 'optional') return node.mode.slots;
  if (node.op === 'Apply' || node.op === 'Aggregate' || node.op === 'Project')
    return [...slotsReadBy(node), ...expressionsOf(node).flatMap((part) => [...slotsRead(part)])];
  return slotsReadBy(node);
}
