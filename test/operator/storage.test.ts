import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimulatedWorld } from './sim/simulated-world.ts';

// Volumes grow one claim at a time, each by what its own class allows (operator.md 8.6).

const nobody = { minReadySeconds: 0 };

async function threeMembers(storage: object, update: object = nobody): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  world.api.put({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'fixed' },
    allowVolumeExpansion: false,
  } as never);
  world.create('orders', { replicas: 3, storage, update });
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  return world;
}

const ask = (world: SimulatedWorld, spec: object) =>
  world.api.change('Cluster', 'orders', { spec });

async function turns(world: SimulatedWorld, count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await world.turn();
}

const claimNames = (template: string) => [0, 1, 2].map((at) => `${template}-orders-${at}`);

function requested(world: SimulatedWorld, template: string): readonly unknown[] {
  return claimNames(template).map((name) => {
    const spec = world.api.find('PersistentVolumeClaim', name)?.spec;
    return (spec as { resources: { requests: { storage: string } } }).resources.requests.storage;
  });
}

const states = (world: SimulatedWorld) =>
  Object.fromEntries((world.cluster().status?.storage ?? []).map((one) => [one.claim, one.state]));

const pods = (world: SimulatedWorld) =>
  world.api
    .all('Pod')
    .map(({ metadata }) => metadata.uid)
    .sort();

test('claims grow one at a time, and the status tells which one is waited for', async () => {
  const world = await threeMembers({ size: '1Gi' });
  const running = pods(world);
  world.controllers.canGrow = false;
  ask(world, { storage: { size: '2Gi' } });
  await turns(world, 8);
  assert.deepEqual(requested(world, 'data'), ['2Gi', '1Gi', '1Gi']);
  assert.equal(world.condition('StorageReady'), 'False ResizePending');
  assert.deepEqual(states(world), {
    'data-orders-0': 'ResizePending',
    'data-orders-1': 'Bound',
    'data-orders-2': 'Bound',
  });
  world.controllers.canGrow = true;
  await world.settle();
  assert.deepEqual(requested(world, 'data'), ['2Gi', '2Gi', '2Gi']);
  assert.equal(world.condition('StorageReady'), 'True Ready');
  assert.deepEqual(pods(world), running);
});

test('a claim that is long in growing keeps the others waiting for two minutes only', async () => {
  const world = await threeMembers({ size: '1Gi' });
  world.controllers.canGrow = false;
  ask(world, { storage: { size: '2Gi' } });
  await turns(world, 3);
  const since = new Date(world.runtime.clock.now()).toISOString();
  world.api.change('PersistentVolumeClaim', 'data-orders-0', {
    status: { conditions: [{ type: 'Resizing', status: 'True', lastTransitionTime: since }] },
  });
  await turns(world, 60);
  assert.deepEqual(requested(world, 'data'), ['2Gi', '1Gi', '1Gi']);
  await turns(world, 70);
  assert.deepEqual(requested(world, 'data'), ['2Gi', '2Gi', '1Gi']);
});

test('what a class does not allow keeps no claim of another class from growing', async () => {
  const backups = { size: '1Gi', storageClassName: 'standard' };
  const world = await threeMembers({ size: '1Gi', storageClassName: 'fixed', backups });
  ask(world, { storage: { size: '2Gi', backups: { size: '3Gi' } } });
  await world.settle();
  assert.deepEqual(requested(world, 'data'), ['1Gi', '1Gi', '1Gi']);
  assert.deepEqual(requested(world, 'backups'), ['3Gi', '3Gi', '3Gi']);
  assert.equal(world.condition('StorageReady'), 'False NotExpandable');
  assert.deepEqual(states(world), {
    'data-orders-0': 'NotExpandable',
    'data-orders-1': 'NotExpandable',
    'data-orders-2': 'NotExpandable',
    'backups-orders-0': 'Bound',
    'backups-orders-1': 'Bound',
    'backups-orders-2': 'Bound',
  });
});

test('a claim that is refused is told with the words of the refusal, and the others grow', async () => {
  const world = await threeMembers({ size: '1Gi' });
  const set = world.api.find('StatefulSet', 'orders')?.metadata.uid;
  world.api.faultBefore = ({ method, path }) =>
    method === 'PATCH' && path.includes('/data-orders-1')
      ? { status: 403, message: 'exceeded quota: storage' }
      : undefined;
  ask(world, { storage: { size: '2Gi' } });
  await world.settle();
  assert.deepEqual(requested(world, 'data'), ['2Gi', '1Gi', '2Gi']);
  const told = world.cluster().status?.conditions?.find(({ type }) => type === 'StorageReady');
  assert.match(told?.message ?? '', /exceeded quota: storage/);
  // New volumes get the size when all have it.
  assert.equal(world.api.find('StatefulSet', 'orders')?.metadata.uid, set);
  world.api.faultBefore = undefined;
  await turns(world, 130);
  assert.deepEqual(requested(world, 'data'), ['2Gi', '2Gi', '2Gi']);
  assert.notEqual(world.api.find('StatefulSet', 'orders')?.metadata.uid, set);
  assert.equal(world.condition('StorageReady'), 'True Ready');
});

test('a claim that somebody made larger by hand stays so and stalls nothing', async () => {
  const world = await threeMembers({ size: '1Gi' });
  const spec = { resources: { requests: { storage: '4Gi' } } };
  world.api.change('PersistentVolumeClaim', 'data-orders-1', { spec });
  await world.settle();
  assert.deepEqual(requested(world, 'data'), ['1Gi', '4Gi', '1Gi']);
  assert.equal(world.condition('Stalled'), 'absent');
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  assert.equal(world.condition('SpecWarnings').startsWith('True'), true);
  ask(world, { storage: { size: '2Gi' } });
  await world.settle();
  assert.deepEqual(requested(world, 'data'), ['2Gi', '4Gi', '2Gi']);
  ask(world, { storage: { size: '1Gi' } });
  await world.settle();
  assert.equal(world.condition('Stalled'), 'True StorageShrinkRefused');
  assert.deepEqual(requested(world, 'data'), ['2Gi', '4Gi', '2Gi']);
});

test('a pod ends for the growth of its file system within a window only', async () => {
  // Windows of a quarter of an hour at six in the morning; the world begins at midnight.
  const maintenanceWindows = [{ cron: '0 6 * * *', durationMinutes: 15, timezone: 'UTC' }];
  const world = await threeMembers({ size: '1Gi' }, { ...nobody, maintenanceWindows });
  const running = pods(world);
  world.controllers.canGrow = false;
  ask(world, { storage: { size: '2Gi' } });
  await turns(world, 3);
  const since = new Date(world.runtime.clock.now()).toISOString();
  const type = 'FileSystemResizePending';
  world.api.change('PersistentVolumeClaim', 'data-orders-0', {
    status: { conditions: [{ type, status: 'True', lastTransitionTime: since }] },
  });
  await turns(world, 200);
  assert.deepEqual(pods(world), running);
  assert.equal(world.condition('StorageReady'), `False ${type}`);
  // The volumes of the others grow meanwhile: this one's has grown.
  assert.deepEqual(requested(world, 'data'), ['2Gi', '2Gi', '1Gi']);
  world.runtime.skip(6 * 3600_000);
  await turns(world, 30);
  const ended = running.filter((uid) => !pods(world).includes(uid));
  assert.equal(ended.length, 1);
});
