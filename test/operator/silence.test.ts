import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimulatedWorld } from './sim/simulated-world.ts';

// Members that say nothing for a moment: nothing is told of them. Those that go on saying nothing are told of in time.

const ready = 'True AllMembersReady';
const all = ['orders-0', 'orders-1', 'orders-2'];

async function worldOf(replicas: number): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  world.create('orders', { replicas, update: { minReadySeconds: 0 } });
  await world.settle();
  assert.equal(world.condition('Ready'), ready);
  return world;
}

async function turns(world: SimulatedWorld, count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await world.turn();
}

for (const silent of [all, ['orders-0'], ['orders-1', 'orders-2']])
  test(`some seconds of silence of ${silent.join(', ')} write nothing and tell nothing`, async () => {
    const world = await worldOf(3);
    const writes = world.api.effectiveWrites;
    for (let round = 0; round < 3; round++) {
      for (const name of silent) world.members.silent.add(name);
      await turns(world, 6);
      world.members.silent.clear();
      await turns(world, 3);
      assert.equal(world.api.effectiveWrites, writes, `round ${round}`);
    }
    assert.equal(world.condition('Ready'), ready);
  });

test('a new operator whose network is not there yet tells nothing of members that serve', async () => {
  const world = await worldOf(3);
  world.restartOperator();
  const writes = world.api.effectiveWrites;
  for (const name of all) world.members.silent.add(name);
  await turns(world, 6);
  world.members.silent.clear();
  await turns(world, 15);
  assert.equal(world.api.effectiveWrites, writes);
});

test('a silence that lasts is a lost majority within half a minute, and one member more does not renew it', async () => {
  const world = await worldOf(3);
  world.members.silent.add('orders-1');
  await turns(world, 30);
  assert.equal(world.condition('Available'), 'True LeaderReady');
  world.members.silent.add('orders-2');
  await turns(world, 25);
  assert.equal(world.condition('Available'), 'False NoQuorum');
  world.members.silent.clear();
  await world.settle();
  assert.equal(world.condition('Ready'), ready);
});

test('where Kubernetes says that members are gone their silence needs no time', async () => {
  const world = await worldOf(3);
  for (const name of all) world.controllers.stopped.add(name);
  await turns(world, 4);
  assert.match(world.condition('Available'), /^False/);
});
