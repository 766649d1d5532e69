import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conditionOf } from '../../operator/api/conditions.ts';
import { SimulatedWorld } from './sim/simulated-world.ts';

// Another image, and what both builds say of the data (operator.md 8.12): what is not taken on, and what is not taken back.

const ready = 'True AllMembersReady';
const quick = { minReadySeconds: 0, canarySoakSeconds: 0, progressDeadlineSeconds: 30 };
const written = { storage: { reads: [3, 3], writes: 3 } };

async function worldOf(replicas: number, update: object = {}): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  const image = 'polyad:26.10.1';
  world.create('orders', { replicas, image, update: { ...quick, ...update } });
  await world.settle();
  assert.equal(world.condition('Ready'), ready);
  return world;
}

const uids = (world: SimulatedWorld) => world.memberPods().map(({ metadata }) => metadata.uid);
const stalledWith = (world: SimulatedWorld) =>
  conditionOf(world.cluster().status?.conditions, 'Stalled')?.message ?? '';
const setImage = (world: SimulatedWorld, image: string) =>
  world.api.change('Cluster', 'orders', { spec: { image } });
const peer = (world: SimulatedWorld, ordinal: number) =>
  world.members.group.voters.find((id) => id.startsWith(`orders-${ordinal}.`)) ?? '';

async function turns(world: SimulatedWorld, count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await world.turn();
}

test('an image that does not read what is there ends no member, says what differs, and goes on by the word of a person', async () => {
  const world = await worldOf(3);
  const before = uids(world);
  world.controllers.builds.set('polyad:26.11.0', { formats: written });
  setImage(world, 'polyad:26.11.0');
  await turns(world, 30);
  assert.equal(world.condition('Stalled'), 'True UpgradeFailed');
  assert.match(
    stalledWith(world),
    /26\.10\.1 writes storage format 1, version 26\.11\.0 reads 3 to 3/,
  );
  assert.deepEqual(uids(world), before);
  assert.equal(world.condition('Available'), 'True LeaderReady');
  // The Job goes after a while, another operator comes: it stays so, and nothing is tried anew.
  const job = world.api.all('Job').find(({ metadata }) => metadata.name.includes('precheck'));
  assert.ok(job);
  world.api.remove(job);
  world.restartOperator();
  const writes = world.api.effectiveWrites;
  await turns(world, 20);
  assert.equal(world.condition('Stalled'), 'True UpgradeFailed');
  assert.ok(
    world.api.effectiveWrites - writes <= 2,
    `${world.api.effectiveWrites - writes} writes`,
  );
  const token = /polyad\.io\/adopt=(\S+)/.exec(stalledWith(world))?.[1] ?? '';
  world.api.change('Cluster', 'orders', {
    metadata: { annotations: { 'polyad.io/adopt': token } },
  });
  await turns(world, 20);
  assert.match(world.cluster().status?.upgrade?.oneWay ?? '', /storage format/);
  await world.settle();
  assert.equal(world.condition('Ready'), ready);
  assert.equal(world.cluster().status?.image, 'polyad:26.11.0');
});

test('versions are not skipped unless the build says that it reads all of them', async () => {
  const world = await worldOf(1);
  const before = uids(world);
  world.controllers.losesReports = true;
  setImage(world, 'polyad:26.12.0');
  await turns(world, 30);
  assert.equal(world.condition('Stalled'), 'True UpgradeFailed');
  assert.match(stalledWith(world), /skips versions/);
  assert.deepEqual(uids(world), before);
  setImage(world, 'polyad:26.11.0');
  await world.settle();
  assert.equal(world.condition('Ready'), ready);
  assert.equal(world.condition('Stalled'), 'absent');
  world.controllers.losesReports = false;
  setImage(world, 'polyad:27.4.0');
  await world.settle();
  assert.equal(world.condition('Ready'), ready);
});

test('an image whose data the one before cannot read is not taken back: a person is asked', async () => {
  const world = await worldOf(3);
  const before = uids(world);
  world.controllers.builds.set('polyad:26.11.0', { downgradeSafeTo: '26.11.0' });
  world.controllers.crashingImages.add('polyad:26.11.0');
  setImage(world, 'polyad:26.11.0');
  await turns(world, 10);
  assert.match(world.cluster().status?.upgrade?.oneWay ?? '', /from version 26\.11\.0 on/);
  await turns(world, 60);
  assert.equal(world.condition('Stalled'), 'True UpgradeFailed');
  assert.match(stalledWith(world), /not taken back by itself: .*not by version 26\.10\.1/);
  assert.equal(world.cluster().status?.failedImage, undefined);
  // One member was touched, and is not touched again.
  assert.deepEqual(uids(world).filter((uid) => before.includes(uid)).length, 2);
  const after = uids(world);
  world.restartOperator();
  await turns(world, 20);
  assert.deepEqual(uids(world), after);
  assert.equal(world.condition('Available'), 'True LeaderReady');
  setImage(world, 'polyad:26.10.1');
  await world.settle();
  assert.equal(world.condition('Ready'), ready);
  assert.equal(world.condition('Stalled'), 'absent');
});

test('a feature that the new build may have switched on bars the way back of a single member', async () => {
  const world = await worldOf(1);
  const capabilities = ['sql', 'feature:wide-keys'];
  world.controllers.builds.set('polyad:26.11.0', { capabilities });
  world.controllers.crashingImages.add('polyad:26.11.0');
  setImage(world, 'polyad:26.11.0');
  await turns(world, 60);
  assert.deepEqual(world.cluster().status?.upgrade?.features, ['wide-keys']);
  assert.match(stalledWith(world), /may have switched on wide-keys/);
  assert.equal(world.cluster().status?.failedImage, undefined);
});

test('with three members a feature that cannot be on yet does not bar it; a leader that runs the new build does', async () => {
  const world = await worldOf(3);
  world.controllers.builds.set('polyad:26.11.0', { capabilities: ['feature:wide-keys'] });
  world.controllers.crashingImages.add('polyad:26.11.0');
  setImage(world, 'polyad:26.11.0');
  await turns(world, 90);
  assert.equal(world.cluster().status?.failedImage, 'polyad:26.11.0');
  assert.equal(world.members.group.voters.length, 3);
  world.controllers.crashingImages.clear();
  setImage(world, 'polyad:26.11.1');
  // All but the last one come up.
  const last = () => world.api.find('Pod', 'orders-0')?.metadata.uid;
  const first = last();
  for (let turn = 0; turn < 120 && last() === first; turn++) await world.turn();
  world.controllers.stopped.add('orders-0');
  await turns(world, 60);
  assert.equal(world.condition('Stalled'), 'True UpgradeFailed');
  assert.match(stalledWith(world), /orders-\d leads with it already/);
});

test('a copy that differs or a disk that fills holds an upgrade back; one that the new build brought about ends it', async () => {
  const world = await worldOf(3);
  const { group } = world.members;
  const before = uids(world);
  group.diverged.set(peer(world, 1), ['orders']);
  setImage(world, 'polyad:26.10.2');
  await turns(world, 20);
  assert.deepEqual(uids(world), before);
  assert.match(
    conditionOf(world.cluster().status?.conditions, 'Ready')?.message ?? '',
    /orders-1 holds another content/,
  );
  group.diverged.clear();
  group.logStates.set(peer(world, 2), 'PRESSURE');
  await turns(world, 20);
  assert.deepEqual(uids(world), before);
  assert.match(
    conditionOf(world.cluster().status?.conditions, 'Ready')?.message ?? '',
    /orders-2 has too little room/,
  );
  group.logStates.clear();
  for (let turn = 0; turn < 60 && uids(world)[2] === before[2]; turn++) await world.turn();
  group.diverged.set(peer(world, 2), ['orders']);
  await turns(world, 30);
  assert.match(stalledWith(world), /taken back: orders-2 holds another content of database orders/);
  group.diverged.clear();
  await world.settle();
  assert.equal(world.cluster().status?.failedImage, 'polyad:26.10.2');
  assert.equal(world.condition('Stalled'), 'True UpgradeFailed');
  assert.match(stalledWith(world), /holds another content/);
  assert.deepEqual(uids(world).slice(0, 2), before.slice(0, 2));
});
