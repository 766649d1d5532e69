import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BackupStatus } from '../../../operator/api/kinds/backup.ts';
import type { KubernetesObject } from '../../../operator/api/kubernetes-object.ts';
import { SimulatedWorld } from '../sim/simulated-world.ts';

// `Backup` by the method Stream: a Job for each database. The commands that Jobs run are tested in `archive-stores.test.ts`.

const s3 = {
  endpoint: 'https://storage.example',
  bucket: 'kept',
  prefix: '/polyad/',
  credentialsSecret: 'storage',
};
const stream = {
  clusterRef: { name: 'orders' },
  method: 'Stream',
  destination: { s3 },
  deletionPolicy: 'Delete',
};

async function readyWorld(spec: object = {}): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  world.create('orders', spec);
  await world.settle();
  world.members.databases = ['orders', 'audit'];
  const metadata = { name: 'storage', namespace: 'shop' };
  world.api.put({ apiVersion: 'v1', kind: 'Secret', metadata } as KubernetesObject);
  return world;
}

function statusOf(world: SimulatedWorld, name = 'nightly'): BackupStatus {
  return (world.api.find('Backup', name)?.status ?? {}) as BackupStatus;
}

function readyOf(world: SimulatedWorld, name = 'nightly'): string {
  const found = statusOf(world, name).conditions?.find(({ type }) => type === 'Ready');
  return `${found?.status ?? ''} ${found?.reason ?? ''}: ${found?.message ?? ''}`;
}

async function turn(world: SimulatedWorld, name = 'nightly'): Promise<number | undefined> {
  const again = await world.lookAt('Backup', name);
  world.controllers.step();
  world.runtime.skip(again ?? 0);
  return again;
}

async function run(world: SimulatedWorld, name = 'nightly', turnsMax = 40): Promise<void> {
  for (let count = 0; count < turnsMax; count++)
    if ((await turn(world, name)) === undefined && world.api.find('Backup', name)?.status) return;
  assert.fail(`not finished: ${JSON.stringify(statusOf(world, name))}`);
}

test('a Job for each database keeps it outside, and the Backup says where, with size and digest', async () => {
  const world = await readyWorld();
  world.put('Backup', 'nightly', stream);
  await run(world);
  const { phase, files = [], begun } = statusOf(world);
  assert.deepEqual([phase, begun], ['Succeeded', undefined]);
  assert.deepEqual(
    files.map(({ database, bytes, sha256, commitIndex }) => [
      database,
      bytes,
      sha256?.length,
      commitIndex,
    ]),
    ['orders', 'audit'].map((database) => [database, 1000, 64, 7]),
  );
  for (const { name } of files)
    assert.match(name, /^shop\/orders\/nightly\/(orders|audit)-backup-\d{8}-\d{9}\.zip$/);
  assert.deepEqual(
    [...world.controllers.streams.kept.keys()],
    files.map(({ name }) => `polyad/${name}`),
  );
  assert.match(readyOf(world), /^True Succeeded: 2 archives in bucket kept$/);
  // Nothing is on the volumes of members.
  assert.deepEqual(world.members.madeArchives(), []);
});

test('its Job has the token, the keys and no other right, and is no member for anybody', async () => {
  const world = await readyWorld({ tls: { http: { enabled: true } } });
  world.controllers.streams.isHeld = true;
  world.put('Backup', 'nightly', { ...stream, databases: ['orders'], verify: true });
  for (let count = 0; count < 4; count++) await turn(world);
  const [job] = world.api.all('Job');
  assert.match(job?.metadata.name ?? '', /^orders-backup-[0-9a-f]{12}$/);
  const { template, ...limits } = (job?.spec ?? {}) as Record<string, unknown>;
  assert.deepEqual(limits, {
    backoffLimit: 2,
    activeDeadlineSeconds: 86_400,
    ttlSecondsAfterFinished: 3600,
  });
  const { metadata, spec } = template as unknown as {
    metadata: { labels: Record<string, string> };
    spec: Record<string, unknown> & {
      containers: { command: string[]; securityContext: Record<string, unknown> }[];
      volumes: { name: string }[];
    };
  };
  assert.equal(metadata.labels['app.kubernetes.io/name'], 'polyad-backup');
  assert.equal(spec['automountServiceAccountToken'], false);
  assert.deepEqual(
    spec.volumes.map(({ name }) => name),
    ['scratch', 's3', 'token', 'authority'],
  );
  const [container] = spec.containers;
  assert.equal(container?.securityContext['readOnlyRootFilesystem'], true);
  assert.deepEqual(container?.command.slice(0, 5), [
    'node',
    'operator/main.ts',
    'backup-stream',
    '--member=https://orders-0.orders.shop.svc.cluster.local:2490',
    '--database=orders',
  ]);
  assert.deepEqual(container?.command.slice(6), [
    '--verify=true',
    '--endpoint=https://storage.example',
    '--bucket=kept',
  ]);
  assert.match(readyOf(world), /^False Running: 0 of 1 databases, now orders$/);
  // A pod that cannot run says why.
  const { uid = '', name = '', labels = {} } = job?.metadata ?? {};
  const waiting = { reason: 'CreateContainerConfigError', message: 'secret "storage" not found' };
  world.api.put({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'pod-of-job',
      namespace: 'shop',
      labels,
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name, uid, controller: true }],
    },
    status: { phase: 'Pending', containerStatuses: [{ name: 'backup', state: { waiting } }] },
  } as KubernetesObject);
  await turn(world);
  assert.match(readyOf(world), /which waits: backup: CreateContainerConfigError: secret "storage"/);
});

test('a network policy lets the Jobs of backups in', async () => {
  const world = await readyWorld({ networkPolicy: { enabled: true, httpFrom: [] } });
  const policy = world.api.find('NetworkPolicy', 'orders-http')?.spec as {
    ingress: { from: unknown[] }[];
  };
  const labels = {
    'app.kubernetes.io/name': 'polyad-backup',
    'app.kubernetes.io/instance': 'orders',
  };
  assert.deepEqual(policy.ingress[0]?.from.at(-1), { podSelector: { matchLabels: labels } });
});

test('a database that cannot be kept keeps the others from nothing; the Job says why', async () => {
  const world = await readyWorld();
  world.controllers.streams.failing.set('orders', 'started\nno room in the storage\n');
  world.put('Backup', 'nightly', stream);
  await run(world);
  const { phase, files, error } = statusOf(world);
  assert.deepEqual([phase, files?.map(({ database }) => database)], ['Failed', ['audit']]);
  assert.equal(error, '1 of 2 databases failed; orders: no room in the storage');
});

test('it waits for a Secret that is not there, by its name, and for a claim it needs none', async () => {
  const world = await readyWorld();
  const missing = { ...stream, destination: { s3: { ...s3, credentialsSecret: 'absent' } } };
  world.put('Backup', 'nightly', missing);
  for (let count = 0; count < 3; count++) await turn(world);
  assert.equal(readyOf(world), 'False WaitingForDestination: there is no Secret absent');
  const persistentVolumeClaim = { name: 'archives', path: 'polyad' };
  world.put('Backup', 'claimed', { ...stream, destination: { persistentVolumeClaim } });
  await run(world, 'claimed');
  assert.match(readyOf(world, 'claimed'), /2 archives on claim archives$/);
});

test('a destination that cannot be is refused by its field', async () => {
  const world = await readyWorld();
  const claim = { persistentVolumeClaim: { name: 'a' } };
  const refused = [
    [undefined, /^spec\.destination needs exactly one/],
    [{ s3, ...claim }, /^spec\.destination needs exactly one/],
    [
      { s3: { ...s3, endpoint: 'storage:9000' } },
      /^spec\.destination\.s3\.endpoint: 'storage:9000'/,
    ],
    [{ s3: { ...s3, endpoint: 'https://a/b' } }, /is no address/],
    [{ persistentVolumeClaim: { name: 'a', path: 'x/../..' } }, /\.path must be relative/],
  ] as const;
  for (const [index, [destination, message]] of refused.entries()) {
    world.put('Backup', `b-${index}`, { ...stream, deletionPolicy: 'Retain', destination });
    await run(world, `b-${index}`);
    assert.match(statusOf(world, `b-${index}`).error ?? '', message);
  }
});

async function remove(world: SimulatedWorld, name = 'nightly'): Promise<void> {
  const found = world.api.find('Backup', name);
  assert.ok(found);
  world.api.delete(found, false);
  for (let count = 0; count < 6 && world.api.find('Backup', name); count++) await turn(world, name);
}

test('with Delete a Job deletes what was kept, also when the Cluster is gone; with Retain it stays', async () => {
  const world = await readyWorld();
  world.put('Backup', 'kept', { ...stream, deletionPolicy: 'Retain' });
  await run(world, 'kept');
  await remove(world, 'kept');
  assert.equal(world.controllers.streams.kept.size, 2);
  world.put('Backup', 'nightly', stream);
  await run(world);
  assert.equal(world.controllers.streams.kept.size, 4);
  world.api.remove(world.cluster());
  await remove(world);
  assert.equal(world.api.find('Backup', 'nightly'), undefined);
  assert.deepEqual(
    [...world.controllers.streams.kept.keys()].filter((name) => name.includes('/nightly/')),
    [],
  );
});

test('in a namespace that ends nothing is deleted and nothing is held up', async () => {
  const world = await readyWorld();
  world.put('Backup', 'nightly', stream);
  await run(world);
  const ending = 'jobs "x" is forbidden: because it is being terminated';
  world.api.faultBefore = ({ method, path }) =>
    method === 'POST' && path.includes('/jobs') ? { status: 403, message: ending } : undefined;
  await remove(world);
  assert.equal(world.api.find('Backup', 'nightly'), undefined);
});

/** The operator dies after its n-th write; results are lost; a second one works beside it. */
async function playUntilKilled(killAt: number): Promise<{ steps: number; world: SimulatedWorld }> {
  const world = await readyWorld();
  const other = world.secondKinds();
  world.controllers.streams.resultsToLose = killAt % 3;
  world.put('Backup', 'nightly', stream);
  let steps = 0;
  world.api.faultAfter = ({ method }) =>
    method !== 'GET' && ++steps === killAt ? 'drop' : undefined;
  for (let count = 0; count < 40; count++) {
    const ends = await Promise.allSettled([
      turn(world),
      ...(count % 2 === 1 ? [other.look('Backup', 'shop', 'nightly')] : []),
    ]);
    if (ends.some(({ status }) => status === 'rejected')) world.restartOperator();
  }
  return { steps, world };
}

test('killed at every write, results lost, with a second operator, every database is kept under one name', async () => {
  const { steps } = await playUntilKilled(0);
  assert.ok(steps >= 8, `${steps} steps`);
  for (let killAt = 0; killAt <= steps; killAt++) {
    const { world } = await playUntilKilled(killAt);
    const { phase, files = [] } = statusOf(world);
    assert.equal(phase, 'Succeeded', `killed at ${killAt}: ${readyOf(world)}`);
    assert.deepEqual(
      [...world.controllers.streams.kept.keys()].sort(),
      files.map(({ name }) => `polyad/${name}`).sort(),
      `killed at ${killAt}`,
    );
    await remove(world);
    assert.deepEqual([...world.controllers.streams.kept.keys()], [], `killed at ${killAt}`);
  }
});
