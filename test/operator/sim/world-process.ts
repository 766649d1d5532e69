import { systemRuntime } from '../../../operator/kubernetes/system-runtime.ts';
import { serveWorld } from './http-front.ts';
import { SimulatedWorld } from './simulated-world.ts';

/*
 * The simulated control plane and its members in a process of their own, for `measure-memory.ts`: what they take of a processor is
 * none of the operator's. Arguments: Clusters, members of each, `there` when they are ready before anybody asks, `https` when members
 * serve it.
 */

export type WorldRequest = 'count' | 'change' | 'make';

export interface WorldPorts {
  readonly apiPort: number;
  readonly memberPort: number;
}

/** Of all time. */
export interface WorldCounts {
  readonly ready: number;
  /** Members that were asked of their group. */
  readonly asked: number;
  /** But for the lease, which is renewed every two seconds whatever happens. */
  readonly writes: number;
  readonly questions: Readonly<Record<string, number>>;
  readonly processorMs: number;
}

const [clusters = 20, replicas = 3] = process.argv.slice(2, 4).map(Number);
const [isThere, isSecure] = ['there', 'https'].map((word) => process.argv.includes(word));
const world = new SimulatedWorld();
const front = await serveWorld(world);

const create = (at: number) =>
  world.create(`c${at}`, {
    replicas,
    image: 'polyad:1',
    ports: { http: front.memberPort, https: front.secureMemberPort },
    tls: { raft: { enabled: true }, http: { enabled: isSecure } },
  });
const isReady = (name: string) => world.condition('Ready', name).startsWith('True');

// Each turn goes through all that there is.
const batchSize = 250;
const turnsMax = 120;
/** Brings Clusters to rest, some at a time. */
async function prepare(from: number): Promise<void> {
  const ordinals = Array.from({ length: Math.min(batchSize, clusters - from) }, (_, i) => from + i);
  ordinals.forEach(create);
  for (let turn = 0, quiet = 0; quiet < 3; turn++) {
    if (turn === turnsMax) throw new Error(`Clusters from ${from} on do not settle`);
    const before = world.api.effectiveWrites;
    for (const at of ordinals) await world.look(`c${at}`);
    world.controllers.step();
    world.runtime.skip(5000);
    const isQuiet = world.api.effectiveWrites === before;
    quiet = isQuiet && ordinals.every((at) => isReady(`c${at}`)) ? quiet + 1 : 0;
  }
}
for (let from = 0; isThere && from < clusters; from += batchSize) await prepare(from);
world.api.compact();
world.api.requests = [];

let writes = 0;
const questions = new Map<string, number>();
const asked = new Set<string>();
front.onQuestion = (path, host) => {
  questions.set(path, (questions.get(path) ?? 0) + 1);
  if (path.startsWith('/api/v1/cluster')) asked.add(host);
};

let seenWrites = world.api.effectiveWrites;
/** Time passes. Others have their turn when something was written: a turn of thousands of pods would keep members from answering. */
async function passAlong(): Promise<never> {
  for (;;) {
    await systemRuntime.timers.sleep(100);
    world.runtime.skip(100);
    writes += world.api.requests.filter((request) => !/^(GET|WATCH)|leases/.test(request)).length;
    world.api.requests = [];
    world.members.calls.length = 0;
    if (world.api.effectiveWrites === seenWrites) continue;
    world.controllers.step();
    seenWrites = world.api.effectiveWrites;
  }
}

function count(): WorldCounts {
  const names = world.api.all('Cluster').map(({ metadata }) => metadata.name);
  const { user, system } = process.cpuUsage();
  return {
    ready: names.filter(isReady).length,
    asked: asked.size,
    writes,
    questions: Object.fromEntries(questions),
    processorMs: Math.round((user + system) / 1000),
  };
}

/** @returns how long it takes until another image in the spec is one in the StatefulSet */
async function change(): Promise<number> {
  const { clock, timers } = systemRuntime;
  const changedAt = clock.monotonicMs();
  const version = () => world.api.find('StatefulSet', 'c0')?.metadata.resourceVersion;
  const before = version();
  world.api.change('Cluster', 'c0', { spec: { image: 'polyad:2' } });
  while (version() === before) await timers.sleep(1);
  return Math.round(clock.monotonicMs() - changedAt);
}

async function answer(request: WorldRequest): Promise<unknown> {
  if (request === 'count') return count();
  if (request === 'change') return change();
  for (let at = 0; at < clusters; at++) create(at);
  return undefined;
}

process.on('message', (request: WorldRequest) => {
  void answer(request).then((said) => process.send?.({ said }));
});
process.on('disconnect', () => process.exit());
void passAlong();
const ports: WorldPorts = { apiPort: front.apiPort, memberPort: front.memberPort };
process.send?.({ said: ports });
