import type { MissingType } from './algebra/missing-type.ts';
import type { LogicalPlan } from './algebra/plan.ts';
import type { PhysicalOperator } from './operators/operator.ts';
import type { Estimate } from './optimizer/estimates.ts';
import type { OperatorNodes } from './physical/operator-nodes.ts';
import type { Measurements } from './profile.ts';

/** One step of a plan as EXPLAIN and PROFILE show it; structurally that of `database/session.ts`. */
export interface PlanStep {
  readonly name: string;
  readonly description: string;
  /** Nanoseconds spent in this step alone; -1 when not measured. */
  readonly cost: number;
  readonly rowCount: number | undefined;
  /** What was expected before it ran: rows, and cost in microseconds with the steps below; undefined where nobody asks. */
  readonly estimate?: Estimate | undefined;
  /** Inner plans: what runs for each row, branches of a union. */
  readonly steps: readonly PlanStep[];
}

export interface PlanText {
  readonly text: string;
  readonly steps: readonly PlanStep[];
}

/**
 * The operators as steps in the order in which rows pass them, the source first, with the text for people:
 *
 *     + SCAN Person → s0
 *     + FILTER s0.age > 5
 */
export function explainOperators(
  root: PhysicalOperator,
  measured: Measurements = new Map(),
): PlanText {
  const steps = pipelineOf(root, { measured, estimates: new Map() });
  const lines: string[] = [];
  appendLines(lines, steps, '');
  return { text: lines.join('\n'), steps };
}

/** What is known of operators beside themselves. */
interface Figures {
  readonly measured: Measurements;
  readonly estimates: ReadonlyMap<PhysicalOperator, Estimate>;
}

/** As `explainOperators` with a title and estimates (cypher.md 13); `typesMade` is what the statement makes before it runs. */
export function explainInCypher(
  root: PhysicalOperator,
  figures: {
    readonly measured: Measurements | undefined;
    readonly estimates: ReadonlyMap<PhysicalOperator, Estimate>;
    readonly typesMade: readonly MissingType[];
  },
): PlanText {
  const { measured = new Map(), estimates, typesMade } = figures;
  const made = typesMade.map(({ kind, name }) => ({
    name: 'Create type',
    description: `${kind} ${name}`,
    cost: -1,
    rowCount: undefined,
    steps: [],
  }));
  const steps = [...made, ...pipelineOf(root, { measured, estimates })];
  const lines = ['OpenCypher execution plan, cost-based'];
  appendLines(lines, steps, '');
  return { text: lines.join('\n'), steps };
}

/** What `estimate` expects of each operator that stands for a node. */
export function estimateOperators(
  root: PhysicalOperator,
  nodes: OperatorNodes,
  estimate: (plan: LogicalPlan) => Estimate,
): ReadonlyMap<PhysicalOperator, Estimate> {
  const estimates = new Map<PhysicalOperator, Estimate>();
  const look = (operator: PhysicalOperator): void => {
    const node = nodes.get(operator);
    if (node !== undefined && !estimates.has(operator)) estimates.set(operator, estimate(node));
    operator.inputs.forEach(look);
  };
  look(root);
  return estimates;
}

function pipelineOf(root: PhysicalOperator, figures: Figures): readonly PlanStep[] {
  const steps: PlanStep[] = [];
  for (let current: PhysicalOperator | undefined = root; current; current = current.inputs[0])
    steps.push(stepOf(current, figures));
  steps.reverse();
  // The single row from which a plan without source starts tells nobody anything.
  return steps.length > 1 && steps[0]?.name === 'Argument' ? steps.slice(1) : steps;
}

function stepOf(operator: PhysicalOperator, figures: Figures): PlanStep {
  const measured = figures.measured.get(operator);
  const inputNanos = operator.inputs.reduce(
    (sum, input) => sum + (figures.measured.get(input)?.totalNanos ?? 0),
    0,
  );
  return {
    name: operator.name,
    description: operator.description,
    cost: measured ? Math.max(0, Math.round(measured.totalNanos - inputNanos)) : -1,
    rowCount: measured?.rowCount,
    estimate: figures.estimates.get(operator),
    steps: operator.inputs.slice(1).flatMap((input) => pipelineOf(input, figures)),
  };
}

function appendLines(lines: string[], steps: readonly PlanStep[], indent: string): void {
  for (const step of steps) {
    const measured =
      step.rowCount === undefined
        ? ''
        : ` (${step.rowCount} rows, ${(step.cost / 1e6).toFixed(3)} ms)`;
    const description = step.description === '' ? '' : ` ${step.description}`;
    const expected = step.estimate === undefined ? '' : ` ${estimateText(step.estimate)}`;
    lines.push(`${indent}+ ${step.name.toUpperCase()}${description}${expected}${measured}`);
    appendLines(lines, step.steps, `${indent}   `);
  }
}

/** With three digits: more would only seem to be known. */
function estimateText({ rowCount, cost }: Estimate): string {
  const rounded = (figure: number): number => Number(figure.toPrecision(3));
  return `[rows=${rounded(rowCount)}, cost=${rounded(cost)}]`;
}
