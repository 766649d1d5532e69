// Procedures over a database of their own, since many of them see all of it. `cypher`: one statement per line; its rows, or the error.
import { after } from 'node:test';
import { openTestDatabase, type TestDatabase } from '#test/database/support/open-test-database.ts';
import { runGoldenFile } from '#test/support/datadriven.ts';

for (const file of ['algorithms.txt', 'procedures.txt']) {
  let opened: Promise<TestDatabase> | undefined;
  after(async () => (await opened)?.close());
  runGoldenFile(new URL(file, import.meta.url), async ({ input }) => {
    opened ??= openTestDatabase();
    const database = await opened;
    const answers: string[] = [];
    for (const line of input.split('\n')) {
      const rows = database.print(line, {}, {}, 'cypher');
      answers.push(await rows.then((text) => text || 'no rows', describe));
    }
    return answers.join('\n');
  });
}

function describe(error: unknown): string {
  return `error: ${error instanceof Error ? error.message : String(error)}`;
}
