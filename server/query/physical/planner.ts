import { DatabaseError } from '#core/errors.ts';
import { type PausingWork, toEnd } from '#core/pausing-work.ts';
import { inStretches, madeOnceAs } from '#core/replayed-loops.ts';
import type { Catalog } from '#catalog/catalog.ts';
import type { Expression, Slot } from '../algebra/expression.ts';
import type { LogicalPlan, PlanOp, QueryProgram } from '../algebra/plan.ts';
import { slotsOfOutput } from '../algebra/walk.ts';
import { inputsOf, walkPlan } from '../algebra/plan-walk.ts';
import { walkPlanInSteps } from '../algebra/plan-walk-in-steps.ts';
import type { CompileEnvironment } from '../evaluate/evaluator.ts';
import type { FunctionRegistry } from '../evaluate/function-definition.ts';
import { DetachOperator } from '../operators/flow/detach.ts';
import { EdgeTables } from '../operators/graph/edge-tables.ts';
import { NeighbourColumns } from '../operators/graph/neighbour-columns.ts';
import type { PhysicalOperator } from '../operators/operator.ts';
import { PacedRowsOperator } from '../operators/scan/paced-rows.ts';
import { ParameterCheckOperator } from '../operators/flow/parameter-check.ts';
import { ConnectedNodesCheckOperator } from '../operators/write/delete-entities.ts';
import { TableScopeOperator } from '../operators/flow/table-scope.ts';
import { rowsPerTurn } from '../operators/hold/work-share.ts';
import type { ProcedureRegistry } from '../procedures/procedure.ts';
import { bareIdSlots, endsOfSteps } from './bare-ids.ts';
import { fuseCount, fuseScan } from './fuse-scan.ts';
import { fuseDistinctStep, isGraph, lowerGraph } from './lower-graph.ts';
import { isShape, lowerShape } from './lower-shape.ts';
import { isSource, lowerSource } from './lower-source.ts';
import { isWrite, lowerWrite } from './lower-write.ts';
import type { Lowering, OperatorFactory, RequiredSlots } from './lowering.ts';
import type { OperatorNodes } from './operator-nodes.ts';
import { rowsInTurnOf } from './row-work.ts';
import { compileSubPlan } from './sub-plan.ts';
import { unorderedSteps } from './unordered-steps.ts';

export interface PlannerEnvironment {
  readonly catalog: Catalog;
  readonly functions: FunctionRegistry;
  readonly procedures: ProcedureRegistry;
  /** False when nobody will look at `description` of the operators: writing them takes as long as the rest. Default true. */
  readonly areDescribed?: boolean;
  /** Gets the node of each operator that is made. */
  readonly nodes?: OperatorNodes;
}

/**
 * Turns an optimized program into operators: expressions are compiled once, the factory makes the operators of one execution
 * at each call. Operators may be opened again after they were closed, also with another context.
 *
 * @throws DatabaseError `CommandExecution` for unknown functions and procedures, and what compiling expressions throws
 * Cost: tens of microseconds for a plan of a few nodes; the factory a microsecond or two
 */
export function planProgram(
  program: QueryProgram,
  environment: PlannerEnvironment,
): () => PhysicalOperator {
  return toEnd(planInSteps(program, environment));
}

/** As `planProgram`, with places to pause in what is long. */
export function* planInSteps(
  program: QueryProgram,
  environment: PlannerEnvironment,
): PausingWork<() => PhysicalOperator> {
  const outputSlots = slotsOfOutput(program.output);
  const traits = yield* traitsOf(program.plan);
  const { nodeCount, givesReferences, countsEdges, deletesInCypher } = traits;
  yield;
  const edgeTables = new EdgeTables();
  const bareIds = yield* bareIdSlots(program);
  yield;
  const columns = new NeighbourColumns();
  const ends = bareIds.size > 0 ? yield* endsOfSteps(program.plan) : bareIds;
  yield;
  const unordered = countsEdges ? yield* unorderedSteps(program.plan) : noSteps;
  const shared: Shared = {
    environment,
    isLarge: nodeCount > manyNodes,
    bareIds,
    ends,
    columns,
    unordered,
    edgeTables,
    paces: new Map(),
  };
  const planner = new Planner(shared, { plan: program.plan, slots: outputSlots });
  yield;
  const factory = yield* inStretches(() => planner.lower(program.plan, new Set(outputSlots)));
  const slots = givesReferences ? slotsWithReferences(program.plan, outputSlots, bareIds) : [];
  const detached = slots.length > 0 ? () => new DetachOperator(factory(), slots) : factory;
  const holders = [...(countsEdges ? [edgeTables] : []), ...(columns.areRead ? [columns] : [])];
  const top = holders.length > 0 ? () => new TableScopeOperator(detached(), holders) : detached;
  const { requiredParameters: names = [] } = program;
  if (deletesInCypher) {
    const checked = () => new ConnectedNodesCheckOperator(top());
    return names.length > 0 ? () => new ParameterCheckOperator(checked(), names) : checked;
  }
  return names.length > 0 ? () => new ParameterCheckOperator(top(), names) : top;
}

const noSteps: ReadonlySet<LogicalPlan> = new Set();

/** What the planner of a program and those of the plans inside it have in common. */
interface Shared {
  readonly environment: PlannerEnvironment;
  readonly bareIds: ReadonlySet<Slot>;
  readonly isLarge: boolean;
  /** Those that steps leave. */
  readonly ends: ReadonlySet<Slot>;
  readonly columns: NeighbourColumns;
  readonly unordered: ReadonlySet<LogicalPlan>;
  readonly edgeTables: EdgeTables;
  /** Plans whose rows cost much where they are read, with the number that is read in one turn. */
  readonly paces: Map<LogicalPlan, number>;
}

/** A plan of so many nodes is made with pauses between them; a node counts for so much, beside what is long in it. */
const manyNodes = 32;
const itemsPerNode = 20;

class Planner implements Lowering {
  readonly catalog: Catalog;
  readonly procedures: ProcedureRegistry;
  readonly environment: CompileEnvironment;
  readonly bareIds: ReadonlySet<Slot>;
  readonly isInner: boolean;
  readonly output: Lowering['output'];
  readonly areDescribed: boolean;
  readonly unordered: ReadonlySet<LogicalPlan>;
  readonly edgeTables: EdgeTables;
  readonly #shared: Shared;

  /** @param output undefined for plans inside another one */
  constructor(shared: Shared, output: Lowering['output']) {
    const { environment, bareIds } = shared;
    this.catalog = environment.catalog;
    this.procedures = environment.procedures;
    this.bareIds = bareIds;
    this.isInner = output === undefined;
    this.output = output;
    this.areDescribed = environment.areDescribed !== false;
    this.unordered = shared.unordered;
    this.edgeTables = shared.edgeTables;
    this.#shared = shared;
    this.environment = {
      functions: environment.functions,
      bareIds,
      compileColumn: (slot, property) =>
        bareIds.has(slot) && shared.ends.has(slot)
          ? shared.columns.evaluator(slot, property)
          : undefined,
      compileSubPlan: (plan, output, mode) => compileSubPlan(plan, output, mode, this.inner()),
    };
  }

  inner(): Lowering {
    return this.isInner ? this : new Planner(this.#shared, undefined);
  }

  described(): Lowering {
    if (this.areDescribed) return this;
    const environment = { ...this.#shared.environment, areDescribed: true };
    return new Planner({ ...this.#shared, environment }, this.output);
  }

  lower(plan: LogicalPlan, required: RequiredSlots): OperatorFactory {
    const { paces } = this.#shared;
    const rowCount = rowsInTurnOf(plan);
    if (rowCount < rowsPerTurn) for (const input of inputsOf(plan)) paces.set(input, rowCount);
    const lowered = (): OperatorFactory => this.#lowerNode(plan, required);
    const factory = this.#shared.isLarge ? madeOnceAs(itemsPerNode, lowered) : lowered();
    return this.paced(plan, this.#noted(plan, factory));
  }

  #noted(plan: LogicalPlan, factory: OperatorFactory): OperatorFactory {
    const { nodes } = this.#shared.environment;
    if (nodes === undefined) return factory;
    return () => {
      const operator = factory();
      nodes.set(operator, plan);
      return operator;
    };
  }

  paced(plan: LogicalPlan, factory: OperatorFactory): OperatorFactory {
    const pace = this.#shared.paces.get(plan);
    return pace === undefined ? factory : () => new PacedRowsOperator(factory(), pace);
  }

  #lowerNode(plan: LogicalPlan, required: RequiredSlots): OperatorFactory {
    const fused =
      fuseCount(plan, this) ??
      fuseScan(plan, required, this) ??
      fuseDistinctStep(plan, required, this);
    if (fused !== undefined) return fused;
    if (isSource(plan)) return lowerSource(plan, this);
    if (isShape(plan)) return lowerShape(plan, required, this);
    if (isGraph(plan)) return lowerGraph(plan, required, this);
    if (isWrite(plan)) return lowerWrite(plan, required, this);
    throw new DatabaseError('Internal', `a ${plan.op} was left by the optimizer`);
  }
}

/** The output slots that may hold references; attributes of elements are none, nor is what records hold. */
function slotsWithReferences(
  plan: LogicalPlan,
  outputSlots: readonly Slot[],
  bareIds: ReadonlySet<Slot>,
): readonly Slot[] {
  let current = plan;
  while (passesRows.has(current.op) && 'input' in current) current = current.input;
  if (current.op !== 'Project') return outputSlots;
  const { columns } = current;
  const records = scannedSlots(current.input, bareIds);
  return outputSlots.filter(
    (slot) =>
      !columns.some(
        ({ slot: written, value }) =>
          written === slot && (value.op === 'Attribute' || readsRecord(value, records)),
      ),
  );
}

function readsRecord(value: Expression, records: ReadonlySet<Slot>): boolean {
  return value.op === 'Property' && value.of.op === 'Slot' && records.has(value.of.slot);
}

/** Slots that hold records as they are stored, or their ids. */
function scannedSlots(plan: LogicalPlan, bareIds: ReadonlySet<Slot>): ReadonlySet<Slot> {
  const slots = new Set(bareIds);
  walkPlan(plan, {
    plan(node) {
      if (node.op === 'TypeScan' || node.op === 'BucketScan') slots.add(node.as);
    },
  });
  return slots;
}

const passesRows: ReadonlySet<PlanOp> = new Set<PlanOp>(['Limit', 'Skip', 'Sort', 'Distinct']);

/** Graph functions, in lower case and without the dot of methods. */
const graphFunctions: ReadonlySet<string> = new Set(['out', 'in', 'both', 'oute', 'ine', 'bothe']);

/** What one walk over a plan finds out. */
interface PlanTraits {
  readonly nodeCount: number;
  /** Walking the graph gives references, which must be resolved before a row leaves the statement. */
  readonly givesReferences: boolean;
  /** Some operators may gather tables of edges. */
  readonly countsEdges: boolean;
  /** Nodes may leave relationships behind. */
  readonly deletesInCypher: boolean;
}

function* traitsOf(plan: LogicalPlan): PausingWork<PlanTraits> {
  let nodeCount = 0;
  let givesReferences = false;
  let countsEdges = false;
  let deletesInCypher = false;
  yield* walkPlanInSteps(plan, {
    plan(node) {
      const { op } = node;
      nodeCount += 1;
      if (op === 'Delete' && node.dialect === 'cypher') deletesInCypher = true;
      // Live records are settled on the way out, like references.
      if (op === 'Eager' && node.isLive === true) givesReferences = true;
      if (op === 'Merge') givesReferences = true;
      if ((op === 'Insert' || op === 'InsertEdge') && node.dialect === 'cypher')
        givesReferences = true;
      if (op === 'Expand' || op === 'ExpandPath' || op === 'FollowEdges') givesReferences = true;
      if (op === 'Traverse') givesReferences = true;
      if (op === 'Degree' || op === 'BranchCount' || op === 'Aggregate') countsEdges = true;
    },
    expression(part) {
      if (part.op !== 'Call' || givesReferences) return;
      if (graphFunctions.has(part.function.toLowerCase().replace(/^\./, '')))
        givesReferences = true;
    },
  });
  return { nodeCount, givesReferences, countsEdges, deletesInCypher };
}
