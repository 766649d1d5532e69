import type { Dialect } from './algebra/expression.ts';
import type { PhysicalOperator } from './operators/operator.ts';
import type { Measurements } from './profile.ts';

/** One step of a plan as EXPLAIN and PROFILE show it; structurally that of `database/session.ts`. */
export interface PlanStep {
  readonly name: string;
  readonly description: string;
  /** Nanoseconds spent in this step alone; -1 when not measured. */
  readonly cost: number;
  readonly rowCount: number | undefined;
  /** Inner plans: what runs for each row, branches of a union. */
  readonly steps: readonly PlanStep[];
}

export interface PlanText {
  readonly text: string;
  readonly steps: readonly PlanStep[];
}

/**
 * The operators as steps in the order in which rows pass them, the source first, with the text for people. In dialect cypher it
 * has a title (cypher.md 13):
 *
 *     + SCAN Person → s0
 *     + FILTER s0.age > 5
 */
export function explainOperators(
  root: PhysicalOperator,
  measurements: Measurements = new Map(),
  dialect?: Dialect,
): PlanText {
  const steps = pipelineOf(root, measurements);
  const lines = dialect === 'cypher' ? ['OpenCypher execution plan, cost-based'] : [];
  appendLines(lines, steps, '');
  return { text: lines.join('\n'), steps };
}

function pipelineOf(root: PhysicalOperator, measurements: Measurements): readonly PlanStep[] {
  const steps: PlanStep[] = [];
  for (let current: PhysicalOperator | undefined = root; current; current = current.inputs[0])
    steps.push(stepOf(current, measurements));
  steps.reverse();
  // The single row from which a plan without source starts tells nobody anything.
  return steps.length > 1 && steps[0]?.name === 'Argument' ? steps.slice(1) : steps;
}

function stepOf(operator: PhysicalOperator, measurements: Measurements): PlanStep {
  const measured = measurements.get(operator);
  const inputNanos = operator.inputs.reduce(
    (sum, input) => sum + (measurements.get(input)?.totalNanos ?? 0),
    0,
  );
  return {
    name: operator.name,
    description: operator.description,
    cost: measured ? Math.max(0, Math.round(measured.totalNanos - inputNanos)) : -1,
    rowCount: measured?.rowCount,
    steps: operator.inputs.slice(1).flatMap((input) => pipelineOf(input, measurements)),
  };
}

function appendLines(lines: string[], steps: readonly PlanStep[], indent: string): void {
  for (const step of steps) {
    const measured =
      step.rowCount === undefined
        ? ''
        : ` (${step.rowCount} rows, ${(step.cost / 1e6).toFixed(3)} ms)`;
    const description = step.description === '' ? '' : ` ${step.description}`;
    lines.push(`${indent}+ ${step.name.toUpperCase()}${description}${measured}`);
    appendLines(lines, step.steps, `${indent}   `);
  }
}
