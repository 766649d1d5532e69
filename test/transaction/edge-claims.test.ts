import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LogIndex, Rid, TypeId } from '#core/value/rid.ts';
import { EdgeClaims } from '#transaction/write/edge-claims.ts';
import { type } from '#test/catalog/catalog-builder.ts';
import { openTestState } from './support/open-state.ts';

test('of transactions that make an edge because there is none, one commits', async () => {
  await using db = await openTestState();
  await db.alter(type('vertex', 'V'), type('edge', 'E'));
  const [vertex, edge] = [db.typeId('V'), db.typeId('E')];
  using setup = db.state.begin('READ_COMMITTED');
  const from = setup.insertVertex(vertex, new Map()).rid;
  const to = setup.insertVertex(vertex, new Map()).rid;
  await setup.commit();
  const connecting = (isolation: 'READ_COMMITTED' | 'REPEATABLE_READ') => {
    const transaction = db.state.begin(isolation);
    transaction.beginStatement();
    assert.equal(transaction.degree(from, 'out', edge), 0);
    transaction.claimEdge(edge, from, to);
    transaction.insertEdge(edge, from, to, new Map());
    return transaction;
  };
  const open = [connecting('READ_COMMITTED'), connecting('REPEATABLE_READ')];
  const late = connecting('READ_COMMITTED');
  const outcomes = await Promise.allSettled(open.map((transaction) => transaction.commit()));
  assert.deepEqual(
    outcomes.map((outcome) => outcome.status),
    ['fulfilled', 'rejected'],
  );
  await assert.rejects(late.commit(), { code: 'ConcurrentModification' });
  using view = db.state.view();
  assert.equal(view.degree(from, 'out', edge), 1);
});

test('a claim of a commit that failed is free, one that is forgotten is answered for', () => {
  const claims = new EdgeClaims();
  const claim = (to: number, snapshotIndex: number) => [
    {
      key: EdgeClaims.keyOf(1 as TypeId, 0 as Rid, to as Rid),
      snapshotIndex: snapshotIndex as LogIndex,
    },
  ];
  claims.take(claim(0, 5))(undefined);
  claims.take(claim(0, 5))(6 as LogIndex);
  assert.throws(() => claims.take(claim(0, 5)), { code: 'ConcurrentModification' });
  for (let to = 1; to <= 5000; to += 1) claims.take(claim(to, to + 6))((to + 7) as LogIndex);
  assert.throws(() => claims.take(claim(0, 5)), { code: 'ConcurrentModification' });
  claims.take(claim(0, 5007))(5008 as LogIndex);
});
