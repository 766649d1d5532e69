import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import type { HttpRequest } from '../../../operator/kubernetes/port.ts';
import { stableJson } from '../../../operator/resources/content-hash.ts';
import { SimulatedWorld } from '../sim/simulated-world.ts';

/*
 * The operator is killed after its n-th call that may change something, for every n of a flow: the call took effect, its answer
 * is lost. Its successor remembers nothing and must reach the same state without making
 * anything twice. Method: the outcome of a flow without crashes is the model.
 */

interface Flow {
  readonly name: string;
  /** Turns that it may take; steps that wait for kubelets take minutes. */
  readonly turnsMax?: number;
  readonly prepare: (world: SimulatedWorld) => Promise<void>;
  readonly begin: (world: SimulatedWorld) => void;
  readonly isDone: (world: SimulatedWorld) => boolean;
}

const isReady = (world: SimulatedWorld) =>
  world.condition('Ready') === 'True AllMembersReady' &&
  world.cluster().status?.observedGeneration === world.cluster().metadata.generation &&
  world.cluster().status?.operation === undefined;

async function create(world: SimulatedWorld, spec: object = {}): Promise<void> {
  world.create('orders', spec);
  await world.settle();
}

const spec = { image: 'polyad:1', settings: { 'service.server.httpQueryDefaultLimit': '5' } };

const flows: readonly Flow[] = [
  {
    name: 'create',
    prepare: async () => {},
    begin: (world) => world.create('orders', { ...spec, networkPolicy: { enabled: true } }),
    isDone: isReady,
  },
  {
    name: 'image change',
    prepare: (world) => create(world, spec),
    begin: (world) => world.api.change('Cluster', 'orders', { spec: { image: 'polyad:2' } }),
    isDone: isReady,
  },
  {
    name: 'image change that fails',
    prepare: (world) =>
      create(world, { ...spec, update: { progressDeadlineSeconds: 10, minReadySeconds: 6 } }),
    begin: (world) => {
      world.controllers.crashingImages.add('polyad:2');
      world.api.change('Cluster', 'orders', { spec: { image: 'polyad:2' } });
    },
    isDone: (world) =>
      world.condition('Stalled') === 'True UpgradeFailed' &&
      world.condition('Available') === 'True LeaderReady' &&
      world.cluster().status?.operation === undefined,
  },
  {
    name: 'storage growth',
    prepare: (world) => create(world, { ...spec, storage: { size: '1Gi' } }),
    begin: (world) => world.api.change('Cluster', 'orders', { spec: { storage: { size: '2Gi' } } }),
    isDone: (world) => isReady(world) && world.api.find('StatefulSet', 'orders') !== undefined,
  },
  {
    name: 'password rotation',
    prepare: (world) => create(world, spec),
    begin: (world) =>
      world.api.change('Secret', 'orders-root', {
        data: { rootPassword: Buffer.from('another-password').toString('base64') },
      }),
    isDone: (world) => world.members.passwords()[0] === 'another-password',
  },
  {
    name: 'delete',
    prepare: (world) => create(world, { ...spec, deletionPolicy: 'Delete' }),
    begin: (world) => world.api.delete(world.cluster(), false),
    isDone: (world) =>
      world.findCluster('orders') === undefined &&
      ['Pod', 'PersistentVolumeClaim', 'Secret', 'StatefulSet'].every(
        (kind) => world.api.all(kind).length === 0,
      ),
  },
];

const backupFlow: Flow = {
  name: 'delete with a last backup',
  prepare: (world) => create(world, { ...spec, deletionPolicy: 'BackupThenDelete' }),
  begin: (world) => world.api.delete(world.cluster(), false),
  isDone: (world) =>
    world.findCluster('orders') === undefined &&
    world.members.backedUp.includes('orders') &&
    ['Pod', 'StatefulSet'].every((kind) => world.api.all(kind).length === 0),
};

/** The same with three members: who joins, leaves, is restarted or lost. */
const three = { ...spec, replicas: 3 };
const quick = { minReadySeconds: 0, canarySoakSeconds: 0 };
const groupFlows: Flow[] = [
  {
    name: 'create of three',
    prepare: async () => {},
    begin: (world) => world.create('orders', three),
    isDone: isReady,
  },
  {
    name: 'three to five',
    prepare: (world) => create(world, three),
    begin: (world) => world.api.change('Cluster', 'orders', { spec: { replicas: 5 } }),
    isDone: (world) => isReady(world) && world.members.group.voters.length === 5,
  },
  {
    name: 'a fourth member that does not catch up',
    prepare: (world) => create(world, three),
    begin: (world) => {
      const stuck = { lag: 4321, status: 'STALLED', match: 1 };
      world.members.group.told.set('orders-3.orders.shop.svc.cluster.local_2434', stuck);
      world.turnMs = 30_000;
      world.api.change('Cluster', 'orders', { spec: { replicas: 4 } });
    },
    isDone: (world) =>
      world.condition('Stalled') === 'True JoinFailed' &&
      world.cluster().status?.operation === undefined &&
      world.cluster().status?.failedJoin !== undefined &&
      world.members.group.voters.length === 3 &&
      world.members.group.learners.length === 0 &&
      world.api.find('Pod', 'orders-3') !== undefined,
  },
  {
    name: 'three to one',
    prepare: (world) => create(world, three),
    begin: (world) => world.api.change('Cluster', 'orders', { spec: { replicas: 1 } }),
    isDone: (world) => isReady(world) && world.members.group.voters.length === 1,
  },
  {
    name: 'image change of three',
    prepare: (world) => create(world, { ...three, update: quick }),
    begin: (world) => world.api.change('Cluster', 'orders', { spec: { image: 'polyad:2' } }),
    isDone: isReady,
  },
  {
    name: 'an image of three that does not read what is there',
    prepare: (world) => create(world, { ...three, update: quick }),
    begin: (world) => {
      const formats = { storage: { reads: [3, 3], writes: 3 } };
      world.controllers.builds.set('polyad:2', { version: '26.11.0', formats });
      world.api.change('Cluster', 'orders', { spec: { image: 'polyad:2' } });
    },
    isDone: (world) =>
      world.condition('Stalled') === 'True UpgradeFailed' &&
      world.cluster().status?.failedImage === 'polyad:2' &&
      world.cluster().status?.operation === undefined,
  },
  {
    name: 'an image of three that is not taken back',
    prepare: (world) =>
      create(world, { ...three, update: { ...quick, progressDeadlineSeconds: 30 } }),
    begin: (world) => {
      const build = { version: '26.11.0', downgradeSafeTo: '26.11.0' };
      world.controllers.builds.set('polyad:2', build);
      world.controllers.crashingImages.add('polyad:2');
      world.api.change('Cluster', 'orders', { spec: { image: 'polyad:2' } });
    },
    isDone: (world) =>
      world.condition('Stalled') === 'True UpgradeFailed' &&
      world.cluster().status?.failedImage === undefined &&
      world.cluster().status?.upgrade?.oneWay !== undefined,
  },
  {
    name: 'all of three restarted at once',
    prepare: (world) =>
      create(world, { ...three, update: { ...quick, strategy: 'Recreate', allowDowntime: true } }),
    begin: (world) => world.api.change('Cluster', 'orders', { spec: { image: 'polyad:2' } }),
    isDone: isReady,
  },
  {
    name: 'a volume of three on a node that is gone',
    prepare: (world) =>
      create(world, {
        ...three,
        recovery: { lostVolume: 'Automatic', lostVolumeAfterSeconds: 10 },
      }),
    begin: (world) => {
      const claim = world.api.find('PersistentVolumeClaim', 'data-orders-1');
      const pod = world.api.find('Pod', 'orders-1');
      assert.ok(claim && pod);
      world.controllers.strandedClaims.add(claim.metadata.uid ?? '');
      world.api.delete(pod, true);
    },
    isDone: (world) =>
      isReady(world) &&
      !world.controllers.strandedClaims.has(
        world.api.find('PersistentVolumeClaim', 'data-orders-1')?.metadata.uid ?? '',
      ),
  },
  {
    name: 'three that hibernate',
    prepare: (world) => create(world, three),
    begin: (world) => world.api.change('Cluster', 'orders', { spec: { hibernate: true } }),
    isDone: (world) =>
      world.condition('Ready') === 'True Hibernated' &&
      world.api.all('Pod').length === 0 &&
      world.members.group.handOvers === 0,
  },
];

/** What members serve, and whom they trust. */
const tlsOf = (world: SimulatedWorld) => {
  const read = (name: string, key: string) =>
    Buffer.from(world.api.find('Secret', name)?.data?.[key] ?? '', 'base64').toString();
  const trusted = read('orders-tls', 'ca.crt').match(/-----BEGIN CERTIFICATE-----/g) ?? [];
  const [authority, leaf] = [read('orders-ca', 'tls.crt'), read('orders-tls', 'tls.crt')];
  const isIssued =
    authority !== '' &&
    leaf !== '' &&
    new X509Certificate(leaf).verify(new X509Certificate(authority).publicKey);
  return { authority, leaf, isSettled: trusted.length === 1 && isIssued };
};
const before = new WeakMap<SimulatedWorld, ReturnType<typeof tlsOf>>();
const secured = { ...three, tls: { raft: { enabled: true } } };
const capacities = (world: SimulatedWorld) =>
  world.api
    .all('PersistentVolumeClaim')
    .map(({ status }) => (status as { capacity?: { storage?: string } })?.capacity?.storage);

groupFlows.push(
  {
    name: 'create of three that form their group together',
    prepare: async () => {},
    begin: (world) =>
      world.create('orders', { ...three, bootstrap: { empty: { formation: 'Static' } } }),
    isDone: isReady,
  },
  {
    name: 'growth of the volumes of three',
    prepare: (world) => create(world, { ...three, storage: { size: '1Gi' } }),
    begin: (world) => world.api.change('Cluster', 'orders', { spec: { storage: { size: '2Gi' } } }),
    isDone: (world) =>
      isReady(world) &&
      world.api.find('StatefulSet', 'orders') !== undefined &&
      capacities(world).every((size) => size === '2Gi'),
  },
  {
    name: 'two read replicas beside three',
    prepare: (world) => create(world, three),
    begin: (world) => world.api.change('Cluster', 'orders', { spec: { readReplicas: 2 } }),
    isDone: (world) => isReady(world) && world.members.group.learners.length === 2,
  },
  {
    name: 'read replicas that go',
    prepare: (world) => create(world, { ...three, readReplicas: 2 }),
    begin: (world) => world.api.change('Cluster', 'orders', { spec: { readReplicas: 0 } }),
    isDone: (world) =>
      isReady(world) &&
      world.members.group.learners.length === 0 &&
      world.members.group.voters.length === 3 &&
      world.api.all('Pod').length === 3,
  },
  {
    name: 'the certificate of three renewed',
    prepare: (world) => create(world, secured),
    begin: (world) => {
      before.set(world, tlsOf(world));
      world.runtime.skip(61 * 86_400_000);
    },
    isDone: (world) => isReady(world) && tlsOf(world).leaf !== before.get(world)?.leaf,
  },
  {
    name: 'another authority of three',
    turnsMax: 110,
    prepare: (world) => create(world, secured),
    begin: (world) => {
      before.set(world, tlsOf(world));
      const authority = world.api.find('Secret', 'orders-ca');
      assert.ok(authority);
      world.api.remove(authority);
    },
    isDone: (world) => {
      const { authority, isSettled } = tlsOf(world);
      return isReady(world) && isSettled && authority !== before.get(world)?.authority;
    },
  },
);

const turnsMax = 80;
/** Every so many calls of a flow of three are tried in a quick run; all of them with CRASH_EVERY=1 (`npm run e2e:sim`). */
const groupStride = Number(process.env['CRASH_EVERY'] ?? 5);

interface Outcome {
  readonly state: string;
  readonly writes: number;
}

/** Runs a flow; `crashAt` is the number of the call at which the operator dies, 0 for never. */
async function play(flow: Flow, crashAt: number, isLost: boolean): Promise<Outcome> {
  const world = new SimulatedWorld();
  world.turnMs = 6000;
  await flow.prepare(world);
  flow.begin(world);
  let writes = 0;
  const crash = (request: HttpRequest) => {
    if (request.method === 'GET') return undefined;
    writes++;
    return writes === crashAt ? ('drop' as const) : undefined;
  };
  if (isLost) world.api.faultAfter = crash;
  else world.api.faultBefore = crash;
  // Changes of the group are begun and not waited for: who dies with one has an answer that nobody hears.
  let isDead = false;
  world.members.killsCaller = ({ method, path }) => {
    if (!isLost || method === 'GET' || !path.startsWith('/api/v1/cluster')) return false;
    writes++;
    isDead = writes === crashAt;
    return isDead;
  };
  let quietTurns = 0;
  for (let turn = 0; turn < (flow.turnsMax ?? turnsMax) && quietTurns < 2; turn++) {
    assert.ok(world.members.group.formed <= 1, 'a second group was formed');
    const before = world.api.effectiveWrites;
    try {
      await world.look();
    } catch {
      world.restartOperator();
    }
    if (isDead) world.restartOperator();
    isDead = false;
    world.controllers.step();
    world.runtime.skip(world.turnMs);
    const isQuiet = flow.isDone(world) && world.api.effectiveWrites === before;
    quietTurns = isQuiet ? quietTurns + 1 : 0;
  }
  assert.equal(flow.isDone(world), true, `${flow.name}: not done after a crash at ${crashAt}`);
  return { state: stateOf(world), writes };
}

const retired = 'polyad.io/retired';

/** What exists, without what differs between any two runs: uids, versions, times, random values. */
function stateOf(world: SimulatedWorld): string {
  const kinds = [
    'StatefulSet',
    'Service',
    'ConfigMap',
    'Secret',
    'ServiceAccount',
    'NetworkPolicy',
    'Pod',
    'PersistentVolumeClaim',
  ];
  const objects = kinds.flatMap((kind) =>
    world.api.all(kind).map(({ metadata, spec: content, data }) => ({
      kind,
      name: metadata.name,
      // The moment at which a volume was retired differs.
      labels: { ...metadata.labels, ...(metadata.labels?.[retired] && { [retired]: 'once' }) },
      spec: kind === 'Pod' ? undefined : content,
      data: kind === 'ConfigMap' ? withoutIds(data) : Object.keys(data ?? {}),
    })),
  );
  objects.sort((a, b) => `${a.kind}/${a.name}`.localeCompare(`${b.kind}/${b.name}`));
  const status = world.findCluster('orders')?.status;
  return stableJson({
    objects,
    phase: status?.phase,
    image: status?.image,
    conditions: status?.conditions?.map(({ type, status: value, reason }) => [type, value, reason]),
  });
}

function withoutIds(data: Record<string, string> | undefined): string {
  return JSON.stringify(data ?? {}).replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'uuid');
}

for (const flow of [...flows, backupFlow, ...groupFlows]) {
  const stride = groupFlows.includes(flow) ? groupStride : 1;
  test(`killed at every call of ${flow.name}, the operator ends in the same state`, async () => {
    const model = await play(flow, 0, true);
    assert.ok(model.writes >= 2, `${flow.name} makes ${model.writes} calls`);
    // To die before a call is to die after the one before it: only the first needs both.
    const { state } = await play(flow, 1, false);
    assert.equal(state, model.state, `${flow.name}, before the first call`);
    for (let at = 1; at <= model.writes; at += stride) {
      const after = await play(flow, at, true);
      assert.equal(after.state, model.state, `${flow.name}, call ${at}, answer lost`);
    }
  });
}
