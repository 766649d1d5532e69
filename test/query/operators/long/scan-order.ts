import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { TypeDefinition } from '#catalog/catalog.ts';
import { type BucketId, bucketOf, formatRid, type Rid } from '#core/value/rid.ts';
import { rules } from '#query/optimizer/rules.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';
import type { Savepoint, Transaction } from '#transaction/transaction.ts';

// Goal: a type gives its stored records by bucket and position, then what the transaction created, in the order of its creation
// (sql.md 7.3), whatever finds them; an order by @rid and pages by @rid are exact. Method: random writes in a transaction, with
// savepoints and commits of others in between, and a slow model of the rows; each statement runs with all rules and with none.

interface Row {
  readonly rid: Rid;
  readonly id: number;
  readonly a: number;
}

type StepKind = 'insert' | 'change' | 'delete' | 'restore' | 'move' | 'other' | 'mark' | 'undo';

interface Step {
  readonly kind: StepKind;
  readonly at: number;
  readonly a: number;
}

const kinds: readonly StepKind[] = [
  ...(['insert', 'insert', 'insert', 'insert', 'change', 'change', 'delete', 'delete'] as const),
  ...(['restore', 'move', 'other', 'mark', 'mark', 'undo'] as const),
];

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(...kinds),
  at: fc.nat(40),
  a: fc.nat(4),
});

const noRules = new Set(rules.map((rule) => rule.name));

/** What the transaction sees: committed rows as it changed them, and those that it created. */
class Seen {
  /** Rows that others and the statements before committed. */
  readonly committed: Map<Rid, Row>;
  /** Undefined for a deleted one. */
  readonly changed: Map<Rid, Row | undefined>;
  readonly created: (Row | undefined)[];

  constructor(before?: Seen) {
    this.committed = before?.committed ?? new Map();
    this.changed = new Map(before?.changed);
    this.created = [...(before?.created ?? [])];
  }

  inScanOrder(buckets: readonly BucketId[]): Row[] {
    const rows: Row[] = [];
    for (const bucket of buckets) {
      const stored = [...this.committed.values()].filter(({ rid }) => bucketOf(rid) === bucket);
      for (const row of stored.sort(byRid)) {
        const now = this.changed.has(row.rid) ? this.changed.get(row.rid) : row;
        if (now !== undefined) rows.push(now);
      }
    }
    for (const row of this.created)
      if (row !== undefined && buckets.includes(bucketOf(row.rid))) rows.push(row);
    return rows;
  }

  set(rid: Rid, row: Row | undefined): void {
    const at = this.created.findIndex((one) => one?.rid === rid);
    if (at < 0) this.changed.set(rid, row);
    else this.created[at] = row;
  }
}

function byRid(a: Row, b: Row): number {
  return a.rid - b.rid;
}

class Run {
  readonly db: SqlDatabase;
  readonly transaction: Transaction;
  seen = new Seen();
  /** Deleted before the transaction began, so it may be restored. */
  readonly gone: Rid[] = [];
  readonly places: { readonly savepoint: Savepoint; readonly seen: Seen }[] = [];
  #nextId = 0;

  constructor(db: SqlDatabase, transaction: Transaction) {
    this.db = db;
    this.transaction = transaction;
  }

  get buckets(): readonly BucketId[] {
    return this.#bucketsOf('P').concat(this.#bucketsOf('S'));
  }

  #bucketsOf(name: string): readonly BucketId[] {
    return typeNamed(this.transaction, name).buckets;
  }

  insert(transaction: Transaction, type: string, a: number): Row {
    const id = this.#nextId++;
    const { rid } = transaction.insertVertex(
      typeNamed(transaction, type).id,
      properties({ id, a }),
    );
    return { rid, id, a };
  }

  /** Rows that others commit. */
  async commitOthers(count: number, a: number): Promise<void> {
    using other = this.db.state.begin('READ_COMMITTED');
    const rows: Row[] = [];
    for (let at = 0; at < count; at += 1)
      rows.push(this.insert(other, at % 4 === 3 ? 'S' : 'P', (a + at) % 5));
    await other.commit();
    for (const row of rows) this.seen.committed.set(row.rid, row);
  }

  perform({ kind, at, a }: Step): Promise<void> | undefined {
    const { transaction, seen } = this;
    const rows = seen.inScanOrder(this.buckets);
    const row = rows[at % Math.max(1, rows.length)];
    switch (kind) {
      case 'insert':
        seen.created.push(this.insert(transaction, at % 3 === 0 ? 'S' : 'P', a));
        return;
      case 'change': {
        if (row === undefined) return;
        const now = { ...row, a };
        transaction.update(row.rid, properties(now));
        seen.set(row.rid, now);
        return;
      }
      case 'delete':
        if (row === undefined) return;
        transaction.delete(row.rid);
        seen.set(row.rid, undefined);
        return;
      case 'restore': {
        const rid = this.gone.find((one) => transaction.record(one) === undefined);
        if (rid === undefined || seen.created.some((one) => one?.rid === rid)) return;
        this.gone.splice(this.gone.indexOf(rid), 1);
        const type = this.#bucketsOf('S').includes(bucketOf(rid)) ? 'S' : 'P';
        const restored = { rid, id: 1000 + at, a };
        transaction.restore(rid, typeNamed(transaction, type).id, properties(restored), undefined);
        seen.created.push(restored);
        return;
      }
      case 'move': {
        if (row === undefined) return;
        const { id: type } = typeNamed(transaction, 'S');
        const moved = transaction.moveVertex(row.rid, { type, bucket: undefined }, properties(row));
        seen.set(row.rid, undefined);
        seen.created.push({ ...row, rid: moved.rid });
        return;
      }
      case 'other':
        return this.commitOthers(2, a);
      case 'mark':
        this.places.push({ savepoint: transaction.savepoint(), seen: new Seen(seen) });
        return;
      case 'undo': {
        const place = this.places.pop();
        if (place === undefined) return;
        place.savepoint.undo();
        this.seen = place.seen;
        return;
      }
      default:
    }
  }

  /** Compares statements of every kind with the model. */
  async look({ at, a }: Step): Promise<void> {
    const all = this.seen.inScanOrder(this.buckets);
    const sorted = all.toSorted(byRid);
    const [first = 0 as BucketId, second = 0 as BucketId, third = 0 as BucketId] = this.buckets;
    const from = sorted[at % Math.max(1, sorted.length)]?.rid ?? (0 as Rid);
    const some = all.filter((_, place) => place % 3 === at % 3);
    const list = some.map(({ rid }) => formatRid(rid)).join(', ');
    const byA = (x: Row, y: Row): number => x.a - y.a;
    const having = (rows: readonly Row[]): Row[] => rows.filter((row) => row.a === a);
    const cases: readonly (readonly [string, readonly Row[]])[] = [
      ['SELECT id FROM P', all],
      [`SELECT id FROM P WHERE id >= 0 SKIP 2 LIMIT 5`, all.slice(2, 7)],
      [`SELECT id FROM bucket:[${third}, ${first}]`, this.seen.inScanOrder([third, first])],
      [`SELECT id FROM bucket:${second}`, this.seen.inScanOrder([second])],
      ['SELECT id FROM P ORDER BY @rid LIMIT 7', sorted.slice(0, 7)],
      ['SELECT id FROM P ORDER BY @rid DESC LIMIT 7', sorted.toReversed().slice(0, 7)],
      ['SELECT id FROM P ORDER BY @rid', sorted],
      [`SELECT id FROM P WHERE a = ${a} ORDER BY @rid LIMIT 7`, having(sorted).slice(0, 7)],
      [
        `SELECT id FROM P WHERE @rid > ${formatRid(from)} LIMIT 5`,
        sorted.filter(({ rid }) => rid > from).slice(0, 5),
      ],
      [
        `SELECT id FROM P WHERE @rid <= ${formatRid(from)} ORDER BY @rid DESC LIMIT 5`,
        sorted
          .filter(({ rid }) => rid <= from)
          .toReversed()
          .slice(0, 5),
      ],
      [`SELECT id FROM P WHERE a = ${a}`, having(all)],
      [`SELECT id FROM P WHERE a >= ${a}`, all.filter((row) => row.a >= a)],
      [`SELECT id FROM P WHERE a = ${a} OR a = 2`, all.filter((row) => row.a === a || row.a === 2)],
      [`SELECT id FROM P WHERE a = ${a} LIMIT 3`, having(all).slice(0, 3)],
      [`SELECT id FROM S WHERE a = ${a}`, having(this.seen.inScanOrder(this.#bucketsOf('S')))],
      [`SELECT id FROM P WHERE @rid IN [${list}]`, some],
      ['SELECT id FROM P ORDER BY a', all.toSorted(byA)],
      ['SELECT id FROM P ORDER BY a LIMIT 9', all.toSorted(byA).slice(0, 9)],
      ['SELECT id FROM P ORDER BY a DESC LIMIT 9', all.toSorted((x, y) => byA(y, x)).slice(0, 9)],
      [
        'SELECT first(list(id)) AS id FROM P WHERE id < 900 GROUP BY 1 LIMIT 1',
        all.filter(({ id }) => id < 900).slice(0, 1),
      ],
    ];
    for (const [text, wanted] of cases)
      for (const disabled of [new Set<string>(), noRules]) {
        const { transaction } = this;
        const { rows } = await this.db.run(text, { transaction, disabled });
        const ids = wanted.map(({ id }) => [id]);
        assert.deepEqual(rows, ids, `${text}${disabled.size > 0 ? ' without rules' : ''}`);
      }
    const counted = await this.db.run(`SELECT count(*) FROM P WHERE id >= 0 AND a <> ${a}`, {
      transaction: this.transaction,
    });
    assert.deepEqual(counted.rows, [[all.length - having(all).length]]);
  }
}

function typeNamed({ catalog }: Transaction, name: string): TypeDefinition {
  const type = catalog.typeNamed(name);
  assert.ok(type);
  return type;
}

function properties({ id, a }: Pick<Row, 'id' | 'a'>): Map<string, number> {
  return new Map([
    ['id', id],
    ['a', a],
  ]);
}

const schema = [
  'CREATE VERTEX TYPE P BUCKETS 2',
  'CREATE VERTEX TYPE S EXTENDS P',
  'CREATE PROPERTY P.a INTEGER',
  'CREATE INDEX ON P (a) NOTUNIQUE',
];

test('scans, searches and pages keep their orders over what a transaction has written', async () => {
  await check(schema);
});

test('so they do where the buckets of a type are not in the order of record ids', async () => {
  await check([...schema, 'ALTER TYPE P BUCKET +P_late']);
});

async function check(statements: readonly string[]): Promise<void> {
  await using db = await SqlDatabase.open();
  for (const text of statements) await db.run(text);
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 24, size: 'max' }), (steps) =>
      runSteps(db, steps),
    ),
    { numRuns: Number(process.env['RUNS'] ?? 25) },
  );
}

async function runSteps(db: SqlDatabase, steps: readonly Step[]): Promise<void> {
  await db.run('DELETE FROM P');
  using transaction = db.state.begin('READ_COMMITTED');
  const run = new Run(db, transaction);
  await run.commitOthers(14, 0);
  for (const row of [...run.seen.committed.values()].slice(0, 3)) {
    using other = db.state.begin('READ_COMMITTED');
    other.delete(row.rid);
    await other.commit();
    run.seen.committed.delete(row.rid);
    run.gone.push(row.rid);
  }
  for (const next of steps) {
    transaction.beginStatement();
    await run.perform(next);
    transaction.beginStatement();
    await run.look(next);
  }
}
