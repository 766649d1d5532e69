import { assert } from '#core/assert.ts';
import type { Slot } from './expression.ts';
import { inputsOf } from './plan-walk.ts';
import { slotsWrittenBy } from './slots-written.ts';
import type { LogicalPlan, QueryProgram } from './plan.ts';
import { slotsReadBy } from './slots.ts';
import { slotsOfOutput } from './walk.ts';

/**
 * Claims about plans that analyzers and optimizer rules must keep: every slot lies inside the frame, is read only where an
 * input or an enclosing plan has written it, and is in the output only when the plan writes it. Checked in tests after every
 * rule and whenever `assertions` are on.
 *
 * @throws AssertionFailure naming the node and the slot
 */
export function checkProgram(program: QueryProgram): void {
  const available = checkPlan(program.plan, new Set(), program.slotCount);
  for (const slot of slotsOfOutput(program.output))
    assert(available.has(slot), `the output reads slot ${slot}, which the plan does not write`);
}

/** @returns the slots that stand in the frame after a row of the plan */
function checkPlan(
  plan: LogicalPlan,
  outer: ReadonlySet<Slot>,
  slotCount: number,
): ReadonlySet<Slot> {
  const available = new Set(outer);
  if (plan.op === 'Apply') {
    for (const slot of checkPlan(plan.outer, outer, slotCount)) available.add(slot);
    const inner = checkPlan(plan.inner, available, slotCount);
    if (plan.mode.kind === 'collect')
      for (const slot of slotsOfOutput(plan.mode.output))
        assert(inner.has(slot), `Apply collects slot ${slot}, which the inner plan does not write`);
    if (plan.mode.kind === 'cross' || plan.mode.kind === 'optional')
      for (const slot of inner) available.add(slot);
  } else if (plan.op === 'Merge') {
    for (const slot of checkPlan(plan.input, outer, slotCount)) available.add(slot);
    const sides = [plan.match, plan.create].map((side) =>
      checkPlan(side.plan, available, slotCount),
    );
    for (const side of sides) for (const slot of side) available.add(slot);
  } else if (plan.op === 'InsertAll') {
    for (const slot of checkPlan(plan.input, outer, slotCount)) available.add(slot);
    for (const step of plan.steps)
      for (const slot of checkPlan(step, available, slotCount)) available.add(slot);
  } else {
    for (const input of inputsOf(plan))
      for (const slot of checkPlan(input, outer, slotCount)) available.add(slot);
  }
  checkNode(plan, available, slotCount);
  for (const slot of slotsWrittenBy(plan)) available.add(slot);
  return available;
}

function checkNode(plan: LogicalPlan, available: ReadonlySet<Slot>, slotCount: number): void {
  const written = new Set(slotsWrittenBy(plan));
  for (const slot of written)
    assert(slot >= 0 && slot < slotCount, `${plan.op} writes slot ${slot} outside the frame`);
  if (plan.op === 'Apply') return;
  for (const slot of slotsReadBy(plan))
    assert(
      available.has(slot) || written.has(slot),
      `${plan.op} reads slot ${slot} before it is written`,
    );
}
