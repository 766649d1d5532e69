import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { IndexId, Rid } from '#core/value/rid.ts';
import { Float, type Value } from '#core/value/value.ts';
import { compareValues } from '#core/value/value-order.ts';
import type { KeyBounds } from '#transaction/read/read-view.ts';
import type { Transaction } from '#transaction/transaction.ts';
import { index, property, type } from '#test/catalog/catalog-builder.ts';
import { openTestState } from './support/open-state.ts';

// Goal: an index read inside a transaction is what sorting the transaction's records by hand gives, whatever was written.
// Method: some records are committed, then changed by a transaction step by step; after each step random ranges are read in
// both orders and compared with a filter over a scan.

interface Row {
  readonly a: Value;
  readonly b: Value;
}

const texts = ['', 'a', 'ab', 'abc', 'b', 'x'.repeat(600), `${'x'.repeat(599)}y`, 'é', '😀'];
const anyValue = fc.constantFrom<Value>(null, 1, 2, new Float(2), 2.5, 3, true, ...texts);
const rows = fc.record({ a: anyValue, b: anyValue });
const write = fc.oneof(
  fc.record({ kind: fc.constant('insert' as const), row: rows }),
  fc.record({ kind: fc.constant('update' as const), at: fc.nat(20), row: rows }),
  fc.record({ kind: fc.constant('delete' as const), at: fc.nat(20) }),
);
const bound = fc.option(fc.record({ value: anyValue, inclusive: fc.boolean() }), {
  nil: undefined,
});
const bounds: fc.Arbitrary<KeyBounds> = fc
  .record({ prefix: fc.array(anyValue, { maxLength: 1 }), low: bound, high: bound })
  .map(({ prefix, low, high }) => ({
    prefix: prefix.filter((value) => value !== null),
    ...(low !== undefined && low.value !== null && { low }),
    ...(high !== undefined && high.value !== null && { high }),
  }));

/** A comparison is met only within one kind of value, as in SQL. */
function sameRank(a: Value, b: Value): boolean {
  const rank = (value: Value) =>
    typeof value === 'string' ? 'text' : typeof value === 'boolean' ? 'boolean' : 'number';
  return a !== null && b !== null && rank(a) === rank(b);
}

function meets(key: readonly Value[], wanted: KeyBounds): boolean {
  if (!wanted.prefix.every((v, i) => compareValues(key[i] ?? null, v) === 0)) return false;
  const next = key[wanted.prefix.length] ?? null;
  const { low, high } = wanted;
  if (low !== undefined) {
    const order = compareValues(next, low.value);
    if (!sameRank(next, low.value) || order < 0 || (order === 0 && !low.inclusive)) return false;
  }
  if (high !== undefined) {
    const order = compareValues(next, high.value);
    if (!sameRank(next, high.value) || order > 0 || (order === 0 && !high.inclusive)) return false;
  }
  return true;
}

function expected(tx: Transaction, wanted: KeyBounds): Rid[] {
  const found: { key: Value[]; rid: Rid }[] = [];
  for (const { buckets } of tx.catalog.types()) {
    for (const bucket of buckets) {
      const scan = tx.scan(bucket, 'ascending');
      for (let r = scan.next(); r !== undefined; r = scan.next()) {
        const key = [r.get('a') ?? null, r.get('b') ?? null];
        if (!key.includes(null) && meets(key, wanted)) found.push({ key, rid: r.rid });
      }
    }
  }
  return found.map(({ rid }) => rid).sort((a, b) => a - b);
}

function requireSame(tx: Transaction, id: IndexId, wanted: KeyBounds): void {
  const read = (order: 'ascending' | 'descending') => {
    const found: { key: readonly Value[]; rid: Rid }[] = [];
    const cursor = tx.index(id).range(wanted, order);
    while (cursor.next()) found.push({ key: cursor.keyValues(), rid: cursor.rid });
    return found;
  };
  const ascending = read('ascending');
  assert.deepEqual(
    ascending.map(({ rid }) => rid).sort((a, b) => a - b),
    expected(tx, wanted),
  );
  assert.deepEqual(read('descending').reverse(), ascending);
  for (let i = 1; i < ascending.length; i++) {
    const [x, y] = [ascending[i - 1]?.key ?? [], ascending[i]?.key ?? []];
    const order =
      compareValues(x[0] ?? null, y[0] ?? null) || compareValues(x[1] ?? null, y[1] ?? null);
    // Long texts are ordered by their first 480 bytes only.
    const isLong = [...x, ...y].some((v) => typeof v === 'string' && v.length > 400);
    assert.ok(order <= 0 || isLong, 'in the order of values');
  }
}

test('an index read inside a transaction sees its own writes, in order', async () => {
  await using db = await openTestState();
  await db.alter(type('document', 'T'), property('T.a', 'STRING'), property('T.b', 'STRING'));
  // Declared only so that they can be indexed; the values of the test are of any type.
  await db.alter({
    kind: 'drop-property',
    type: 'T',
    property: 'a',
    ifExists: false,
    force: false,
  });
  await db.alter({
    kind: 'drop-property',
    type: 'T',
    property: 'b',
    ifExists: false,
    force: false,
  });
  await db.alter(property('T.m', 'MAP'));
  await db.alter({
    ...(index('T', ['m.a', 'm.b']) as Extract<ReturnType<typeof index>, { kind: 'create-index' }>),
    name: 'ab',
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(rows, { maxLength: 8, size: 'max' }),
      fc.array(write, { maxLength: 30, size: 'max' }),
      fc.array(bounds, { minLength: 3, maxLength: 3 }),
      async (committed, writes, wanted) => {
        await oneRun({ db, committed, writes, wanted });
      },
    ),
    { numRuns: 40 },
  );
});

async function oneRun(run: {
  db: Awaited<ReturnType<typeof openTestState>>;
  committed: readonly Row[];
  writes: readonly (
    | { kind: 'insert'; row: Row }
    | { kind: 'update'; at: number; row: Row }
    | { kind: 'delete'; at: number }
  )[];
  wanted: readonly KeyBounds[];
}): Promise<void> {
  const { db, committed, writes, wanted } = run;
  const id = db.state.catalog.indexNamed('ab')?.id as IndexId;
  const content = ({ a, b }: Row) =>
    new Map<string, Value>([
      ['a', a],
      ['b', b],
      [
        'm',
        new Map([
          ['a', a],
          ['b', b],
        ]),
      ],
    ]);
  const rids: Rid[] = [];
  const first = db.state.begin('READ_COMMITTED');
  for (const row of committed) rids.push(first.insertDocument(db.typeId('T'), content(row)).rid);
  await first.commit();
  using tx = db.state.begin('READ_COMMITTED');
  for (const one of writes) {
    const at = one.kind === 'insert' ? undefined : rids[one.at % Math.max(1, rids.length)];
    if (one.kind === 'insert') rids.push(tx.insertDocument(db.typeId('T'), content(one.row)).rid);
    else if (at !== undefined && one.kind === 'update' && tx.record(at))
      tx.update(at, content(one.row));
    else if (at !== undefined && one.kind === 'delete') tx.delete(at);
    for (const range of wanted) requireSame(tx, id, range);
  }
  await tx.commit();
  const clean = db.state.begin('READ_COMMITTED');
  for (const range of wanted) requireSame(clean, id, range);
  for (const rid of rids) clean.delete(rid);
  await clean.commit();
}

test('many changes before the first index read are sorted at once, later ones are put in place', async () => {
  await using db = await openTestState();
  await db.alter(type('document', 'T'), property('T.n', 'LONG'), index('T', ['n']));
  using tx = db.state.begin('READ_COMMITTED');
  const count = 500;
  for (let i = 0; i < count; i++) {
    tx.insertDocument(db.typeId('T'), new Map([['n', (i * 7919) % count]]));
  }
  const id = db.state.catalog.indexNamed('T[n]')?.id as IndexId;
  const read = () => {
    const found: Value[] = [];
    const cursor = tx.index(id).range({ prefix: [] }, 'ascending');
    while (cursor.next()) found.push(cursor.keyValues()[0] ?? null);
    return found;
  };
  assert.deepEqual(
    read(),
    Array.from({ length: count }, (_, i) => i),
  );
  tx.insertDocument(db.typeId('T'), new Map([['n', 10]]));
  assert.deepEqual(read().slice(9, 13), [9, 10, 10, 11]);
  assert.equal(tx.index(id).entryCount, count + 1);
});
