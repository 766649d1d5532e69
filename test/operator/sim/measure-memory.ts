import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort } from '../../support/server-process.ts';
import { systemRuntime } from '../../../operator/kubernetes/system-runtime.ts';
import { serveWorld } from './http-front.ts';
import { SimulatedWorld } from './simulated-world.ts';

/*
 * Run by hand: node test/operator/sim/measure-memory.ts [clusters] [seconds] [members of each] [there]. Resident memory of an operator
 * process that looks after ready Clusters, its processor time at rest, and its reaction to a changed spec. With `there` the Clusters
 * are ready before it starts, as after an upgrade of the operator: `readyMs` is then how long it takes to have seen them all,
 * `readyProcessorMs` what that took of a processor, `syncHeapMb` the largest heap until its lists were read.
 * OPERATOR_NODE_OPTIONS are the options of its process; without it those of the image and chart but for the bound of its heap.
 */

const clusters = Number(process.argv[2] ?? 20);
const seconds = Number(process.argv[3] ?? 30);
const replicas = Number(process.argv[4] ?? 3);
const world = new SimulatedWorld();
const front = await serveWorld(world);
const directory = mkdtempSync(join(tmpdir(), 'polyad-measure-'));
const kubeconfig = join(directory, 'config');
writeFileSync(
  kubeconfig,
  JSON.stringify({
    'current-context': 'sim',
    contexts: [{ name: 'sim', context: { cluster: 'sim', user: 'sim', namespace: 'operators' } }],
    clusters: [{ name: 'sim', cluster: { server: `http://127.0.0.1:${front.apiPort}` } }],
    users: [{ name: 'sim', user: { token: 'token' } }],
  }),
);
const create = (at: number) =>
  world.create(`c${at}`, {
    replicas,
    image: 'polyad:1',
    ports: { http: front.memberPort },
    tls: { raft: { enabled: true } },
  });
const isThere = process.argv[5] === 'there';
// Each turn goes through all that there is.
const batchSize = 250;
const turnsMax = 120;
/** Brings Clusters to rest in this process, some at a time. */
async function prepare(from: number): Promise<void> {
  const names = Array.from({ length: Math.min(batchSize, clusters - from) }, (_, i) => from + i);
  names.forEach(create);
  const isReady = (at: number) => world.condition('Ready', `c${at}`).startsWith('True');
  for (let turn = 0, quiet = 0; quiet < 3; turn++) {
    if (turn === turnsMax) throw new Error(`Clusters from ${from} on do not settle`);
    const before = world.api.effectiveWrites;
    for (const at of names) await world.look(`c${at}`);
    world.controllers.step();
    world.runtime.skip(5000);
    quiet = world.api.effectiveWrites === before && names.every(isReady) ? quiet + 1 : 0;
  }
}
for (let from = 0; isThere && from < clusters; from += batchSize) {
  await prepare(from);
  world.api.compact();
  world.api.requests = [];
}

const metricsPort = await freePort();
const operator = spawn(
  process.execPath,
  [
    ...process.execArgv,
    resolve(import.meta.dirname, '../../../operator/main.ts'),
    '--default-server-image=polyad:1',
    `--port=${metricsPort}`,
  ],
  {
    env: {
      ...process.env,
      KUBECONFIG: kubeconfig,
      NODE_OPTIONS: process.env['OPERATOR_NODE_OPTIONS'] ?? '--max-semi-space-size=2',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  },
);

/** Of now, or the most so far. */
function residentMb(which: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
  const status = readFileSync(`/proc/${operator.pid}/status`, 'utf8');
  return Number(new RegExp(`${which}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
}

function processorMs(): number {
  const fields = readFileSync(`/proc/${operator.pid}/stat`, 'utf8').split(' ');
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

let seenWrites = -1;
/** Others have their turn when something was written: a turn of thousands of pods would keep members from answering. */
async function pass(ms: number): Promise<void> {
  for (let elapsed = 0; elapsed < ms; elapsed += 100) {
    await systemRuntime.timers.sleep(100);
    world.runtime.skip(100);
    if (world.api.effectiveWrites === seenWrites) continue;
    world.controllers.step();
    seenWrites = world.api.effectiveWrites;
  }
}

const readyCount = () =>
  world.api
    .all('Cluster')
    .filter(({ metadata }) => world.condition('Ready', metadata.name).startsWith('True')).length;

const metricsText = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();

let syncHeapMb = 0;
/** Clusters that the operator has looked at since it started. */
async function seenCount(): Promise<number> {
  const text = await metricsText().catch(() => '');
  const count = text.split('\n').filter((line) => line.startsWith('polyad_cluster_info{')).length;
  if (text !== '' && count === 0) syncHeapMb = Math.max(syncHeapMb, numberIn(text, heapUsed));
  return count;
}

const heapUsed = 'nodejs_heap_size_used_bytes';
/** In megabytes. */
function numberIn(text: string, metric: string): number {
  return Math.round(Number(new RegExp(`^${metric} (\\S+)`, 'm').exec(text)?.[1]) / 1024 / 1024);
}

/** A number of the process. */
async function megabytes(metric: string): Promise<number> {
  return numberIn(await metricsText(), metric);
}

const questions = new Map<string, number>();
front.onQuestion = (path) => questions.set(path, (questions.get(path) ?? 0) + 1);
const writesSince = (at: number) =>
  // The lease is renewed every two seconds, whatever happens.
  world.api.requests.slice(at).filter((request) => !/^(GET|WATCH)|leases/.test(request));

/** What follows from the start itself is over: half a minute without a write. */
async function rest(): Promise<void> {
  for (let turn = 0; turn < turnsMax; turn++) {
    const before = world.api.requests.length;
    await pass(30_000);
    if (writesSince(before).length === 0) return;
  }
  throw new Error(`no rest: ${writesSince(world.api.requests.length - 20).join('\n')}`);
}

const startedAt = systemRuntime.clock.now();
if (isThere) while ((await seenCount()) < clusters) await pass(100);
else for (let at = 0; at < clusters; at++) create(at);
while (readyCount() < clusters) await pass(100);
const readyMs = systemRuntime.clock.now() - startedAt;
const readyProcessorMs = processorMs();
const peakResidentMb = residentMb('VmHWM');
await rest();
const requests = world.api.requests.length;
questions.clear();
const before = processorMs();
await pass(seconds * 1000);
const atRest = {
  clusters,
  replicas,
  readyMs,
  readyProcessorMs,
  syncHeapMb,
  peakResidentMb: Math.round(peakResidentMb),
  residentMb: Math.round(residentMb()),
  heapUsedMb: await megabytes(heapUsed),
  heapMb: await megabytes('nodejs_heap_size_total_bytes'),
  externalMb: await megabytes('nodejs_external_memory_bytes'),
  processorPercentAtRest: (processorMs() - before) / (seconds * 10),
  questionsPerSecond: Object.fromEntries(
    [...questions].map(([path, count]) => [path, Math.round(count / seconds)]),
  ),
  writesAtRest: writesSince(requests).length,
};
const changedAt = systemRuntime.clock.monotonicMs();
const set = world.api.find('StatefulSet', 'c0')?.metadata.resourceVersion;
world.api.change('Cluster', 'c0', { spec: { image: 'polyad:2' } });
while (world.api.find('StatefulSet', 'c0')?.metadata.resourceVersion === set)
  await systemRuntime.timers.sleep(1);
const reactionMs = Math.round(systemRuntime.clock.monotonicMs() - changedAt);
process.stdout.write(`${JSON.stringify({ ...atRest, reactionMs })}\n`);
operator.kill('SIGTERM');
front.close();
rmSync(directory, { recursive: true });
