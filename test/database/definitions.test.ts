import { runDatabaseGoldenFile } from './support/golden-database.ts';

// Triggers, functions and views (sql.md 14) over a real database.
for (const name of ['triggers', 'functions', 'views'])
  runDatabaseGoldenFile(new URL(`./${name}.txt`, import.meta.url));
