import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimulatedWorld } from './sim/simulated-world.ts';

// How operations end is told by polyad_cluster_operation_duration_seconds (operator.md 10.7): once each, with its result.

async function threeMembers(spec: object = {}) {
  const world = new SimulatedWorld();
  world.create('orders', {
    replicas: 3,
    image: 'polyad:1',
    update: { minReadySeconds: 0, canarySoakSeconds: 0, progressDeadlineSeconds: 30 },
    ...spec,
  });
  await world.settle();
  return world;
}

function ask(world: SimulatedWorld, spec: object): void {
  world.api.change('Cluster', 'orders', { spec });
}

async function turns(world: SimulatedWorld, count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await world.turn();
}

async function until(world: SimulatedWorld, type: string): Promise<void> {
  for (let turn = 0; world.cluster().status?.operation?.type !== type; turn++) {
    assert.ok(turn < 20, `no operation ${type}`);
    await world.turn();
  }
}

/** `Type result`, and how often, but for `Create`. */
function ends(world: SimulatedWorld): readonly string[] {
  const counts = world.metrics
    .render()
    .matchAll(/operation_duration_seconds_count\{.*type="(\w+)",result="(\w+)"\} (\d+)/g);
  return [...counts].flatMap(([, type = '', result = '', count = '']) =>
    type === 'Create' ? [] : [`${type} ${result} ${count}`],
  );
}

test('what was reached is a success', async () => {
  const world = await threeMembers();
  for (const spec of [
    { replicas: 5 },
    { resources: { requests: { cpu: '2' } } },
    { image: 'polyad:2' },
    { hibernate: true },
    { hibernate: false },
  ]) {
    ask(world, spec);
    await world.settle();
  }
  assert.deepEqual(ends(world), [
    'Scale success 1',
    'Restart success 1',
    'Upgrade success 1',
    'Hibernate success 1',
    'Resume success 1',
  ]);
});

test('each image that is taken back is a failed upgrade, and to go back is a success', async () => {
  const world = await threeMembers();
  for (const image of ['polyad:bad', 'polyad:worse']) {
    world.controllers.crashingImages.add(image);
    ask(world, { image });
    await turns(world, 120);
    assert.equal(world.cluster().status?.failedImage, image);
  }
  assert.deepEqual(ends(world), ['Upgrade failed 2', 'RollBack success 2']);
});

test('an image that does not start beside the members is a failed upgrade', async () => {
  const world = await threeMembers();
  world.controllers.missingImages.add('polyad:gone');
  ask(world, { image: 'polyad:gone' });
  await turns(world, 120);
  assert.equal(world.condition('Stalled'), 'True UpgradeFailed');
  assert.deepEqual(ends(world), ['Upgrade failed 1']);
});

test('what a person ends because it had stalled has failed, and what another wish took the place of is neither', async () => {
  const world = await threeMembers();
  ask(world, { replicas: 5 });
  await until(world, 'Scale');
  ask(world, { replicas: 4 });
  await world.settle();
  assert.deepEqual(ends(world), ['Scale replaced 1', 'Scale success 1']);
  world.controllers.crashingImages.add('polyad:1');
  ask(world, { env: [{ name: 'A', value: '1' }] });
  await turns(world, 60);
  assert.equal(world.condition('Stalled'), 'True ProgressDeadlineExceeded');
  world.controllers.crashingImages.clear();
  ask(world, { env: [{ name: 'A', value: '2' }] });
  await world.settle();
  assert.deepEqual(ends(world).slice(2), ['Restart failed 1', 'Restart success 1']);
});

test('a sleep that is called off is no success', async () => {
  const world = await threeMembers();
  ask(world, { hibernate: true });
  await until(world, 'Hibernate');
  ask(world, { hibernate: false });
  await world.settle();
  assert.deepEqual(ends(world)[0], 'Hibernate replaced 1');
});
