import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bestTarget, PriorityYield } from '#cluster/consensus/lead-targets.ts';
import type { NodeStatus } from '#raft/node.ts';

interface Peer {
  readonly id: string;
  readonly priority?: number;
  readonly canLead?: boolean;
  readonly match?: number;
}

function statusOf(
  peers: readonly Peer[],
  term = 1,
): Pick<NodeStatus, 'conf' | 'progress' | 'lastIndex' | 'isLeaderReady' | 'term'> {
  const voters = peers.map(({ id, priority = 0, canLead = true }) => ({
    id,
    address: `${id}:1`,
    priority,
    canLead,
    storageId: id,
    voter: true,
  }));
  const progress = peers.map(({ id, match = 100 }) => ({
    id,
    match,
    next: match + 1,
    state: 'replicate' as const,
    isActive: true,
    isCounted: true,
  }));
  const conf = { voters, votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
  return { conf, progress, lastIndex: 100, isLeaderReady: true, term };
}

const rules = { self: 'a', lagEntriesMax: 10, isReachable: () => true };

test('the lead goes to the best of those that are there', () => {
  const of = (...peers: Peer[]) =>
    bestTarget(statusOf([{ id: 'a', priority: 9 }, ...peers]), rules);
  assert.equal(of({ id: 'b' }, { id: 'c', priority: 5, match: 95 }), 'c', 'priority first');
  assert.equal(of({ id: 'b', match: 99 }, { id: 'c' }), 'c', 'then what it has');
  assert.equal(of({ id: 'c' }, { id: 'b' }), 'b', 'then the id');
  assert.equal(of({ id: 'b', match: 89 }), undefined, 'too far behind');
  const unreachable = { ...rules, isReachable: (id: string) => id !== 'b' };
  assert.equal(bestTarget(statusOf([{ id: 'a' }, { id: 'b' }]), unreachable), undefined);
  assert.equal(bestTarget(statusOf([{ id: 'a' }, { id: 'b' }]), rules, 'b'), undefined);
});

test('who is pinned as a replica gets no lead', () => {
  const pinned = { id: 'b', priority: 9, canLead: false };
  assert.equal(bestTarget(statusOf([{ id: 'a' }, pinned]), rules), undefined);
  const yielding = new PriorityYield('a');
  for (let second = 0; second < 120; second++)
    assert.equal(look(yielding, [{ id: 'a' }, pinned], second), undefined);
});

function look(
  yielding: PriorityYield,
  peers: readonly Peer[],
  second: number,
  given: { isReachable?: boolean; isCoolingDown?: boolean; term?: number } = {},
): string | undefined {
  const { isReachable = true, isCoolingDown = false, term = 1 } = given;
  const sight = {
    status: statusOf(peers, term),
    isReachable: () => isReachable,
    isCoolingDown: () => isCoolingDown,
  };
  return yielding.look(sight, second * 1000);
}

test('a leader yields to a higher priority that has long been there', () => {
  const peers = [{ id: 'a', priority: 1 }, { id: 'b', priority: 5 }, { id: 'c' }];
  const secondsOf = (
    of: readonly Peer[],
    given: (second: number) => Parameters<typeof look>[3],
    until = 200,
  ) => {
    const yielding = new PriorityYield('a');
    const found: number[] = [];
    for (let second = 0; second <= until; second++)
      if (look(yielding, of, second, given(second)) !== undefined) found.push(second);
    return found;
  };
  assert.deepEqual(
    secondsOf(peers, () => ({})),
    [30, 90, 150],
    'after 30 s, and once in 60 s',
  );
  assert.deepEqual(
    secondsOf(peers, (s) => ({ isReachable: s !== 20 }), 60),
    [55],
  );
  assert.deepEqual(
    secondsOf(peers, () => ({ isCoolingDown: true })),
    [],
  );
  const behind = [
    { id: 'a', priority: 1 },
    { id: 'b', priority: 5, match: 99 },
  ];
  assert.deepEqual(
    secondsOf(behind, () => ({})),
    [],
    'it lacks an entry',
  );
  assert.deepEqual(
    secondsOf(
      [
        { id: 'a', priority: 5 },
        { id: 'b', priority: 5 },
      ],
      () => ({}),
    ),
    [],
  );
  assert.deepEqual(
    secondsOf(peers, (s) => ({ term: s < 28 ? 1 : 2 }), 70),
    [58],
    'a new lead',
  );
});
