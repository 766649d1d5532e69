import assert from 'node:assert/strict';
import { test } from 'node:test';
import { positionOf, type Rid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import { index, property, type } from '#test/catalog/catalog-builder.ts';
import { openTestState } from './support/open-state.ts';

test('records are inserted, changed, deleted and survive a restart', async () => {
  await using db = await openTestState();
  await db.alter(type('vertex', 'P'), type('document', 'D'), type('edge', 'K'));
  let ids: readonly Rid[];
  {
    using tx = db.state.begin('READ_COMMITTED');
    const a = tx.insertVertex(db.typeId('P'), new Map([['name', 'a']]));
    const b = tx.insertVertex(db.typeId('P'), new Map([['name', 'b']]));
    const k = tx.insertEdge(db.typeId('K'), a.rid, b.rid, new Map([['w', 1]]));
    const d = tx.insertDocument(db.typeId('D'), new Map());
    ids = [a.rid, b.rid, k.rid, d.rid];
    assert.equal(tx.record(a.rid)?.get('name'), 'a');
    assert.equal(tx.degree(a.rid, 'out', db.typeId('K')), 1);
    const receipt = await tx.commit();
    assert.deepEqual(
      receipt.changes.map((c) => `${c.kind} ${c.record.typeName}`),
      ['create P', 'create P', 'create K', 'create D'],
    );
  }
  const [a, b, k, d] = ids as [Rid, Rid, Rid, Rid];
  {
    using tx = db.state.begin('READ_COMMITTED');
    const changed = tx.update(a, new Map([['name', 'A']]));
    assert.equal(changed.get('name'), 'A');
    assert.equal(tx.delete(d), true);
    assert.equal(tx.delete(d), false);
    await tx.commit();
  }
  await db.close();
  await using again = await openTestState({ directory: db.directory });
  using view = again.state.view();
  assert.equal(view.record(a)?.get('name'), 'A');
  assert.equal(view.record(d), undefined);
  const edge = view.record(k);
  assert.equal(edge?.out, a);
  assert.equal(edge?.in, b);
  assert.equal(view.adjacency(b, 'in', again.typeId('K')).vertices[0], a);
  using tx = again.state.begin('READ_COMMITTED');
  const next = tx.insertVertex(again.typeId('P'), new Map());
  assert.ok(positionOf(next.rid) > positionOf(b), 'positions go on behind those given before');
});

test('limits of records and keys are refused at the write, not at the commit', async () => {
  await using db = await openTestState();
  const names = ['a', 'b', 'c', 'd'];
  await db.alter(
    type('document', 'D'),
    ...names.map((name) => property(`D.${name}`, 'STRING')),
    index('D', names),
  );
  using tx = db.state.begin('READ_COMMITTED');
  const insert = (properties: Map<string, Value>) => tx.insertDocument(db.typeId('D'), properties);
  const long = (length: number) => new Map(names.map((name) => [name, 'x'.repeat(length)]));
  assert.throws(() => insert(long(500)), { code: 'SchemaLimit', message: /1900 bytes/ });
  insert(long(470));
  const many = (count: number) =>
    new Map(Array.from({ length: count }, (_, i): [string, Value] => [`p${i}`, i]));
  assert.throws(() => insert(many(65_536)), { code: 'TooLarge', message: /65535/ });
  insert(many(65_535));
  assert.throws(() => insert(new Map([['x'.repeat(257), 1]])), { code: 'SchemaLimit' });
  assert.throws(() => insert(new Map([['__proto__\u0000', 1]])), { code: 'SchemaLimit' });
  const hostile = insert(new Map([['__proto__', 1]]));
  assert.equal(hostile.get('__proto__'), 1);
  await tx.commit();
  using view = db.state.view();
  assert.deepEqual(view.record(hostile.rid)?.propertyNames(), ['__proto__']);
});
