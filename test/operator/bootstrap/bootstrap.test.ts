import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conditionOf } from '../../../operator/api/conditions.ts';
import type { KubernetesObject } from '../../../operator/api/kubernetes-object.ts';
import { SimulatedWorld } from '../sim/simulated-world.ts';

// A new Cluster that starts with data (operator.md 8.9, 8.10): of a backup, or on volumes that are there.

const s3 = { endpoint: 'https://storage.example', bucket: 'kept', credentialsSecret: 'storage' };
const fromBackup = { backupRef: { name: 'nightly' } };

/** A Backup in a bucket, of a Cluster that is gone with all its claims. */
async function lostWorld(): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  world.create('orders', { deletionPolicy: 'Delete' });
  await world.settle();
  const metadata = { name: 'storage', namespace: 'shop' };
  world.api.put({ apiVersion: 'v1', kind: 'Secret', metadata } as KubernetesObject);
  world.members.databases = ['orders', 'audit'];
  const clusterRef = { name: 'orders' };
  world.put('Backup', 'nightly', { clusterRef, method: 'Stream', destination: { s3 } });
  for (let count = 0; count < 12; count++) {
    await world.lookAt('Backup', 'nightly');
    world.controllers.step();
    world.runtime.skip(5000);
  }
  assert.equal(world.api.find('Backup', 'nightly')?.status?.['phase'], 'Succeeded');
  world.api.delete(world.cluster(), false);
  for (let count = 0; count < 20; count++) await world.turn();
  assert.equal(world.findCluster('orders'), undefined);
  assert.deepEqual(world.api.all('PersistentVolumeClaim'), []);
  world.members.databases = [];
  return world;
}

/** Looks at the Cluster and at its Restore, as the operator does. */
async function turn(world: SimulatedWorld): Promise<void> {
  await world.look();
  await world.lookAt('Restore', 'orders-bootstrap');
  world.controllers.step();
  world.runtime.skip(6000);
}

const isReady = (world: SimulatedWorld) => world.condition('Ready') === 'True AllMembersReady';

async function untilReady(world: SimulatedWorld, turnsMax = 60): Promise<void> {
  for (let count = 0; count < turnsMax; count++) {
    await turn(world);
    if (isReady(world)) return;
  }
  assert.fail(JSON.stringify(world.cluster().status, undefined, 1));
}

test('deleted with all claims, a Cluster comes back from a bucket and grows when its data are whole', async () => {
  const world = await lostWorld();
  world.create('orders', { replicas: 3, bootstrap: { fromBackup } });
  let phases = '';
  for (let count = 0; count < 60 && !isReady(world); count++) {
    await turn(world);
    const { phase = '' } = world.cluster().status ?? {};
    if (!phases.endsWith(phase)) phases += ` ${phase}`;
    const pods = world.api.all('Pod').filter(({ metadata }) => /^orders-\d$/.test(metadata.name));
    // Nobody joins before the data are there.
    if (world.members.databases.length < 2) assert.ok(pods.length <= 1);
  }
  assert.match(phases, /Creating.* Restoring.* Running$/);
  assert.equal(world.cluster().status?.voters, 3);
  assert.deepEqual(world.members.databases, ['orders', 'audit']);
  // What was restored once is never restored again, whatever becomes of the Restore.
  const restore = world.api.find('Restore', 'orders-bootstrap');
  assert.ok(restore);
  world.api.remove(restore);
  world.members.databases = ['orders'];
  await world.settle();
  assert.equal(world.api.find('Restore', 'orders-bootstrap'), undefined);
});

test('databases by name, under other names; one archive by its address', async () => {
  const world = await lostWorld();
  const targetNames = { orders: 'copy' };
  world.create('orders', {
    bootstrap: { fromBackup: { ...fromBackup, databases: ['orders'], targetNames } },
  });
  await untilReady(world);
  assert.deepEqual(world.members.databases, ['copy']);
  const other = await lostWorld();
  const source = { url: 'https://storage.example/kept/a.zip', credentialsSecret: 'storage' };
  other.create('orders', { bootstrap: { fromBackup: { source, databases: ['audit'] } } });
  await untilReady(other);
  assert.deepEqual(other.members.databases, ['audit']);
});

test('a restoration that fails is told and nobody joins; without its Restore it is tried anew', async () => {
  const world = await lostWorld();
  const kept = new Map(world.controllers.streams.kept);
  world.controllers.streams.kept.clear();
  world.create('orders', { replicas: 3, bootstrap: { fromBackup } });
  for (let count = 0; count < 30; count++) await turn(world);
  assert.equal(world.condition('Stalled'), 'True RestoreFailed');
  const message = conditionOf(world.cluster().status?.conditions, 'Stalled')?.message ?? '';
  assert.match(message, /^Restore orders-bootstrap: 2 of 2 databases failed; .*delete the Restore/);
  assert.equal(world.api.find('StatefulSet', 'orders')?.spec?.['replicas'], 1);
  for (const [name, archive] of kept) world.controllers.streams.kept.set(name, archive);
  for (const job of world.api.all('Job')) world.api.remove(job);
  const failed = world.api.find('Restore', 'orders-bootstrap');
  assert.ok(failed);
  world.api.remove(failed);
  await untilReady(world);
  assert.deepEqual([...world.members.databases].sort(), ['audit', 'orders']);
});

test('what cannot be is refused by its field', async () => {
  const source = { url: 'https://storage.example/kept/a.zip' };
  for (const [bootstrap, words] of [
    [{ fromBackup: { source } }, /fromBackup\.databases needs exactly one/],
    [
      { fromBackup: { ...fromBackup, databases: ['a'], targetNames: { b: 'c' } } },
      /targetNames names b, which is not in databases/,
    ],
    [{ fromVolumes: {} }, /fromVolumes\.claims must be 'Retained' or a list/],
    [
      { fromVolumes: { claims: ['data-orders-0', 'mine'] } },
      /claims\[1\] is 'mine' and must be 'data-orders-1'/,
    ],
  ] as const) {
    const world = new SimulatedWorld();
    world.create('orders', { bootstrap });
    await world.turn();
    assert.equal(world.condition('Stalled'), 'True InvalidSpec');
    const { conditions } = world.cluster().status ?? {};
    assert.match(conditionOf(conditions, 'Stalled')?.message ?? '', words);
    assert.equal(world.api.find('StatefulSet', 'orders'), undefined);
  }
});

test('a Cluster starts on the volumes of another one that somebody laid there, all members at once', async () => {
  const world = new SimulatedWorld();
  world.create('orders', { replicas: 3 });
  await world.settle();
  // As it is after a move: claims stay, and nothing else, its Secrets neither.
  world.api.delete(world.cluster(), false);
  for (let count = 0; count < 6; count++) await world.turn();
  for (const secret of world.api.all('Secret')) world.api.remove(secret);
  assert.equal(world.api.all('PersistentVolumeClaim').length, 3);
  const [password] = world.members.passwords();
  const data = { rootPassword: Buffer.from(password ?? '').toString('base64') };
  const metadata = { name: 'given', namespace: 'shop' };
  world.api.put({ apiVersion: 'v1', kind: 'Secret', metadata, data } as KubernetesObject);
  const auth = { rootPassword: { secretName: 'given', key: 'rootPassword' } };
  const bootstrap = {
    fromVolumes: { claims: ['data-orders-0', 'data-orders-1', 'data-orders-2'] },
  };
  world.create('orders', { replicas: 3, auth, bootstrap });
  await world.turn();
  await world.turn();
  await world.turn();
  const record = world.api.find('ConfigMap', 'orders-members')?.data?.['members.json'] ?? '';
  assert.match(record, /"initialised": true/);
  assert.equal([...record.matchAll(/"state": "adopt"/g)].length, 3);
  assert.equal(world.api.find('StatefulSet', 'orders')?.spec?.['replicas'], 3);
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  assert.equal(world.cluster().status?.voters, 3);
});

test('a claim that was named and is not there is waited for, and nothing is made meanwhile', async () => {
  const world = new SimulatedWorld();
  world.create('orders', { bootstrap: { fromVolumes: { claims: 'Retained' } } });
  await world.turn();
  assert.equal(world.condition('Stalled'), 'True VolumeLost');
  const { conditions } = world.cluster().status ?? {};
  assert.match(
    conditionOf(conditions, 'Stalled')?.message ?? '',
    /there is no claim data-orders-0 with the label polyad\.io\/cluster$/,
  );
  assert.deepEqual([world.api.all('StatefulSet'), world.api.all('Secret')], [[], []]);
});

test('killed at every write of a bootstrap from a bucket, the Cluster comes up whole', async () => {
  let writes = 0;
  // `EVERY_WRITE=1` tries all of them, which takes minutes.
  const step = process.env['EVERY_WRITE'] === undefined ? 7 : 1;
  for (let killAt = 0; killAt <= writes; killAt += step) {
    const world = await lostWorld();
    let count = 0;
    world.api.faultAfter = ({ method }) =>
      method !== 'GET' && ++count === killAt ? 'drop' : undefined;
    world.create('orders', { replicas: 3, bootstrap: { fromBackup } });
    for (let turns = 0; turns < 60 && !isReady(world); turns++)
      await turn(world).catch(() => world.restartOperator());
    if (killAt === 0) writes = count;
    const name = `killed at ${killAt}: ${JSON.stringify(world.cluster().status?.conditions?.[0])}`;
    assert.ok(isReady(world), name);
    assert.deepEqual(world.members.databases, ['orders', 'audit'], name);
    assert.equal(world.cluster().status?.voters, 3, name);
  }
});

test('with the formation Static all voters start together and form one group, once; read replicas come after', async () => {
  const world = new SimulatedWorld();
  const bootstrap = { empty: { formation: 'Static' } };
  world.create('orders', { replicas: 3, readReplicas: 1, bootstrap });
  const counts = new Set<number>();
  for (let turn = 0; turn < 60 && !isReady(world); turn++) {
    await world.turn();
    const set = world.api.find('StatefulSet', 'orders');
    if (set === undefined) continue;
    counts.add(Number(set.spec?.['replicas']));
    const list = world.api.find('ConfigMap', 'orders-config')?.data?.['service.json'] ?? '';
    assert.equal(/orders-2\.orders/.test(list), true, 'each knows all from the start');
  }
  assert.deepEqual([...counts], [3, 4]);
  await world.settle();
  const { group } = world.members;
  assert.deepEqual([group.formed, group.voters.length, group.learners.length], [1, 3, 1]);
  // A disk that is lost afterwards is a new member, and forms nothing.
  const [claim, pod] = [
    world.api.find('PersistentVolumeClaim', 'data-orders-0'),
    world.api.find('Pod', 'orders-0'),
  ];
  assert.ok(claim && pod);
  world.api.remove(claim);
  world.api.delete(pod, true);
  await world.settle();
  assert.ok(isReady(world));
  assert.equal(group.formed, 1);
});
