import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { StoredRecord } from '#core/value/record.ts';
import { type IndexId, makeRid, type Rid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { EntryChanges, IndexDeriver, StorageSnapshot } from '#storage/engine.ts';
import type { LmdbEngine } from '#storage/lmdb-engine.ts';
import { encodeKey } from '#storage/format/ordered-key.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import { knowsBucket, knowsType, person, personBucket, personType, put } from './engine-fixture.ts';

// Histories of commits over records with indexes and edges, and everything that can be read of a state, for tests that
// compare states.

const nameIndex = { id: 1 as IndexId, isUnique: true, isBuilding: false };
const sizeIndex = { id: 2 as IndexId, isUnique: false, isBuilding: false };

/** A unique index on `name`, another one on `size`. */
export const indexes: IndexDeriver = {
  schemaChanged() {},
  isIndexed: (type) => type === personType,
  derive(before: StoredRecord | undefined, after: StoredRecord | undefined, changes: EntryChanges) {
    for (const [target, property] of [
      [nameIndex, 'name'],
      [sizeIndex, 'size'],
    ] as const) {
      const old = before?.get(property);
      const now = after?.get(property);
      if (before && old !== undefined) changes.remove(target, encodeKey([old]), before.rid);
      if (after && now !== undefined) changes.add(target, encodeKey([now]), after.rid);
    }
  },
};

export type Change =
  | { readonly kind: 'put'; readonly at: number; readonly size: number; readonly mark: number }
  | { readonly kind: 'delete'; readonly at: number }
  | { readonly kind: 'edge'; readonly at: number; readonly from: number; readonly to: number }
  | { readonly kind: 'meta'; readonly value: number };

const at = fc.nat({ max: 120 });

export const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('put' as const),
      at,
      size: fc.oneof(fc.nat({ max: 20 }), fc.constantFrom(300, 900)),
      mark: fc.nat({ max: 5 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), at }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('edge' as const), at, from: fc.nat(4), to: at }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('meta' as const), value: fc.nat() }) },
);

/** @param filler makes the rows of one commit too large for the log */
export function operationsFor(
  engine: LmdbEngine,
  changes: readonly Change[],
  filler = 0,
): RowOperation[] {
  const operations: RowOperation[] = [];
  const done = new Set<string>();
  for (const one of changes) {
    const name = `${one.kind === 'edge' ? 'edge' : 'row'}${'at' in one ? one.at : one.kind}`;
    if (done.has(name)) continue;
    done.add(name);
    operations.push(...operationsOf(engine, one, filler));
  }
  return operations;
}

function operationsOf(engine: LmdbEngine, one: Change, filler: number): RowOperation[] {
  switch (one.kind) {
    case 'put': {
      const row = new Map<string, Value>([
        ['name', `${one.at} of ${one.mark}`],
        ['size', one.mark],
        ['text', 'x'.repeat(one.size + filler)],
      ]);
      return [put(engine, person(one.at), row)];
    }
    case 'delete':
      return [{ op: 'delete-row', rid: person(one.at) }];
    case 'edge': {
      const rid = makeRid(knowsBucket, one.at);
      const [from, to] = [person(one.from), person(one.to)];
      const list = { rid, type: knowsType, from, to, both: true };
      return [
        { op: 'remove-edge', ...list },
        { op: 'add-edge', ...list },
      ];
    }
    case 'meta':
      return [{ op: 'meta', name: 'seq/a', value: Buffer.from(String(one.value)) }];
  }
}

/** Everything there is to read. */
export function contents(snapshot: StorageSnapshot): unknown {
  const rows: unknown[] = [];
  for (let n = 0; n < snapshot.nextPosition(personBucket); n++) {
    const record = snapshot.record(person(n));
    if (record === undefined) continue;
    rows.push([n, record.version, record.get('name'), record.get('size'), record.get('text')]);
  }
  const [first, last] = [new Uint8Array([0]), new Uint8Array([0xff])];
  const middle = encodeKey([3]);
  return {
    index: snapshot.index,
    rows,
    live: snapshot.recordCount(personBucket),
    names: entries(snapshot, nameIndex.id, first, last),
    sizes: entries(snapshot, sizeIndex.id, first, last),
    someSizes: entries(snapshot, sizeIndex.id, middle, last),
    unique: Array.from({ length: 20 }, (_, n) =>
      snapshot.uniqueEntry(nameIndex.id, encodeKey([`${n * 5} of ${n % 6}`])),
    ),
    counts: [snapshot.entryCount(nameIndex.id), snapshot.entryCount(sizeIndex.id)],
    edges: Array.from({ length: 121 }, (_, n) => [
      [...snapshot.adjacency(person(n), 'out', knowsType).edges],
      [...snapshot.adjacency(person(n), 'in', knowsType).vertices],
      snapshot.degree(person(n), 'out', knowsType),
    ]),
    meta: Buffer.from(snapshot.meta('seq/a') ?? []).toString(),
  };
}

/** Both ways, which must agree. */
function entries(
  snapshot: StorageSnapshot,
  index: IndexId,
  low: Uint8Array,
  high: Uint8Array,
): [string, Rid][] {
  const read = (order: 'ascending' | 'descending') => {
    const found: [string, Rid][] = [];
    const cursor = snapshot.entries(index, low, high, order);
    while (cursor.next()) found.push([Buffer.from(cursor.key).toString('hex'), cursor.rid]);
    cursor.close();
    return found;
  };
  const ascending = read('ascending');
  assert.deepEqual(read('descending').reverse(), ascending);
  return ascending;
}
