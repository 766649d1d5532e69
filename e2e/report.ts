import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { usedBudgets } from './config/timeouts.ts';

export interface Result {
  readonly id: string;
  readonly title: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly seconds: number;
  readonly remarks: readonly string[];
}

/** The table, the line of counts, JUnit XML and one JSON line per scenario. */
export class Report {
  readonly #results: Result[] = [];
  readonly #folder: string | undefined;

  constructor(folder: string | undefined) {
    this.#folder = folder;
  }

  note(result: Result): void {
    this.#results.push(result);
    const { id, title, outcome, seconds, remarks } = result;
    const tail = remarks.length === 0 ? '' : ` (${remarks.join('; ')})`;
    const time = seconds.toFixed(0).padStart(4);
    process.stdout.write(`${outcome.padEnd(7)} ${id.padEnd(4)} ${time} s  ${title}${tail}\n`);
  }

  count(outcome: Result['outcome']): number {
    return this.#results.filter((result) => result.outcome === outcome).length;
  }

  /** Writes the files and the last line. @returns the exit status */
  finish(): number {
    for (const text of usedBudgets()) process.stdout.write(`${text}\n`);
    if (this.#folder !== undefined) {
      mkdirSync(this.#folder, { recursive: true });
      const lines = this.#results.map((result) => `${JSON.stringify(result)}\n`);
      writeFileSync(join(this.#folder, 'scenarios.jsonl'), lines.join(''));
      writeFileSync(join(this.#folder, 'junit.xml'), junit(this.#results));
    }
    const counts = (['passed', 'failed', 'skipped'] as const).map(
      (outcome) => `${this.count(outcome)} ${outcome}`,
    );
    process.stdout.write(`e2e: ${counts.join(', ')}\n`);
    return this.count('failed') > 0 ? 1 : 0;
  }
}

function escaped(text: string): string {
  const names: Readonly<Record<string, string>> = { '<': 'lt', '>': 'gt', '&': 'amp', '"': 'quot' };
  return text
    .replaceAll(/[<>&"]/g, (char) => `&${names[char]};`)
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, '?');
}

/** JUnit XML, as CI systems read it. */
export function junit(results: readonly Result[]): string {
  const cases = results.map(({ id, title, outcome, seconds, remarks }) => {
    const said = escaped(remarks.join('; '));
    const inner = {
      passed: said === '' ? '' : `<system-out>${said}</system-out>`,
      failed: `<failure message="${escaped(remarks.at(-1)?.split('\n')[0] ?? '')}">${said}</failure>`,
      skipped: `<skipped message="${said}"/>`,
    }[outcome];
    const time = seconds.toFixed(1);
    return `  <testcase classname="e2e" name="${escaped(`${id} ${title}`)}" time="${time}">${inner}</testcase>\n`;
  });
  const count = (outcome: Result['outcome']): number =>
    results.filter((result) => result.outcome === outcome).length;
  const head = `<testsuite name="e2e" tests="${results.length}" failures="${count('failed')}" skipped="${count('skipped')}">`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${head}\n${cases.join('')}</testsuite>\n`;
}
