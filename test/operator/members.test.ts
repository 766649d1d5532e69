import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimulatedWorld } from './sim/simulated-world.ts';

/*
 * Clusters of several members, from the first to the last one: formed once, grown and shrunk with nobody restarted, rolled one at
 * a time, and left alone when a majority is missing.
 */

const ready = 'True AllMembersReady';

async function worldOf(replicas: number, spec: object = {}): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  world.create('orders', { replicas, ...spec });
  await world.settle();
  assert.equal(world.condition('Ready'), ready);
  return world;
}

async function change(world: SimulatedWorld, spec: object): Promise<void> {
  world.api.change('Cluster', 'orders', { spec });
  await world.settle();
}

const pods = (world: SimulatedWorld) =>
  world.api
    .all('Pod')
    .map(({ metadata }) => metadata)
    .sort((a, b) => a.name.localeCompare(b.name));
const uids = (world: SimulatedWorld) => pods(world).map(({ uid }) => uid);
const roles = (world: SimulatedWorld) =>
  pods(world).map(({ labels }) => labels?.['polyad.io/role'] ?? '-');

test('three members form one group, without two voters on the way', async () => {
  const world = await worldOf(3);
  const { group } = world.members;
  assert.equal(group.formed, 1);
  assert.deepEqual(group.voters.length, 3);
  assert.ok(!group.history.includes(2), `voters: ${group.history.join(' ')}`);
  assert.deepEqual(roles(world), ['leader', 'follower', 'follower']);
  const { status } = world.cluster();
  assert.equal(status?.faultTolerance, 1);
  assert.equal(status?.leader, 'orders-0');
  assert.equal(status?.replicas, 3);
  assert.notEqual(world.api.find('PodDisruptionBudget', 'orders', 'shop'), undefined);
});

test('1, 3, 5 and 3 members again: nobody is restarted', async () => {
  const world = await worldOf(1);
  const [first] = uids(world);
  await change(world, { replicas: 3 });
  assert.equal(world.condition('Ready'), ready);
  const three = uids(world);
  assert.equal(three[0], first);
  await change(world, { replicas: 5 });
  assert.equal(world.members.group.voters.length, 5);
  assert.deepEqual(uids(world).slice(0, 3), three);
  await change(world, { replicas: 3 });
  assert.equal(world.condition('Ready'), ready);
  assert.deepEqual(uids(world), three);
  assert.equal(world.members.group.formed, 1);
  assert.ok(!world.members.group.history.includes(2));
  const retired = world.api
    .all('PersistentVolumeClaim')
    .filter(({ metadata }) => metadata.labels?.['polyad.io/retired'] !== undefined);
  assert.deepEqual(retired.map(({ metadata }) => metadata.name).sort(), [
    'data-orders-3',
    'data-orders-4',
  ]);
});

test('volumes of members that left are deleted where the spec says so', async () => {
  const world = await worldOf(3, { storage: { whenScaled: 'Delete' } });
  await change(world, { replicas: 1 });
  assert.equal(world.condition('Ready'), ready);
  assert.deepEqual(
    world.api.all('PersistentVolumeClaim').map(({ metadata }) => metadata.name),
    ['data-orders-0'],
  );
  await change(world, { replicas: 3 });
  assert.equal(world.members.group.voters.length, 3);
});

test('a change restarts followers first and the leader last, after a transfer', async () => {
  const world = await worldOf(3);
  const before = new Map(pods(world).map(({ name, uid }) => [name, uid]));
  const order: string[] = [];
  world.api.change('Cluster', 'orders', { spec: { image: 'polyad:26.10.2' } });
  for (let turn = 0; turn < 150; turn++) {
    await world.turn();
    const now = new Map(pods(world).map(({ name, uid }) => [name, uid]));
    assert.ok(now.size >= 2, 'two members are away at once');
    for (const [name, uid] of now)
      if (before.get(name) !== uid && !order.includes(name)) order.push(name);
  }
  await world.settle();
  assert.equal(world.condition('Ready'), ready);
  assert.deepEqual(order, ['orders-2', 'orders-1', 'orders-0']);
  assert.equal(world.members.group.transfers, 1);
  assert.equal(world.members.group.term, 2);
});

test('an image that does not start touches one member and is taken back', async () => {
  const world = await worldOf(3, { update: { progressDeadlineSeconds: 30 } });
  world.controllers.crashingImages.add('polyad:bad');
  const before = uids(world);
  world.api.change('Cluster', 'orders', { spec: { image: 'polyad:bad' } });
  for (let turn = 0; turn < 120; turn++) await world.turn();
  assert.equal(world.condition('Stalled'), 'True UpgradeFailed');
  assert.equal(world.members.group.voters.length, 3);
  assert.deepEqual(uids(world).slice(0, 2), before.slice(0, 2));
  assert.deepEqual(roles(world).sort(), ['follower', 'follower', 'leader']);
});

test('a member whose volume was lost joins again as a new one', async () => {
  const world = await worldOf(3);
  const claim = world.api.find('PersistentVolumeClaim', 'data-orders-1', 'shop');
  assert.ok(claim);
  world.api.remove(claim);
  const pod = world.api.find('Pod', 'orders-1', 'shop');
  assert.ok(pod);
  world.api.delete(pod, true);
  await world.settle();
  assert.equal(world.condition('Ready'), ready);
  assert.equal(world.members.group.formed, 1);
  assert.equal(world.members.group.voters.length, 3);
});

test('without a majority nothing is changed and the cause is named', async () => {
  const world = await worldOf(3);
  const claims = world.api.all('PersistentVolumeClaim').length;
  world.controllers.stopped.add('orders-1').add('orders-2');
  const index = world.members.group.index;
  for (let turn = 0; turn < 30; turn++) await world.turn();
  assert.equal(world.condition('Available'), 'False NoQuorum');
  assert.equal(world.cluster().status?.phase, 'NoQuorum');
  world.api.change('Cluster', 'orders', { spec: { replicas: 5 } });
  for (let turn = 0; turn < 10; turn++) await world.turn();
  assert.equal(world.members.group.index, index);
  assert.equal(world.api.all('PersistentVolumeClaim').length, claims);
  world.controllers.stopped.clear();
  await world.settle();
  assert.equal(world.condition('Ready'), ready);
  assert.equal(world.members.group.voters.length, 5);
  assert.equal(world.members.group.formed, 1);
});

test('three members hibernate and come back as the group that they were', async () => {
  const world = await worldOf(3);
  await change(world, { hibernate: true });
  assert.equal(world.condition('Ready'), 'True Hibernated');
  assert.equal(world.api.all('Pod').length, 0);
  assert.equal(world.api.all('PersistentVolumeClaim').length, 3);
  await change(world, { hibernate: false });
  assert.equal(world.condition('Ready'), ready);
  assert.equal(world.members.group.formed, 1);
  assert.equal(world.members.group.voters.length, 3);
});

test('read replicas never vote', async () => {
  const world = await worldOf(3, { readReplicas: 2 });
  assert.equal(world.members.group.voters.length, 3);
  assert.equal(world.members.group.learners.length, 2);
  assert.deepEqual(roles(world).slice(3), ['learner', 'learner']);
});

test('at rest nothing is written', async () => {
  const world = await worldOf(3);
  const before = world.api.effectiveWrites;
  world.restartOperator();
  for (let turn = 0; turn < 60; turn++) await world.turn();
  assert.equal(world.api.effectiveWrites, before);
});
