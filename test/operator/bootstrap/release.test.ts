import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { parseSpec } from '../../../operator/api/cluster.ts';
import type { ClusterObject } from '../../../operator/api/cluster.ts';
import { conditionOf } from '../../../operator/api/conditions.ts';
import type { KubernetesObject } from '../../../operator/api/kubernetes-object.ts';
import { operatorPermissions } from '../../../operator/api/permissions.ts';
import { groupOf, resourceKindOf } from '../../../operator/kubernetes/resource-kinds.ts';
import { expectedObjects } from '../../../operator/resources/expected-objects.ts';
import { SimulatedWorld } from '../sim/simulated-world.ts';

// A release of the chart, as it is rendered, becomes a Cluster while its members run (operator.md 8.15).

const passwordSecret = { secretName: 'service-credentials-secret', key: 'rootPassword' };

/** What the values of a release say where our defaults differ. */
const repeated = {
  replicas: 3,
  image: 'polyad:26.10.1',
  clusterName: 'service',
  tls: { raft: { enabled: false } },
  auth: { rootPassword: passwordSecret },
  bootstrap: { fromRelease: { statefulSet: 'orders' } },
};

const kinds = new Set([
  'StatefulSet',
  'Service',
  'ConfigMap',
  'ServiceAccount',
  'PodDisruptionBudget',
]);

/** A release as Helm installs it, three members of it running. */
function releaseOf(
  golden = 'keep-objects',
  change: (object: KubernetesObject) => void = () => {},
): SimulatedWorld {
  const world = new SimulatedWorld();
  const path = new URL(`../../chart/golden/${golden}.yaml`, import.meta.url);
  for (const document of parseAllDocuments(readFileSync(path, 'utf8'))) {
    const object = document.toJS() as KubernetesObject;
    if (!kinds.has(object.kind) || object.metadata.name.endsWith('-secrets')) continue;
    change(object);
    world.api.putAs('helm', object);
  }
  const secret = (name: string, key: string) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      namespace: 'shop',
      labels: { 'app.kubernetes.io/instance': 'orders', 'polyad.io/generated-by': 'job' },
    },
    data: { [key]: Buffer.from(`the text of ${name}`).toString('base64') },
  });
  world.api.putAs('helm', secret('service-credentials-secret', 'rootPassword'));
  world.api.putAs('helm', secret('orders-token', 'token'));
  for (let turn = 0; turn < 4; turn++) world.controllers.step();
  return world;
}

const podUids = (world: SimulatedWorld) =>
  world.api.all('Pod').map(({ metadata }) => metadata.uid ?? '');

const stalled = (world: SimulatedWorld) =>
  conditionOf(world.cluster().status?.conditions, 'Stalled')?.message ?? '';

test('a release of three goes on as a Cluster, without a restart, and nothing of the chart stays in its objects', async () => {
  const world = releaseOf();
  const before = podUids(world);
  world.create('orders', repeated);
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  assert.deepEqual(podUids(world), before);
  assert.equal(world.members.group.voters.length, 3);
  assert.equal(world.condition('TemplateOutdated'), 'True TemplateOutdated');
  const set = world.api.find('StatefulSet', 'orders');
  assert.equal(set?.metadata.ownerReferences?.[0]?.kind, 'Cluster');
  const { updateStrategy, template, minReadySeconds } = (set?.spec ?? {}) as {
    updateStrategy: { type: string };
    minReadySeconds?: number;
    template: { spec: { initContainers: { name: string }[]; containers: { args?: string[] }[] } };
  };
  assert.equal(updateStrategy.type, 'OnDelete');
  assert.equal(minReadySeconds, undefined);
  assert.deepEqual(
    template.spec.initContainers.map(({ name }) => name),
    ['guard'],
  );
  assert.equal(template.spec.containers[0]?.args, undefined);
  for (const claim of world.api.all('PersistentVolumeClaim'))
    assert.equal(claim.metadata.labels?.['polyad.io/cluster'], 'orders');
  const notes = world.api.all('Event').map((event) => (event as { note?: string }).note ?? '');
  assert.ok(notes.some((note) => /is taken over; its members go on as they are/.test(note)));
  const writes = world.api.effectiveWrites;
  world.restartOperator();
  for (let turn = 0; turn < 20; turn++) await world.turn();
  assert.equal(world.api.effectiveWrites, writes);
});

test('the operator may delete whatever it may have to give an owner, which an API server can ask for', () => {
  const { spec } = parseSpec({
    metadata: { name: 'orders' },
    spec: { tls: { issuer: { certManager: { issuerRef: { name: 'x' } } } } },
  } as ClusterObject);
  assert.ok(spec);
  const kinds = new Set(expectedObjects('orders', spec).map(({ kind }) => kind));
  assert.ok(kinds.has('Certificate') && kinds.has('ConfigMap'));
  const lacking = [...kinds].filter((kind) => {
    const resource = resourceKindOf(kind);
    const rule = operatorPermissions.find(
      ({ group, resources }) => group === groupOf(resource) && resources.includes(resource.plural),
    );
    return rule?.verbs.includes('delete') !== true;
  });
  assert.deepEqual(lacking, []);
});

test('a member that starts anew after that finds its volume, and a guard looks at it from then on', async () => {
  const world = releaseOf();
  world.create('orders', repeated);
  await world.settle();
  for (const ordinal of [1, 0]) {
    const pod = world.api.find('Pod', `orders-${ordinal}`);
    assert.ok(pod);
    world.api.delete(pod, true);
    await world.settle();
    assert.equal(world.condition('Ready'), 'True AllMembersReady');
  }
  const record = world.api.find('ConfigMap', 'orders-members')?.data?.['members.json'] ?? '';
  const { members } = JSON.parse(record) as { members: Record<string, { state: string }> };
  assert.deepEqual(
    ['0', '1', '2'].map((ordinal) => members[ordinal]?.state),
    ['member', 'member', 'adopt'],
  );
  assert.equal(world.members.group.formed, 1);
  assert.equal(world.members.group.voters.length, 3);
});

test('what the spec wants otherwise restarts members one after the other, once all is taken over', async () => {
  const world = releaseOf();
  const before = podUids(world);
  world.create('orders', {
    ...repeated,
    settings: { 'service.server.logLevel': 'debug' },
    update: { minReadySeconds: 0 },
  });
  await world.settle('orders', 300);
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  assert.equal(new Set([...before, ...podUids(world)]).size, 6);
  assert.equal(world.condition('TemplateOutdated'), 'absent');
  assert.equal(world.members.group.voters.length, 3);
});

const refusals: readonly (readonly [string, object, RegExp])[] = [
  [
    'another name of the group',
    { clusterName: 'orders' },
    /spec\.clusterName is 'orders' .*'service'/,
  ],
  ['TLS', { tls: { raft: { enabled: true } } }, /spec\.tls\.raft\.enabled is 'true' .*'false'/],
  [
    'another Secret',
    { auth: {} },
    /spec\.auth\.rootPassword is 'orders-root\/rootPassword' .*'service-credentials-secret\/rootPassword'/,
  ],
  ['another port', { ports: { http: 8080 } }, /spec\.ports\.http is '8080' .*'2480'/],
  ['another domain', { clusterDomain: 'cluster.example' }, /spec\.clusterDomain/],
  ['another class', { storage: { storageClassName: 'fast' } }, /spec\.storage\.storageClassName/],
  ['a volume more', { storage: { raft: { size: '1Gi' } } }, /the set of volumes .*'data,raft'/],
];

test('a difference that would split the group or leave data behind is refused before anything is touched', async () => {
  for (const [what, spec, message] of refusals) {
    const world = releaseOf();
    world.create('orders', { ...repeated, ...spec });
    const objects = [...kinds].flatMap((kind) => world.api.all(kind));
    for (let turn = 0; turn < 5; turn++) await world.turn();
    assert.equal(world.condition('Stalled'), 'True InvalidSpec', what);
    assert.match(stalled(world), message);
    const after = [...kinds].flatMap((kind) => world.api.all(kind));
    assert.deepEqual(
      after.map(({ metadata, spec: content }) => [metadata.labels, content]),
      objects.map(({ metadata, spec: content }) => [metadata.labels, content]),
      what,
    );
  }
});

test('a release that would take its objects with it, no release and one of somebody else are refused', async () => {
  const gone = releaseOf('ha3');
  gone.create('orders', repeated);
  await gone.turn();
  assert.match(stalled(gone), /goes when its release is uninstalled: .*keepObjects=true/);
  const none = new SimulatedWorld();
  none.create('orders', repeated);
  for (let turn = 0; turn < 3; turn++) await none.turn();
  assert.match(stalled(none), /there is no StatefulSet orders/);
  assert.equal(none.api.all('StatefulSet').length, 0);
  const strange = releaseOf('keep-objects', ({ kind, metadata }) => {
    if (kind === 'ConfigMap' && metadata.labels !== undefined)
      (metadata.labels as Record<string, string>)['app.kubernetes.io/instance'] = 'other';
  });
  strange.create('orders', repeated);
  await strange.turn();
  assert.equal(strange.condition('Stalled'), 'True NameConflict');
});

/** Every so many calls are tried; all of them with CRASH_EVERY=1 (`npm run e2e:sim`). */
const stride = Number(process.env['CRASH_EVERY'] ?? 9);

test('killed at any call, the operator takes the release over all the same', async () => {
  for (let at = 1; ; at += stride) {
    const world = releaseOf();
    const before = podUids(world);
    world.create('orders', repeated);
    let writes = 0;
    world.api.faultAfter = ({ method }) =>
      method !== 'GET' && ++writes === at ? 'drop' : undefined;
    for (let turn = 0; turn < 60; turn++) {
      await world.look().catch(() => world.restartOperator());
      world.controllers.step();
      world.runtime.skip(6000);
    }
    assert.equal(world.condition('Ready'), 'True AllMembersReady', `call ${at}`);
    assert.deepEqual(podUids(world), before, `call ${at}`);
    if (writes < at) break;
  }
});

test('a release of one server without replication goes on as one', async () => {
  const world = releaseOf('keep-objects-one');
  const before = podUids(world);
  world.create('orders', { ...repeated, replicas: 1 });
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  assert.deepEqual(podUids(world), before);
  const pod = world.api.find('Pod', 'orders-0');
  assert.ok(pod);
  world.api.delete(pod, true);
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
});

test('the same release in mode cluster writes a Cluster that repeats all that has to be', async () => {
  const world = releaseOf();
  const before = podUids(world);
  const path = new URL('../../chart/golden/cluster-from-release.yaml', import.meta.url);
  const [cluster] = parseAllDocuments(readFileSync(path, 'utf8')).map(
    (document) => document.toJS() as KubernetesObject,
  );
  assert.equal(cluster?.kind, 'Cluster');
  world.api.putAs('helm', cluster);
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  assert.deepEqual(podUids(world), before);
  assert.equal(world.members.group.voters.length, 3);
});
