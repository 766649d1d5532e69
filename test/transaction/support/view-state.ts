import assert from 'node:assert/strict';
import { formatRid, requireRid } from '#core/value/rid.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { PlainState } from './model.ts';
import { plainState } from './model.ts';
import type { TestState } from './open-state.ts';

/** Everything a view shows of the types V and E, read along every path there is; the paths must agree. */
export function viewState(view: ReadView, db: TestState): PlainState {
  const { catalog } = view;
  const v = catalog.typeWithId(db.typeId('V'));
  const e = catalog.typeWithId(db.typeId('E'));
  const records = (buckets: typeof v.buckets, order: 'ascending' | 'descending') =>
    buckets.flatMap((bucket) => {
      const found = [];
      const scan = view.scan(bucket, order);
      for (let r = scan.next(); r !== undefined; r = scan.next()) found.push(r);
      assert.equal(view.recordCount(bucket), found.length, 'counts agree with scans');
      return found;
    });
  const vertices = records(v.buckets, 'ascending').map((r) => ({
    rid: r.rid,
    name: r.get('name') as number,
    n: r.get('n') as number,
  }));
  const reversed = records(v.buckets, 'descending').map((r) => r.rid);
  assert.deepEqual(new Set(reversed), new Set(vertices.map(({ rid }) => rid)));
  const edges = records(e.buckets, 'ascending').map((r) => ({ rid: r.rid, from: r.out, to: r.in }));
  for (const { rid } of [...vertices, ...edges]) assert.equal(view.record(rid)?.rid, rid);
  const adjacency: string[] = [];
  for (const { rid } of vertices) {
    for (const direction of ['out', 'in'] as const) {
      const list = view.adjacency(rid, direction, e.id);
      assert.equal(view.degree(rid, direction, e.id), list.count, 'degrees agree with lists');
      for (let i = 0; i < list.count; i++) {
        const edge = formatRid(list.edges[i] as typeof rid);
        const neighbour = formatRid(list.vertices[i] as typeof rid);
        adjacency.push(`${formatRid(rid)} ${direction} ${edge}->${neighbour}`);
      }
    }
  }
  return {
    ...plainState(vertices, edges),
    adjacency: adjacency.sort(),
    byN: indexEntries(view, 'V[n]'),
    byName: indexEntries(view, 'V[name]'),
  };
}

function indexEntries(view: ReadView, name: string): string[] {
  const definition = view.catalog.indexNamed(name);
  assert.ok(definition);
  const reader = view.index(definition.id);
  const read = (order: 'ascending' | 'descending') => {
    const found: string[] = [];
    const cursor = reader.range({ prefix: [] }, order);
    while (cursor.next()) found.push(`${String(cursor.keyValues()[0])} ${formatRid(cursor.rid)}`);
    return found;
  };
  const ascending = read('ascending');
  assert.deepEqual(read('descending').reverse(), ascending);
  assert.equal(reader.entryCount, ascending.length);
  for (const entry of ascending) {
    const [key = '', rid = ''] = entry.split(' ');
    const cursor = reader.lookup([Number(key)]);
    const hits: string[] = [];
    while (cursor.next()) hits.push(formatRid(cursor.rid));
    // A READ_COMMITTED transaction may see its own record and one that another committed since under the same unique key. It
    // cannot commit; until it notices, a lookup gives one of the two.
    const isDoomed =
      definition.unique && ascending.filter((one) => one.startsWith(`${key} `)).length > 1;
    assert.ok(
      hits.includes(rid) || (isDoomed && hits.length > 0),
      'every entry is found by its key',
    );
  }
  // Of one key, what the transaction created comes last.
  return ascending.sort((a, b) => keyOf(a) - keyOf(b) || ridOf(a) - ridOf(b));
}

function keyOf(entry: string): number {
  return Number(entry.split(' ')[0]);
}

function ridOf(entry: string): number {
  return requireRid(entry.split(' ')[1] ?? '');
}
