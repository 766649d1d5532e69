import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import { rules } from '#query/optimizer/rules.ts';
import { printRows } from '#test/query/support/print-rows.ts';
import {
  randomGraphIndexes,
  randomGraphRecords,
  randomGraphSchema,
} from '#test/query/support/random-graph.ts';
import {
  RandomStatements,
  type StatementKind,
  statementParameters,
} from '#test/query/support/random-statements.ts';
import { type RunOptions, SqlDatabase } from '#test/query/support/sql-database.ts';

// Goal: rows do not depend on rules, indexes, or tables of edges. Method: seeded statements of every kind, run with no rule, all
// rules, all but one, as a read, and in a database without indexes. `COUNT=20000 SEED=5` runs more of them.

const count = Number(process.env['COUNT'] ?? 60);
const seed = Number(process.env['SEED'] ?? 20261122);
const noWrites: readonly string[] = [];
const allRules = rules.map((rule) => rule.name);

for (const kind of ['select', 'match', 'traverse', 'write'] as const)
  test(`${count} random statements give the same rows whatever finds them: ${kind}`, async () => {
    await compare(kind, noWrites);
  });

test(`${count} random statements do so in a transaction that has written`, async () => {
  await compare('select', [
    ...[1, 2, 3, 4, 5, 6, 7].map(
      (n) =>
        `INSERT INTO bucket:${['P_1', 'SS_0', 'P_0', 'S_0'][n % 4]} SET id = ${100 + n}, a = ${n}, b = '${'uvw'[n % 3]}', c = ${n / 4}, x = ${n % 3}, y = 1, d = '2024-01-0${n}', tags = ['t'], m = {'k1': ${n % 3}}`,
    ),
    'UPDATE P SET a = 3, b = "v", x = 2 WHERE id IN [2, 5, 9, 30]',
    'DELETE FROM P WHERE id IN [4, 11, 102]',
    'UPDATE P SET a = 4 WHERE id = 106',
  ]);
});

async function compare(kind: StatementKind, before: readonly string[]): Promise<void> {
  await using indexed = await filled([...randomGraphSchema, ...randomGraphIndexes]);
  await using bare = await filled(randomGraphSchema);
  const statements = new RandomStatements(seed);
  for (let at = 0; at < count; at += 1) {
    const text = statements.next(kind);
    // Where rules find a range of record ids, new records come by record id (operators/scan-order.test.ts).
    if (before.length > 0 && /@rid (<|>|BETWEEN)/.test(text)) continue;
    const run = (db: SqlDatabase, options: RunOptions) =>
      outcome(db, { text, kind, before }, options);
    const plain = await run(indexed, { disabled: new Set(allRules) });
    const one = statements.pick(allRules);
    assert.equal(await run(indexed, {}), plain, text);
    const without = await run(indexed, { disabled: new Set([one]) });
    assert.equal(without, plain, `${text} without ${one}`);
    if (kind !== 'write') assert.equal(await run(indexed, { isRead: true }), plain, text);
    assert.equal(await run(bare, {}), plain, `${text} without indexes`);
  }
}

interface Work {
  readonly text: string;
  readonly kind: StatementKind;
  /** Statements of the same transaction. */
  readonly before: readonly string[];
}

/** Rows, in their order for SELECT, or the error's code; for a write also what it left. */
async function outcome(
  db: SqlDatabase,
  { text, kind, before }: Work,
  options: RunOptions,
): Promise<string> {
  const transaction = db.state.begin('READ_COMMITTED');
  for (const one of before) await db.run(one, { transaction });
  try {
    const run = { ...options, parameters: statementParameters, transaction };
    const rows = printRows(await db.run(text, run));
    if (kind === 'select') return before.length === 0 ? rows : withoutIds(rows);
    if (kind !== 'write') return sorted(rows);
    const left = await db.run('SELECT id, a, x, y, absent FROM P ORDER BY id', { transaction });
    return `${sorted(withoutIds(rows))}\n${printRows(left)}`;
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code === 'Internal') throw error;
    return `error ${error.code}`;
  } finally {
    transaction.rollback();
  }
}

/** Records that were rolled back have used up their ids. */
function withoutIds(rows: string): string {
  return rows.replaceAll(/#\d+:\d+/g, '#');
}

function sorted(rows: string): string {
  return rows.split('\n').sort().join('\n');
}

async function filled(definitions: readonly string[]): Promise<SqlDatabase> {
  const db = await SqlDatabase.open();
  for (const text of [...definitions, ...randomGraphRecords()]) await db.run(text);
  return db;
}
