// Goal: a pattern of Cypher and the same one in MATCH of SQL are one plan, but for what the languages really differ in. Method: golden
// file; `setup` runs statements of SQL, `twin` takes a statement of SQL and one of Cypher and prints the one plan, or both.
import { after, before } from 'node:test';
import { cypherFrontend } from '#language/cypher/frontend.ts';
import type { QueryProgram } from '#query/algebra/plan.ts';
import { printPlan } from '#query/algebra/print.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import { type GoldenCase, runGoldenFile } from '#test/support/datadriven.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';

let db: SqlDatabase | undefined;

before(async () => {
  db = await SqlDatabase.open();
});

after(async () => {
  await db?.[Symbol.asyncDispose]();
});

async function run({ command, input }: GoldenCase): Promise<string> {
  const database = db as SqlDatabase;
  if (command === 'setup') {
    for (const text of input.split('\n')) await database.run(text);
    return '';
  }
  const [sql = '', cypher = ''] = input.split('\n');
  using view = database.state.view();
  const planOf = (program: QueryProgram): string =>
    inOrder(
      printPlan(database.optimized(program, view, new Set()).plan, { catalog: view.catalog }),
    );
  const plans = [planOf(database.program(sql, view)), planOf(cypherProgram(cypher, view))];
  return plans[0] === plans[1] ? `both:\n${plans[0]}` : `sql:\n${plans[0]}\ncypher:\n${plans[1]}`;
}

/** Slots by the order in which they stand in the text: languages number them by what they compile first. */
function inOrder(plan: string): string {
  const names = new Map<string, string>();
  return plan.replaceAll(/\bs\d+\b/gu, (slot) => {
    if (!names.has(slot)) names.set(slot, `s${names.size}`);
    return names.get(slot) as string;
  });
}

function cypherProgram(text: string, { catalog }: ReadView): QueryProgram {
  const limits = { expressionDepthMax: 200, statementBytesMax: 1 << 20 };
  return cypherFrontend.analyze(cypherFrontend.parse(text, limits), {
    catalog,
    variables: new Map(),
    parameterNames: undefined,
    expressionDepthMax: 200,
  }) as QueryProgram;
}

runGoldenFile(new URL('twins.txt', import.meta.url), run);
