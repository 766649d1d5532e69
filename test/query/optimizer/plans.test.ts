import { after, before } from 'node:test';
import { Link } from '#core/value/record.ts';
import type { Rid } from '#core/value/rid.ts';
import { printPlan } from '#query/algebra/print.ts';
import { rules } from '#query/optimizer/rules.ts';
import { type GoldenCase, runGoldenFile } from '#test/support/datadriven.ts';
import { printRows } from '#test/query/support/print-rows.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';

// Golden files of this folder: `setup` runs statements (one per line), `plan` prints the optimized plan (`expect=rule`: the
// rule must have changed it, `without=rule`: that rule is switched off), `run` prints rows.

let db: SqlDatabase | undefined;

before(async () => {
  db = await SqlDatabase.open();
});

after(async () => {
  await db?.[Symbol.asyncDispose]();
});

async function run(golden: GoldenCase): Promise<string> {
  const database = db as SqlDatabase;
  if (golden.command === 'setup') {
    for (const text of golden.input.split('\n')) await database.run(text);
    return '';
  }
  const without = golden.options.get('without');
  const disabled = new Set(without === 'all' ? rules.map((rule) => rule.name) : [without ?? '']);
  if (golden.command === 'run')
    return printRows(await database.run(golden.input, { disabled, parameters }));
  using view = database.state.view();
  const program = database.program(golden.input, view);
  const changed: string[] = [];
  const optimized = database.optimized(program, view, disabled, (rule) => changed.push(rule));
  const expected = golden.options.get('expect');
  const missing =
    expected === undefined || changed.includes(expected) ? '' : `(no ${expected}: ${changed})\n`;
  return missing + printPlan(optimized.plan, { catalog: view.catalog });
}

const parameters = new Map<string, number | string | Link>([
  ['age', 20],
  ['text', '20'],
  ['rid', new Link(1 as Rid)],
]);

runGoldenFile(new URL('plans.txt', import.meta.url), run);
