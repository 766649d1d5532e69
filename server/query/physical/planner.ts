import { DatabaseError } from '#core/errors.ts';
import type { Catalog } from '#catalog/catalog.ts';
import type { Output } from '../algebra/expression.ts';
import type { LogicalPlan, QueryProgram } from '../algebra/plan.ts';
import { freeSlots } from '../algebra/slots.ts';
import { slotsOfOutput } from '../algebra/walk.ts';
import { walkPlan } from '../algebra/plan-walk.ts';
import type { CompileEnvironment } from '../evaluate/evaluator.ts';
import type { FunctionRegistry } from '../evaluate/function-definition.ts';
import type { PhysicalOperator } from '../operators/operator.ts';
import type { ProcedureRegistry } from '../procedures/procedure.ts';
import { fuseCount, fuseScan } from './fuse-scan.ts';
import { isGraph, lowerGraph } from './lower-graph.ts';
import { isShape, lowerShape } from './lower-shape.ts';
import { isSource, lowerSource } from './lower-source.ts';
import { isWrite, lowerWrite } from './lower-write.ts';
import type { Lowering, OperatorFactory, RequiredSlots, WrapOperator } from './lowering.ts';
import { compileSubPlan } from './sub-plan.ts';

export interface PlannerEnvironment {
  readonly catalog: Catalog;
  readonly functions: FunctionRegistry;
  readonly procedures: ProcedureRegistry;
}

/**
 * A statement ready to run any number of times: expressions are compiled, operators are made per execution. Kept in the plan
 * cache; it holds nothing of any execution, except the idle operators of the last one.
 */
export class PreparedPlan {
  readonly output: Output;
  readonly slotCount: number;
  readonly #factory: OperatorFactory;
  readonly #isReusable: boolean;
  #idle: PhysicalOperator | undefined;

  constructor(program: QueryProgram, factory: OperatorFactory) {
    this.output = program.output;
    this.slotCount = program.slotCount;
    this.#factory = factory;
    this.#isReusable = !keepsResults(program.plan);
  }

  /** Operators for one execution, closed. Those of an earlier execution when it is over. */
  take(): PhysicalOperator {
    const idle = this.#idle;
    this.#idle = undefined;
    return idle ?? this.#factory((operator) => operator);
  }

  /** Gives closed operators back for the next execution. */
  giveBack(operator: PhysicalOperator): void {
    if (this.#isReusable) this.#idle = operator;
  }

  /** Operators that `wrap` has seen one by one (PROFILE); not to be given back. */
  makeWrapped(wrap: WrapOperator): PhysicalOperator {
    return this.#factory(wrap);
  }
}

/**
 * Turns an optimized program into operators.
 * @throws DatabaseError `CommandExecution` for unknown functions and procedures, and what compiling expressions throws
 * Cost: tens of microseconds for a plan of a few nodes
 */
export function planProgram(program: QueryProgram, environment: PlannerEnvironment): PreparedPlan {
  const planner = new Planner(environment);
  const factory = planner.lower(program.plan, new Set(slotsOfOutput(program.output)));
  return new PreparedPlan(program, factory);
}

class Planner implements Lowering {
  readonly catalog: Catalog;
  readonly procedures: ProcedureRegistry;
  readonly environment: CompileEnvironment;

  constructor(environment: PlannerEnvironment) {
    this.catalog = environment.catalog;
    this.procedures = environment.procedures;
    this.environment = {
      functions: environment.functions,
      compileSubPlan: (plan, output, mode) => compileSubPlan(plan, output, mode, this),
    };
  }

  lower(plan: LogicalPlan, required: RequiredSlots): OperatorFactory {
    const fused = fuseCount(plan, this) ?? fuseScan(plan, required, this);
    if (fused !== undefined) return fused;
    if (isSource(plan)) return lowerSource(plan, this);
    if (isShape(plan)) return lowerShape(plan, required, this);
    if (isGraph(plan)) return lowerGraph(plan, required, this);
    if (isWrite(plan)) return lowerWrite(plan, required, this);
    throw new DatabaseError('Internal', `a ${plan.op} was left by the optimizer`);
  }
}

/** An inner plan that runs once per statement keeps its rows in its operators, which then cannot serve another execution. */
function keepsResults(plan: LogicalPlan): boolean {
  let keeps = false;
  walkPlan(plan, {
    plan(node) {
      if (node.op === 'Apply' && freeSlots(node.inner).size === 0) keeps = true;
    },
  });
  return keeps;
}
