/** The subset of Gherkin that the suite uses: features to scenarios, outlines expanded. */

export interface Step {
  /** Without its keyword. */
  readonly text: string;
  readonly doc: string | undefined;
  readonly table: readonly (readonly string[])[];
}

export interface Scenario {
  readonly name: string;
  readonly steps: readonly Step[];
}

interface Template {
  readonly name: string;
  readonly steps: Step[];
  readonly examples: string[][][];
  isIgnored: boolean;
}

const stepLine = /^(?:Given|When|Then|And|But)\s+(.*)$/;

export function parseFeature(text: string): readonly Scenario[] {
  const lines = text.split(/\r?\n/);
  const background: Step[] = [];
  const templates: Template[] = [];
  let steps = background;
  let tags = '';
  let table: string[][] | undefined;
  for (let at = 0; at < lines.length; at += 1) {
    const line = (lines[at] as string).trim();
    if (line === '' || line.startsWith('#')) continue;
    const heading = /^(Scenario Outline|Scenario|Background|Examples|Feature):\s*(.*)$/.exec(line);
    if (line.startsWith('@')) tags += line;
    else if (heading !== null) {
      table = undefined;
      const current = templates.at(-1);
      if (heading[1] === 'Examples') {
        table = [];
        current?.examples.push(table);
      } else if (heading[1]?.startsWith('Scenario')) {
        steps = [];
        const isIgnored = tags.includes('@ignore');
        templates.push({ name: heading[2] as string, steps, examples: [], isIgnored });
      }
      tags = '';
    } else if (line.startsWith('|')) {
      table ??= lastTable(steps);
      table.push(cellsOf(line));
    } else if (line === '"""') {
      const from = at + 1;
      at = lines.findIndex((other, index) => index >= from && other.trim() === '"""');
      replaceLast(steps, { doc: dedent(lines.slice(from, at), lines[from - 1] as string) });
    } else {
      const step = stepLine.exec(line);
      if (step === null) continue;
      table = undefined;
      steps.push({ text: (step[1] as string).trim(), doc: undefined, table: [] });
    }
  }
  return templates
    .filter(({ isIgnored }) => !isIgnored)
    .flatMap((template) => expand({ ...template, steps: [...background, ...template.steps] }));
}

function lastTable(steps: readonly Step[]): string[][] {
  return steps.at(-1)?.table as string[][];
}

function replaceLast(steps: Step[], change: Partial<Step>): void {
  const last = steps.pop() as Step;
  steps.push({ ...last, ...change });
}

function dedent(lines: readonly string[], opening: string): string {
  const indent = opening.length - opening.trimStart().length;
  return lines.map((line) => line.slice(Math.min(indent, indentOf(line)))).join('\n');
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** Cells of `| a | b |`; `\|` is a bar and `\\` a backslash. */
function cellsOf(line: string): string[] {
  const cells: string[] = [];
  let cell = '';
  for (let at = 1; at < line.length; at += 1) {
    const character = line[at] as string;
    const next = line[at + 1];
    if (character === '\\' && (next === '|' || next === '\\')) {
      cell += next;
      at += 1;
    } else if (character === '|') {
      cells.push(cell.trim());
      cell = '';
    } else cell += character;
  }
  return cells;
}

/** One scenario for each row of the examples. */
function expand(template: Template): readonly Scenario[] {
  if (template.examples.length === 0) return [{ name: template.name, steps: template.steps }];
  return template.examples.flatMap(([names = [], ...rows]) =>
    rows.map((row, index): Scenario => {
      const filled = (text: string) =>
        names.reduce((done, name, at) => done.replaceAll(`<${name}>`, row[at] ?? ''), text);
      return {
        name: `${template.name} (${index + 1})`,
        steps: template.steps.map((step) => ({
          text: filled(step.text),
          doc: step.doc === undefined ? undefined : filled(step.doc),
          table: step.table.map((cells) => cells.map(filled)),
        })),
      };
    }),
  );
}
