import { isReadOnly } from '#core/effects.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import { inStretches } from '#core/replayed-loops.ts';
import { effectsOfPlanInSteps } from '../algebra/effects.ts';
import type { Expression, Slot } from '../algebra/expression.ts';
import { expressionsOf } from '../algebra/plan-walk.ts';
import { walkPlanInSteps } from '../algebra/plan-walk-in-steps.ts';
import type { LogicalPlan, QueryProgram } from '../algebra/plan.ts';
import { slotsRead, slotsReadBy } from '../algebra/slots.ts';
import { operandsOf, rewriteExpression, slotsBoundBy, slotsOfOutput } from '../algebra/walk.ts';
import { attributeNamed } from '../evaluate/navigation.ts';
import { callsUserFunction } from '../functions/user-function.ts';

/**
 * Slots of graph elements of which nobody wants more than the identity: they are written by steps and index searches, and read by
 * steps, degrees, DISTINCT and `@rid` only; those of steps by properties, too, where nothing is written
 * (`operators/graph/neighbour-columns.ts`). They may hold bare record ids, which are numbers and cost nothing to make. Slots of edges
 * are among them when they only keep other steps from walking the same edge.
 */
export function* bareIdSlots(program: QueryProgram): PausingWork<ReadonlySet<Slot>> {
  const { written, edges } = yield* writtenIds(program.plan);
  if (written.size === 0) return written;
  yield;
  const readsOnly = isReadOnly(yield* effectsOfPlanInSteps(program.plan));
  yield;
  const stepped =
    readsOnly && !(yield* callsOfUsers(program.plan)) ? yield* endsOfSteps(program.plan) : noSlots;
  yield;
  const isIdentity = (part: Expression): boolean =>
    takesIdOfSlot(part, edges) || takesPropertyOf(part, stepped);
  const readAsValues = new Set<Slot>(slotsOfOutput(program.output));
  const nodes: LogicalPlan[] = [];
  yield* walkPlanInSteps(program.plan, {
    plan(node) {
      nodes.push(node);
    },
    expression(part) {
      if (part.op !== 'SubPlan') return;
      for (const slot of slotsRead(part)) readAsValues.add(slot);
      for (const slot of slotsOfOutput(part.output)) readAsValues.add(slot);
    },
  });
  for (const node of nodes) {
    yield;
    for (const slot of yield* valuesReadBy(node, isIdentity, edges)) readAsValues.add(slot);
  }
  for (const slot of readAsValues) written.delete(slot);
  return written;
}

/** Slots of ids that the plan writes, and of them those of the edges that steps walk. */
function* writtenIds(
  plan: LogicalPlan,
): PausingWork<{ readonly written: Set<Slot>; readonly edges: ReadonlySet<Slot> }> {
  const written = new Set<Slot>();
  const edges = new Set<Slot>();
  yield* walkPlanInSteps(plan, {
    plan(node) {
      if (node.op === 'Expand') {
        if (!node.into) written.add(node.to);
        if (node.edge === undefined) return;
        written.add(node.edge);
        edges.add(node.edge);
      } else if (node.op === 'IndexSearch' && node.order === undefined) written.add(node.as);
    },
  });
  return { written, edges };
}

/** Slots that steps write, and nothing else. */
export function* endsOfSteps(plan: LogicalPlan): PausingWork<ReadonlySet<Slot>> {
  const ends = new Set<Slot>();
  const found = new Set<Slot>();
  yield* walkPlanInSteps(plan, {
    plan(node) {
      if (node.op === 'Expand' && !node.into) ends.add(node.to);
      if (node.op === 'IndexSearch') found.add(node.as);
    },
  });
  for (const slot of found) ends.delete(slot);
  return ends;
}

/** Functions of users may write while the statement runs. */
function* callsOfUsers(plan: LogicalPlan): PausingWork<boolean> {
  let isCalled = false;
  yield* walkPlanInSteps(plan, {
    expression(part) {
      if (part.op === 'Call' && callsUserFunction(part.function)) isCalled = true;
    },
  });
  return isCalled;
}

/** What the node does with values; ids that it only walks from or to, or tells apart, are left out. */
function* valuesReadBy(
  node: LogicalPlan,
  isIdentity: (part: Expression) => boolean,
  edges: ReadonlySet<Slot>,
): PausingWork<Iterable<Slot>> {
  if (node.op === 'Expand' || node.op === 'Degree' || node.op === 'BranchCount') return [];
  if (node.op === 'IndexSearch')
    // Its own predicate is checked on the record before the id is left.
    return [...(yield* inStretches(() => slotsReadBy(node)))].filter((slot) => slot !== node.as);
  if (node.op === 'Distinct') {
    const values = node.on.filter((on) => on.op !== 'Slot' || edges.has(on.slot));
    return yield* slotsReadOtherwise(values, isIdentity);
  }
  if (node.op === 'Project' || node.op === 'Filter' || node.op === 'Sort')
    return yield* slotsReadOtherwise(expressionsOf(node), isIdentity);
  // Null stands in the slots of an optional part that found nothing.
  if (node.op === 'Apply' && node.transactions) return node.transactions.slots;
  if (node.op === 'Apply' && node.mode.kind === 'optional') return node.mode.slots;
  if (node.op === 'Apply' || node.op === 'Aggregate')
    return [...slotsReadBy(node), ...expressionsOf(node).flatMap((part) => [...slotsRead(part)])];
  return yield* inStretches(() => slotsReadBy(node));
}

/** Parts that are looked at between two pauses. */
const partsPerPause = 1_000;

/** The slots that the expressions read, but those of which they take no more than the identity tells. */
function* slotsReadOtherwise(
  expressions: readonly Expression[],
  isIdentity: (part: Expression) => boolean,
): PausingWork<Iterable<Slot>> {
  const read = new Set<Slot>();
  const waiting: Expression[] = [...expressions];
  let partCount = 0;
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    partCount += 1;
    if (partCount % partsPerPause === 0) yield;
    if (part.op === 'Slot') read.add(part.slot);
    else if (isIdentity(part) || part.op === 'Constant') continue;
    else if (part.op === 'SubPlan' || slotsBoundBy(part).length > 0)
      for (const slot of slotsReadAround(part, isIdentity)) read.add(slot);
    else for (const operand of operandsOf(part)) waiting.push(operand);
  }
  return read;
}

/** Slots that the expression binds itself are none of those that it reads. */
function slotsReadAround(
  expression: Expression,
  isIdentity: (part: Expression) => boolean,
): ReadonlySet<Slot> {
  return slotsRead(rewriteExpression(expression, (part) => (isIdentity(part) ? nothing : part)));
}

function takesPropertyOf(part: Expression, slots: ReadonlySet<Slot>): boolean {
  return (
    part.op === 'Property' &&
    part.of.op === 'Slot' &&
    slots.has(part.of.slot) &&
    attributeNamed(part.name) === undefined
  );
}

const noSlots: ReadonlySet<Slot> = new Set();

/** Edges may be without ids, which their records tell. */
function takesIdOfSlot(part: Expression, edges: ReadonlySet<Slot>): boolean {
  return (
    part.op === 'Attribute' &&
    part.attribute === 'rid' &&
    part.of.op === 'Slot' &&
    !edges.has(part.of.slot)
  );
}

const nothing: Expression = { op: 'Constant', value: null };
