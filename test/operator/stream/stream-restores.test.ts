import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesObject } from '../../../operator/api/kubernetes-object.ts';
import type { RestoreStatus } from '../../../operator/api/kinds/restore.ts';
import { SimulatedWorld } from '../sim/simulated-world.ts';

// `Restore` of archives that lie outside of the Cluster: a Job brings each to the leader, which restores it.

const s3 = { endpoint: 'https://storage.example', bucket: 'kept', credentialsSecret: 'storage' };
const source = { backupRef: { name: 'nightly' } };

/** A Backup in a bucket, of a Cluster that is gone with its volumes; another Cluster stands in its place. */
async function lostWorld(spec: object = {}): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  world.create('lost');
  await world.settle('lost');
  const metadata = { name: 'storage', namespace: 'shop' };
  world.api.put({ apiVersion: 'v1', kind: 'Secret', metadata } as KubernetesObject);
  world.members.databases = ['orders', 'audit'];
  const clusterRef = { name: 'lost' };
  world.put('Backup', 'nightly', { clusterRef, method: 'Stream', destination: { s3 } });
  for (let count = 0; count < 12; count++) {
    await world.lookAt('Backup', 'nightly');
    world.controllers.step();
    world.runtime.skip(5000);
  }
  assert.equal(world.api.find('Backup', 'nightly')?.status?.['phase'], 'Succeeded');
  world.api.remove(world.cluster('lost'));
  world.create('orders', spec);
  await world.settle();
  world.members.databases = [];
  return world;
}

function statusOf(world: SimulatedWorld): RestoreStatus {
  return (world.api.find('Restore', 'back')?.status ?? {}) as RestoreStatus;
}

function readyOf(world: SimulatedWorld): string {
  const found = statusOf(world).conditions?.find(({ type }) => type === 'Ready');
  return `${found?.status ?? ''} ${found?.reason ?? ''}: ${found?.message ?? ''}`;
}

async function run(world: SimulatedWorld, turnsMax = 40): Promise<void> {
  for (let count = 0; count < turnsMax; count++) {
    const again = await world.lookAt('Restore', 'back');
    if (again === undefined) return;
    world.controllers.step();
    world.runtime.skip(again);
  }
}

const clusterRef = { name: 'orders' };

test('archives of a Cluster that is gone come back in another one, and none is left on its volume', async () => {
  const world = await lostWorld();
  world.put('Restore', 'back', { clusterRef, source });
  await run(world);
  assert.match(readyOf(world), /^True Succeeded: 2 databases restored$/);
  assert.deepEqual(world.members.databases, ['orders', 'audit']);
  assert.deepEqual(world.members.madeArchives(), []);
  assert.equal(
    world.api.all('Job').filter(({ metadata }) => metadata.name.startsWith('orders-backup')).length,
    2,
  );
});

test('the Job runs on the node of the leader, with its volume of backups', async () => {
  const world = await lostWorld({ storage: { backups: { size: '1Gi' } } });
  world.controllers.streams.isHeld = true;
  world.put('Restore', 'back', { clusterRef, source, databases: [{ name: 'orders', as: 'copy' }] });
  for (let count = 0; count < 4; count++) await world.lookAt('Restore', 'back');
  const job = world.api
    .all('Job')
    .find(({ metadata }) => metadata.name.startsWith('orders-backup'));
  const { spec } = (job as { spec: Record<string, unknown> }).spec['template'] as {
    readonly spec: {
      readonly nodeName: string;
      readonly containers: readonly { readonly command: readonly string[] }[];
      readonly volumes: readonly object[];
    };
  };
  assert.equal(spec.nodeName, 'node-a');
  assert.deepEqual(spec.volumes.at(-1), {
    name: 'member',
    persistentVolumeClaim: { claimName: 'backups-orders-0' },
  });
  const { files } = (world.api.find('Backup', 'nightly')?.status ?? {}) as {
    files: readonly { readonly name: string }[];
  };
  const [, , command, name, file, digest] = spec.containers[0]?.command ?? [];
  assert.deepEqual([command, name], ['fetch-archive', `--name=${files[0]?.name ?? ''}`]);
  assert.match(file ?? '', /^--file=orders\/orders-backup-\d{8}-\d{9}\.zip$/);
  assert.equal(digest, `--digest=${'a'.repeat(64)}`);
  assert.match(readyOf(world), /brings the archive of orders to orders-0/);
});

test('an address with credentials is fetched by a Job', async () => {
  const world = await lostWorld();
  const url = 'https://storage.example/kept/shop/lost/nightly/orders.zip';
  world.put('Restore', 'back', {
    clusterRef,
    source: { url, credentialsSecret: 'storage' },
    databases: [{ name: 'orders', as: 'copy' }],
  });
  await run(world);
  assert.deepEqual([readyOf(world).slice(0, 4), world.members.databases], ['True', ['copy']]);
});

test('an archive that cannot be brought fails by what the Job said', async () => {
  const world = await lostWorld();
  world.controllers.streams.kept.clear();
  world.put('Restore', 'back', { clusterRef, source });
  await run(world);
  assert.match(
    readyOf(world),
    /^False RestoreFailed: 2 of 2 databases failed; orders: there is no /,
  );
});

test('what no Job can do is said: no Secret, no volume, a volume for one pod', async () => {
  for (const [spec, secret, words] of [
    [{}, 'absent', /ArchiveUnreachable: there is no Secret absent$/],
    [{ ephemeral: true }, 'storage', /members of an ephemeral Cluster have no volume/],
    [{ storage: { accessMode: 'ReadWriteOncePod' } }, 'storage', /ReadWriteOncePod lets no Job/],
    [{ backup: { directory: 'config/kept' } }, 'storage', /config\/kept is not on the volume/],
  ] as const) {
    const world = await lostWorld(spec);
    const url = 'https://storage.example/kept/orders.zip';
    world.put('Restore', 'back', {
      clusterRef,
      source: { url, credentialsSecret: secret },
      databases: [{ name: 'orders' }],
    });
    await world.lookAt('Restore', 'back');
    assert.match(readyOf(world), words);
  }
});

test('killed at every write, answers lost, with Replace too, the databases come back', async () => {
  for (const ifExists of ['Fail', 'Replace']) {
    let steps = 0;
    for (let killAt = 0; killAt <= Math.max(steps, 1); killAt++) {
      const world = await lostWorld();
      if (ifExists === 'Replace') world.members.databases = ['orders'];
      world.members.course.answersToLose = killAt % 2;
      let count = 0;
      world.api.faultAfter = ({ method }) =>
        method !== 'GET' && ++count === killAt ? 'drop' : undefined;
      world.put('Restore', 'back', { clusterRef, source, ifExists });
      for (let turn = 0; turn < 50; turn++) {
        await world.lookAt('Restore', 'back').catch(() => world.restartOperator());
        world.controllers.step();
        world.runtime.skip(5000);
      }
      if (killAt === 0) steps = count;
      const name = `${ifExists}, killed at ${killAt}: ${readyOf(world)}`;
      assert.equal(statusOf(world).phase, 'Succeeded', name);
      assert.deepEqual([...world.members.databases].sort(), ['audit', 'orders'], name);
    }
  }
});
