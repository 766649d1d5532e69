import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MembershipChange } from '#cluster/consensus-port.ts';
import { OwnRole } from '#cluster/consensus/own-role.ts';
import type { PeerId } from '#raft/vocabulary.ts';

function fixture(canLead: boolean) {
  const voters = ['a', 'b', 'c'].map((id) => ({
    id,
    address: `${id}:1`,
    priority: 0,
    canLead: true,
    storageId: id,
    voter: true,
  }));
  const conf = { voters, votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
  const state = {
    leader: undefined as PeerId | undefined,
    /** By their own settings; absent: it does not answer. */
    others: new Map<PeerId, boolean | undefined>(),
    changes: [] as MembershipChange[],
    told: [] as string[],
  };
  const declared = [{ id: 'a', address: 'a:1', name: 'first', priority: 5 }];
  const role = new OwnRole(
    { self: 'a', declared, canLead },
    {
      timers: { sleep: () => Promise.resolve() },
      isRunning: () => true,
      status: () => ({ conf, leader: state.leader }),
      storageId: () => 'a',
      change: async (change) => void state.changes.push(change),
      ask: async (id) => {
        if (!state.others.has(id)) throw new Error('not there');
        return { canLead: state.others.get(id) };
      },
      report: (text) => void state.told.push(text),
    },
  );
  const look = async (times: number) => {
    for (let i = 0; i < times; i += 1) await role.look();
  };
  return { state, role, look };
}

test('a member whose setting differs from the configuration has the leader write it there', async () => {
  const { state, look } = fixture(false);
  await look(3);
  assert.equal(state.changes.length, 0, 'nobody leads');
  state.leader = 'b';
  await look(1);
  const [change] = state.changes;
  assert.ok(change?.kind === 'add');
  const { canLead, priority, voter } = change.member;
  assert.deepEqual([canLead, priority, voter], [false, 0, true]);
  const same = fixture(true);
  same.state.leader = 'b';
  await same.look(3);
  assert.equal(same.state.changes.length, 0);
});

test('without a leader a pinned member tells when no voter may lead, once a minute, and no more when one may', async () => {
  const { state, role, look } = fixture(false);
  state.others.set('b', false);
  await look(5);
  assert.deepEqual(state.told, [], 'by the configuration the third one may lead');
  assert.equal(role.isNobodyAllowed, false);
  state.others.set('c', false);
  await look(60);
  assert.equal(state.told.length, 1);
  assert.match(
    state.told[0] ?? '',
    /service\.ha\.serverRole is 'replica' on every voter \(a, b, c\)/,
  );
  assert.equal(role.isNobodyAllowed, true);
  await look(5);
  assert.equal(state.told.length, 2);
  state.others.set('c', true);
  await look(5);
  assert.equal(role.isNobodyAllowed, false);
  state.others.set('c', undefined);
  await look(5);
  assert.equal(
    role.isNobodyAllowed,
    false,
    'a build that says nothing is what the configuration says',
  );
});
