import type { ExplainedStep } from '#database/session.ts';
import type { RecordedExecution } from '#database/statement/recording.ts';

/** All executions of one text in one database (mcp.md 4.14). Milliseconds. */
export interface ProfiledQuery {
  readonly database: string;
  readonly language: string;
  readonly queryText: string;
  readonly executionCount: number;
  readonly totalTimeMs: number;
  readonly minTimeMs: number;
  readonly maxTimeMs: number;
  readonly avgTimeMs: number;
  readonly p99TimeMs: number;
  readonly engineAvgMs: number;
  readonly deserializationAvgMs: number;
  readonly serializationAvgMs: number;
  readonly steps: readonly ProfiledStep[];
}

export interface ProfiledStep {
  readonly name: string;
  readonly executionCount: number;
  readonly totalCostMs: number;
  readonly minCostMs: number;
  readonly maxCostMs: number;
  readonly avgCostMs: number;
  readonly p99CostMs: number;
}

/** Executions put together by database, language and text; what took most time in all comes first. */
export function profileOf(executions: readonly RecordedExecution[]): readonly ProfiledQuery[] {
  const groups = new Map<string, RecordedExecution[]>();
  for (const execution of executions) {
    const { database, language, text } = execution;
    const key = JSON.stringify([database, language, text]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [execution]);
    else group.push(execution);
  }
  return [...groups.values()].map(queryOf).sort((a, b) => b.totalTimeMs - a.totalTimeMs);
}

function queryOf(group: readonly RecordedExecution[]): ProfiledQuery {
  const [first] = group as readonly [RecordedExecution];
  const times = statisticsOf(group.map(({ totalMs }) => totalMs));
  const average = (part: (execution: RecordedExecution) => number) =>
    statisticsOf(group.map(part)).average;
  return {
    database: first.database,
    language: first.language,
    queryText: first.text,
    executionCount: group.length,
    totalTimeMs: times.total,
    minTimeMs: times.min,
    maxTimeMs: times.max,
    avgTimeMs: times.average,
    p99TimeMs: times.p99,
    engineAvgMs: average(({ engineMs }) => engineMs),
    deserializationAvgMs: average(({ deserializationMs }) => deserializationMs),
    serializationAvgMs: average(({ serializationMs }) => serializationMs),
    steps: stepsOf(group),
  };
}

/** Steps of the same name in all plans of the group, in the order of the first plan they stand in. */
function stepsOf(group: readonly RecordedExecution[]): readonly ProfiledStep[] {
  const costs = new Map<string, number[]>();
  const visit = (step: ExplainedStep): void => {
    if (step.cost >= 0) {
      const known = costs.get(step.name);
      if (known === undefined) costs.set(step.name, [step.cost / 1e6]);
      else known.push(step.cost / 1e6);
    }
    for (const inner of step.steps) visit(inner);
  };
  for (const { plan } of group) for (const step of plan?.steps ?? []) visit(step);
  return [...costs].map(([name, values]) => {
    const { total, min, max, average, p99 } = statisticsOf(values);
    return {
      name,
      executionCount: values.length,
      totalCostMs: total,
      minCostMs: min,
      maxCostMs: max,
      avgCostMs: average,
      p99CostMs: p99,
    };
  });
}

/** The 99th percentile is the smallest value that 99 % of the values do not exceed. */
function statisticsOf(values: readonly number[]) {
  const sorted = [...values].sort((a, b) => a - b);
  const total = sorted.reduce((sum, value) => sum + value, 0);
  const rank = Math.max(0, Math.ceil(sorted.length * 0.99) - 1);
  return {
    total: rounded(total),
    min: rounded(sorted[0] ?? 0),
    max: rounded(sorted.at(-1) ?? 0),
    average: rounded(total / Math.max(1, sorted.length)),
    p99: rounded(sorted[rank] ?? 0),
  };
}

/** To microseconds. */
function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
