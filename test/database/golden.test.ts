import { runDatabaseGoldenFile } from './support/golden-database.ts';

// Statements end to end, in process: text in, rows out, over the real storage.
for (const name of [
  'statements',
  'transactions',
  'limits',
  'schema-targets',
  'review',
  'alter-type',
  'light-edges',
  'maintenance',
  'record-commands',
  'index-entries',
  'match-groups',
  'index-use',
  'sentences',
  'scan-order',
  'cypher-schema',
  'cypher-plans',
  'cypher-transactions',
  'cypher-batches',
]) {
  runDatabaseGoldenFile(new URL(`./${name}.txt`, import.meta.url));
}
