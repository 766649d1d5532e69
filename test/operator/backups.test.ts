import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BackupStatus } from '../../operator/api/kinds/backup.ts';
import { conditionOf } from '../../operator/api/conditions.ts';
import { settlePromises } from './sim/virtual-runtime.ts';
import { namespace, SimulatedWorld } from './sim/simulated-world.ts';

// `Backup` by the method Server, on simulated members. What the real commands answer is tested with the server.

const orders = { clusterRef: { name: 'orders' } };

async function readyWorld(spec: object = {}): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  world.create('orders', spec);
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  return world;
}

function statusOf(world: SimulatedWorld, name = 'nightly'): BackupStatus {
  return (world.api.find('Backup', name)?.status ?? {}) as BackupStatus;
}

function conditionsOf(world: SimulatedWorld, name = 'nightly'): readonly string[] {
  const { conditions } = statusOf(world, name);
  return ['Ready', 'Reconciling', 'Stalled'].flatMap((type) => {
    const found = conditionOf(conditions, type);
    return found === undefined ? [] : `${type} ${found.status} ${found.reason}`;
  });
}

async function run(world: SimulatedWorld, name = 'nightly', turnsMax = 40): Promise<void> {
  for (let turn = 0; turn < turnsMax; turn++) {
    const again = await world.lookAt('Backup', name);
    if (again === undefined) return;
    world.runtime.skip(again);
  }
  assert.fail(`not finished: ${JSON.stringify(statusOf(world, name))}`);
}

function notes(world: SimulatedWorld): readonly string[] {
  return world.api
    .all('Event')
    .filter(({ regarding }) => (regarding as { kind: string }).kind === 'Backup')
    .map(({ reason }) => String(reason));
}

test('a Backup makes an archive of every database, one after the other, and says where they are', async () => {
  const world = await readyWorld();
  world.members.databases = ['orders', 'audit'];
  world.put('Backup', 'nightly', orders);
  await run(world);
  const { phase, member, files, startedAt, finishedAt, begun } = statusOf(world);
  assert.deepEqual([phase, member, begun], ['Succeeded', 'orders-0', undefined]);
  const made = world.members.madeArchives();
  assert.deepEqual(
    files?.map(({ database, name, bytes }) => [database, name, bytes]),
    ['orders', 'audit'].map((database) => [
      database,
      made.find((archive) => archive.database === database)?.fileName,
      1000,
    ]),
  );
  assert.ok(String(startedAt) <= String(finishedAt));
  assert.deepEqual(conditionsOf(world), ['Ready True Succeeded']);
  assert.deepEqual(notes(world), ['BackupSucceeded']);
  // It is done: nothing is asked, nothing is written again.
  const { effectiveWrites } = world.api;
  const calls = world.members.calls.length;
  await run(world);
  assert.equal(world.api.effectiveWrites, effectiveWrites);
  assert.equal(world.members.calls.length, calls);
});

test('a look returns while the archive is made, for hours', async () => {
  const world = await readyWorld();
  world.members.course.isHeld = true;
  world.put('Backup', 'nightly', orders);
  for (let turn = 0; turn < 20; turn++) {
    await world.lookAt('Backup', 'nightly');
    world.runtime.skip(600_000);
  }
  assert.deepEqual(conditionsOf(world), ['Ready False Running', 'Reconciling True Running']);
  assert.deepEqual(world.members.backedUp, ['orders']);
  world.members.course.finish();
  await settlePromises();
  await run(world);
  assert.equal(statusOf(world).phase, 'Succeeded');
  assert.equal(world.members.madeArchives().length, 1);
});

test('only the databases named are backed up; one that is not there fails by its name', async () => {
  const world = await readyWorld();
  world.members.databases = ['orders', 'audit'];
  world.put('Backup', 'nightly', { ...orders, databases: ['audit'] });
  await run(world);
  assert.deepEqual(world.members.backedUp, ['audit']);
  world.put('Backup', 'wrong', { ...orders, databases: ['orders', 'missing'] });
  await run(world, 'wrong');
  assert.deepEqual(conditionsOf(world, 'wrong'), [
    'Ready False DatabaseNotFound',
    'Stalled True DatabaseNotFound',
  ]);
  assert.equal(statusOf(world, 'wrong').error, 'there is no database missing');
});

test('a database that cannot be backed up keeps the others from nothing, and the Backup fails', async () => {
  const world = await readyWorld();
  world.members.databases = ['audit', 'orders'];
  world.members.course.failing.set('audit', 'no space left on device');
  world.put('Backup', 'nightly', orders);
  await run(world);
  const { phase, files, failures, error } = statusOf(world);
  assert.equal(phase, 'Failed');
  assert.deepEqual(
    files?.map(({ database }) => database),
    ['orders'],
  );
  assert.deepEqual(
    failures?.map(({ database }) => database),
    ['audit'],
  );
  assert.match(error ?? '', /^1 of 2 databases failed; audit: .*no space left on device/);
  assert.deepEqual(notes(world), ['BackupFailed']);
});

test('what has no effect yet is refused by its name', async () => {
  const world = await readyWorld();
  const refused = [
    [{ method: 'Stream' }, /^spec\.destination needs exactly one/],
    [{ method: 'VolumeSnapshot' }, /^not supported: spec\.method VolumeSnapshot/],
    [
      { destination: { persistentVolumeClaim: { name: 'a' } } },
      /^not supported: spec\.destination/,
    ],
    [{ method: 'Guess' }, /^spec\.method: /],
  ] as const;
  for (const [index, [more, message]] of refused.entries()) {
    const name = `backup-${index}`;
    world.put('Backup', name, { ...orders, ...more });
    await run(world, name);
    assert.deepEqual(conditionsOf(world, name), [
      'Ready False InvalidSpec',
      'Stalled True InvalidSpec',
    ]);
    assert.match(statusOf(world, name).error ?? '', message);
  }
  assert.deepEqual(world.members.backedUp, []);
});

test('it waits for a Cluster that is not there or has no leader, and begins when it has', async () => {
  const world = new SimulatedWorld();
  world.put('Backup', 'nightly', orders);
  await world.lookAt('Backup', 'nightly');
  assert.deepEqual(conditionsOf(world), [
    'Ready False ClusterNotFound',
    'Reconciling True ClusterNotFound',
  ]);
  world.create('orders');
  await world.look();
  await world.lookAt('Backup', 'nightly');
  assert.equal(conditionsOf(world)[0], 'Ready False WaitingForCluster');
  await world.settle();
  await run(world);
  assert.equal(statusOf(world).phase, 'Succeeded');
});

test('a backup of somebody else is waited for and not taken for this one', async () => {
  const world = await readyWorld();
  const { course } = world.members;
  course.isHeld = true;
  world.put('Backup', 'earlier', orders);
  for (let turn = 0; turn < 3; turn++) await world.lookAt('Backup', 'earlier');
  world.runtime.skip(60_000);
  world.put('Backup', 'nightly', orders);
  for (let turn = 0; turn < 4; turn++) {
    await world.lookAt('Backup', 'nightly');
    world.runtime.skip(2000);
  }
  assert.match(
    conditionOf(statusOf(world).conditions, 'Ready')?.message ?? '',
    /orders waits: .*already in progress/,
  );
  course.isHeld = false;
  course.finish();
  await settlePromises();
  await run(world);
  await run(world, 'earlier');
  const name = (backup: string) => statusOf(world, backup).files?.[0]?.name;
  assert.notEqual(name('nightly'), name('earlier'));
  assert.equal(world.members.madeArchives().length, 2);
});

test('an answer that is lost is found again in the archives of the member', async () => {
  const world = await readyWorld();
  world.members.course.answersToLose = 1;
  world.put('Backup', 'nightly', orders);
  await run(world);
  assert.equal(statusOf(world).phase, 'Succeeded');
  assert.deepEqual(world.members.backedUp, ['orders']);
});

test('with Delete the archives go with the object, and with Retain they stay', async () => {
  const world = await readyWorld();
  const remove = async (name: string) => {
    const found = world.api.find('Backup', name);
    assert.ok(found);
    world.api.delete(found, false);
    await run(world, name);
    assert.equal(world.api.find('Backup', name), undefined);
  };
  world.put('Backup', 'kept', orders);
  await run(world, 'kept');
  world.runtime.skip(60_000);
  world.put('Backup', 'nightly', { ...orders, deletionPolicy: 'Delete' });
  await run(world);
  assert.equal(world.members.madeArchives().length, 2);
  await remove('kept');
  assert.equal(world.members.madeArchives().length, 2);
  const [file] = statusOf(world).files ?? [];
  await remove('nightly');
  assert.equal(world.members.madeArchives().length, 1);
  assert.notEqual(world.members.madeArchives()[0]?.fileName, file?.name);
  // A Cluster that is gone holds nobody's deletion up.
  world.put('Backup', 'orphan', { ...orders, deletionPolicy: 'Delete' });
  await run(world, 'orphan');
  world.api.remove(world.cluster());
  await remove('orphan');
});

test('the Cluster of another installation is left alone', async () => {
  const world = await readyWorld();
  world.put('Backup', 'nightly', orders);
  await world.secondKinds('others/operator').look('Backup', namespace, 'nightly');
  assert.deepEqual(statusOf(world), {});
});

/** The operator dies after its n-th write or call; its successor ends what was begun. */
async function playUntilKilled(killAt: number): Promise<{ steps: number; world: SimulatedWorld }> {
  const world = await readyWorld();
  world.members.databases = ['orders', 'audit'];
  world.put('Backup', 'nightly', { ...orders, deletionPolicy: 'Delete' });
  let steps = 0;
  world.api.faultAfter = ({ method }) =>
    method !== 'GET' && ++steps === killAt ? 'drop' : undefined;
  for (let turn = 0; turn < 60; turn++) {
    const triggered = world.members.backedUp.length;
    const isCut = await world.lookAt('Backup', 'nightly').then(
      () => false,
      () => true,
    );
    if (world.members.backedUp.length > triggered) steps++;
    if (isCut || steps === killAt) world.restartOperator();
    world.runtime.skip(5000);
  }
  return { steps, world };
}

test('killed at every write and call of a Backup, the operator ends it, with one archive for each database', async () => {
  const { steps, world: model } = await playUntilKilled(0);
  assert.ok(steps >= 6, `${steps} steps`);
  const summary = (world: SimulatedWorld) => [
    conditionsOf(world),
    statusOf(world).files?.map(({ database }) => database),
    world.members.madeArchives().length,
    world.api.find('Backup', 'nightly')?.metadata.finalizers,
  ];
  assert.deepEqual(summary(model)[0], ['Ready True Succeeded']);
  for (let killAt = 1; killAt <= steps; killAt++) {
    const { world } = await playUntilKilled(killAt);
    assert.deepEqual(summary(world), summary(model), `killed at ${killAt}`);
  }
});

test('two operators at once make one archive for each database', async () => {
  const world = await readyWorld();
  world.members.databases = ['orders', 'audit'];
  const other = world.secondKinds();
  world.members.course.isHeld = true;
  world.put('Backup', 'nightly', orders);
  for (let turn = 0; turn < 60; turn++) {
    await Promise.allSettled([
      world.lookAt('Backup', 'nightly'),
      other.look('Backup', namespace, 'nightly'),
    ]);
    await settlePromises();
    if (turn % 5 === 4) world.members.course.finish();
    world.runtime.skip(5000);
  }
  assert.equal(statusOf(world).phase, 'Succeeded');
  assert.equal(world.members.madeArchives().length, 2);
});
