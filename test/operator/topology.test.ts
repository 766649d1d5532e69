import assert from 'node:assert/strict';
import { test } from 'node:test';
import { topologyCondition } from '../../operator/reconcile/topology.ts';

const members = (...places: readonly (readonly [node: string, zone: string | undefined])[]) =>
  places.map(([node, zone], ordinal) => ({
    name: `orders-${ordinal}`,
    ordinal,
    voter: true,
    node,
    ...(zone === undefined ? undefined : { zone }),
  }));

const cases: readonly (readonly [ReturnType<typeof members>, string | undefined])[] = [
  [[], undefined],
  [members(['n1', 'a']), 'OneMember'],
  [members(['n1', 'a'], ['n2', 'b'], ['n3', 'c']), 'Spread'],
  [members(['n1', 'a'], ['n2', 'a'], ['n3', 'c']), 'SingleZone'],
  [members(['n1', 'a'], ['n1', 'a'], ['n3', 'c']), 'SingleNode'],
  [members(['n1', undefined], ['n2', undefined], ['n3', undefined]), 'Spread'],
  [members(['n1', 'a'], ['n2', 'a'], ['n3', 'b'], ['n4', 'b']), 'Spread'],
  [members(['n1', 'a'], ['n2', 'a'], ['n3', 'a'], ['n4', 'b']), 'SingleZone'],
];

test('no zone and no node holds a majority of the voters', () => {
  for (const [given, reason] of cases)
    assert.equal(topologyCondition(given)?.reason, reason, JSON.stringify(given));
});
