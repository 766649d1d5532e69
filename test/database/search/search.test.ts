import { runDatabaseGoldenFile } from '../support/golden-database.ts';

// Search indexes from the statements' side: what is found, in which order, with which score, and what is refused.
for (const name of ['full-text.txt', 'vectors.txt', 'sparse.txt', 'geo.txt']) {
  runDatabaseGoldenFile(new URL(`./${name}`, import.meta.url));
}
