import { runStatementTable } from './support/statement-table.ts';

// Sentences of sql.md 1 to 8 (and the constraints of 13.6), each with what it allows and what it refuses.
for (const name of [
  'model.txt',
  'types.txt',
  'widths.txt',
  'lexical.txt',
  'expressions.txt',
  'conditions.txt',
  'select.txt',
  'insert.txt',
  'walk.txt',
]) {
  runStatementTable(new URL(`./tables/${name}`, import.meta.url));
}
