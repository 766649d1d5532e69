import { runDatabaseGoldenFile } from '#test/database/support/golden-database.ts';

// Scripts end to end, in process; each file has a database of its own and builds on itself from top to bottom.
for (const name of ['values.txt', 'transactions.txt', 'single.txt', 'variables.txt'])
  runDatabaseGoldenFile(new URL(`./${name}`, import.meta.url));
