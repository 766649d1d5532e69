import { unreachable } from '#core/assert.ts';
import { mapLong } from '#core/replayed-loops.ts';
import { expressionsOfAssignments, mapAssignment } from './assignments.ts';
import type { Expression, Output } from './expression.ts';
import type {
  AggregateColumn,
  Assignment,
  Column,
  IndexBounds,
  IndexSearchNode,
  LogicalPlan,
  PathSpec,
  Pattern,
  PlanNode,
  PatternStep,
  RidRange,
  SortKey,
} from './plan.ts';
import { mapExpression, operandsOf, rewriteExpression, walkExpression } from './walk.ts';

/**
 * Traversal and rewriting of plans. `mapParts` is the one place that knows which fields of a node are plans and which are
 * expressions; everything else is derived from it.
 */

export interface PartMapping {
  readonly plan: (plan: LogicalPlan) => LogicalPlan;
  readonly expression: (expression: Expression) => Expression;
}

/** The node with its direct input plans and expressions replaced; the node itself when nothing changed. */
export function mapParts(plan: LogicalPlan, mapping: PartMapping): LogicalPlan {
  const { inputs, expressions } = partsOf(plan);
  const mappedInputs = mappedParts(inputs, mapping.plan);
  const mappedExpressions = mappedParts(expressions, mapping.expression);
  if (mappedInputs === inputs && mappedExpressions === expressions) return plan;
  let inputAt = 0;
  let expressionAt = 0;
  return rebuild(plan, {
    plan: () => mappedInputs[inputAt++] as LogicalPlan,
    expression: () => mappedExpressions[expressionAt++] as Expression,
  });
}

/** The node with other input plans in the place of its own, left to right. */
export function withInputs(plan: LogicalPlan, inputs: readonly LogicalPlan[]): LogicalPlan {
  // Most nodes; what else they hold need not be gone through.
  const [only] = inputs;
  if (only !== undefined && inputs.length === 1 && 'input' in plan && inputsOf(plan).length === 1)
    return { ...plan, input: only };
  let at = 0;
  return rebuild(plan, {
    plan: () => inputs[at++] as LogicalPlan,
    expression: (expression) => expression,
  });
}

/** Nodes with fewer inputs are gone through without a pause. */
const longInputCount = 64;

/**
 * The node with its input plans replaced, by a `map` that does nothing but give a plan: in work that is done in stretches
 * (`#core/replayed-loops.ts`) many inputs are places to pause.
 */
export function mapInputs(plan: LogicalPlan, map: (plan: LogicalPlan) => LogicalPlan): LogicalPlan {
  const inputs = inputsOf(plan);
  if (inputs.length === 0) return plan;
  const mapped = inputs.length < longInputCount ? mappedParts(inputs, map) : mapLong(inputs, map);
  const isSame = mapped === inputs || mapped.every((input, at) => input === inputs[at]);
  return isSame ? plan : withInputs(plan, mapped);
}

/** As `mapInputs`, for the expressions that stand directly in the node: many of them are places to pause. */
export function mapExpressions(
  plan: LogicalPlan,
  map: (expression: Expression) => Expression,
): LogicalPlan {
  const { expressions } = partsOf(plan);
  const mapped =
    expressions.length < longInputCount ? mappedParts(expressions, map) : mapLong(expressions, map);
  if (mapped === expressions || mapped.every((part, at) => part === expressions[at])) return plan;
  let at = 0;
  return rebuild(plan, { plan: (input) => input, expression: () => mapped[at++] as Expression });
}

/** The list itself when nothing changes. */
function mappedParts<T>(parts: readonly T[], map: (part: T) => T): readonly T[] {
  let changed: T[] | undefined;
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at] as T;
    const result = map(part);
    if (result !== part) changed ??= parts.slice();
    if (changed !== undefined) changed[at] = result;
  }
  return changed ?? parts;
}

/** What stands directly in a node. */
interface PlanParts {
  readonly inputs: readonly LogicalPlan[];
  readonly expressions: readonly Expression[];
}

const none: readonly never[] = [];
const noParts: PlanParts = { inputs: none, expressions: none };

/**
 * Every rule looks through all nodes several times: those that stand in most plans are taken apart by hand, since asking
 * `rebuild` makes a node that is thrown away.
 */
function partsOf(plan: LogicalPlan): PlanParts {
  switch (plan.op) {
    case 'Argument':
      return noParts;
    case 'TypeScan':
    case 'BucketScan':
      return plan.range ? partsByRebuilding(plan) : noParts;
    case 'Filter':
      return { inputs: [plan.input], expressions: [plan.predicate] };
    case 'Project':
      if (plan.columns.length >= longInputCount) return partsGathered(plan);
      return { inputs: [plan.input], expressions: plan.columns.map(columnValue) };
    case 'Insert':
    case 'Update':
    case 'MoveVertex':
      if (plan.assignments.length >= longInputCount) return partsGathered(plan);
      return { inputs: [plan.input], expressions: expressionsOfAssignments(plan.assignments) };
    case 'Skip':
    case 'Limit':
      return { inputs: [plan.input], expressions: [plan.count] };
    case 'Eager':
    case 'Expand':
    case 'Delete':
      return { inputs: [plan.input], expressions: none };
    default:
      return partsByRebuilding(plan);
  }
}

/**
 * By hand, too: thousands of columns or assignments would be made to be thrown away. Of short ones nothing is kept: there are thousands of
 * those, and the collector goes through all keys of a `WeakMap` again and again while nothing else can run.
 */
function partsGathered(plan: PlanNode<'Project' | 'Insert' | 'Update' | 'MoveVertex'>): PlanParts {
  const known = knownParts.get(plan);
  if (known !== undefined) return known;
  const expressions =
    plan.op === 'Project'
      ? plan.columns.map(columnValue)
      : expressionsOfAssignments(plan.assignments);
  const parts = { inputs: [plan.input], expressions };
  knownParts.set(plan, parts);
  return parts;
}

function columnValue(column: Column): Expression {
  return column.value;
}

/** Nodes never change. */
const knownParts = new WeakMap<LogicalPlan, PlanParts>();

function partsByRebuilding(plan: LogicalPlan): PlanParts {
  const known = knownParts.get(plan);
  if (known !== undefined) return known;
  const inputs: LogicalPlan[] = [];
  const expressions: Expression[] = [];
  rebuild(plan, {
    plan(part) {
      inputs.push(part);
      return part;
    },
    expression(part) {
      expressions.push(part);
      return part;
    },
  });
  const parts = { inputs, expressions };
  knownParts.set(plan, parts);
  return parts;
}

/** Direct input plans, left to right. The plans of sub-plan expressions are not among them. */
export function inputsOf(plan: LogicalPlan): readonly LogicalPlan[] {
  switch (plan.op) {
    case 'Argument':
    case 'TypeScan':
    case 'BucketScan':
      return none;
    case 'Filter':
    case 'Project':
    case 'Skip':
    case 'Limit':
      // Each rule asks each node: their expressions are not gathered for that.
      return [plan.input];
    default:
      return partsOf(plan).inputs;
  }
}

/** Expressions that stand directly in the node. */
export function expressionsOf(plan: LogicalPlan): readonly Expression[] {
  return partsOf(plan).expressions;
}

export interface PlanVisitor {
  readonly plan?: (plan: LogicalPlan) => void;
  readonly expression?: (expression: Expression) => void;
  /** Told of each expression that holds a plan, before it is looked into. */
  readonly subPlan?: () => void;
}

/** Visits every node and every expression, parents first, sub-plans of expressions included. */
export function walkPlan(plan: LogicalPlan, visitor: PlanVisitor): void {
  visitor.plan?.(plan);
  const { inputs, expressions } = partsOf(plan);
  for (let at = 0; at < expressions.length; at += 1)
    visitExpression(expressions[at] as Expression, visitor);
  for (let at = 0; at < inputs.length; at += 1) walkPlan(inputs[at] as LogicalPlan, visitor);
}

/** An expression that stands in a node, with what it holds. */
export function visitExpression(expression: Expression, visitor: PlanVisitor): void {
  if (holdsSubPlan(expression)) {
    visitor.subPlan?.();
    walkExpressionAndPlans(expression, visitor);
  }
  // Who looks at plans only need not see the terms of a condition that holds none.
  else if (visitor.expression !== undefined) walkExpression(expression, visitor.expression);
}

function walkExpressionAndPlans(expression: Expression, visitor: PlanVisitor): void {
  walkExpression(expression, (part) => {
    visitor.expression?.(part);
    if (part.op === 'SubPlan') walkPlan(part.plan, visitor);
  });
}

/**
 * Rebuilds a plan from its leaves up; `rewrite` sees each node with its inputs already rewritten. Sub-plans inside
 * expressions are rewritten as well.
 */
export function rewritePlan(
  plan: LogicalPlan,
  rewrite: (plan: LogicalPlan) => LogicalPlan,
): LogicalPlan {
  return rewrite(
    mapParts(plan, {
      plan: (input) => rewritePlan(input, rewrite),
      expression: (expression) =>
        rewriteSubPlans(expression, (inner) => rewritePlan(inner, rewrite)),
    }),
  );
}

/** Expressions that were found to hold no plan: a condition of 100,000 terms is looked through once, not by every rule. */
const withoutSubPlans = new WeakSet<Expression>();
/** Parts that are looked through anew each time: that costs less than to remember them. */
const smallPartCount = 16;

function holdsSubPlan(expression: Expression): boolean {
  const found = searchedForSubPlan(expression, smallPartCount);
  if (found !== undefined) return found;
  if (withoutSubPlans.has(expression)) return false;
  const holds = searchedForSubPlan(expression, Infinity) === true;
  if (!holds) withoutSubPlans.add(expression);
  return holds;
}

/** @returns undefined when it was not settled after `countMax` parts */
function searchedForSubPlan(expression: Expression, countMax: number): boolean | undefined {
  if (expression.op === 'SubPlan') return true;
  let operands = operandsOf(expression);
  if (operands.length === 0) return false;
  const waiting: (readonly Expression[])[] = [];
  let count = 0;
  for (;;) {
    for (let at = 0; at < operands.length; at += 1) {
      const operand = operands[at] as Expression;
      if (operand.op === 'SubPlan') return true;
      count += 1;
      if (count > countMax) return undefined;
      const inner = operandsOf(operand);
      if (inner.length > 0) waiting.push(inner);
    }
    const next = waiting.pop();
    if (next === undefined) return false;
    operands = next;
  }
}

/** Replaces the plans of all `SubPlan` expressions inside. */
export function rewriteSubPlans(
  expression: Expression,
  rewrite: (plan: LogicalPlan, output: Output) => LogicalPlan,
): Expression {
  if (!holdsSubPlan(expression)) return expression;
  return mapExpression(expression, (part) => {
    if (part.op !== 'SubPlan') return part;
    const plan = rewrite(part.plan, part.output);
    return plan === part.plan ? part : { ...part, plan };
  });
}

/** Rewrites every expression of the plan from its leaves up, those of sub-plans included. */
export function rewriteExpressionsOfPlan(
  plan: LogicalPlan,
  rewrite: (expression: Expression) => Expression,
): LogicalPlan {
  return mapParts(plan, {
    plan: (input) => rewriteExpressionsOfPlan(input, rewrite),
    expression: (expression) =>
      rewriteExpression(expression, (part) => {
        if (part.op !== 'SubPlan') return rewrite(part);
        const inner = rewriteExpressionsOfPlan(part.plan, rewrite);
        return rewrite(inner === part.plan ? part : { ...part, plan: inner });
      }),
  });
}

function rebuild(plan: LogicalPlan, map: PartMapping): LogicalPlan {
  switch (plan.op) {
    case 'Argument':
    case 'SchemaScan':
    case 'Alter':
    case 'Maintain':
    case 'RecordCount':
      return plan;
    case 'IndexEntries':
      return plan.bounds ? { ...plan, bounds: mapBounds(plan.bounds, map) } : plan;
    case 'TypeScan':
    case 'BucketScan':
      return plan.range ? { ...plan, range: mapRange(plan.range, map) } : plan;
    case 'RecordLookup':
      return { ...plan, rids: map.expression(plan.rids) };
    case 'DynamicSource':
      return { ...plan, value: map.expression(plan.value) };
    case 'IndexSearch':
      return mapSearch(plan, map);
    case 'IndexUnion':
      return {
        ...plan,
        searches: plan.searches.map((search) => mapSearch(search, map)),
        covers: map.expression(plan.covers),
      };
    case 'Filter':
      return {
        ...plan,
        input: map.plan(plan.input),
        predicate: map.expression(plan.predicate),
      };
    case 'Project':
      return { ...plan, input: map.plan(plan.input), columns: mapColumns(plan.columns, map) };
    case 'Unwind':
      return { ...plan, input: map.plan(plan.input), list: map.expression(plan.list) };
    case 'ExpandValue':
      return { ...plan, input: map.plan(plan.input), value: map.expression(plan.value) };
    case 'Distinct':
      return { ...plan, input: map.plan(plan.input), on: plan.on.map(map.expression) };
    case 'Sort': {
      const { limit, ...rest } = plan;
      return {
        ...rest,
        input: map.plan(plan.input),
        keys: plan.keys.map((key) => mapSortKey(key, map)),
        ...(limit && { limit: map.expression(limit) }),
      };
    }
    case 'Skip':
    case 'Limit':
      return { ...plan, input: map.plan(plan.input), count: map.expression(plan.count) };
    case 'Aggregate': {
      const { limit, ...rest } = plan;
      return {
        ...rest,
        input: map.plan(plan.input),
        keys: mapColumns(plan.keys, map),
        first: mapColumns(plan.first, map),
        aggregates: plan.aggregates.map((aggregate) => mapAggregate(aggregate, map)),
        ...(limit && { limit: map.expression(limit) }),
      };
    }
    case 'Union':
      return {
        ...plan,
        inputs: plan.inputs.map((input) => ({ ...input, plan: map.plan(input.plan) })),
      };
    case 'TimeLimit':
    case 'Eager':
    case 'Expand':
    case 'Degree':
      return { ...plan, input: map.plan(plan.input) };
    case 'Apply':
      return mapApply(plan, map);
    default:
      return rebuildGraphOrWrite(plan, map);
  }
}

type GraphOrWriteOp =
  | 'Match'
  | 'Drain'
  | 'FollowEdges'
  | 'BranchCount'
  | 'ExpandPath'
  | 'Traverse'
  | 'Insert'
  | 'InsertEdge'
  | 'Update'
  | 'Delete'
  | 'FindOrInsert'
  | 'MoveVertex'
  | 'SetLabels'
  | 'RestoreRecord'
  | 'CommitEvery'
  | 'Profile'
  | 'FindReferences'
  | 'Merge'
  | 'InsertAll'
  | 'Call';

function rebuildGraphOrWrite(plan: PlanNode<GraphOrWriteOp>, map: PartMapping): LogicalPlan {
  switch (plan.op) {
    case 'Match':
      return { ...plan, input: map.plan(plan.input), pattern: mapPattern(plan.pattern, map) };
    case 'ExpandPath':
      return { ...plan, input: map.plan(plan.input), path: mapPath(plan.path, map) };
    case 'Traverse':
      return {
        ...plan,
        input: map.plan(plan.input),
        roots: map.expression(plan.roots),
        fields: plan.fields === 'all' ? 'all' : plan.fields.map(map.expression),
        condition: plan.condition && map.expression(plan.condition),
      };
    case 'Insert':
    case 'Update':
    case 'MoveVertex':
      return {
        ...plan,
        input: map.plan(plan.input),
        assignments: mapAssignments(plan.assignments, map),
      };
    case 'InsertEdge':
      return {
        ...plan,
        input: map.plan(plan.input),
        from: map.expression(plan.from),
        to: map.expression(plan.to),
        assignments: mapAssignments(plan.assignments, map),
      };
    case 'Delete':
    case 'Drain':
    case 'FollowEdges':
    case 'BranchCount':
    case 'Profile':
    case 'SetLabels':
      return { ...plan, input: map.plan(plan.input) };
    case 'CommitEvery':
      return { ...plan, input: map.plan(plan.input), count: map.expression(plan.count) };
    case 'FindReferences':
      return { ...plan, targets: map.expression(plan.targets) };
    case 'RestoreRecord':
      return {
        ...plan,
        input: map.plan(plan.input),
        rid: map.expression(plan.rid),
        ends: plan.ends && {
          from: map.expression(plan.ends.from),
          to: map.expression(plan.ends.to),
        },
        assignments: mapAssignments(plan.assignments, map),
      };
    case 'FindOrInsert':
      return {
        ...plan,
        find: map.plan(plan.find),
        initial: mapAssignments(plan.initial, map),
      };
    case 'InsertAll':
      return { ...plan, input: map.plan(plan.input), steps: plan.steps.map(map.plan) };
    case 'Merge':
      return {
        ...plan,
        input: map.plan(plan.input),
        match: { ...plan.match, plan: map.plan(plan.match.plan) },
        create: { ...plan.create, plan: map.plan(plan.create.plan) },
        notNull: plan.notNull.map(map.expression),
      };
    case 'Call':
      return {
        ...plan,
        input: map.plan(plan.input),
        arguments: plan.arguments.map(map.expression),
      };
    default:
      return unreachable(plan);
  }
}

function mapAssignments(
  assignments: readonly Assignment[],
  { expression }: PartMapping,
): readonly Assignment[] {
  return assignments.map((assignment) => mapAssignment(assignment, expression));
}

function mapColumns(columns: readonly Column[], map: PartMapping): readonly Column[] {
  return columns.map((column) => ({ slot: column.slot, value: map.expression(column.value) }));
}

function mapSortKey(key: SortKey, map: PartMapping): SortKey {
  return {
    value: map.expression(key.value),
    descending:
      typeof key.descending === 'boolean' ? key.descending : map.expression(key.descending),
  };
}

function mapAggregate(aggregate: AggregateColumn, map: PartMapping): AggregateColumn {
  return { ...aggregate, arguments: aggregate.arguments.map(map.expression) };
}

function mapSearch(search: IndexSearchNode, map: PartMapping): IndexSearchNode {
  const { covers, limit, ...rest } = search;
  return {
    ...rest,
    bounds: mapBounds(search.bounds, map),
    ...(covers && { covers: map.expression(covers) }),
    ...(limit && { limit: map.expression(limit) }),
  };
}

function mapBounds(bounds: IndexBounds, map: PartMapping): IndexBounds {
  const { equals, low, high, prefix } = bounds;
  return {
    ...bounds,
    equals: equals.map((part) => ({ ...part, value: map.expression(part.value) })),
    ...(low && { low: { ...low, value: map.expression(low.value) } }),
    ...(high && { high: { ...high, value: map.expression(high.value) } }),
    ...(prefix && { prefix: map.expression(prefix) }),
  };
}

function mapApply(plan: PlanNode<'Apply'>, map: PartMapping): LogicalPlan {
  const { equality, transactions } = plan;
  const joined = equality && {
    outer: map.expression(equality.outer),
    inner: map.expression(equality.inner),
  };
  return {
    ...plan,
    outer: map.plan(plan.outer),
    inner: map.plan(plan.inner),
    ...(joined && { equality: joined }),
    ...(transactions && {
      transactions: { ...transactions, count: map.expression(transactions.count) },
    }),
  };
}

function mapRange(range: RidRange, map: PartMapping): RidRange {
  const { low, high } = range;
  return {
    ...(low && { low: { ...low, value: map.expression(low.value) } }),
    ...(high && { high: { ...high, value: map.expression(high.value) } }),
  };
}

function mapPattern(pattern: Pattern, map: PartMapping): Pattern {
  return {
    ...pattern,
    nodes: pattern.nodes.map((node) => ({
      ...node,
      rids: node.rids && map.expression(node.rids),
      predicates: node.predicates.map(map.expression),
    })),
    steps: pattern.steps.map(
      (step): PatternStep => ({ ...step, path: step.path && mapPath(step.path, map) }),
    ),
  };
}

function mapPath(path: PathSpec, map: PartMapping): PathSpec {
  return {
    ...path,
    moves: path.moves.map((move) => ({
      ...move,
      predicate: move.predicate && map.expression(move.predicate),
      ...(move.path && { path: mapPath(move.path, map) }),
    })),
    condition: path.condition && map.expression(path.condition),
    predicate: path.predicate && map.expression(path.predicate),
  };
}
