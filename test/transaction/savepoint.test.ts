import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DatabaseError } from '#core/errors.ts';
import type { Rid } from '#core/value/rid.ts';
import type { Savepoint, Transaction } from '#transaction/transaction.ts';
import { index, property, type } from '#test/catalog/catalog-builder.ts';
import { openTestState, type TestState } from './support/open-state.ts';
import { viewState } from './support/view-state.ts';

// Goal: going back to a savepoint leaves a transaction as it was there, whatever was written since, and what is committed in the end
// is what it showed. Method: random writes of every kind between random savepoints, nested ones too; everything that a view shows
// is compared with what it showed at the savepoint, and the committed state with the last look before the commit.

type Step =
  | {
      readonly kind: 'insert' | 'rename' | 'delete' | 'move';
      readonly at: number;
      readonly name: number;
    }
  | { readonly kind: 'connect'; readonly at: number; readonly name: number }
  | { readonly kind: 'disconnect' | 'shift'; readonly at: number; readonly name: number }
  | { readonly kind: 'mark' | 'undo' | 'release'; readonly at: number; readonly name: number };

const step = fc.record({
  kind: fc.constantFrom<Step['kind']>(
    'insert',
    'rename',
    'delete',
    'move',
    'connect',
    'connect',
    'disconnect',
    'shift',
    'mark',
    'mark',
    'undo',
    'release',
  ),
  at: fc.nat(5),
  name: fc.nat(9),
});

async function prepare(db: TestState): Promise<void> {
  await db.alter(
    type('vertex', 'V', { bucketCount: 2 }),
    property('V.name', 'INTEGER'),
    property('V.n', 'LONG'),
    index('V', ['name'], { unique: true }),
    index('V', ['n']),
    type('edge', 'E'),
  );
  using tx = db.state.begin('READ_COMMITTED');
  const rids = [100, 101, 102].map((name) => tx.insertVertex(db.typeId('V'), named(name)).rid);
  tx.insertEdge(db.typeId('E'), rids[0] as Rid, rids[1] as Rid, new Map());
  tx.insertEdge(db.typeId('E'), rids[1] as Rid, rids[2] as Rid, new Map());
  await tx.commit();
}

function named(name: number): Map<string, number> {
  return new Map([
    ['name', name],
    ['n', name % 3],
  ]);
}

function ridsOf(tx: Transaction, db: TestState, name: 'V' | 'E'): Rid[] {
  const rids: Rid[] = [];
  for (const bucket of tx.catalog.typeWithId(db.typeId(name)).buckets) {
    const scan = tx.scan(bucket, 'ascending');
    for (let record = scan.next(); record !== undefined; record = scan.next())
      rids.push(record.rid);
  }
  return rids;
}

/** @returns false when it was refused, or there was nothing to do it to */
function write(tx: Transaction, db: TestState, { kind, at, name }: Step): boolean {
  const vertices = ridsOf(tx, db, 'V');
  const edges = ridsOf(tx, db, 'E');
  const vertex = vertices[at % Math.max(1, vertices.length)];
  const edge = edges[at % Math.max(1, edges.length)];
  try {
    if (kind === 'insert') tx.insertVertex(db.typeId('V'), named(name));
    else if (vertex === undefined) return false;
    else if (kind === 'rename') tx.update(vertex, named(name));
    else if (kind === 'delete') tx.delete(vertex);
    else if (kind === 'move')
      tx.moveVertex(vertex, { type: db.typeId('V'), bucket: undefined }, named(name + 20));
    else if (kind === 'connect')
      tx.insertEdge(db.typeId('E'), vertex, vertices[name % vertices.length] as Rid, new Map());
    else if (kind === 'shift') shift(tx, vertices);
    else if (edge !== undefined) tx.delete(edge);
    return true;
  } catch (error) {
    assert.ok(error instanceof DatabaseError && error.code === 'DuplicatedKey', String(error));
    return false;
  }
}

/** As an UPDATE does that gives every record the next key, and may be refused when it ends. */
function shift(tx: Transaction, vertices: readonly Rid[]): void {
  tx.defersKeys = true;
  try {
    for (const rid of vertices) tx.update(rid, named(Number(tx.record(rid)?.get('name')) + 1));
  } finally {
    tx.defersKeys = false;
  }
  tx.settleKeys();
}

test('going back to a savepoint leaves a transaction as it was', async () => {
  await using db = await openTestState();
  await prepare(db);
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30, size: 'max' }), async (steps) => {
      const tx = db.state.begin('READ_COMMITTED');
      tx.beginStatement();
      const marks: {
        readonly place: Savepoint;
        readonly seen: unknown;
        readonly writes: boolean;
      }[] = [];
      const mark = () => {
        marks.push({ place: tx.savepoint(), seen: viewState(tx, db), writes: tx.hasWrites });
      };
      const undo = () => {
        const last = marks.pop();
        if (last === undefined) return;
        last.place.undo();
        assert.deepEqual(viewState(tx, db), last.seen);
        assert.equal(tx.hasWrites, last.writes);
      };
      for (const each of steps) {
        if (each.kind === 'mark') mark();
        else if (each.kind === 'undo') undo();
        else if (each.kind === 'release') marks.pop()?.place.release();
        else if (each.kind === 'shift') {
          // A refused statement is taken back, whatever it has done by then.
          mark();
          if (write(tx, db, each)) marks.pop()?.place.release();
          else undo();
        } else write(tx, db, each);
      }
      const seen = viewState(tx, db);
      await tx.commit();
      using after = db.state.view();
      assert.deepEqual(viewState(after, db), seen);
    }),
    { numRuns: 150 },
  );
});

test('a savepoint before which something was flushed gives up what came after', async () => {
  await using db = await openTestState();
  await prepare(db);
  using tx = db.state.begin('READ_COMMITTED');
  const place = tx.savepoint();
  tx.insertVertex(db.typeId('V'), named(1));
  await tx.flush();
  tx.insertVertex(db.typeId('V'), named(2));
  place.undo();
  assert.equal(tx.hasWrites, false);
  await tx.commit();
  using after = db.state.view();
  assert.deepEqual(
    viewState(after, db).byName.map((entry) => entry.split(' ')[0]),
    ['1', '100', '101', '102'],
  );
});
