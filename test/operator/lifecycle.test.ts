import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesObject } from '../../operator/api/kubernetes-object.ts';
import { SimulatedWorld, namespace } from './sim/simulated-world.ts';
import { settlePromises } from './sim/virtual-runtime.ts';

// Whole flows on a simulated control plane: what a user does, and what stands there afterwards.

async function readyWorld(spec: object = {}): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  world.create('orders', spec);
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  return world;
}

function podUid(world: SimulatedWorld): string | undefined {
  return world.api.find('Pod', 'orders-0')?.metadata.uid;
}

function change(world: SimulatedWorld, spec: object): Promise<number> {
  world.api.change('Cluster', 'orders', { spec });
  return world.settle();
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}

test('the smallest Cluster gets ready and then nothing is written any more', async () => {
  const world = await readyWorld();
  assert.equal(world.condition('Stalled'), 'absent');
  assert.equal(world.condition('Reconciling'), 'absent');
  assert.equal(world.cluster().status?.phase, 'Running');
  assert.equal(world.cluster().status?.version, '26.10.1');
  const before = world.api.effectiveWrites;
  const requests = world.api.requests.length;
  world.restartOperator();
  for (let turn = 0; turn < 60; turn++) await world.turn();
  assert.equal(world.api.effectiveWrites, before);
  const others = world.api.requests.slice(requests).filter((text) => !text.startsWith('GET'));
  assert.deepEqual(others, []);
});

test('Ready is never claimed for a spec before its members run with it', async () => {
  const world = await readyWorld();
  world.api.change('Cluster', 'orders', { spec: { image: 'polyad:26.10.2' } });
  for (let turn = 0; turn < 40; turn++) {
    await world.turn();
    const { status, metadata } = world.cluster();
    const claims =
      status?.observedGeneration === metadata.generation &&
      world.condition('Ready').startsWith('True');
    const image = world.api.find('Pod', 'orders-0')?.spec?.['containers'] as
      | readonly { readonly image: string }[]
      | undefined;
    if (claims) assert.equal(image?.[0]?.image, 'polyad:26.10.2');
  }
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
});

test('a restart-class setting restarts the member once, a hot one does not', async () => {
  const world = await readyWorld();
  const first = podUid(world);
  await change(world, { settings: { 'service.server.httpQueryDefaultLimit': '500' } });
  assert.equal(podUid(world), first);
  assert.equal(world.members.settings()?.get('service.server.httpQueryDefaultLimit'), '500');
  await change(world, {
    settings: { 'service.server.logLevel': 'debug', 'service.server.httpQueryDefaultLimit': null },
  });
  const second = podUid(world);
  assert.notEqual(second, first);
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  // A key that is gone from the spec is back at its default on the member.
  assert.equal(world.members.settings()?.get('service.server.httpQueryDefaultLimit'), '20000');
  world.restartOperator();
  await world.settle();
  assert.equal(podUid(world), second);
});

test('the restart annotation and kubectl rollout restart each restart once', async () => {
  const world = await readyWorld();
  const first = podUid(world);
  world.api.change('Cluster', 'orders', {
    metadata: { annotations: { 'polyad.io/restart': '1' } },
  });
  await world.settle();
  const second = podUid(world);
  assert.notEqual(second, first);
  world.api.change('StatefulSet', 'orders', {
    spec: {
      template: { metadata: { annotations: { 'kubectl.kubernetes.io/restartedAt': 'now' } } },
    },
  });
  await world.settle();
  assert.notEqual(podUid(world), second);
});

test('every database is backed up once before another image gets at it, if that is asked for', async () => {
  const world = await readyWorld({ image: 'polyad:26.10.1', update: { backupFirst: true } });
  const first = podUid(world);
  await change(world, { settings: { 'service.server.logLevel': 'debug' } });
  assert.notEqual(podUid(world), first);
  assert.deepEqual(world.members.backedUp, []);
  await change(world, { image: 'polyad:26.10.2' });
  assert.deepEqual(world.members.backedUp, ['orders']);
  assert.equal(world.cluster().status?.image, 'polyad:26.10.2');
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
});

test('an image that never gets ready is taken back, and not tried again', async () => {
  const world = await readyWorld({
    image: 'polyad:26.10.1',
    update: { progressDeadlineSeconds: 60 },
  });
  world.controllers.missingImages.add('polyad:broken');
  const first = podUid(world);
  await change(world, { image: 'polyad:broken' });
  assert.equal(world.condition('Stalled'), 'True UpgradeFailed');
  // It was tried beside the member, which was never interrupted.
  assert.equal(podUid(world), first);
  assert.equal(world.condition('Available'), 'True LeaderReady');
  assert.equal(world.cluster().status?.failedImage, 'polyad:broken');
  assert.equal(world.cluster().status?.image, 'polyad:26.10.1');
  const pod = podUid(world);
  for (let turn = 0; turn < 100; turn++) await world.turn();
  assert.equal(podUid(world), pod);
  await change(world, { image: 'polyad:26.10.2' });
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  assert.equal(world.condition('Stalled'), 'absent');
  assert.equal(world.cluster().status?.failedImage, undefined);
});

test('an image that cannot be pulled is reported within 30 s while there is no good one', async () => {
  const world = new SimulatedWorld();
  world.controllers.missingImages.add('polyad:broken');
  world.create('orders', { image: 'polyad:broken' });
  for (let turn = 0; turn < 15; turn++) await world.turn();
  assert.equal(world.condition('Stalled'), 'True ImagePullFailed');
  await change(world, { image: 'polyad:26.10.1' });
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
});

test('a setting that breaks the process is repaired by the next spec without waiting', async () => {
  const world = await readyWorld({ update: { progressDeadlineSeconds: 30 } });
  world.controllers.crashingImages.add('polyad:26.10.1');
  world.api.change('Cluster', 'orders', { spec: { settings: { 'service.server.mode': 'x' } } });
  for (let turn = 0; turn < 60; turn++) await world.turn();
  assert.equal(world.condition('Stalled'), 'True ProgressDeadlineExceeded');
  world.controllers.crashingImages.clear();
  await change(world, { settings: { 'service.server.mode': 'production' } });
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
});

test('drift is corrected at the next look and restarts nothing', async () => {
  const world = await readyWorld();
  const pod = podUid(world);
  const service = world.api.find('Service', 'orders-http');
  if (service) world.api.remove(service);
  world.api.change('StatefulSet', 'orders', { spec: { replicas: 3, revisionHistoryLimit: 1 } });
  world.api.change('ConfigMap', 'orders-config', { data: { 'service.json': '{}' } });
  world.api.change('Pod', 'orders-0', { metadata: { labels: { 'polyad.io/role': 'follower' } } });
  await world.settle();
  assert.notEqual(world.api.find('Service', 'orders-http'), undefined);
  assert.equal(world.api.find('StatefulSet', 'orders')?.spec?.['replicas'], 1);
  const labels = world.api.find('Pod', 'orders-0')?.metadata.labels;
  assert.equal(labels?.['polyad.io/role'], 'leader');
  assert.equal(podUid(world), pod);
});

test('a pod whose labels were all taken gets them back', async () => {
  const world = await readyWorld();
  world.api.change('Pod', 'orders-0', {
    metadata: { labels: { 'polyad.io/cluster': null, 'app.kubernetes.io/instance': null } },
  });
  await world.settle();
  const labels = world.api.find('Pod', 'orders-0')?.metadata.labels;
  assert.equal(labels?.['polyad.io/cluster'], 'orders');
  assert.equal(labels?.['app.kubernetes.io/instance'], 'orders');
});

test('a lost pod comes back with its role', async () => {
  const world = await readyWorld();
  const pod = world.api.find('Pod', 'orders-0');
  if (pod) world.api.delete(pod, true);
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  assert.equal(world.api.find('Pod', 'orders-0')?.metadata.labels?.['polyad.io/role'], 'leader');
});

test('a changed root Secret changes the password without a restart', async () => {
  const world = new SimulatedWorld();
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'admin', namespace },
    data: { password: base64('first-password') },
  } as KubernetesObject;
  world.create('orders', {
    auth: { rootPassword: { secretName: 'admin', key: 'password' } },
  });
  for (let turn = 0; turn < 3; turn++) await world.turn();
  assert.equal(world.condition('Stalled'), 'True SecretMissing');
  world.api.put(secret);
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  assert.deepEqual(world.members.passwords(), ['first-password']);
  const pod = podUid(world);
  world.api.change('Secret', 'admin', { data: { password: base64('second-password') } });
  await world.settle();
  assert.deepEqual(world.members.passwords(), ['second-password']);
  assert.equal(podUid(world), pod);
  assert.equal(world.api.find('Secret', 'orders-root'), undefined);
});

test('a password that the member refuses is reported, and the right one taken at once', async () => {
  const world = await readyWorld();
  const [password] = world.members.passwords();
  const applied = world.api.find('Secret', 'orders-root-applied');
  if (applied) world.api.remove(applied);
  world.api.change('Secret', 'orders-root', {
    data: { rootPassword: base64('never-the-password') },
  });
  for (let turn = 0; turn < 4; turn++) await world.turn();
  assert.equal(world.condition('Stalled'), 'True PermissionDenied');
  assert.ok(world.members.calls.filter((call) => call.endsWith('/login')).length < 5);
  world.api.change('Secret', 'orders-root', { data: { rootPassword: base64(password ?? '') } });
  for (let turn = 0; turn < 4; turn++) await world.turn();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
});

test('a generated root Secret that was deleted comes back with the same password', async () => {
  const world = await readyWorld();
  const secret = world.api.find('Secret', 'orders-root');
  if (secret) world.api.remove(secret);
  await world.settle();
  assert.deepEqual(world.api.find('Secret', 'orders-root')?.data, secret?.data);
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
});

test('backup.json is written and changed live', async () => {
  const world = await readyWorld({ backup: { defaults: { retention: { maxFiles: 14 } } } });
  const pod = podUid(world);
  assert.equal(world.condition('BackupConfigured'), 'True Configured');
  await change(world, { backup: { defaults: { retention: { maxFiles: 3 } } } });
  const config = world.members.backup() as { defaults: { retention: { maxFiles: number } } };
  assert.equal(config.defaults.retention.maxFiles, 3);
  assert.match(
    world.api.find('ConfigMap', 'orders-config')?.data?.['backup.json'] ?? '',
    /"maxFiles": 3/,
  );
  assert.equal(podUid(world), pod);
});

test('a server without a backup scheduler is reported and nothing is restarted', async () => {
  const world = new SimulatedWorld();
  world.members.hasBackups = false;
  world.create('orders', { backup: {} });
  await world.settle();
  assert.equal(world.condition('BackupConfigured'), 'False UnsupportedByServer');
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
});

test('the tool server is configured live, field by field and entry by entry', async () => {
  const databases = { audit: { allowReads: false }, shop: { allowInsert: false } };
  const world = await readyWorld({ mcp: { enabled: true, databases } });
  const pod = podUid(world);
  assert.deepEqual(world.members.mcp(), { enabled: true, databases });
  assert.match(
    world.api.find('ConfigMap', 'orders-config')?.data?.['mcp-config.json'] ?? '',
    /"enabled": true/,
  );
  const { shop } = databases;
  await change(world, { mcp: { profile: 'RAG', databases: { audit: null } } });
  assert.deepEqual(world.members.mcp(), { enabled: true, profile: 'rag', databases: { shop } });
  assert.equal(podUid(world), pod);
  await change(world, { mcp: { unknown: true } });
  assert.notEqual(world.condition('Ready'), 'True AllMembersReady');
  await change(world, { mcp: { enabled: false, unknown: null } });
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  assert.equal(world.members.mcp()?.['enabled'], false);
});

test('an image without a tool server is told of, and nothing waits for it', async () => {
  const world = new SimulatedWorld();
  world.members.hasTools = false;
  world.create('orders', { mcp: { enabled: true } });
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
});

test('storage grows online and the StatefulSet is made anew around its pod', async () => {
  const world = await readyWorld({ storage: { size: '1Gi' } });
  const pod = podUid(world);
  const set = world.api.find('StatefulSet', 'orders')?.metadata.uid;
  await change(world, { storage: { size: '2Gi' } });
  const claim = world.api.find('PersistentVolumeClaim', 'data-orders-0');
  assert.deepEqual(claim?.status?.['capacity'], { storage: '2Gi' });
  assert.equal(podUid(world), pod);
  assert.notEqual(world.api.find('StatefulSet', 'orders')?.metadata.uid, set);
  assert.equal(world.condition('StorageReady'), 'True Ready');
  await change(world, { storage: { size: '1Gi' } });
  assert.equal(world.condition('Stalled'), 'True StorageShrinkRefused');
  assert.equal(podUid(world), pod);
});

test('a class that cannot grow is a clear condition, and a size may be taken back', async () => {
  const world = await readyWorld({ storage: { size: '1Gi' } });
  world.api.change('StorageClass', 'standard', { allowVolumeExpansion: false }, '');
  await change(world, { storage: { size: '2Gi' } });
  assert.equal(world.condition('StorageReady'), 'False NotExpandable');
  assert.equal(world.condition('Available'), 'True LeaderReady');
  await change(world, { storage: { size: '1Gi' } });
  assert.equal(world.condition('StorageReady'), 'True Ready');
});

test('hibernate ends the pod and keeps the data; resume brings both back', async () => {
  const world = await readyWorld();
  const claim = world.api.find('PersistentVolumeClaim', 'data-orders-0')?.metadata.uid;
  await change(world, { hibernate: true });
  assert.equal(world.condition('Ready'), 'True Hibernated');
  assert.equal(world.condition('Available'), 'False Hibernated');
  assert.equal(podUid(world), undefined);
  await change(world, { hibernate: false });
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  assert.equal(world.api.find('PersistentVolumeClaim', 'data-orders-0')?.metadata.uid, claim);
});

test('Retain: a Cluster made again under its name has the same data and password', async () => {
  const world = await readyWorld();
  const [password] = world.members.passwords();
  const claim = world.api.find('PersistentVolumeClaim', 'data-orders-0')?.metadata.uid;
  world.api.delete(world.cluster(), false);
  for (let turn = 0; turn < 5; turn++) world.controllers.step();
  assert.equal(world.api.find('StatefulSet', 'orders'), undefined);
  world.create('orders');
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  assert.deepEqual(world.members.passwords(), [password]);
  assert.equal(world.api.find('PersistentVolumeClaim', 'data-orders-0')?.metadata.uid, claim);
});

test('Delete: nothing is left', async () => {
  const world = await readyWorld({ deletionPolicy: 'Delete' });
  world.api.delete(world.cluster(), false);
  for (let turn = 0; turn < 20; turn++) await world.turn();
  for (const kind of [
    'Cluster',
    'StatefulSet',
    'Pod',
    'PersistentVolumeClaim',
    'Secret',
    'Service',
  ])
    assert.deepEqual(world.api.all(kind), [], kind);
});

test('BackupThenDelete: every database is backed up and the volume of the backups stays', async () => {
  const world = await readyWorld({
    deletionPolicy: 'BackupThenDelete',
    storage: { backups: { size: '1Gi' } },
  });
  world.api.delete(world.cluster(), false);
  for (let turn = 0; turn < 30; turn++) await world.turn();
  const claims = world.api.all('PersistentVolumeClaim').map(({ metadata }) => metadata.name);
  assert.deepEqual(claims, ['backups-orders-0']);
  assert.equal(world.findCluster('orders'), undefined);
});

test('BackupThenDelete: a look returns while the last backup is made, and another operator goes on with it', async () => {
  const world = await readyWorld({ deletionPolicy: 'BackupThenDelete' });
  world.members.databases = ['orders', 'audit'];
  world.members.course.isHeld = true;
  world.api.delete(world.cluster(), false);
  for (let turn = 0; turn < 10; turn++) await world.turn();
  assert.deepEqual(world.members.backedUp, ['orders']);
  assert.match(world.cluster().status?.backups?.begun?.mark ?? '', /^back-up uid-/);
  // The first one is whole; the operator dies, and its successor makes the second one only.
  world.members.course.finish();
  await settlePromises();
  world.restartOperator();
  world.members.course.isHeld = false;
  world.members.course.finish();
  await settlePromises();
  for (let turn = 0; turn < 30; turn++) await world.turn();
  assert.equal(world.findCluster('orders'), undefined);
  assert.equal(world.members.backedUp.filter((name) => name === 'orders').length, 1);
  assert.ok(world.members.backedUp.includes('audit'));
  const claims = world.api.all('PersistentVolumeClaim').map(({ metadata }) => metadata.name);
  assert.deepEqual(claims, ['data-orders-0']);
});

test('BackupThenDelete with a server that cannot: the object stays until a person says otherwise', async () => {
  const world = await readyWorld({ deletionPolicy: 'BackupThenDelete' });
  world.members.hasBackups = false;
  world.api.delete(world.cluster(), false);
  for (let turn = 0; turn < 10; turn++) await world.turn();
  assert.equal(world.condition('Stalled'), 'True BackupFailed');
  assert.notEqual(world.api.find('PersistentVolumeClaim', 'data-orders-0'), undefined);
  const uid = world.cluster().metadata.uid;
  world.api.change('Cluster', 'orders', {
    metadata: { annotations: { 'polyad.io/skip-final-backup': uid } },
  });
  for (let turn = 0; turn < 20; turn++) await world.turn();
  assert.equal(world.findCluster('orders'), undefined);
  assert.deepEqual(world.api.all('PersistentVolumeClaim'), []);
});

test('an empty volume does not start until its loss is approved, once', async () => {
  const world = await readyWorld();
  const claim = world.api.find('PersistentVolumeClaim', 'data-orders-0');
  const pod = world.api.find('Pod', 'orders-0');
  if (claim) world.api.remove(claim);
  if (pod) world.api.delete(pod, true);
  for (let turn = 0; turn < 20; turn++) await world.turn();
  assert.equal(world.condition('Stalled'), 'True VolumeLost');
  const token = world.cluster().status?.recovery?.incidentToken ?? '';
  assert.match(token, /^lost-/);
  world.api.change('Cluster', 'orders', {
    metadata: { annotations: { 'polyad.io/adopt': token } },
  });
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  // The same approval, left in Git, does nothing about the next loss.
  const next = world.api.find('PersistentVolumeClaim', 'data-orders-0');
  const nextPod = world.api.find('Pod', 'orders-0');
  if (next) world.api.remove(next);
  if (nextPod) world.api.delete(nextPod, true);
  for (let turn = 0; turn < 20; turn++) await world.turn();
  assert.equal(world.condition('Stalled'), 'True VolumeLost');
});

test("a stranger's object under one of the names is never touched", async () => {
  const world = new SimulatedWorld();
  world.api.put({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'orders-http', namespace },
    spec: { selector: { app: 'other' } },
  } as KubernetesObject);
  world.create('orders');
  for (let turn = 0; turn < 5; turn++) await world.turn();
  assert.equal(world.condition('Stalled'), 'True NameConflict');
  assert.deepEqual(world.api.find('Service', 'orders-http')?.spec, { selector: { app: 'other' } });
  assert.equal(world.api.find('StatefulSet', 'orders'), undefined);
  // With the label it is handed over.
  world.api.change('Service', 'orders-http', {
    metadata: { labels: { 'polyad.io/cluster': 'orders' } },
  });
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
});

test('a spec of another version is refused in words and what runs is left alone', async () => {
  const world = await readyWorld();
  const pod = podUid(world);
  world.api.change('Cluster', 'orders', { spec: { quorum: 'some' } });
  for (let turn = 0; turn < 5; turn++) await world.turn();
  assert.equal(world.condition('Stalled'), 'True InvalidSpec');
  assert.match(
    world.cluster().status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? '',
    /spec\.quorum: Invalid option/,
  );
  assert.equal(podUid(world), pod);
});

test('restarts wait while updates are paused', async () => {
  const world = await readyWorld({ update: { paused: true } });
  const pod = podUid(world);
  world.api.change('Cluster', 'orders', { spec: { image: 'polyad:26.10.2' } });
  for (let turn = 0; turn < 10; turn++) await world.turn();
  assert.equal(podUid(world), pod);
  assert.equal(world.condition('ConfigApplied'), 'False RestartPending');
  await change(world, { update: { paused: false } });
  assert.notEqual(podUid(world), pod);
});

test('names at their limit of 40 characters work', async () => {
  const world = new SimulatedWorld();
  const name = 'a'.repeat(40);
  world.create(name);
  await world.settle(name);
  assert.equal(world.condition('Ready', name), 'True AllMembersReady');
});

test('backups that the member makes by itself are in the status, and are events', async () => {
  const world = await readyWorld({ backup: {} });
  assert.equal(world.condition('LastBackupSucceeded'), 'Unknown NoBackupYet');
  const failure = {
    time: '2026-11-21 01:00:00.000',
    type: 'CRITICAL',
    component: 'Auto-Backup',
    db: 'orders',
    message: 'Backup failed: the disk is full',
  };
  world.members.archives.push({ lastModified: Date.parse('2026-11-21T00:30:00Z') });
  world.members.events.push(failure);
  world.runtime.skip(300_000);
  await world.settle();
  assert.equal(world.condition('LastBackupSucceeded'), 'False BackupFailed');
  const { backups } = world.cluster().status ?? {};
  assert.equal(backups?.lastSuccessful, '2026-11-21T00:30:00Z');
  assert.equal(backups?.lastFailed, '2026-11-21T01:00:00Z');
  world.members.archives.push({ lastModified: Date.parse('2026-11-21T02:00:00Z') });
  world.members.events.push({ ...failure, type: 'INFO', message: 'Backup made' });
  world.runtime.skip(300_000);
  await world.settle();
  assert.equal(world.condition('LastBackupSucceeded'), 'True Succeeded');
  const reasons = world.api.all('Event').map((event) => event['reason']);
  assert.equal(reasons.filter((reason) => reason === 'BackupFailed').length, 1);
  assert.equal(reasons.filter((reason) => reason === 'BackupSucceeded').length, 2);
  // Nothing is asked or written between.
  const writes = world.api.effectiveWrites;
  const calls = world.members.calls.length;
  for (let turn = 0; turn < 30; turn++) await world.turn();
  assert.equal(world.api.effectiveWrites, writes);
  assert.deepEqual(
    world.members.calls.slice(calls).filter((call) => call.startsWith('POST')),
    [],
  );
});

test('of two installations that care for one Cluster one acts, and people are told', async () => {
  const world = await readyWorld();
  const other = world.secondOperator('elsewhere/polyad-operator');
  for (let turn = 0; turn < 10; turn++) {
    await other.look(namespace, 'orders');
    await world.turn();
  }
  assert.equal(world.cluster().status?.operator, 'elsewhere/polyad-operator');
  const before = world.api.effectiveWrites;
  for (let turn = 0; turn < 30; turn++) {
    await other.look(namespace, 'orders');
    await world.turn();
  }
  assert.equal(world.api.effectiveWrites, before);
  const reasons = world.api.all('Event').map((event) => event['reason']);
  assert.equal(reasons.filter((reason) => reason === 'OperatorChanged').length, 1);
  assert.equal(reasons.filter((reason) => reason === 'OperatorConflict').length, 1);
  // The one that came is gone again: the first takes over by itself.
  world.runtime.skip(600_000);
  for (let turn = 0; turn < 5; turn++) await world.turn();
  assert.equal(world.cluster().status?.operator, 'operators/polyad-operator');
});

test('a Cluster whose restart is held is not Ready for its new spec', async () => {
  const world = await readyWorld();
  await change(world, {
    settings: { 'service.server.logLevel': 'debug' },
    update: { paused: true },
  });
  assert.equal(world.condition('Ready'), 'False RestartPending');
  assert.equal(world.condition('Available'), 'True LeaderReady');
  assert.equal(world.condition('ConfigApplied'), 'False RestartPending');
  await change(world, { update: { paused: false } });
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
});

test('what a member has made says whose it is', async () => {
  const world = await readyWorld();
  const claim = world.api.find('PersistentVolumeClaim', 'data-orders-0');
  assert.equal(claim?.metadata.labels?.['app.kubernetes.io/managed-by'], 'polyad-operator');
  const applied = world.api.find('Secret', 'orders-root-applied');
  assert.equal(applied?.metadata.ownerReferences?.[0]?.name, 'orders');
  // Claims of an earlier version are labelled when they are found.
  world.api.change('PersistentVolumeClaim', 'data-orders-0', {
    metadata: { labels: { 'app.kubernetes.io/managed-by': null } },
  });
  await world.settle();
  const after = world.api.find('PersistentVolumeClaim', 'data-orders-0');
  assert.equal(after?.metadata.labels?.['app.kubernetes.io/managed-by'], 'polyad-operator');
});
