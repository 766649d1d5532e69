import type { MetricFamily } from '#control/telemetry.ts';
import { LabelledCounts } from '#core/instruments.ts';
import { isToolName } from '../policy/tool-names.ts';

/** How a call ended: with what it asked for, or with `isError`. */
export type ToolOutcome = 'ok' | 'failed';

/** Counts calls, records and characters by tool. Names that no tool has count together: labels never come from clients. */
export class ToolMeter {
  readonly #calls: Readonly<Record<ToolOutcome, LabelledCounts>> = {
    ok: new LabelledCounts(),
    failed: new LabelledCounts(),
  };
  readonly #rows = new LabelledCounts();
  readonly #characters = new LabelledCounts();

  observe(name: string, outcome: ToolOutcome, given: { rows: number; characters: number }): void {
    const tool = isToolName(name) ? name : 'unknown';
    this.#calls[outcome].add(tool);
    if (given.rows > 0) this.#rows.add(tool, given.rows);
    if (given.characters > 0) this.#characters.add(tool, given.characters);
  }

  families(): readonly MetricFamily[] {
    const outcomes = Object.entries(this.#calls);
    return [
      {
        name: 'mcp_tool_calls',
        help: 'Calls of tools by agents, by tool and outcome',
        type: 'counter',
        samples: outcomes.flatMap(([outcome, counts]) =>
          [...counts.entries()].map(([tool, value]) => ({ labels: { tool, outcome }, value })),
        ),
      },
      perTool('mcp_tool_rows', 'Records that tools gave', this.#rows),
      perTool('mcp_tool_characters', 'Characters that tools gave', this.#characters),
    ];
  }
}

function perTool(name: string, help: string, counts: LabelledCounts): MetricFamily {
  const samples = [...counts.entries()].map(([tool, value]) => ({ labels: { tool }, value }));
  return { name, help, type: 'counter', samples };
}
