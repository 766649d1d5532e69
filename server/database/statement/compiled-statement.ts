import type { Effect } from '#core/effects.ts';
import { isReadOnly, readOnly } from '#core/effects.ts';
import type { Access } from '#core/principal.ts';
import type { Warning } from '#core/warnings.ts';
import type { LogicalPlan, QueryProgram } from '#query/algebra/plan.ts';
import type { Slot } from '#query/algebra/expression.ts';
import { slotsOfOutput } from '#query/algebra/walk.ts';
import {
  estimateOperators,
  explainInCypher,
  explainOperators,
  type PlanText,
} from '#query/explain.ts';
import type { MissingType } from '#query/algebra/missing-type.ts';
import type { PhysicalOperator } from '#query/operators/operator.ts';
import type { Estimate } from '#query/optimizer/estimates.ts';
import type { OperatorNodes } from '#query/physical/operator-nodes.ts';
import type { Measurements } from '#query/profile.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { ResultShape } from '../session.ts';
import type { StatementContext } from './context.ts';
import type { PlanFacts, PlannedSizes } from './planned-facts.ts';

/** A lowered plan with the context it runs in; one execution at a time. */
export interface PlanInstance {
  readonly root: PhysicalOperator;
  readonly context: StatementContext;
  /** Of an instance that was made to be looked at. */
  readonly nodes?: OperatorNodes;
}

const idleInstancesMax = 4;
const executionsPerLook = 64;

/** The user may open the database, no more. */
const databaseAccess: readonly Access[] = [{ effects: readOnly, types: [] }];

/** A statement text in the form in which it is kept: authorized and started in a few lookups. */
export class CompiledStatement {
  readonly kind = 'statement';
  readonly program: QueryProgram;
  readonly catalogVersion: number;
  readonly accesses: readonly Access[];
  readonly isReadOnly: boolean;
  /** Schema changes, settings and `BATCH n` commit by themselves, whatever becomes of the transaction they stand in. */
  readonly changesSchema: boolean;
  /** `CALL { } IN TRANSACTIONS`: nothing that stands in a transaction may do so. */
  readonly commitsInBatches: boolean;
  /** It may end for want of types, which are then made (`attempt/types-on-the-fly.ts`). */
  readonly maySetLabels: boolean;
  /** Looks at nothing but constants, parameters and variables: the state of the database does not matter to it. */
  readonly isPure: boolean;
  readonly shape: ResultShape;
  /** Of its text and plan; undefined for none. */
  readonly warnings: readonly Warning[] | undefined;
  /** Parameters in the text; a list, since each execution goes through them and the iterator of a map costs as much as a step. */
  readonly readNames: readonly string[];
  /** One per column; a single one for shape `value`. */
  readonly outputSlots: readonly Slot[];
  /** It has moved to a reader thread and was not short there: it begins in one. */
  isLong = false;
  readonly #instantiate: () => PlanInstance;
  readonly #describe: () => () => PlanInstance;
  #instantiateDescribed: (() => PlanInstance) | undefined;
  readonly #estimates: (view: ReadView) => (plan: LogicalPlan) => Estimate;
  readonly #typesMade: readonly MissingType[];
  readonly #sizes: PlannedSizes;
  readonly #idle: PlanInstance[] = [];
  #executionCount = 0;
  #expected: { readonly ms: number; readonly look: number } | undefined;

  /**
   * @param options `instantiate` makes what one execution needs; `describe` gives the same with operators that say what they
   *   do; `estimates` expects something of each node; `typesMade` are there when the plan runs
   */
  constructor(options: {
    program: QueryProgram;
    catalogVersion: number;
    effects: ReadonlySet<Effect>;
    accesses: readonly Access[];
    instantiate: () => PlanInstance;
    describe: () => () => PlanInstance;
    estimates: (view: ReadView) => (plan: LogicalPlan) => Estimate;
    typesMade: readonly MissingType[];
    facts: PlanFacts;
  }) {
    const { program, facts } = options;
    this.program = program;
    this.catalogVersion = options.catalogVersion;
    // The plan of a statement shows nothing of the records (security.md 4.3).
    this.accesses = program.inspect === 'explain' ? databaseAccess : options.accesses;
    this.isReadOnly = isReadOnly(options.effects);
    const { commitsBatches, commitsPieces, setsLabels } = facts;
    this.commitsInBatches = program.dialect === 'cypher' && commitsBatches;
    this.changesSchema =
      options.effects.has('schema') ||
      options.effects.has('settings') ||
      options.effects.has('repair') ||
      (!this.isReadOnly && (this.commitsInBatches || commitsPieces));
    this.maySetLabels = !this.isReadOnly && setsLabels;
    this.isPure = facts.isPure;
    this.#instantiate = options.instantiate;
    this.#describe = options.describe;
    this.#estimates = options.estimates;
    this.#typesMade = options.typesMade;
    this.#sizes = facts.sizes;
    this.warnings = facts.warnings;
    this.readNames = [...(program.readParameters?.keys() ?? [])];
    const { output } = program;
    this.shape =
      output.kind === 'columns'
        ? {
            kind: 'columns',
            names: output.columns.map(({ name }) => name),
            types: output.columns.map(({ type }) => type),
          }
        : { kind: 'value', ...(output.name !== undefined && { name: output.name }) };
    this.outputSlots = slotsOfOutput(output);
  }

  /** Sizes are compared once in a while only: the plan of a statement that runs often is worth keeping right. */
  isStale(view: ReadView): boolean {
    this.#executionCount += 1;
    return this.#executionCount % executionsPerLook === 0 && this.#sizes.areStale(view);
  }

  /** By the estimate that EXPLAIN of openCypher shows, made once for as many executions as `isStale` lets pass. */
  expectedMs(view: ReadView): number {
    const look = Math.floor(this.#executionCount / executionsPerLook);
    if (this.#expected?.look === look) return this.#expected.ms;
    const ms = this.#estimates(view)(this.program.plan).cost / 1000;
    this.#expected = { ms, look };
    return ms;
  }

  /** Operators and context for one execution: those of an execution that is over, when there are some. */
  take(): PlanInstance {
    return this.#idle.pop() ?? this.#instantiate();
  }

  /** As `take`, not to be given back: for looking at operators, or measuring them. The first call lowers the plan again. */
  fresh(): PlanInstance {
    this.#instantiateDescribed ??= this.#describe();
    return this.#instantiateDescribed();
  }

  /**
   * Tells the plan of an instance that `fresh` gave, whenever it is asked; of openCypher with what is expected of each operator in
   * the state that `view` shows now (cypher.md 13).
   */
  teller({ root, nodes }: PlanInstance, view: ReadView, measured?: Measurements): () => PlanText {
    const { dialect } = this.program;
    if (dialect !== 'cypher' || nodes === undefined) return () => explainOperators(root, measured);
    const estimates = estimateOperators(root, nodes, this.#estimates(view));
    const typesMade = this.#typesMade;
    return () => explainInCypher(root, { measured, estimates, typesMade });
  }

  /** The execution is over and its plan closed. */
  give(instance: PlanInstance): void {
    instance.context.leave();
    if (this.#idle.length < idleInstancesMax) this.#idle.push(instance);
  }
}
