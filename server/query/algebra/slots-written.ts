import type { Slot } from './expression.ts';
import type { LogicalPlan, PathSpec, Pattern } from './plan.ts';

/** Slots that this node itself writes, not those of its inputs. */
export function slotsWrittenBy(plan: LogicalPlan): readonly Slot[] {
  switch (plan.op) {
    case 'Argument':
    case 'Filter':
    case 'Distinct':
    case 'Sort':
    case 'Skip':
    case 'Limit':
    case 'Drain':
    case 'InsertAll':
    case 'TimeLimit':
    case 'Eager':
    case 'Delete':
    case 'CommitEvery':
      return [];
    case 'FindReferences':
      return [plan.target, plan.referrer, plan.fields];
    case 'Project':
      return plan.columns.map((column) => column.slot);
    case 'Aggregate':
      return [...plan.keys, ...plan.first, ...plan.aggregates].map((column) => column.slot);
    case 'Union':
    case 'Merge':
      return plan.as;
    case 'Apply':
      return 'as' in plan.mode ? [plan.mode.as] : definedSlots([plan.transactions?.status]);
    case 'Match':
      return patternSlots(plan.pattern);
    case 'Expand':
      return definedSlots([plan.edge, plan.into ? undefined : plan.to]);
    case 'ExpandPath':
      return definedSlots([plan.into ? undefined : plan.to, ...pathSlots(plan.path)]);
    case 'FollowEdges':
      return definedSlots([
        plan.fromIsBound ? undefined : plan.from,
        plan.toIsBound ? undefined : plan.to,
      ]);
    case 'Traverse':
      return definedSlots([plan.as, plan.depth, plan.path, plan.history]);
    case 'Update':
      return definedSlots([plan.record, plan.before]);
    case 'SetLabels':
      return [plan.record];
    case 'FindOrInsert':
      return [plan.as, plan.inserted];
    case 'Call':
      return plan.yields.map((column) => column.slot);
    default:
      return [plan.as];
  }
}

function patternSlots(pattern: Pattern): readonly Slot[] {
  const slots: Slot[] = [];
  for (const node of pattern.nodes) if (!node.bound) slots.push(node.slot);
  for (const step of pattern.steps) {
    if (step.edge !== undefined && step.edgeIsBound !== true) slots.push(step.edge);
    if (step.path) slots.push(...pathSlots(step.path));
  }
  return slots;
}

/** Slots that a variable-length path writes beside its end. */
export function pathSlots(path: PathSpec): readonly Slot[] {
  return definedSlots([
    path.depth,
    path.path,
    path.start,
    ...path.moves.flatMap((move) => [
      move.element,
      move.edge,
      ...(move.path ? pathSlots(move.path) : []),
    ]),
  ]);
}

function definedSlots(slots: readonly (Slot | undefined)[]): readonly Slot[] {
  return slots.filter((slot) => slot !== undefined);
}
