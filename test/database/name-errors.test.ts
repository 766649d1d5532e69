import { after } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import { runGoldenFile } from '#test/support/datadriven.ts';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';

// What is said about misspelt names and words (sql.md 4): message and, on the line below it, the hint that goes with it.

let opened: Promise<TestDatabase> | undefined;
after(async () => (await opened)?.close());

runGoldenFile(new URL('./name-errors.txt', import.meta.url), async ({ command, input }) => {
  opened ??= openTestDatabase();
  const db = await opened;
  if (command === 'all') {
    for (const statement of input.split('\n')) await db.run(statement);
    return 'done';
  }
  try {
    await db.run(input, {}, {}, command);
    return 'no error';
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return `${error.code}: ${error.message}${error.help === undefined ? '' : `\n${error.help}`}`;
  }
});
