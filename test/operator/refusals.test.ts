import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimulatedWorld } from './sim/simulated-world.ts';

// What a member or the API server refuses is said by its name, holds nothing else back, and ends when its cause does.

const origins = 'service.server.httpCorsAllowedOrigins';
const limit = 'service.server.httpQueryDefaultLimit';

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

function stalledMessage(world: SimulatedWorld): string {
  const { conditions = [] } = world.cluster().status ?? {};
  return conditions.find(({ type }) => type === 'Stalled')?.message ?? '';
}

function reasonsOfEvents(world: SimulatedWorld): readonly string[] {
  return world.api.all('Event').map((event) => String(event['reason']));
}

test('a hot setting whose default is empty is taken back on the running member', async () => {
  const world = await readyWorld();
  await change(world, { settings: { [origins]: 'https://shop.example' } });
  assert.equal(world.members.settings()?.get(origins), 'https://shop.example');
  await change(world, { settings: null });
  assert.equal(world.members.settings()?.get(origins), '');
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
});

test('a value in quotes reaches the member with its quotes', async () => {
  const world = await readyWorld();
  for (const value of ['"quoted"', "'quoted'", ' spaced ', 'plain "inside"']) {
    await change(world, { settings: { [origins]: value } });
    assert.equal(world.members.settings()?.get(origins), value);
  }
});

test('a hot value that the member refuses is InvalidSpec, and holds back no other', async () => {
  const world = await readyWorld();
  world.members.refusedValues.add('many');
  await change(world, { settings: { [limit]: 'many', [origins]: 'https://shop.example' } });
  assert.equal(world.condition('Stalled'), 'True InvalidSpec');
  assert.match(stalledMessage(world), /httpQueryDefaultLimit.*must be/);
  assert.equal(world.condition('ConfigApplied'), 'False HotApplyFailed');
  assert.equal(world.members.settings()?.get(origins), 'https://shop.example');
  // It is asked again now and then, and stays what it is meanwhile.
  const requests = world.members.calls.length;
  for (let turn = 0; turn < 150; turn++) {
    await world.turn();
    assert.equal(world.condition('Stalled'), 'True InvalidSpec');
  }
  const asked = world.members.calls.slice(requests).filter((call) => call.startsWith('POST'));
  assert.ok(asked.length < 10, asked.join());
  await change(world, { settings: { [limit]: '7', [origins]: 'https://shop.example' } });
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  const reasons = reasonsOfEvents(world);
  assert.equal(reasons.filter((reason) => reason === 'InvalidSpec').length, 1);
  assert.equal(reasons.filter((reason) => reason === 'StallEnded').length, 1);
});

test('a right that is missing or a quota is PermissionDenied, and the rest goes on', async () => {
  const world = new SimulatedWorld();
  let isFull = true;
  world.api.faultBefore = ({ method, path }) =>
    isFull && method === 'PATCH' && /services\/orders-ro/.test(path) ? { status: 403 } : undefined;
  world.create('orders');
  await world.settle();
  assert.equal(world.condition('Stalled'), 'True PermissionDenied');
  assert.match(stalledMessage(world), /Service\/orders-ro/);
  assert.equal(world.condition('Available'), 'True LeaderReady');
  assert.equal(world.api.find('Service', 'orders-ro'), undefined);
  isFull = false;
  for (let turn = 0; turn < 70; turn++) await world.turn();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  assert.notEqual(world.api.find('Service', 'orders-ro'), undefined);
});

test('a Secret that may not be made is PermissionDenied, and no look follows the other at once', async () => {
  const world = new SimulatedWorld();
  world.api.faultBefore = ({ method, path }) =>
    method === 'POST' && /\/secrets\b/.test(path) ? { status: 403 } : undefined;
  world.create('orders');
  for (let turn = 0; turn < 20; turn++) await world.turn();
  assert.equal(world.condition('Stalled'), 'True PermissionDenied');
  assert.ok(((await world.look()) ?? Infinity) >= 1000);
});

test('each thing that stalls a Cluster is an event, and so is its end', async () => {
  const world = await readyWorld();
  world.controllers.missingImages.add('polyad:broken');
  await change(world, { storage: { size: '1Gi' } });
  assert.equal(world.condition('Stalled'), 'True StorageShrinkRefused');
  await change(world, { storage: { size: '8Gi' } });
  assert.deepEqual(
    reasonsOfEvents(world).filter((reason) => /Stall|Shrink/.test(reason)),
    ['StorageShrinkRefused', 'StallEnded'],
  );
});

test('what stalls a Cluster has ended when something else takes its place', async () => {
  const world = await readyWorld();
  world.members.refusedValues.add('many');
  await change(world, { settings: { [limit]: 'many' } });
  assert.equal(world.condition('Stalled'), 'True InvalidSpec');
  await change(world, { settings: { [limit]: '7' }, storage: { size: '1Gi' } });
  assert.equal(world.condition('Stalled'), 'True StorageShrinkRefused');
  assert.deepEqual(
    reasonsOfEvents(world).filter((reason) => /Stall|Shrink|Invalid/.test(reason)),
    ['InvalidSpec', 'StallEnded', 'StorageShrinkRefused'],
  );
});

test('another cause under the same reason is told too, and ends nothing', async () => {
  const world = await readyWorld();
  await change(world, { storage: { size: '1Gi' } });
  await change(world, { storage: { size: '2Gi' } });
  assert.match(stalledMessage(world), /2Gi/);
  assert.deepEqual(
    reasonsOfEvents(world).filter((reason) => /Stall|Shrink/.test(reason)),
    ['StorageShrinkRefused', 'StorageShrinkRefused'],
  );
});

test('what is not there yet is not called ready', async () => {
  const world = new SimulatedWorld();
  world.create('orders');
  let hasSeenPending = false;
  for (let turn = 0; turn < 40; turn++) {
    await world.look();
    const claim = world.api.find('PersistentVolumeClaim', 'data-orders-0');
    const isBound = (claim?.status as { phase?: string } | undefined)?.phase === 'Bound';
    if (!isBound) {
      assert.equal(world.condition('StorageReady'), 'False Pending');
      hasSeenPending = true;
    }
    if (world.api.find('Pod', 'orders-0') === undefined)
      assert.equal(world.condition('ConfigApplied'), 'False Pending');
    world.controllers.step();
    world.runtime.skip(1000);
  }
  assert.equal(hasSeenPending, true);
  assert.equal(world.condition('StorageReady'), 'True Ready');
  assert.equal(world.condition('ConfigApplied'), 'True Applied');
});

test('the event Created is sent once', async () => {
  const world = new SimulatedWorld();
  world.create('orders');
  // As the definition's default fills it in.
  world.api.change('Cluster', 'orders', {
    status: {
      observedGeneration: 0,
      conditions: [
        {
          type: 'Ready',
          status: 'Unknown',
          reason: 'NotSeen',
          message: '',
          lastTransitionTime: '',
        },
      ],
    },
  });
  await world.settle();
  assert.deepEqual(
    reasonsOfEvents(world).filter((reason) => reason === 'Created'),
    ['Created'],
  );
});
