import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRaftAnswer } from '../../operator/api/group.ts';
import { nextPolls } from '../../operator/observe/leader-polls.ts';
import type { LeaderPolls } from '../../operator/observe/leader-polls.ts';
import { SimulatedWorld } from './sim/simulated-world.ts';

// Learners become voters when the leader has said twice that they have caught up.

const caughtUp = { lag: 3, status: 'HEALTHY' };
const behind = { lag: 300, status: 'CATCHING_UP' };

interface Said {
  readonly lag?: number;
  readonly status?: string;
  readonly term?: number;
  readonly by?: string;
}

/** One poll each second; null: nobody says that he leads. @returns how often in a row the learner `b` has caught up */
function countOf(...polls: readonly (Said | null)[]): number {
  let known: LeaderPolls | undefined;
  for (const [second, said] of polls.entries())
    known = nextPolls(known, said === null ? undefined : wordOf(said), {
      lagMax: 100,
      nowMs: second * 1000,
    });
  return known?.caughtUp.get('b') ?? 0;
}

function wordOf({ lag = 0, status = 'HEALTHY', term = 1, by = 'a' }: Said) {
  const learner = { id: 'b', inConfiguration: true, voter: false, reachable: true };
  const peers = [{ ...learner, replicationLag: lag, replicaStatus: status }];
  const answer = { localPeerId: by, isLeader: true, currentTerm: term, peers };
  return { peerId: by, answer: parseRaftAnswer(JSON.stringify(answer)) };
}

test('polls of one leader in one term count in a row; anything else begins anew', () => {
  assert.equal(countOf({}), 1);
  assert.equal(countOf({}, {}, {}), 3);
  assert.equal(countOf({ lag: 100 }, { lag: 100 }), 2);
  assert.equal(countOf({}, {}, { lag: 101 }), 0);
  assert.equal(countOf({}, { lag: -1 }, {}), 1);
  assert.equal(countOf({}, { status: 'STALLED' }, {}), 1);
  assert.equal(countOf({}, null, {}), 1, 'a poll that failed');
  assert.equal(countOf({}, { term: 2 }), 1, 'another term');
  assert.equal(countOf({}, { by: 'c' }), 1, 'another leader');
});

test('an answer that is looked at twice, or one that comes at once after another, is no second poll', () => {
  const word = wordOf({});
  const lagMax = 100;
  const first = nextPolls(undefined, word, { lagMax, nowMs: 0 });
  assert.equal(nextPolls(first, word, { lagMax, nowMs: 5000 })?.caughtUp.get('b'), 1);
  const soon = nextPolls(first, wordOf({}), { lagMax, nowMs: 20 });
  assert.equal(soon?.caughtUp.get('b'), 1);
  assert.equal(nextPolls(soon, wordOf({}), { lagMax, nowMs: 600 })?.caughtUp.get('b'), 2);
  const late = nextPolls(first, wordOf(behind), { lagMax, nowMs: 20 });
  assert.equal(nextPolls(late, wordOf({}), { lagMax, nowMs: 600 })?.caughtUp.get('b'), 1);
});

/** Three voters and a fourth member that has just joined as a learner. */
async function worldWithLearner(): Promise<{ world: SimulatedWorld; learner: string }> {
  const world = new SimulatedWorld();
  world.create('orders', { replicas: 3 });
  await world.settle();
  const { group } = world.members;
  world.api.change('Cluster', 'orders', { spec: { replicas: 4 } });
  for (let turn = 0; turn < 30 && group.learners.length === 0; turn++) await world.turn();
  const [learner = ''] = group.learners;
  assert.match(learner, /^orders-3\./);
  group.told.set(learner, behind);
  await world.turn();
  return { world, learner };
}

test('a learner that has caught up at every other poll is none that has', async () => {
  const { world, learner } = await worldWithLearner();
  const { group } = world.members;
  for (let turn = 0; turn < 20; turn++) {
    group.told.set(learner, turn % 2 === 0 ? caughtUp : behind);
    await world.turn();
  }
  assert.equal(group.voters.length, 3);
  group.told.set(learner, caughtUp);
  await world.turn();
  assert.equal(group.voters.length, 3, 'after the first poll');
  await world.turn();
  assert.equal(group.voters.length, 4, 'after the second one');
});

test('what another leader said, or one that was silent in between, does not count', async () => {
  const { world, learner } = await worldWithLearner();
  const { group } = world.members;
  group.told.set(learner, caughtUp);
  for (let turn = 0; turn < 9; turn++) {
    group.leader = group.voters[turn % 3];
    group.term++;
    await world.turn();
  }
  assert.equal(group.voters.length, 3);
  group.told.set(learner, behind);
  await world.turn();
  const leader = group.leader?.split('.')[0] ?? '';
  group.told.set(learner, caughtUp);
  for (let turn = 0; turn < 6; turn++) {
    if (turn % 2 === 1) world.members.silent.add(leader);
    else world.members.silent.clear();
    await world.turn();
  }
  assert.equal(group.voters.length, 3);
  world.members.silent.clear();
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  assert.equal(group.voters.length, 4);
});
