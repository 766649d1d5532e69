// Expressions and conditions of sql.md 5 and 6 as a user writes them, through the whole statement pipeline.
import { after, before } from 'node:test';
import { openTestDatabase } from '#test/database/support/open-test-database.ts';
import type { TestDatabase } from '#test/database/support/open-test-database.ts';
import { DatabaseError } from '#core/errors.ts';
import { runGoldenFile } from '#test/support/datadriven.ts';

let database: TestDatabase;

before(async () => {
  database = await openTestDatabase();
});

after(async () => {
  await database.close();
});

runGoldenFile(new URL('expressions.txt', import.meta.url), async ({ input }) => {
  const lines: string[] = [];
  for (const statement of input.split('\n')) {
    try {
      lines.push(await database.print(statement));
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      lines.push(`${error.exception}: ${error.message}`);
    }
  }
  return lines.filter((line) => line !== '').join('\n');
});
