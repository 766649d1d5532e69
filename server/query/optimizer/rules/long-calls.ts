import { mapLong } from '#core/replayed-loops.ts';
import type { Expression, Slot } from '../../algebra/expression.ts';
import type { Column, LogicalPlan, PlanNode } from '../../algebra/plan.ts';
import { someLookedThrough } from '../../algebra/look-through.ts';
import { expressionsOf, mapParts, walkPlan } from '../../algebra/plan-walk.ts';
import { slotsWrittenBy } from '../../algebra/slots-written.ts';
import { readsNoneOf } from '../../algebra/slots.ts';
import { conjunctionOf, conjunctsOf } from '../../algebra/walk.ts';
import type { OptimizerContext, OptimizerRule } from '../rule.ts';

/**
 * Expressions with a call that may work for seconds (a search for a path, moves from the results of moves, a sub-plan that is
 * needed only sometimes) are computed by a projection of their own, which pauses (`evaluate/turns/long-calls.ts`), and are read
 * from its slot. What stands before such a condition in an AND stays below it.
 *
 * Left where they are: conditions of repeated steps and TRAVERSE, values of conditions that an index answers, first values of
 * groups, and assignments that read what those before them have assigned (the operators that assign pause themselves).
 */
export const longCalls: OptimizerRule = {
  name: 'long-calls',
  needs: 'any',
  why: 'one expression would hold the event loop for seconds',
  apply(plan, context) {
    switch (plan.op) {
      case 'Project':
        return markProject(plan, context);
      case 'Filter':
        return liftCondition(plan, context);
      case 'Unwind':
      case 'ExpandValue':
      case 'Distinct':
      case 'Sort':
      case 'Insert':
      case 'InsertEdge':
      case 'Update':
      case 'Call':
        return liftFromInput(plan, context);
      case 'Aggregate':
        return liftFromAggregate(plan, context);
      case 'DynamicSource':
      case 'RecordLookup':
        return liftFromSource(plan, context);
      default:
        return undefined;
    }
  },
};

type WithInput = Extract<LogicalPlan, { readonly input: LogicalPlan }>;

function markProject(
  plan: PlanNode<'Project'>,
  context: OptimizerContext,
): LogicalPlan | undefined {
  if (plan.isLong === true) return undefined;
  const areLong = mapLong(plan.columns, ({ value }) => isLongIn(value, plan, context));
  return areLong.includes(true) ? { ...plan, isLong: true } : undefined;
}

function liftCondition(
  plan: PlanNode<'Filter'>,
  context: OptimizerContext,
): LogicalPlan | undefined {
  const conjuncts = conjunctsOf(plan.predicate);
  const areLong = mapLong(conjuncts, (conjunct) => isLongIn(conjunct, plan.input, context));
  const first = areLong.indexOf(true);
  if (first < 0) return undefined;
  const before = conjunctionOf(conjuncts.slice(0, first));
  const lifted = new Lifted(context);
  const predicate = lifted.slotFor(conjunctionOf(conjuncts.slice(first)) as Expression);
  const input: LogicalPlan = before
    ? { op: 'Filter', input: plan.input, predicate: before }
    : plan.input;
  return { op: 'Filter', input: lifted.over(input), predicate };
}

/** Nodes that evaluate each of their expressions once for a row of their input. */
function liftFromInput(plan: WithInput, context: OptimizerContext): LogicalPlan | undefined {
  const isWanted = (expression: Expression): boolean =>
    isLongIn(expression, plan.input, context) || holdsNestedLoops(expression);
  if (!mapLong(expressionsOf(plan), isWanted).includes(true)) return undefined;
  const own = new Set<Slot>(slotsWrittenBy(plan));
  if (plan.op === 'Update') own.add(plan.record);
  const lifted = new Lifted(context);
  let isFirst = true;
  const rewritten = mapParts(plan, {
    plan: (input) => input,
    expression(expression) {
      // What was assigned before may be read by the next assignment.
      const mayBeLifted = readsNoneOf(expression, own) || (plan.op === 'Update' && isFirst);
      isFirst = false;
      return mayBeLifted ? lifted.lift(expression, plan.input) : expression;
    },
  }) as WithInput;
  return lifted.isEmpty ? undefined : { ...rewritten, input: lifted.over(plan.input) };
}

function liftFromAggregate(
  plan: PlanNode<'Aggregate'>,
  context: OptimizerContext,
): LogicalPlan | undefined {
  const lifted = new Lifted(context);
  const lift = (expression: Expression): Expression => lifted.lift(expression, plan.input);
  const keys = plan.keys.map((key): Column => ({ ...key, value: lift(key.value) }));
  const aggregates = plan.aggregates.map((aggregate) => ({
    ...aggregate,
    arguments: aggregate.arguments.map(lift),
  }));
  return lifted.isEmpty ? undefined : { ...plan, keys, aggregates, input: lifted.over(plan.input) };
}

/** A source reads the value as that of an outer row. */
function liftFromSource(
  plan: PlanNode<'DynamicSource' | 'RecordLookup'>,
  context: OptimizerContext,
): LogicalPlan | undefined {
  const value = plan.op === 'DynamicSource' ? plan.value : plan.rids;
  if (!isLongIn(value, plan, context)) return undefined;
  const lifted = new Lifted(context);
  const slot = lifted.slotFor(value);
  const inner: LogicalPlan =
    plan.op === 'DynamicSource' ? { ...plan, value: slot } : { ...plan, rids: slot };
  return { op: 'Apply', outer: lifted.over({ op: 'Argument' }), inner, mode: { kind: 'cross' } };
}

/** The columns of a projection in slices. */
class Lifted {
  readonly #context: OptimizerContext;
  readonly #columns: Column[] = [];
  #isLong = false;

  constructor(context: OptimizerContext) {
    this.#context = context;
  }

  get isEmpty(): boolean {
    return this.#columns.length === 0;
  }

  /** Of an expression that is computed apart: the slot; otherwise the expression. */
  lift(value: Expression, input: LogicalPlan): Expression {
    if (isLongIn(value, input, this.#context)) return this.slotFor(value);
    return holdsNestedLoops(value) ? this.#slotOf(value) : value;
  }

  slotFor(value: Expression): Expression {
    this.#isLong = true;
    return this.#slotOf(value);
  }

  #slotOf(value: Expression): Expression {
    const slot = this.#context.newSlot();
    this.#columns.push({ slot, value });
    return { op: 'Slot', slot };
  }

  over(input: LogicalPlan): LogicalPlan {
    const columns = this.#columns;
    // Loops in loops pause in any projection when they turn out to be long.
    return this.#isLong
      ? { op: 'Project', input, columns, isLong: true }
      : { op: 'Project', input, columns };
  }
}

/** @param input where the slots of the expression come from */
function isLongIn(expression: Expression, input: LogicalPlan, context: OptimizerContext): boolean {
  if (isQuick(expression)) return false;
  return someLookedThrough(expression, (part) => mayTakeLong(part, input, context));
}

/** A loop over a list in a loop over a list: few elements of each are many in all. */
function holdsNestedLoops(expression: Expression): boolean {
  if (isQuick(expression)) return false;
  return someLookedThrough(
    expression,
    (part) => isLoop(part) && bodiesOf(part).some((body) => someLookedThrough(body, isLoop)),
  );
}

type Loop = Extract<
  Expression,
  { readonly op: 'Comprehension' } | { readonly op: 'Quantifier' } | { readonly op: 'Reduce' }
>;

function isLoop(part: Expression): part is Loop {
  return part.op === 'Comprehension' || part.op === 'Quantifier' || part.op === 'Reduce';
}

function bodiesOf(loop: Loop): readonly Expression[] {
  if (loop.op === 'Quantifier') return [loop.predicate];
  if (loop.op === 'Reduce') return [loop.step];
  return [loop.predicate, loop.result].filter((body) => body !== undefined);
}

function isQuick({ op }: Expression): boolean {
  return op === 'Slot' || op === 'Constant' || op === 'Parameter';
}

function mayTakeLong(part: Expression, input: LogicalPlan, context: OptimizerContext): boolean {
  if (part.op === 'SubPlan') return true;
  if (part.op === 'Property') return isMove(part.of);
  if (part.op !== 'Call') return false;
  if (context.functions.scalar(part.function)?.mayTakeLong === true) return true;
  const [from] = part.arguments;
  if (from === undefined || !isMove(part)) return false;
  // A move from one record is quick; from a list, which only something computed can be, it is not.
  return from.op === 'Slot' ? isComputed(from.slot, input) : !isQuick(from);
}

function isMove(part: Expression): boolean {
  if (part.op !== 'Call') return false;
  const name = part.function.toLowerCase();
  return moves.has(name.startsWith('.') ? name.slice(1) : name);
}

/** From a vertex to any number of others; those from an edge to its ends are quick. */
const moves: ReadonlySet<string> = new Set(['out', 'in', 'both', 'oute', 'ine', 'bothe']);

function isComputed(slot: Slot, plan: LogicalPlan): boolean {
  let found = false;
  walkPlan(plan, {
    plan(node) {
      if (node.op === 'Project' || node.op === 'Aggregate' || node.op === 'Apply')
        found ||= slotsWrittenBy(node).includes(slot);
    },
  });
  return found;
}
