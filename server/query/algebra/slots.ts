import type { Expression, Slot } from './expression.ts';
import { lookedThrough } from './look-through.ts';
import { inputsOf, expressionsOf, walkPlan } from './plan-walk.ts';
import { slotsWrittenBy } from './slots-written.ts';
import type { LogicalPlan, WalkedEdge } from './plan.ts';
import { slotsBoundBy, slotsOfOutput } from './walk.ts';

/**
 * Which slots plans and expressions read and write. Slots are unique in a program, so sets are enough: what is read in a
 * sub-tree and not written there comes from outside.
 */

/** Slots that the expression needs from outside itself, those its sub-plans need included. */
export function slotsRead(expression: Expression): ReadonlySet<Slot> {
  return slotsReadByAll([expression]);
}

/** As `slotsRead`, of all of them; with places to pause (`#core/replayed-loops.ts`). */
export function slotsReadByAll(expressions: readonly Expression[]): Set<Slot> {
  const read = new Set<Slot>();
  const bound: Slot[] = [];
  return lookedThrough(
    expressions,
    (part) => collect(part, read, bound),
    () => {
      for (const slot of bound) read.delete(slot);
      return read;
    },
  );
}

function collect(part: Expression, read: Set<Slot>, bound: Slot[]): void {
  if (part.op === 'Slot') {
    read.add(part.slot);
    return;
  }
  const inside = slotsBoundBy(part);
  for (let at = 0; at < inside.length; at += 1) bound.push(inside[at] as Slot);
  if (part.op !== 'SubPlan') return;
  for (const slot of freeSlots(part.plan)) read.add(slot);
  // The row of a sub-plan may consist of slots of the outer row.
  const written = slotsOf(part.plan);
  for (const slot of slotsOfOutput(part.output)) if (!written.has(slot)) read.add(slot);
}

/** True when the expression needs none of `slots`. Cost: one walk. */
export function readsNoneOf(
  expression: Expression,
  slots: Pick<ReadonlySet<Slot>, 'has'>,
): boolean {
  for (const slot of slotsRead(expression)) if (slots.has(slot)) return false;
  return true;
}

/** All slots that are written anywhere in the plan, by its expressions and their sub-plans too. */
export function slotsOf(plan: LogicalPlan): ReadonlySet<Slot> {
  const written = new Set<Slot>();
  walkPlan(plan, {
    plan(node) {
      for (const slot of slotsWrittenBy(node)) written.add(slot);
    },
    expression(part) {
      for (const slot of slotsBoundBy(part)) written.add(slot);
    },
  });
  return written;
}

/** Slots that the plan needs from outside (correlation). */
export function freeSlots(plan: LogicalPlan): ReadonlySet<Slot> {
  const read = new Set<Slot>();
  collectReads(plan, read);
  for (const slot of slotsOf(plan)) read.delete(slot);
  return read;
}

function collectReads(plan: LogicalPlan, read: Set<Slot>): void {
  for (const slot of slotsReadBy(plan)) read.add(slot);
  for (const input of inputsOf(plan)) collectReads(input, read);
}

/** Slots that this node itself reads: those of its expressions and those it names. */
export function slotsReadBy(plan: LogicalPlan): ReadonlySet<Slot> {
  const read = slotsReadByAll(expressionsOf(plan));
  for (const slot of slotsNamedBy(plan)) read.add(slot);
  return read;
}

function slotsNamedBy(plan: LogicalPlan): readonly Slot[] {
  switch (plan.op) {
    case 'Expand':
      return [plan.from, ...(plan.into ? [plan.to] : []), ...slotsOfWalked(plan.unlike)];
    case 'ExpandPath':
      return [plan.from, ...(plan.into ? [plan.to] : []), ...slotsOfWalked(plan.path.unlike)];
    case 'FollowEdges':
      return [
        plan.edges,
        ...(plan.fromIsBound ? [plan.from] : []),
        ...(plan.toIsBound ? [plan.to] : []),
        ...slotsOfWalked(plan.unlike),
      ];
    case 'Degree':
      return [plan.from, ...slotsOfWalked(plan.unlike)];
    case 'BranchCount':
      return [plan.from];
    case 'Merge':
      return [...plan.match.slots, ...plan.create.slots];
    case 'Union':
      return plan.inputs.flatMap((input) => input.slots);
    case 'Eager':
      return plan.slots;
    case 'Apply':
      return plan.mode.kind === 'collect' ? slotsOfOutput(plan.mode.output) : [];
    case 'Match':
      return [
        ...plan.pattern.nodes.filter((node) => node.bound).map((node) => node.slot),
        ...plan.pattern.steps.flatMap((step) =>
          step.edgeIsBound === true && step.edge !== undefined ? [step.edge] : [],
        ),
      ];
    case 'Update':
      return plan.unless === undefined ? [plan.record] : [plan.record, plan.unless];
    case 'Delete':
    case 'MoveVertex':
    case 'SetLabels':
      return [plan.record];
    default:
      return [];
  }
}

function slotsOfWalked(walked: readonly WalkedEdge[] = []): readonly Slot[] {
  return walked.flatMap(({ edge, ends }) => (ends ? [edge, ends.from, ends.to] : [edge]));
}
