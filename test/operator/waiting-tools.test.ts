import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unseenStatus } from '../../operator/api/custom-resource-definition.ts';
import type { KubernetesObject } from '../../operator/api/kubernetes-object.ts';
import { SimulatedWorld } from './sim/simulated-world.ts';
import type { StoredObject } from './sim/simulated-api.ts';

/*
 * What tools that wait are told in the states of a Cluster: created, scaled, rolled, failed, restored, hibernated (operator.md 13.11).
 * They read the object after every look and after every turn of everybody else. None may take for reached what is not, as the pods,
 * the group and the databases say; each has to see the end, and to see a failure as one. Helm 3 reads no object of a kind that is not
 * Kubernetes' own; Helm 4, Flux and others read by kstatus.
 */

type Verdict = 'reached' | 'goes on' | 'failed';
type Told = Readonly<Record<string, { readonly status: string; readonly observed: number }>>;

function toldBy({ status }: StoredObject): Told {
  const conditions = (status?.['conditions'] ?? []) as readonly {
    readonly type: string;
    readonly status: string;
    readonly observedGeneration?: number;
  }[];
  const observedBy = Number(status?.['observedGeneration'] ?? 0);
  return Object.fromEntries(
    conditions.map(({ type, status, observedGeneration = observedBy }) => [
      type,
      { status, observed: observedGeneration },
    ]),
  );
}

/** `kubectl wait --for=condition=…`: a condition of an older generation is not looked at. */
function kubectlWait(cluster: StoredObject, type: string): boolean {
  const found = toldBy(cluster)[type];
  const { generation = 0 } = cluster.metadata;
  return found?.status === 'True' && found.observed >= generation;
}

/** The library kstatus, of a kind that it does not know. */
function kstatus(cluster: StoredObject): Verdict {
  const told = toldBy(cluster);
  if (cluster.status?.['observedGeneration'] !== cluster.metadata.generation) return 'goes on';
  if (told['Reconciling']?.status === 'True') return 'goes on';
  if (told['Stalled']?.status === 'True') return 'failed';
  const ready = told['Ready'];
  return ready === undefined || ready.status === 'True' ? 'reached' : 'goes on';
}

/** The health check in chart/GIT-TOOLS.md. */
function argo(cluster: StoredObject): Verdict {
  const told = toldBy(cluster);
  if (cluster.status?.['observedGeneration'] !== cluster.metadata.generation) return 'goes on';
  if (told['Stalled']?.status === 'True') return 'failed';
  return told['Ready']?.status === 'True' ? 'reached' : 'goes on';
}

function readingsOf(cluster: StoredObject): Readonly<Record<string, Verdict>> {
  return {
    kubectl: kubectlWait(cluster, 'Ready') ? 'reached' : 'goes on',
    kstatus: kstatus(cluster),
    argo: argo(cluster),
  };
}

interface Spec {
  readonly replicas: number;
  readonly image: string;
  readonly hibernate?: boolean;
  readonly resources?: { readonly requests?: { readonly cpu?: string } };
}

/** Whether the world is what the spec asks for; nothing of the status is used. */
function isReached(world: SimulatedWorld, databases: readonly string[]): boolean {
  const { replicas, image, hibernate, resources } = world.cluster().spec as unknown as Spec;
  const pods = world.api.all('Pod').filter(({ metadata }) => /^orders-\d$/.test(metadata.name));
  if (hibernate === true) return pods.length === 0;
  const isAsAsked = ({ spec, status }: StoredObject) => {
    const containers = spec?.['containers'] as readonly (Spec & { readonly name: string })[];
    const server = containers.find(({ name }) => name === 'server');
    const isReady = JSON.stringify(status).includes('"type":"Ready","status":"True"');
    const hasCpu = server?.resources?.requests?.cpu === resources?.requests?.cpu;
    return isReady && hasCpu && server?.image === image;
  };
  const { leader, voters } = world.members.group;
  const isWhole = pods.length === replicas && pods.every(isAsAsked);
  const hasData = databases.every((name) => world.members.databases.includes(name));
  return isWhole && hasData && leader !== undefined && voters.length === replicas;
}

interface Walk {
  readonly world: SimulatedWorld;
  /** That have to be there. */
  readonly databases: readonly string[];
}

const turnsMax = 200;
/** Until every reading is the wanted one and nothing changes any more. @returns phases on the way, each once in a row */
async function walk({ world, databases }: Walk, wanted: Verdict): Promise<readonly string[]> {
  const phases: string[] = [];
  const read = () => {
    const cluster = world.cluster() as unknown as StoredObject;
    const readings = readingsOf(cluster);
    for (const [tool, verdict] of Object.entries(readings)) {
      const message = `${tool} says ${verdict}: ${JSON.stringify(cluster.status, undefined, 1)}`;
      if (verdict === 'reached') assert.ok(isReached(world, databases), message);
      if (verdict === 'failed') assert.equal(wanted, 'failed', message);
    }
    const { phase = '', conditions } = world.cluster().status ?? {};
    if (phase !== phases.at(-1)) phases.push(phase);
    const reason = conditions?.find(({ type }) => type === 'Reconciling')?.reason;
    if (reason !== undefined && phase !== 'Running') assert.equal(reason, phase);
    return readings;
  };
  read();
  for (let turn = 0, quiet = 0; quiet < 3; turn++) {
    assert.ok(turn < turnsMax, `not ${wanted}: ${JSON.stringify(world.cluster().status)}`);
    const before = world.api.effectiveWrites;
    await world.look();
    read();
    await world.lookAt('Restore', 'orders-bootstrap');
    world.controllers.step();
    const { kstatus: word } = read();
    world.runtime.skip(world.turnMs);
    quiet = world.api.effectiveWrites === before && word === wanted ? quiet + 1 : 0;
  }
  const end = read();
  const wantedOfKubectl = wanted === 'reached' ? 'reached' : 'goes on';
  assert.deepEqual(end, { kubectl: wantedOfKubectl, kstatus: wanted, argo: wanted });
  return phases;
}

const spec = {
  replicas: 3,
  image: 'polyad:1',
  update: { minReadySeconds: 3, canarySoakSeconds: 3, progressDeadlineSeconds: 30 },
};

/** As the API server makes it: nobody has looked at it yet. */
function create(world: SimulatedWorld, more: object = {}): void {
  world.create('orders', { ...spec, ...more });
  world.api.change('Cluster', 'orders', { status: unseenStatus });
}

async function created(): Promise<Walk> {
  const world = new SimulatedWorld();
  create(world);
  const at = { world, databases: [] };
  await walk(at, 'reached');
  return at;
}

function ask({ world }: Walk, change: object): void {
  world.api.change('Cluster', 'orders', { spec: change });
}

test('created: nobody goes on before three voters are ready', async () => {
  const world = new SimulatedWorld();
  create(world);
  const phases = await walk({ world, databases: [] }, 'reached');
  assert.deepEqual(phases, ['', 'Creating', 'Running']);
});

test('scaled: up and down', async () => {
  const at = await created();
  for (const replicas of [5, 3]) {
    ask(at, { replicas });
    const phases = await walk(at, 'reached');
    assert.ok(phases.includes('Scaling'), phases.join());
    assert.equal(phases.at(-1), 'Running');
  }
});

test('rolled: by a setting of the pods and by another image', async () => {
  const at = await created();
  ask(at, { resources: { requests: { cpu: '2' } } });
  assert.ok((await walk(at, 'reached')).includes('Updating'));
  ask(at, { image: 'polyad:2' });
  assert.ok((await walk(at, 'reached')).includes('Upgrading'));
});

test('failed: told as that while it lasts, and reached again when its cause ends', async () => {
  const at = await created();
  const { world } = at;
  world.controllers.crashingImages.add('polyad:bad');
  ask(at, { image: 'polyad:bad' });
  await walk(at, 'failed');
  const cluster = world.cluster() as unknown as StoredObject;
  assert.equal(kubectlWait(cluster, 'Stalled'), true);
  assert.equal(cluster.status?.['failedImage'], 'polyad:bad');
  ask(at, { image: 'polyad:1' });
  await walk(at, 'reached');
  ask(at, { storage: { size: '1Gi' } });
  await walk(at, 'failed');
  ask(at, { storage: { size: '8Gi' } });
  await walk(at, 'reached');
});

test('restored: nobody goes on before the data are there and the members have them', async () => {
  const world = new SimulatedWorld();
  const metadata = { name: 'storage', namespace: 'shop' };
  world.api.put({ apiVersion: 'v1', kind: 'Secret', metadata } as KubernetesObject);
  world.members.databases = [];
  const source = { url: 'https://storage.example/kept/a.zip', credentialsSecret: 'storage' };
  create(world, { bootstrap: { fromBackup: { source, databases: ['audit'] } } });
  const phases = await walk({ world, databases: ['audit'] }, 'reached');
  assert.ok(phases.includes('Restoring'), phases.join());
});

test('hibernated: reached when no pod is left, and on the way back when all serve', async () => {
  const at = await created();
  ask(at, { hibernate: true });
  const down = await walk(at, 'reached');
  assert.deepEqual(down.slice(-2), ['Hibernating', 'Hibernated']);
  const cluster = at.world.cluster() as unknown as StoredObject;
  assert.equal(kubectlWait(cluster, 'Hibernated'), true);
  assert.equal(kubectlWait(cluster, 'Available'), false);
  ask(at, { hibernate: false });
  assert.deepEqual(await walk(at, 'reached'), ['Hibernated', 'Resuming', 'Running']);
});
