import type { Catalog } from '#catalog/catalog.ts';
import type { BucketId, TypeId } from '#core/value/rid.ts';
import type { Expression, Slot } from '../algebra/expression.ts';
import type { LogicalPlan } from '../algebra/plan.ts';
import { describeNode } from '../algebra/print.ts';
import { compileExpression, compilePredicate } from '../evaluate/compile.ts';
import type { CompileEnvironment, Evaluator, Predicate } from '../evaluate/evaluator.ts';
import type { EdgeTables } from '../operators/graph/edge-tables.ts';
import type { PhysicalOperator } from '../operators/operator.ts';
import type { ProcedureRegistry } from '../procedures/procedure.ts';

/** Makes the operators of a plan, which hold state: one set per execution. */
export type OperatorFactory = () => PhysicalOperator;

/** Slots that somebody above a node reads. */
export type RequiredSlots = ReadonlySet<Slot>;

/** What the `lower-` files work with: one per plan. */
export interface Lowering {
  readonly catalog: Catalog;
  readonly environment: CompileEnvironment;
  readonly procedures: ProcedureRegistry;
  /** Slots that hold bare record ids. */
  readonly bareIds: ReadonlySet<Slot>;
  /** Steps whose rows may come in any order. */
  readonly unordered: ReadonlySet<LogicalPlan>;
  /** Of all operators of the program. */
  readonly edgeTables: EdgeTables;
  /** The plan is opened several times in one execution: it stands inside an Apply or an expression. */
  readonly isInner: boolean;
  /** The node whose rows are those of the statement, with the slots of its columns; undefined for plans inside. */
  readonly output: { readonly plan: LogicalPlan; readonly slots: readonly Slot[] } | undefined;
  lower(plan: LogicalPlan, required: RequiredSlots): OperatorFactory;
  /** What was lowered without `lower`, with pauses between its rows where the node above takes long for each. */
  paced(plan: LogicalPlan, factory: OperatorFactory): OperatorFactory;
  /** Somebody will look at the operators: they are told what they do. */
  readonly areDescribed: boolean;
  /** The same with operators that are described. */
  described(): Lowering;
  /** For plans inside. */
  inner(): Lowering;
}

export function compileValue(lowering: Lowering, expression: Expression): Evaluator {
  return compileExpression(expression, lowering.environment);
}

export function compileFilter(lowering: Lowering, predicate: Expression): Predicate {
  return compilePredicate(predicate, lowering.environment);
}

export function optionalFilter(
  lowering: Lowering,
  predicate: Expression | undefined,
): Predicate | undefined {
  return predicate && compilePredicate(predicate, lowering.environment);
}

/** What EXPLAIN shows beside the operator's name: the line of the node without the node's own name; '' when nobody looks. */
export function descriptionOf(lowering: Lowering, plan: LogicalPlan): string {
  if (!lowering.areDescribed) return '';
  const line = describeNode(plan, { catalog: lowering.catalog });
  return line === plan.op ? '' : line.slice(plan.op.length + 1);
}

/** Buckets of the types, in scan order. */
export function bucketsOf(catalog: Catalog, types: readonly TypeId[]): readonly BucketId[] {
  return types.flatMap((type) => catalog.typeWithId(type).buckets);
}

/** The union of both, for what the input of a node must leave in the frame. */
export function withSlots(required: RequiredSlots, read: Iterable<Slot>): RequiredSlots {
  let all: Set<Slot> | undefined;
  for (const slot of read) {
    if (required.has(slot)) continue;
    all ??= new Set(required);
    all.add(slot);
  }
  // Steps of a CREATE are ten thousand, and need what all of them need.
  return all ?? required;
}

/** The slots that stand in both, in ascending order: what an operator that keeps rows must keep. */
export function keptSlots(required: RequiredSlots, written: ReadonlySet<Slot>): readonly Slot[] {
  return [...required].filter((slot) => written.has(slot)).sort((a, b) => a - b);
}

/** Lowers when first asked: for plans that stand in for another one and are rarely needed. */
export function loweredOnDemand(lower: () => OperatorFactory): OperatorFactory {
  let factory: OperatorFactory | undefined;
  return () => {
    factory ??= lower();
    return factory();
  };
}
