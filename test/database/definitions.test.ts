import { runDatabaseGoldenFile } from './support/golden-database.ts';

// Triggers, functions and views (sql.md 14), and examples of the references, over a real database.
for (const name of [
  'triggers',
  'functions',
  'cypher-functions',
  'views',
  'stated-examples',
  'word-for-word',
  'script-rules',
])
  runDatabaseGoldenFile(new URL(`./${name}.txt`, import.meta.url));
