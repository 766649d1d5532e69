import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conditionOf } from '../../operator/api/conditions.ts';
import { SimulatedWorld } from './sim/simulated-world.ts';

// Before the pods of a hibernating Cluster go, followers have a minute to get what the leader has.

const last = 'orders-2.orders.shop.svc.cluster.local_2434';

/** Three members of which the last one lacks something. */
async function worldBehind(): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  world.create('orders', { replicas: 3 });
  await world.settle();
  assert.ok(world.members.group.voters.includes(last));
  world.members.group.told.set(last, { lag: 7, status: 'CATCHING_UP' });
  return world;
}

const hibernate = (world: SimulatedWorld, isWanted: boolean) =>
  world.api.change('Cluster', 'orders', { spec: { hibernate: isWanted } });
const pods = (world: SimulatedWorld) => world.memberPods().map(({ metadata }) => metadata.uid);
const notes = (world: SimulatedWorld) =>
  world.api
    .all('Event')
    .filter(({ reason }) => reason === 'HibernatesBehind')
    .map(({ note }) => String(note));
const readyMessage = (world: SimulatedWorld) =>
  conditionOf(world.cluster().status?.conditions, 'Ready')?.message;

async function turns(world: SimulatedWorld, count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await world.turn();
}

test('pods stay until every follower has what the leader has', async () => {
  const world = await worldBehind();
  hibernate(world, true);
  await turns(world, 30);
  assert.equal(pods(world).length, 3);
  assert.equal(world.cluster().status?.phase, 'Hibernating');
  assert.equal(world.cluster().status?.operation?.step, 'CatchUp');
  assert.equal(readyMessage(world), 'for a minute at most: orders-2 lacks 7 entries');
  world.members.group.told.clear();
  await world.settle();
  assert.equal(world.condition('Ready'), 'True Hibernated');
  assert.equal(world.api.all('Pod').length, 0);
  assert.deepEqual(notes(world), []);
  hibernate(world, false);
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
});

test('after a minute they go, which is told once; another operator does not begin the minute anew', async () => {
  const world = await worldBehind();
  hibernate(world, true);
  await turns(world, 40);
  world.restartOperator();
  await turns(world, 18);
  assert.equal(pods(world).length, 3, 'after 58 s');
  await turns(world, 6);
  assert.equal(world.api.all('Pod').length, 0, 'after 64 s');
  await world.settle();
  assert.equal(world.condition('Ready'), 'True Hibernated');
  assert.equal(notes(world).length, 1);
  assert.match(notes(world)[0] ?? '', /orders-2 lacks 7 entries/);
});

test('without a leader it is waited for no longer than that', async () => {
  const world = await worldBehind();
  world.controllers.stopped.add('orders-1').add('orders-2');
  await turns(world, 15);
  hibernate(world, true);
  await turns(world, 50);
  assert.ok(pods(world).length > 0);
  await turns(world, 30);
  assert.equal(world.api.all('Pod').length, 0);
});

test('taken back meanwhile, it has ended nobody', async () => {
  const world = await worldBehind();
  const before = pods(world);
  hibernate(world, true);
  await turns(world, 20);
  hibernate(world, false);
  world.members.group.told.clear();
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  assert.deepEqual(pods(world), before);
});

test('one member alone waits for nobody', async () => {
  const world = new SimulatedWorld();
  world.create('orders');
  await world.settle();
  hibernate(world, true);
  await turns(world, 3);
  assert.equal(world.api.all('Pod').length, 0);
});

test('members that end together hand the lead to nobody; one that is restarted does', async () => {
  const world = new SimulatedWorld();
  world.create('orders', { replicas: 3 });
  await world.settle();
  const { group } = world.members;
  hibernate(world, true);
  await world.settle();
  assert.equal(world.api.all('Pod').length, 0);
  assert.equal(group.handOvers, 0);
  hibernate(world, false);
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  const leader = group.leader?.split('.')[0] ?? '';
  const pod = world.memberPods().find(({ metadata }) => metadata.name === leader);
  assert.ok(pod);
  world.api.delete(pod, true);
  await world.settle();
  assert.equal(group.handOvers, 1);
});

test('a hibernation that is taken back leaves no mark: members hand over again', async () => {
  const world = await worldBehind();
  const { group } = world.members;
  hibernate(world, true);
  await turns(world, 20);
  hibernate(world, false);
  group.told.clear();
  await world.settle();
  const pod = world.memberPods().find(({ metadata }) => group.leader?.startsWith(metadata.name));
  assert.ok(pod);
  world.api.delete(pod, true);
  await world.settle();
  assert.equal(group.handOvers, 1);
  assert.equal(JSON.stringify(world.memberPods()).includes('polyad.io/hibernating'), false);
});

test('pods of an operator that could not mark them end after the minute', async () => {
  const world = new SimulatedWorld();
  world.create('orders', { replicas: 3 });
  await world.settle();
  world.api.faultBefore = ({ method, path }) =>
    method === 'PATCH' && path.includes('/pods/') ? { status: 403 } : undefined;
  hibernate(world, true);
  await turns(world, 70);
  assert.equal(world.api.all('Pod').length, 0);
});
