import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { IndexDefinition } from '#catalog/catalog.ts';
import type { Rid } from '#core/value/rid.ts';
import { keyRange } from '#index/ordered/key-range.ts';
import { OrderedIndexMaintainer } from '#index/ordered/maintainer.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import { encodeKey } from '#storage/format/ordered-key.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import { Log, openEngine, person, put, temporaryDirectory } from '#test/storage/engine-fixture.ts';
import { catalogOf, component, definition } from './fake-catalog.ts';

// Entries that no checkpoint has carried to LMDB yet must be merged into every read: random commits with checkpoints
// between them, and snapshots that are older than some of the changes, against sorted lists.

const plain = definition(1, [component('v')]);
const unique = definition(2, [component('u')], { unique: true });

interface Row {
  readonly rid: Rid;
  readonly v: number;
  readonly u: number;
}

type Change =
  | { readonly kind: 'put'; readonly at: number; readonly v: number }
  | { readonly kind: 'delete'; readonly at: number }
  | { readonly kind: 'commit' | 'checkpoint' | 'snapshot' };

const at = fc.nat({ max: 60 });
const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ kind: fc.constant('put' as const), at, v: fc.nat({ max: 20 }) }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('delete' as const), at }) },
  { weight: 4, arbitrary: fc.constant({ kind: 'commit' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'checkpoint' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'snapshot' as const }) },
);

function read(
  snapshot: StorageSnapshot,
  index: IndexDefinition,
  order: 'ascending' | 'descending',
  low: number,
  high: number,
): [string, Rid][] {
  const range = keyRange(index, {
    prefix: [],
    low: { value: low, inclusive: true },
    high: { value: high, inclusive: false },
  });
  const cursor = snapshot.entries(index.id, range.low, range.high, order);
  const found: [string, Rid][] = [];
  while (cursor.next()) found.push([Buffer.from(cursor.key).toString('hex'), cursor.rid]);
  return found;
}

function expected(
  rows: readonly Row[],
  of: (row: Row) => number,
  low: number,
  high: number,
): [string, Rid][] {
  return rows
    .filter((row) => of(row) >= low && of(row) < high)
    .sort((a, b) => of(a) - of(b) || a.rid - b.rid)
    .map((row) => [Buffer.from(encodeKey([of(row)])).toString('hex'), row.rid]);
}

function check(snapshot: StorageSnapshot, rows: readonly Row[]): void {
  assert.equal(snapshot.entryCount(plain.id), rows.length);
  assert.equal(snapshot.entryCount(unique.id), rows.length);
  for (const [low, high] of [
    [-1, 10_000],
    [3, 12],
    [7, 8],
  ] as const) {
    for (const [index, of] of [
      [plain, (row: Row) => row.v],
      [unique, (row: Row) => row.u],
    ] as const) {
      const wanted = expected(rows, of, low, high);
      assert.deepEqual(read(snapshot, index, 'ascending', low, high), wanted);
      assert.deepEqual(read(snapshot, index, 'descending', low, high), wanted.reverse());
    }
  }
  for (let u = 0; u < 61; u += 7) {
    const row = rows.find((one) => one.u === u);
    assert.equal(snapshot.uniqueEntry(unique.id, encodeKey([u])), row?.rid);
  }
}

test('cursors show entries in and out of LMDB alike, to snapshots of every age', async (context) => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 150, size: 'max' }), async (changes) => {
      const deriver = new OrderedIndexMaintainer({
        decodeCatalog: () => catalogOf([plain, unique]),
      });
      deriver.schemaChanged(new Uint8Array());
      const engine = openEngine(temporaryDirectory(context), { deriver });
      const log = new Log(engine);
      const rows = new Map<number, Row>();
      const held: { readonly snapshot: StorageSnapshot; readonly rows: readonly Row[] }[] = [];
      let pending: RowOperation[] = [];
      const commit = async () => {
        if (pending.length > 0) await log.commit(...pending);
        pending = [];
      };
      for (const one of changes) {
        if (one.kind === 'put') {
          rows.set(one.at, { rid: person(one.at), v: one.v, u: one.at });
          pending.push(put(engine, person(one.at), { v: one.v, u: one.at }));
        } else if (one.kind === 'delete') {
          if (rows.delete(one.at)) pending.push({ op: 'delete-row', rid: person(one.at) });
        } else if (one.kind === 'commit') await commit();
        else if (one.kind === 'checkpoint') await engine.settled();
        else {
          await commit();
          held.push({ snapshot: engine.snapshot(), rows: [...rows.values()] });
        }
      }
      await commit();
      held.push({ snapshot: engine.snapshot(), rows: [...rows.values()] });
      for (const { snapshot, rows: seen } of held) {
        check(snapshot, seen);
        snapshot[Symbol.dispose]();
      }
      await engine.close();
    }),
    { numRuns: Number(process.env['RUNS'] ?? 25) },
  );
});
