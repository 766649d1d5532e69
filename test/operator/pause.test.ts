import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimulatedWorld } from './sim/simulated-world.ts';

// The annotation polyad.io/reconcile=paused: nothing is changed, what is known is reported, and nothing is said to be reached by it.

const pauseWith = (word: string | null) => ({
  metadata: { annotations: { 'polyad.io/reconcile': word } },
});

async function readyWorld(spec: object = {}): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  world.create('orders', spec);
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  return world;
}

function change(world: SimulatedWorld, spec: object): Promise<number> {
  world.api.change('Cluster', 'orders', { spec });
  return world.settle();
}

const podUid = (world: SimulatedWorld) => world.api.find('Pod', 'orders-0')?.metadata.uid;

test('a paused Cluster is reported on and not changed', async () => {
  const world = await readyWorld();
  world.api.change('Cluster', 'orders', {
    ...pauseWith('paused'),
    spec: { image: 'polyad:26.10.2' },
  });
  const pod = podUid(world);
  for (let turn = 0; turn < 10; turn++) await world.turn();
  assert.equal(world.condition('Paused'), 'True Paused');
  assert.equal(world.cluster().status?.phase, 'Paused');
  assert.equal(podUid(world), pod);
  world.api.change('Cluster', 'orders', pauseWith(null));
  await world.settle();
  assert.notEqual(podUid(world), pod);
});

test('a pause ends nothing that needs a person', async () => {
  const world = await readyWorld();
  const stalls = () =>
    world.api
      .all('Event')
      .map((event) => String(event['reason']))
      .filter((reason) => /Stall|Shrink/.test(reason));
  await change(world, { storage: { size: '1Gi' } });
  world.api.change('Cluster', 'orders', pauseWith('paused'));
  await world.settle();
  assert.equal(world.condition('Stalled'), 'True StorageShrinkRefused');
  assert.equal(world.condition('Ready'), 'False StorageShrinkRefused');
  assert.equal(world.condition('Paused'), 'True Paused');
  assert.deepEqual(stalls(), ['StorageShrinkRefused']);
  world.api.change('Cluster', 'orders', pauseWith(null));
  await world.settle();
  assert.deepEqual(stalls(), ['StorageShrinkRefused']);
  await change(world, { storage: { size: '8Gi' } });
  assert.deepEqual(stalls(), ['StorageShrinkRefused', 'StallEnded']);
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
});

test('a spec that a pause keeps from being reached is not called ready, before a look at it or after', async () => {
  const world = await readyWorld({ replicas: 3 });
  const isReadyNow = () => {
    const { metadata, status } = world.cluster();
    const ready = status?.conditions?.find(({ type }) => type === 'Ready');
    return ready?.status === 'True' && ready.observedGeneration === metadata.generation;
  };
  const pause = async () => {
    world.api.change('Cluster', 'orders', pauseWith('paused'));
    for (let turn = 0; turn < 10; turn++) await world.turn();
    assert.equal(world.cluster().status?.phase, 'Paused');
    assert.equal(isReadyNow(), false);
    world.api.change('Cluster', 'orders', pauseWith(null));
    await world.settle();
    assert.equal(isReadyNow(), true);
  };
  const ask = (cpu: string) =>
    world.api.change('Cluster', 'orders', { spec: { resources: { requests: { cpu } } } });
  ask('2');
  await pause();
  for (const looks of [1, 2, 3]) {
    ask(`${looks + 2}`);
    for (let look = 0; look < looks; look++) await world.look();
    await pause();
  }
});
