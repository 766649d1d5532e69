import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RestoreStatus } from '../../operator/api/kinds/restore.ts';
import { conditionOf } from '../../operator/api/conditions.ts';
import { settlePromises } from './sim/virtual-runtime.ts';
import { namespace, SimulatedWorld } from './sim/simulated-world.ts';

// `Restore` into a Cluster that runs, on simulated members, from a Backup that they made.

const clusterRef = { name: 'orders' };
const source = { backupRef: { name: 'nightly' } };

async function backedUpWorld(spec: object = {}): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  world.create('orders', spec);
  await world.settle();
  world.members.databases = ['orders', 'audit'];
  world.put('Backup', 'nightly', { clusterRef });
  for (let turn = 0; turn < 12; turn++) await world.lookAt('Backup', 'nightly');
  assert.equal(world.api.find('Backup', 'nightly')?.status?.['phase'], 'Succeeded');
  world.runtime.skip(3_600_000);
  return world;
}

function statusOf(world: SimulatedWorld, name = 'back'): RestoreStatus {
  return (world.api.find('Restore', name)?.status ?? {}) as RestoreStatus;
}

function reasonsOf(world: SimulatedWorld, name = 'back'): readonly string[] {
  return (statusOf(world, name).conditions ?? []).map(
    ({ type, status, reason }) => `${type} ${status} ${reason}`,
  );
}

async function run(world: SimulatedWorld, name = 'back', turnsMax = 30): Promise<void> {
  for (let turn = 0; turn < turnsMax; turn++) {
    const again = await world.lookAt('Restore', name);
    if (again === undefined) return;
    world.runtime.skip(again);
  }
}

test('databases of a Backup come back, under other names too', async () => {
  const world = await backedUpWorld();
  world.members.databases = ['audit'];
  world.put('Restore', 'back', {
    clusterRef,
    source,
    databases: [{ name: 'orders' }, { name: 'audit', as: 'audit2' }],
  });
  await run(world);
  assert.deepEqual(world.members.databases, ['audit', 'orders', 'audit2']);
  const { phase, databases, begun } = statusOf(world);
  assert.deepEqual([phase, begun], ['Succeeded', undefined]);
  assert.deepEqual(databases, [
    { name: 'orders', as: 'orders', phase: 'Succeeded' },
    { name: 'audit', as: 'audit2', phase: 'Succeeded' },
  ]);
  assert.deepEqual(reasonsOf(world), ['Ready True Succeeded']);
  const events = world.api.all('Event').map(({ reason }) => String(reason));
  assert.deepEqual(
    events.filter((reason) => reason.startsWith('Restore')),
    ['RestoreStarted', 'RestoreFinished'],
  );
});

test('without names all databases of the Backup come back', async () => {
  const world = await backedUpWorld();
  world.members.databases = [];
  world.put('Restore', 'back', { clusterRef, source });
  await run(world);
  assert.deepEqual(world.members.databases, ['orders', 'audit']);
});

test('a database that is there is left as it is, before anything is restored', async () => {
  const world = await backedUpWorld();
  world.members.databases = ['audit'];
  world.put('Restore', 'back', { clusterRef, source });
  await run(world);
  assert.deepEqual(reasonsOf(world), ['Ready False DatabaseExists', 'Stalled True DatabaseExists']);
  assert.equal(statusOf(world).error, 'there is a database audit already');
  assert.deepEqual(world.members.restored, []);
});

test('Replace backs the present database up before it replaces it', async () => {
  const world = await backedUpWorld();
  const count = world.members.madeArchives().length;
  const restore = { clusterRef, source, databases: [{ name: 'orders' }], ifExists: 'Replace' };
  world.put('Restore', 'back', restore);
  await run(world);
  assert.equal(statusOf(world).phase, 'Succeeded');
  const made = world.members.madeArchives();
  assert.equal(made.length, count + 1);
  assert.equal(statusOf(world).databases?.[0]?.before, made[0]?.fileName);
  assert.deepEqual(world.members.restored, ['orders']);
  // No backup, no replacement.
  world.members.course.failing.set('orders', 'no space left');
  world.put('Restore', 'again', restore);
  await run(world, 'again');
  assert.match(statusOf(world, 'again').error ?? '', /1 of 1 databases failed; orders: .*no space/);
  assert.deepEqual(world.members.restored, ['orders']);
});

test('one archive by its address', async () => {
  const world = await backedUpWorld();
  const url = 'https://archives.example/orders.zip';
  world.put('Restore', 'back', { clusterRef, source: { url }, databases: [{ name: 'copy' }] });
  await run(world);
  assert.deepEqual(world.members.databases, ['orders', 'audit', 'copy']);
});

test('what cannot be is refused by its name', async () => {
  const world = await backedUpWorld();
  const url = 'https://archives.example/orders.zip';
  const one = [{ name: 'copy' }];
  world.put('Backup', 'foreign', { clusterRef: { name: 'others' } });
  const refused = [
    [{ source: {} }, /^spec\.source needs exactly one/],
    [{ source: { url } }, /^spec\.databases needs exactly one database/],
    [{ source: { url }, databases: one, ifExists: 'Replace' }, /^not supported: spec\.ifExists/],
    [
      { source: { backupRef: { name: 'foreign' } } },
      /^not supported: Backup foreign is of Cluster/,
    ],
    [{ source, databases: [{ name: 'a' }, { name: 'b', as: 'a' }] }, /names a twice/],
  ] as const;
  for (const [index, [more, message]] of refused.entries()) {
    world.put('Restore', `restore-${index}`, { clusterRef, ...more });
    await run(world, `restore-${index}`);
    assert.equal(reasonsOf(world, `restore-${index}`)[1], 'Stalled True InvalidSpec');
    assert.match(statusOf(world, `restore-${index}`).error ?? '', message);
  }
  world.put('Restore', 'absent', { clusterRef, source, databases: one });
  await run(world, 'absent');
  assert.equal(statusOf(world, 'absent').error, 'the Backup has no archive of copy');
  assert.deepEqual(world.members.restored, []);
});

test('it waits for its Backup, its Cluster and the member that holds the archives to lead', async () => {
  const world = await backedUpWorld();
  world.members.databases = [];
  const reason = async () => {
    await world.lookAt('Restore', 'back');
    return conditionOf(statusOf(world).conditions, 'Ready')?.reason;
  };
  world.put('Restore', 'back', { clusterRef, source: { backupRef: { name: 'later' } } });
  assert.equal(await reason(), 'BackupNotFound');
  world.put('Backup', 'later', { clusterRef, databases: ['orders'] });
  assert.equal(await reason(), 'WaitingForBackup');
  const { status } = world.api.find('Backup', 'nightly') ?? {};
  world.api.change('Backup', 'later', { status: { ...status, member: 'orders-1' } });
  assert.equal(await reason(), 'ArchiveElsewhere');
  assert.match(
    conditionOf(statusOf(world).conditions, 'Ready')?.message ?? '',
    /archives are on orders-1 and orders-0 leads/,
  );
  world.api.change('Backup', 'later', { status: { member: 'orders-0' } });
  world.api.change('Cluster', 'orders', { status: { leader: null } });
  assert.equal(await reason(), 'WaitingForCluster');
  world.api.change('Cluster', 'orders', { status: { leader: 'orders-0' } });
  await run(world);
  assert.equal(statusOf(world).phase, 'Succeeded');
});

test('a look returns while a database is restored, for hours', async () => {
  const world = await backedUpWorld();
  world.members.databases = [];
  world.members.course.isHeld = true;
  world.put('Restore', 'back', { clusterRef, source });
  for (let turn = 0; turn < 20; turn++) {
    await world.lookAt('Restore', 'back');
    world.runtime.skip(600_000);
  }
  assert.deepEqual(world.members.restored, ['orders']);
  world.members.course.isHeld = false;
  world.members.course.finish();
  await settlePromises();
  await run(world);
  assert.equal(statusOf(world).phase, 'Succeeded');
});

test('killed at every write and call, answers lost, with a second operator, the databases come back', async () => {
  for (const ifExists of ['Fail', 'Replace']) {
    for (let killAt = 0; killAt <= 14; killAt++) {
      const world = await backedUpWorld();
      if (ifExists === 'Fail') world.members.databases = [];
      const other = world.secondKinds();
      world.members.course.answersToLose = killAt % 3;
      let steps = 0;
      world.api.faultAfter = ({ method }) =>
        method !== 'GET' && ++steps === killAt ? 'drop' : undefined;
      world.put('Restore', 'back', { clusterRef, source, ifExists });
      for (let turn = 0; turn < 60; turn++) {
        const ends = await Promise.allSettled([
          world.lookAt('Restore', 'back'),
          ...(turn % 2 === 0 ? [other.look('Restore', namespace, 'back')] : []),
        ]);
        if (ends.some(({ status }) => status === 'rejected')) world.restartOperator();
        await settlePromises();
        world.runtime.skip(5000);
      }
      const { phase, databases } = statusOf(world);
      const name = `${ifExists}, killed at ${killAt}`;
      assert.equal(phase, 'Succeeded', `${name}: ${JSON.stringify(statusOf(world))}`);
      assert.deepEqual(
        databases?.map((one) => [one.as, one.phase, one.before !== undefined]),
        ['orders', 'audit'].map((one) => [one, 'Succeeded', ifExists === 'Replace']),
        name,
      );
      assert.deepEqual([...world.members.databases].sort(), ['audit', 'orders']);
    }
  }
});

test('killed at calls of it, the operator restores into three members; the Cluster is looked at meanwhile', async () => {
  for (let killAt = 1; killAt <= 13; killAt += 4) {
    const world = await backedUpWorld({ replicas: 3 });
    assert.equal(world.members.group.voters.length, 3);
    world.members.databases = [];
    world.members.course.answersToLose = killAt % 3;
    let steps = 0;
    world.api.faultAfter = ({ method }) =>
      method !== 'GET' && ++steps === killAt ? 'drop' : undefined;
    world.put('Restore', 'back', { clusterRef, source });
    const uids = world.api.all('Pod').map(({ metadata }) => metadata.uid);
    for (let turn = 0; turn < 40; turn++) {
      const ends = await Promise.allSettled([world.lookAt('Restore', 'back'), world.look()]);
      if (ends.some(({ status }) => status === 'rejected')) world.restartOperator();
      await settlePromises();
      world.controllers.step();
      world.runtime.skip(5000);
    }
    assert.equal(statusOf(world).phase, 'Succeeded', `killed at ${killAt}`);
    assert.deepEqual([...world.members.databases].sort(), ['audit', 'orders']);
    assert.equal(world.condition('Ready'), 'True AllMembersReady');
    assert.deepEqual(
      world.api.all('Pod').map(({ metadata }) => metadata.uid),
      uids,
      'nobody is restarted for it',
    );
  }
});
