import { filterLong, madeOnce, mapLong } from '#core/replayed-loops.ts';
import type { Expression, Slot } from '../../algebra/expression.ts';
import type { LogicalPlan } from '../../algebra/plan.ts';
import { slotsWrittenBy } from '../../algebra/slots-written.ts';
import { freeSlots, readsNoneOf, slotsOf } from '../../algebra/slots.ts';
import { conjunctionOf, conjunctsOf } from '../../algebra/walk.ts';
import { isDeterministic } from '../index-candidates.ts';
import { without } from '../match-parts.ts';
import { belowProject } from '../projected.ts';
import type { OptimizerRule } from '../rule.ts';

/**
 * Conditions move towards the sources as far as the slots that they read allow. They stop at what counts rows (Skip, Limit,
 * Aggregate), at writes, and at Eager.
 */
export const pushFilters: OptimizerRule = {
  name: 'push-filters',
  needs: ['Filter'],
  why: 'a condition above a projection or a join hides from indexes and lets rows through that are thrown away later',
  apply(plan, context) {
    if (plan.op !== 'Filter') return undefined;
    const conjuncts = conjunctsOf(plan.predicate);
    const movable = filterLong(conjuncts, (conjunct) => isDeterministic(conjunct, context));
    const pushed = pushInto(plan.input, movable);
    if (pushed === undefined) return undefined;
    return filtered(pushed.plan, without(conjuncts, without(movable, pushed.kept)));
  },
};

interface Pushed {
  readonly plan: LogicalPlan;
  /** Conditions that could not go below the root of the plan. */
  readonly kept: readonly Expression[];
}

/** The plan with conditions somewhere below its root, all at once; undefined when none can go there. */
function pushInto(plan: LogicalPlan, conjuncts: readonly Expression[]): Pushed | undefined {
  if (conjuncts.length === 0) return undefined;
  switch (plan.op) {
    case 'Project':
      return pushThroughProject(plan, conjuncts);
    case 'Sort':
      // A sort with a limit gives other rows when it gets fewer.
      return plan.limit === undefined ? below(plan, conjuncts, noSlots) : undefined;
    case 'Filter':
    case 'TimeLimit':
      return below(plan, conjuncts, noSlots);
    case 'Unwind':
    case 'ExpandValue':
    case 'Expand':
    case 'Degree':
    case 'ExpandPath':
    case 'FollowEdges':
      return below(plan, conjuncts, new Set(slotsWrittenBy(plan)));
    case 'Apply':
      return pushIntoApply(plan, conjuncts);
    default:
      return undefined;
  }
}

const noSlots: ReadonlySet<Slot> = new Set();

type OneInput = Extract<
  LogicalPlan,
  {
    readonly op:
      | 'Filter'
      | 'Sort'
      | 'TimeLimit'
      | 'Unwind'
      | 'ExpandValue'
      | 'Expand'
      | 'Degree'
      | 'ExpandPath'
      | 'FollowEdges';
  }
>;

/** Conditions that read nothing the node writes go to its input. */
function below(
  plan: OneInput,
  conjuncts: readonly Expression[],
  written: ReadonlySet<Slot>,
): Pushed | undefined {
  const { yes, no } = split(conjuncts, (conjunct) => readsNoneOf(conjunct, written));
  if (yes.length === 0) return undefined;
  return { plan: { ...plan, input: placed(plan.input, yes) }, kept: no };
}

/** On top of the plan, or deeper where that is possible. */
function placed(plan: LogicalPlan, conjuncts: readonly Expression[]): LogicalPlan {
  const pushed = pushInto(plan, conjuncts);
  return pushed === undefined ? filtered(plan, conjuncts) : filtered(pushed.plan, pushed.kept);
}

/** One filter for all conditions, those of a filter that stands there included. */
function filtered(plan: LogicalPlan, conjuncts: readonly Expression[]): LogicalPlan {
  if (conjuncts.length === 0) return plan;
  const isFilter = plan.op === 'Filter';
  const predicate = conjunctionOf(
    isFilter ? [...conjunctsOf(plan.predicate), ...conjuncts] : conjuncts,
  );
  const input = isFilter ? plan.input : plan;
  return predicate === undefined ? plan : { op: 'Filter', input, predicate };
}

function pushIntoApply(
  plan: LogicalPlan & { readonly op: 'Apply' },
  conjuncts: readonly Expression[],
): Pushed | undefined {
  if (plan.transactions !== undefined) return undefined;
  const innerSlots = slotsOf(plan.inner);
  const outerSlots = slotsOf(plan.outer);
  const own = new Set<Slot>([...innerSlots, ...slotsWrittenBy(plan)]);
  if (plan.mode.kind === 'optional') for (const slot of plan.mode.slots) own.add(slot);
  const { yes: onOuter, no: rest } = split(conjuncts, (conjunct) => readsNoneOf(conjunct, own));
  // A join condition runs the inner plan once per outer row, which pays only where it was tied to the row before, or where
  // the condition reads nothing of the outer row.
  const isTied = [...freeSlots(plan.inner)].some((slot) => outerSlots.has(slot));
  const mayGoInside = plan.mode.kind === 'cross';
  const { yes: onInner, no: kept } = split(
    rest,
    (conjunct) => mayGoInside && (isTied || readsNoneOf(conjunct, outerSlots)),
  );
  if (onOuter.length === 0 && onInner.length === 0) return undefined;
  return {
    plan: {
      ...plan,
      outer: onOuter.length > 0 ? placed(plan.outer, onOuter) : plan.outer,
      inner: onInner.length > 0 ? placed(plan.inner, onInner) : plan.inner,
    },
    kept,
  };
}

/** A condition on projected columns becomes one on what they are made of, when that costs no more to compute. */
function pushThroughProject(
  plan: LogicalPlan & { readonly op: 'Project' },
  conjuncts: readonly Expression[],
): Pushed | undefined {
  const lowered = mapLong(
    conjuncts,
    madeOnce(() => belowProject(plan.columns), plan.columns.length),
  );
  const kept = conjuncts.filter((_, at) => lowered[at] === undefined);
  const moved = lowered.filter((conjunct) => conjunct !== undefined);
  if (moved.length === 0) return undefined;
  return { plan: { ...plan, input: placed(plan.input, moved) }, kept };
}

function split<T>(
  items: readonly T[],
  test: (item: T) => boolean,
): { readonly yes: readonly T[]; readonly no: readonly T[] } {
  const isYes = mapLong(items, test);
  return madeOnce(
    () => ({
      yes: items.filter((_, at) => isYes[at]),
      no: items.filter((_, at) => !isYes[at]),
    }),
    items.length,
  );
}
