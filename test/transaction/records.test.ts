import assert from 'node:assert/strict';
import { test } from 'node:test';
import { positionOf, type Rid } from '#core/rid.ts';
import { type } from '#test/catalog/catalog-builder.ts';
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
