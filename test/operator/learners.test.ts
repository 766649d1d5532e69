import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conditionOf } from '../../operator/api/conditions.ts';
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
  return known?.learners.get('b')?.polls ?? 0;
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
  assert.equal(nextPolls(first, word, { lagMax, nowMs: 5000 })?.learners.get('b')?.polls, 1);
  const soon = nextPolls(first, wordOf({}), { lagMax, nowMs: 20 });
  assert.equal(soon?.learners.get('b')?.polls, 1);
  assert.equal(nextPolls(soon, wordOf({}), { lagMax, nowMs: 600 })?.learners.get('b')?.polls, 2);
  const late = nextPolls(first, wordOf(behind), { lagMax, nowMs: 20 });
  assert.equal(nextPolls(late, wordOf({}), { lagMax, nowMs: 600 })?.learners.get('b')?.polls, 1);
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

const stuck = { lag: 4321, status: 'STALLED' };
const stalled = (world: SimulatedWorld) =>
  conditionOf(world.cluster().status?.conditions, 'Stalled')?.message ?? '';
const uidOf = (world: SimulatedWorld, pod: string) => world.api.find('Pod', pod)?.metadata.uid;

async function pass(world: SimulatedWorld, minutes: number): Promise<void> {
  world.turnMs = 10_000;
  for (let turn = 0; turn < minutes * 6; turn++) await world.turn();
  world.turnMs = 1000;
}

const additions = (world: SimulatedWorld) =>
  world.members.calls.filter((call) => call === 'POST /api/v1/cluster/peer').length;

/** The learner has failed: ten minutes and one of no progress are over. */
async function worldWithFailure(): Promise<{ world: SimulatedWorld; learner: string }> {
  const { world, learner } = await worldWithLearner();
  world.members.group.told.set(learner, stuck);
  await pass(world, 9);
  assert.equal(world.condition('Stalled'), 'absent');
  assert.deepEqual(world.members.group.learners, [learner]);
  await pass(world, 2);
  return { world, learner };
}

test('a learner that does not catch up in ten minutes is taken out, told with its cause, and not tried again; its pod stays', async () => {
  const { world } = await worldWithFailure();
  const { group } = world.members;
  const check = () => {
    assert.equal(world.condition('Stalled'), 'True JoinFailed');
    assert.match(stalled(world), /orders-3 \(does not keep up with the leader: STALLED\) did not/);
    assert.deepEqual([group.voters.length, group.learners.length], [3, 0]);
    assert.equal(world.condition('Available'), 'True LeaderReady');
    assert.equal(world.cluster().status?.operation, undefined);
  };
  check();
  const pod = uidOf(world, 'orders-3');
  assert.ok(pod !== undefined);
  const count = additions(world);
  const { effectiveWrites } = world.api;
  world.restartOperator();
  await pass(world, 30);
  check();
  assert.equal(additions(world), count);
  assert.equal(uidOf(world, 'orders-3'), pod);
  assert.equal(world.api.effectiveWrites, effectiveWrites, 'nothing is written while it stands');
});

for (const [what, change] of [
  ['another spec', () => ({ spec: { update: { minReadySeconds: 1 } } })],
  ['the annotation that restarts', () => ({ annotations: { 'polyad.io/restart': 'again' } })],
  ['its own word', (token: string) => ({ annotations: { 'polyad.io/adopt': token } })],
] as const)
  test(`a failed join is tried anew after ${what}`, async () => {
    const { world } = await worldWithFailure();
    const { group } = world.members;
    const token = world.cluster().status?.failedJoin?.token ?? '';
    assert.match(stalled(world), new RegExp(`polyad.io/adopt=${token}`));
    const { annotations, spec } = { annotations: {}, spec: undefined, ...change(token) };
    world.api.change('Cluster', 'orders', { metadata: { annotations }, ...(spec && { spec }) });
    // As bad as before: it has its whole time again.
    for (let turn = 0; turn < 30; turn++) await world.turn();
    assert.equal(group.learners.length, 1);
    assert.equal(world.condition('Stalled'), 'absent');
    await pass(world, 12);
    assert.equal(world.condition('Stalled'), 'True JoinFailed');
    const again = world.cluster().status?.failedJoin?.token ?? '';
    assert.notEqual(again, token);
    group.told.clear();
    world.api.change('Cluster', 'orders', {
      metadata: { annotations: { 'polyad.io/adopt': again } },
    });
    await world.settle();
    assert.equal(world.condition('Ready'), 'True AllMembersReady');
    assert.equal(group.voters.length, 4);
    assert.equal(world.cluster().status?.failedJoin, undefined);
  });

test('one that gets entries has as long as it takes, and an operator that starts late looks first', async () => {
  const { world, learner } = await worldWithLearner();
  const { group } = world.members;
  world.turnMs = 10_000;
  for (let turn = 0; turn < 120; turn++) {
    // Others write faster now and then.
    const status = turn % 3 === 1 ? 'FALLING_BEHIND' : 'CATCHING_UP';
    group.told.set(learner, { lag: 20_000 + 100 * (turn % 7), status, match: 100_000 + turn });
    await world.turn();
  }
  assert.equal(stalled(world), '', 'after twenty minutes');
  assert.deepEqual(group.learners, [learner]);
  group.told.set(learner, { lag: 200, status: 'UNKNOWN' });
  world.restartOperator();
  for (let turn = 0; turn < 3; turn++) await world.turn();
  assert.deepEqual(group.learners, [learner]);
  group.told.clear();
  world.turnMs = 1000;
  await world.settle();
  assert.equal(group.voters.length, 4);
});

test('one that has caught up and is refused its vote stays, and why is told after ten minutes', async () => {
  const { world, learner } = await worldWithLearner();
  const { group } = world.members;
  group.told.clear();
  world.members.refuse = ({ method, path }) =>
    method === 'POST' && path.endsWith('/promote')
      ? { status: 409, body: '{"error":"its build is too old"}' }
      : undefined;
  await pass(world, 12);
  assert.equal(world.condition('Stalled'), 'True JoinFailed');
  assert.match(stalled(world), /orders-3 .*its build is too old/);
  assert.deepEqual(group.learners, [learner]);
  world.members.refuse = undefined;
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
});

test('of a pair of which one fails the other gets no vote alone', async () => {
  const world = new SimulatedWorld();
  world.create('orders', { replicas: 1 });
  await world.settle();
  const { group } = world.members;
  world.api.change('Cluster', 'orders', { spec: { replicas: 3 } });
  for (let turn = 0; turn < 30 && group.learners.length < 2; turn++) await world.turn();
  group.told.set(group.learners.find((id) => id.startsWith('orders-2.')) ?? '', stuck);
  await pass(world, 15);
  assert.equal(world.condition('Stalled'), 'True JoinFailed');
  assert.match(stalled(world), /^orders-2 /);
  assert.equal(group.voters.length, 1);
  assert.match(group.learners.join(), /^orders-1\.[^,]*$/);
  group.told.clear();
  world.api.change('Cluster', 'orders', { spec: { update: { minReadySeconds: 1 } } });
  await world.settle();
  assert.equal(group.voters.length, 3);
  assert.ok(!group.history.includes(2), group.history.join(' '));
});

test('a voter that has to join anew does so beside one that failed', async () => {
  const { world } = await worldWithFailure();
  const { group } = world.members;
  const claim = world.api.find('PersistentVolumeClaim', 'data-orders-1', 'shop');
  const pod = world.api.find('Pod', 'orders-1', 'shop');
  assert.ok(claim && pod);
  world.api.remove(claim);
  world.api.delete(pod, true);
  await world.settle();
  assert.equal(group.voters.length, 3);
  assert.equal(world.condition('Stalled'), 'True JoinFailed');
  assert.equal(world.condition('FaultTolerant'), 'True Full');
});
