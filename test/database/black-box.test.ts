import { runDatabaseGoldenFile } from './support/golden-database.ts';

// What the sentences of sql.md 9-17 and sql-functions.md imply beyond their examples: every argument absent, null, of the
// wrong type, negative or huge, and the combinations of features that no example shows. Each answer was written down from
// the texts before the server was asked.
for (const name of [
  'aggregates.txt',
  'combinations.txt',
  'delete-and-create.txt',
  'edge-values.txt',
  'find-references.txt',
  'functions.txt',
  'geo.txt',
  'hierarchies.txt',
  'maintenance.txt',
  'match.txt',
  'membership.txt',
  'methods.txt',
  'move-vertex.txt',
  'namespaced.txt',
  'paths.txt',
  'restore.txt',
  'schema.txt',
  'schema-changes.txt',
  'scripts.txt',
  'select.txt',
  'times.txt',
  'traverse.txt',
  'triggers.txt',
  'update.txt',
  'vectors.txt',
]) {
  runDatabaseGoldenFile(new URL(`./black-box/${name}`, import.meta.url));
}
