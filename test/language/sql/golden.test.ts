import { after } from 'node:test';
import type { Value } from '#core/value/value.ts';
import { printPlan } from '#query/algebra/print.ts';
import { parseStatement } from '#language/sql/parser/statement.ts';
import { checkProgram } from '#query/algebra/invariants.ts';
import { printValue } from '#test/database/support/plain-values.ts';
import { analyzed, sampleCatalog } from '#test/language/support/sample-catalog.ts';
import { openSqlDatabase, type SqlDatabase } from '#test/language/support/sql-database.ts';
import { type GoldenCase, runGoldenFile } from '#test/support/datadriven.ts';

// Statements and what they answer, through a whole database in this process. Each file has a database of its own and builds
// on itself from top to bottom. Commands: `run` one statement (options: `query` as the query endpoint does it, params=JSON),
// `setup` statements separated by lines, `parse` only, `plan` the logical plan.

const files = [
  'syntax-errors.txt',
  'values.txt',
  'conditions.txt',
  'select.txt',
  'groups.txt',
  'sub-queries.txt',
  'insert.txt',
  'update.txt',
  'graph.txt',
  'match.txt',
  'traverse.txt',
  'schema.txt',
  'refused.txt',
  'plans.txt',
  'examples.txt',
];

const limits = { expressionDepthMax: 200, statementBytesMax: 4 * 1024 * 1024 };

for (const file of files) {
  let database: Promise<SqlDatabase> | undefined;
  const opened = (): Promise<SqlDatabase> => {
    database ??= openSqlDatabase();
    return database;
  };
  runGoldenFile(new URL(`./${file}`, import.meta.url), (golden) => perform(golden, opened));
  after(async () => (await database)?.[Symbol.asyncDispose]());
}

async function perform(golden: GoldenCase, opened: () => Promise<SqlDatabase>): Promise<string> {
  const { command, input, options } = golden;
  switch (command) {
    case 'parse':
      return parseStatement(input, limits).kind;
    case 'plan':
      return printedPlan(input);
    case 'setup': {
      const database = await opened();
      for (const line of input.split('\n')) await database.rows(line);
      return '';
    }
    case 'run': {
      const database = await opened();
      const rows = await database.rows(input, {
        parameters: parametersOf(options.get('params')),
        mustBeIdempotent: options.has('query'),
      });
      return rows.length === 0 ? 'no rows' : rows.map(printValue).join('\n');
    }
    default:
      throw new Error(`unknown command '${command}'`);
  }
}

function printedPlan(text: string): string {
  const program = analyzed(text, sampleCatalog());
  checkProgram(program);
  const columns =
    program.output.kind === 'columns'
      ? program.output.columns.map(({ name, slot }) => `${name}:s${slot}`).join(', ')
      : `value s${program.output.slot}`;
  return `${printPlan(program.plan)}\n=> ${columns}`;
}

function parametersOf(json: string | undefined): ReadonlyMap<string, Value> {
  const parsed: unknown = json === undefined ? {} : JSON.parse(json);
  return new Map(
    Object.entries(parsed as object).map(([name, value]) => [name, valueOfJson(value)]),
  );
}

function valueOfJson(json: unknown): Value {
  if (Array.isArray(json)) return json.map(valueOfJson);
  if (typeof json === 'object' && json !== null)
    return new Map(Object.entries(json).map(([key, value]) => [key, valueOfJson(value)]));
  return json as Value;
}
