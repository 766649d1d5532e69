import { after, before } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import { type GoldenCase, runGoldenFile } from '#test/support/datadriven.ts';
import { printRows } from '#test/query/support/print-rows.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';

// What operators do to records and graphs, statement by statement: `setup` runs lines, `run` prints rows or the error.

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
  try {
    return printRows(await database.run(golden.input));
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return `${error.code}: ${error.message}`;
  }
}

runGoldenFile(new URL('statements.txt', import.meta.url), run);
