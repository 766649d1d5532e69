import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Operator } from '../../operator/act/operator.ts';
import { operatorPermissions } from '../../operator/api/permissions.ts';
import type { KubernetesObject } from '../../operator/api/kubernetes-object.ts';
import type { CallRecord } from '../../operator/kubernetes/port.ts';
import type { Fault } from './sim/simulated-api.ts';
import { pass, runOperatorOn } from './sim/running-operator.ts';
import { SimulatedWorld, namespace } from './sim/simulated-world.ts';

// The operator with its watches, queue and caches, in virtual time. Faults are answers of the API server.

async function started(world: SimulatedWorld, operator: Operator): Promise<void> {
  operator.startWatching();
  await world.runtime.advance(0);
  assert.equal(operator.isSynced, true);
  operator.activate();
}

async function readyWorld(): Promise<{ world: SimulatedWorld; operator: Operator }> {
  const world = new SimulatedWorld();
  const { operator } = runOperatorOn(world);
  await started(world, operator);
  world.create('orders');
  await pass(world, 10_000);
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  return { world, operator };
}

test('a Cluster that is made gets ready, and at rest nothing is written and little is read', async () => {
  const { world, operator } = await readyWorld();
  const writes = world.api.effectiveWrites;
  const requests = world.api.requests.length;
  await pass(world, 60_000);
  assert.equal(world.api.effectiveWrites, writes);
  const others = world.api.requests.slice(requests).filter((text) => !/^(GET|WATCH)/.test(text));
  assert.deepEqual(others, []);
  await operator.stop();
});

test('a changed spec is acted on at once', async () => {
  const { world, operator } = await readyWorld();
  const requests = world.api.requests.length;
  world.api.change('Cluster', 'orders', { spec: { image: 'polyad:26.10.2' } });
  await world.runtime.advance(0);
  const applied = world.api.requests
    .slice(requests)
    .some((text) => /PATCH.*statefulsets/.test(text));
  assert.equal(applied, true);
  await operator.stop();
});

test('drift is corrected without waiting for a resync', async () => {
  const { world, operator } = await readyWorld();
  const service = world.api.find('Service', 'orders-http');
  if (service) world.api.remove(service);
  world.api.change('StatefulSet', 'orders', { spec: { replicas: 0 } });
  await world.runtime.advance(0);
  assert.notEqual(world.api.find('Service', 'orders-http'), undefined);
  assert.equal(world.api.find('StatefulSet', 'orders')?.spec?.['replicas'], 1);
  await operator.stop();
});

const faults: readonly { readonly name: string; readonly fault: Fault }[] = [
  { name: '429', fault: { status: 429, retryAfter: '2' } },
  { name: '500', fault: { status: 500 } },
  { name: '503', fault: { status: 503 } },
  { name: '410', fault: { status: 410 } },
  { name: 'a dropped connection', fault: 'drop' },
];

for (const { name, fault } of faults) {
  test(`watches and work survive a minute of ${name}`, async () => {
    const { world, operator } = await readyWorld();
    const watches = world.api.watchCount;
    world.api.faultBefore = () => fault;
    world.api.cutWatches(new Error('cut'));
    world.api.change('Cluster', 'orders', { spec: { image: 'polyad:26.10.2' } });
    await pass(world, 60_000);
    assert.equal(world.condition('Ready'), 'True AllMembersReady');
    assert.notEqual(world.cluster().status?.image, 'polyad:26.10.2');
    world.api.faultBefore = undefined;
    await pass(world, 60_000);
    assert.equal(world.cluster().status?.image, 'polyad:26.10.2');
    assert.equal(world.condition('Ready'), 'True AllMembersReady');
    assert.equal(world.api.watchCount, watches);
    await operator.stop();
  });
}

test('a namespace that is gone keeps no other one waiting', async () => {
  const world = new SimulatedWorld();
  const { operator } = runOperatorOn(world, { namespaces: [namespace, 'gone'] });
  world.api.faultBefore = ({ path }) =>
    path.includes('/namespaces/gone/') ? { status: 403 } : undefined;
  await started(world, operator);
  world.create('orders');
  await pass(world, 10_000);
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  await pass(world, 600_000, 10_000);
  assert.equal(operator.failingForMs(), 0);
  await operator.stop();
});

test('Clusters that a selector chooses are forgotten when they go while nobody watches', async () => {
  const world = new SimulatedWorld();
  const { operator, metrics } = runOperatorOn(world, { clusterSelector: 'team=a' });
  world.create('orders');
  world.api.change('Cluster', 'orders', { metadata: { labels: { team: 'a' } } });
  await started(world, operator);
  await pass(world, 10_000);
  assert.match(metrics.render(), /polyad_cluster_ready\{namespace="shop",name="orders"\} 1/);
  world.api.cutWatches(new Error('cut'));
  world.api.remove(world.cluster());
  world.api.compact();
  await pass(world, 60_000);
  assert.doesNotMatch(metrics.render(), /polyad_cluster[a-z_]*\{namespace="shop",name="orders"/);
  await operator.stop();
});

test('without cert-manager a Cluster that names it waits and says so, and goes on when it is there', async () => {
  const world = new SimulatedWorld();
  const { operator } = runOperatorOn(world);
  world.api.faultBefore = ({ path }) =>
    path.includes('/cert-manager.io/') ? { status: 404 } : undefined;
  await started(world, operator);
  const issuer = { certManager: { issuerRef: { name: 'corporate' } } };
  world.create('orders', { tls: { http: { enabled: true }, issuer } });
  await pass(world, 10_000);
  assert.equal(world.condition('Stalled'), 'True CertManagerMissing');
  assert.equal(world.api.find('StatefulSet', 'orders'), undefined);
  world.api.faultBefore = undefined;
  await pass(world, 400_000, 5000);
  assert.ok(world.api.find('Certificate', 'orders-tls'));
  assert.equal(world.condition('Stalled'), 'absent');
  await operator.stop();
});

test('kinds that this Kubernetes lacks are done without, and used when they come', async () => {
  const world = new SimulatedWorld();
  const { operator } = runOperatorOn(world);
  world.api.faultBefore = ({ path }) =>
    path.includes('/monitoring.coreos.com/') ? { status: 404 } : undefined;
  await started(world, operator);
  world.create('orders', { monitoring: { podMonitor: { enabled: true } } });
  await pass(world, 10_000);
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  assert.match(JSON.stringify(world.cluster().status), /this Kubernetes has no PodMonitor/);
  world.api.faultBefore = undefined;
  await pass(world, 400_000, 5000);
  const { spec } = world.api.find('PodMonitor', 'orders') ?? {};
  assert.deepEqual(spec?.['podMetricsEndpoints'], [
    { port: 'http', path: '/metrics', interval: '30s' },
  ]);
  world.api.change('Cluster', 'orders', { spec: { monitoring: null } });
  await pass(world, 5000);
  assert.equal(world.api.find('PodMonitor', 'orders'), undefined);
  await operator.stop();
});

test('nodes that may not be read are not asked for with each look', async () => {
  const world = new SimulatedWorld();
  const { operator, calls } = runOperatorOn(world, { namespaces: [namespace] });
  world.api.faultBefore = ({ path }) => (path.includes('/nodes') ? { status: 403 } : undefined);
  await started(world, operator);
  world.create('orders');
  await pass(world, 60_000);
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  assert.deepEqual(
    calls.filter(({ resource }) => resource === 'nodes').map(({ verb }) => verb),
    ['list'],
  );
  await operator.stop();
});

test('where one kind may not be read nothing is done until it may', async () => {
  const world = new SimulatedWorld();
  const { operator } = runOperatorOn(world, { namespaces: [namespace] });
  world.api.faultBefore = ({ path }) =>
    path.includes('/persistentvolumeclaims') ? { status: 403 } : undefined;
  await started(world, operator);
  const writes = world.api.effectiveWrites;
  world.create('orders');
  const made = world.api.effectiveWrites;
  await pass(world, 20_000);
  assert.deepEqual([writes, world.api.effectiveWrites], [made - 1, made]);
  world.api.faultBefore = undefined;
  await pass(world, 90_000);
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  await operator.stop();
});

test('a watch that is cut goes on where it was, and one that is too old begins anew', async () => {
  const { world, operator } = await readyWorld();
  world.api.cutWatches();
  world.create('second');
  await pass(world, 10_000);
  assert.equal(world.condition('Ready', 'second'), 'True AllMembersReady');
  world.api.cutWatches(new Error('cut'));
  world.create('third');
  world.api.compact();
  await pass(world, 10_000);
  assert.equal(world.condition('Ready', 'third'), 'True AllMembersReady');
  await operator.stop();
});

test('every third write fails and everything still comes about once', async () => {
  const world = new SimulatedWorld();
  const { operator } = runOperatorOn(world);
  let writes = 0;
  world.api.faultAfter = ({ method }) =>
    method !== 'GET' && ++writes % 3 === 0 ? 'drop' : undefined;
  await started(world, operator);
  world.create('orders');
  await pass(world, 30_000);
  world.api.faultAfter = undefined;
  await pass(world, 30_000);
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  assert.equal(world.api.all('Pod').length, 1);
  assert.equal(world.api.all('Secret').length, 4);
  await operator.stop();
});

test('a process that does not hold the lease reads and writes nothing', async () => {
  const world = new SimulatedWorld();
  let isLeader = false;
  const { operator } = runOperatorOn(world, { mayWrite: () => isLeader });
  await started(world, operator);
  world.create('orders');
  const writes = world.api.effectiveWrites;
  await world.runtime.advance(20_000);
  assert.equal(world.api.effectiveWrites, writes);
  isLeader = true;
  await pass(world, 40_000);
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  await operator.stop();
});

test('a process that has lost the lease changes nothing at a member, whatever it had begun', async () => {
  const world = new SimulatedWorld();
  let isHeld = true;
  let isBroken = false;
  const effects: string[] = [];
  const { operator } = runOperatorOn(world, {
    mayWrite: () => isHeld,
    members: {
      send: (address, request) => {
        const isEffect = request.method !== 'GET' && request.path !== '/api/v1/login';
        if (isEffect) effects.push(request.body ?? request.path);
        // What was told in the status is tried again and again.
        return isEffect && isBroken
          ? Promise.resolve({ status: 503, body: '{}' })
          : world.members.send(address, request);
      },
    },
  });
  await started(world, operator);
  world.create('orders', { replicas: 3 });
  await pass(world, 30_000);
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  isBroken = true;
  world.api.change('Cluster', 'orders', {
    spec: { settings: { 'service.server.httpQueryDefaultLimit': '77' } },
  });
  await pass(world, 10_000);
  assert.ok(effects.some((effect) => effect.includes('set server setting')));
  isHeld = false;
  isBroken = false;
  effects.length = 0;
  await pass(world, 120_000);
  assert.equal(effects.join('\n'), '');
  isHeld = true;
  await pass(world, 60_000);
  assert.ok(effects.some((effect) => effect.includes('set server setting')));
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  await operator.stop();
});

/** A Secret as a user makes it. */
function putSecret(world: SimulatedWorld, name: string, password: string): void {
  world.api.put({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace },
    data: { password: Buffer.from(password).toString('base64') },
  } as KubernetesObject);
}

const named = (secretName: string) => ({ auth: { rootPassword: { secretName, key: 'password' } } });

test('a Secret that a user names is followed, and so is the one that is named in its place', async () => {
  const world = new SimulatedWorld();
  const { operator } = runOperatorOn(world);
  await started(world, operator);
  putSecret(world, 'admin', 'first-password');
  world.create('orders', named('admin'));
  await pass(world, 10_000);
  assert.deepEqual(world.members.passwords(), ['first-password']);
  putSecret(world, 'admin', 'second-password');
  await pass(world, 2000);
  assert.deepEqual(world.members.passwords(), ['second-password']);
  putSecret(world, 'other', 'third-password');
  world.api.change('Cluster', 'orders', { spec: named('other') });
  await pass(world, 10_000);
  assert.deepEqual(world.members.passwords(), ['third-password']);
  putSecret(world, 'other', 'fourth-password');
  await pass(world, 2000);
  assert.deepEqual(world.members.passwords(), ['fourth-password']);
  await operator.stop();
});

test('Secrets that users name cost one watch a namespace, and no value of another Secret is read', async () => {
  const world = new SimulatedWorld();
  const { operator } = runOperatorOn(world);
  const bodies: string[] = [];
  world.api.onAnswer = (text) => bodies.push(text);
  await started(world, operator);
  world.create('plain');
  putSecret(world, 'of-strangers', 'hidden-from-all');
  await pass(world, 10_000);
  const watches = world.api.watchCount;
  const names = Array.from({ length: 12 }, (_, at) => `c${at}`);
  for (const name of names) {
    putSecret(world, `${name}-admin`, `password-of-${name}`);
    world.create(name, named(`${name}-admin`));
  }
  await pass(world, 20_000);
  for (const name of names) assert.equal(world.condition('Ready', name), 'True AllMembersReady');
  assert.equal(world.api.watchCount, watches + 1);
  const requests = world.api.requests.length;
  await pass(world, 120_000);
  const live = world.api.requests.slice(requests).filter((text) => /secrets\//.test(text));
  assert.deepEqual(live, []);
  putSecret(world, 'of-strangers', 'hidden-still');
  for (const name of names) world.api.remove(world.cluster(name));
  await pass(world, 10_000);
  assert.equal(world.api.watchCount, watches);
  const leaked = Buffer.from('hidden').toString('base64');
  assert.ok(bodies.some((text) => text.includes(Buffer.from('password-of-c1').toString('base64'))));
  assert.equal(
    bodies.some((text) => text.includes(leaked)),
    false,
  );
  await operator.stop();
});

/** A Backup outside of the volumes. */
function putStream(world: SimulatedWorld): void {
  // A Job whose result is lost is made once more.
  world.api.put({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'storage', namespace } });
  world.controllers.streams.resultsToLose = 1;
  const credentialsSecret = 'storage';
  const s3 = { endpoint: 'https://storage.example', bucket: 'kept', credentialsSecret };
  world.put('Backup', 'away', {
    clusterRef: { name: 'orders' },
    method: 'Stream',
    destination: { s3 },
  });
}

/** All flows once, to see every call that the operator makes. */
async function callsOfAllFlows(namespaces: readonly string[]): Promise<readonly CallRecord[]> {
  const world = new SimulatedWorld();
  const { operator, calls } = runOperatorOn(world, { namespaces });
  await started(world, operator);
  world.create('orders', {
    networkPolicy: { enabled: true },
    monitoring: {
      podMonitor: { enabled: true },
      serviceMonitor: { enabled: true },
      prometheusRule: { enabled: true },
    },
    storage: { size: '1Gi', backups: { size: '1Gi' } },
    deletionPolicy: 'BackupThenDelete',
  });
  await pass(world, 10_000);
  world.put('Backup', 'nightly', { clusterRef: { name: 'orders' }, deletionPolicy: 'Delete' });
  world.put('Restore', 'copy', {
    clusterRef: { name: 'orders' },
    source: { backupRef: { name: 'nightly' } },
    databases: [{ name: 'orders', as: 'copy' }],
  });
  world.put('ScheduledBackup', 'often', {
    schedule: '* * * * *',
    successfulHistory: 1,
    template: { clusterRef: { name: 'orders' } },
  });
  world.put('Backup', 'lost', { clusterRef: { name: 'nobody' } });
  putStream(world);
  await pass(world, 220_000, 5000);
  assert.equal(world.api.find('Backup', 'away')?.status?.['phase'], 'Succeeded');
  assert.equal(world.api.all('Backup').length, 4, 'those above and the last one of the schedule');
  const often = world.api.find('ScheduledBackup', 'often');
  if (often !== undefined) world.api.remove(often);
  const { phase } = world.api.find('Backup', 'nightly')?.status ?? {};
  assert.equal(phase, 'Succeeded');
  assert.equal(world.api.find('Restore', 'copy')?.status?.['phase'], 'Succeeded');
  // A write whose answer is lost is noticed as an event that repeats, and a stranger's class is asked about.
  world.api.change('Cluster', 'orders', {
    spec: {
      image: 'polyad:2',
      storage: { size: '2Gi' },
      networkPolicy: { enabled: false },
      monitoring: null,
      services: { readOnly: { enabled: false } },
      serviceAccount: { create: false, name: 'other' },
    },
  });
  await pass(world, 30_000);
  // A member that never gets ready is replaced without an eviction.
  world.controllers.crashingImages.add('polyad:3');
  world.api.change('Cluster', 'orders', {
    spec: { image: 'polyad:3', update: { autoRollback: false } },
  });
  await pass(world, 10_000);
  world.api.change('Cluster', 'orders', { spec: { image: 'polyad:4' } });
  await pass(world, 20_000);
  world.api.delete(world.cluster(), false);
  await pass(world, 20_000);
  assert.equal(world.findCluster('orders'), undefined);
  // Volumes of members that left, and a budget that one member does not need.
  world.create('many', { replicas: 3, storage: { whenScaled: 'Delete' } });
  await pass(world, 20_000);
  world.api.change('Cluster', 'many', { spec: { replicas: 1 } });
  await pass(world, 20_000);
  world.create('again', { bootstrap: { fromBackup: { backupRef: { name: 'away' } } } });
  await pass(world, 20_000);
  assert.ok(world.api.find('Restore', 'again-bootstrap'));
  const issuer = { certManager: { issuerRef: { name: 'corporate' } } };
  world.create('signed', { tls: { http: { enabled: true }, issuer } });
  await pass(world, 4000);
  // The same event again counts up the one that is there.
  world.create('refused', { quorum: 'some' });
  await pass(world, 2000);
  world.api.change('Cluster', 'refused', { status: null });
  await pass(world, 2000);
  await operator.stop();
  return calls;
}

test('the rights of the operator are exactly what its flows use', async () => {
  const calls = await callsOfAllFlows([]);
  const used = new Set(calls.map(({ verb, group, resource }) => `${group} ${resource} ${verb}`));
  // Implied: an apply that makes an object needs `create` too, and owner references need `finalizers`.
  const implied = [
    ...['apps statefulsets', ' services', ' configmaps', ' serviceaccounts'].map(
      (name) => `${name} create`,
    ),
    'networking.k8s.io networkpolicies create',
    'batch jobs create',
    'policy poddisruptionbudgets create',
    ...['podmonitors', 'servicemonitors', 'prometheusrules'].map(
      (name) => `monitoring.coreos.com ${name} create`,
    ),
    'cert-manager.io certificates create',
    // Asked of whoever gives an object that is there an owner.
    ' configmaps delete',
    'cert-manager.io certificates delete',
    'polyad.io clusters/finalizers update',
    ...['get', 'create', 'update'].map((verb) => `coordination.k8s.io leases ${verb}`),
  ];
  for (const name of implied) used.add(name);
  const granted = operatorPermissions.flatMap(({ group, resources, verbs }) =>
    resources.flatMap((resource) => verbs.map((verb) => `${group} ${resource} ${verb}`)),
  );
  assert.deepEqual([...used].sort(), [...granted].sort());
  assert.equal(granted.length, new Set(granted).size);
});

test('an installation for namespaces asks for nothing outside of them but what it can do without', async () => {
  const calls = await callsOfAllFlows([namespace]);
  const outside = calls.filter(
    ({ namespace: asked, resource }) => asked !== namespace && resource !== 'namespaces',
  );
  const optional = new Set(['nodes', 'storageclasses']);
  assert.deepEqual(
    outside.filter(({ resource }) => !optional.has(resource)),
    [],
  );
});

test('a Restore that the operator makes itself is begun as those of users are', async () => {
  const world = new SimulatedWorld();
  const { operator } = runOperatorOn(world);
  await started(world, operator);
  const fromBackup = { backupRef: { name: 'nowhere' } };
  world.create('orders', { replicas: 1, bootstrap: { fromBackup } });
  await pass(world, 30_000);
  const restore = world.api.find('Restore', 'orders-bootstrap');
  assert.match(JSON.stringify(restore?.status ?? 'no look'), /nowhere/);
});

test('a lead that is handed over is followed within two seconds, and watching it writes nothing', async () => {
  const world = new SimulatedWorld();
  const { operator } = runOperatorOn(world);
  await started(world, operator);
  world.create('orders', { replicas: 3 });
  await pass(world, 30_000);
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  const writes = world.api.effectiveWrites;
  const { group } = world.members;
  const leaderLabels = () =>
    world.api
      .all('Pod')
      .filter(({ metadata }) => metadata.labels?.['polyad.io/role'] === 'leader')
      .map(({ metadata }) => metadata.name);
  assert.deepEqual(leaderLabels(), ['orders-0']);
  await pass(world, 20_000);
  assert.equal(world.api.effectiveWrites, writes);
  group.leader = group.voters.find((id) => id.startsWith('orders-2'));
  group.term += 1;
  await pass(world, 2_000);
  assert.deepEqual(leaderLabels(), ['orders-2']);
  await operator.stop();
});
