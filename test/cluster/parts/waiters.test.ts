import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { AppliedWaiters } from '#cluster/reads/applied-waiters.ts';
import { ownerOf, sessionIdOf } from '#cluster/forwarding/session-owner.ts';
import { systemRuntime } from '#platform/system-runtime.ts';

const timers = { after: () => () => {}, sleep: async () => {}, yield: async () => {} };
const late = () => new Error('late');

test('exactly those are woken whose index is applied, in any order of coming and leaving', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ index: fc.nat(50), leaves: fc.boolean() }), { maxLength: 60 }),
      fc.array(fc.nat(50), { maxLength: 10 }),
      async (waiting, moves) => {
        const waiters = new AppliedWaiters(timers);
        const outcomes = waiting.map(({ index, leaves }) => {
          const client = new AbortController();
          const outcome = { index, leaves, client, state: 'waits' };
          waiters.wait(index, 1, late, client.signal).then(
            () => (outcome.state = 'woken'),
            () => (outcome.state = 'left'),
          );
          return outcome;
        });
        for (const { leaves, client } of outcomes) if (leaves) client.abort();
        for (const index of moves) waiters.applied(index);
        await systemRuntime.timers.yield();
        const reached = Math.max(-1, ...moves);
        for (const { index, leaves, state } of outcomes) {
          const expected = leaves ? 'left' : index <= reached ? 'woken' : 'waits';
          assert.equal(state, expected);
        }
        assert.equal(waiters.count, outcomes.filter(({ state }) => state === 'waits').length);
      },
    ),
    { numRuns: 200 },
  );
});

test('ten thousand may wait, not one more', async () => {
  const waiters = new AppliedWaiters(timers);
  const all = Array.from({ length: 10_000 }, (_, at) => waiters.wait(at + 1, 1, late));
  assert.throws(() => waiters.wait(1, 1, late), /10000 requests wait/);
  waiters.applied(10_000);
  await Promise.all(all);
  assert.equal(waiters.count, 0);
});

test('the id of a session tells its owner', () => {
  const peers = ['a_1', 'b_2', 'c_3'];
  for (const peer of peers) {
    const id = sessionIdOf(peer, systemRuntime.random);
    assert.match(id, /^AS-[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(ownerOf(id, peers), peer);
    assert.equal(ownerOf(id, ['d_4']), undefined);
    assert.notEqual(sessionIdOf(peer, systemRuntime.random), id);
  }
  for (const id of ['', 'AS-', 'AS-x', `AS-${systemRuntime.random.uuid()}`, '../x'])
    assert.equal(ownerOf(id, peers), undefined, id);
});
