import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort } from '../../support/server-process.ts';
import { systemRuntime } from '../../../operator/kubernetes/system-runtime.ts';
import type { WorldCounts, WorldPorts, WorldRequest } from './world-process.ts';

/*
 * Run by hand: node test/operator/sim/measure-memory.ts [clusters] [seconds] [members of each] [there] [https]. Memory of an operator
 * that looks after ready Clusters, its processor time and its writes at rest, and its reaction to a changed spec. With `there` the
 * Clusters are ready before it starts, as after an upgrade of the operator: `seenMs` is then how long it takes to have seen them all.
 * The world that it looks at is a process of its own; its processor time stands beside that of the operator. Node's options of the
 * operator are those of the chart with its limit of 256 MiB, unless OPERATOR_NODE_OPTIONS says others.
 */

const { sleep } = systemRuntime.timers;
const clusters = Number(process.argv[2] ?? 20);
const seconds = Number(process.argv[3] ?? 30);
const replicas = Number(process.argv[4] ?? 3);
const words = process.argv.slice(5);
const isThere = words.includes('there');
/** 70 percent of the limit are the heap. */
const chartOptions = '--max-semi-space-size=2 --max-old-space-size=179';

const world = fork(
  join(import.meta.dirname, 'world-process.ts'),
  [clusters, replicas, ...words].map(String),
  { execArgv: [] },
);
const saidByWorld = async () => ((await once(world, 'message')) as [{ said: unknown }])[0].said;
async function ask(request: WorldRequest): Promise<unknown> {
  const said = saidByWorld();
  world.send(request);
  return said;
}
const count = async () => (await ask('count')) as WorldCounts;
const { apiPort } = (await saidByWorld()) as WorldPorts;

const directory = mkdtempSync(join(tmpdir(), 'polyad-measure-'));
const kubeconfig = join(directory, 'config');
writeFileSync(
  kubeconfig,
  JSON.stringify({
    'current-context': 'sim',
    contexts: [{ name: 'sim', context: { cluster: 'sim', user: 'sim', namespace: 'operators' } }],
    clusters: [{ name: 'sim', cluster: { server: `http://127.0.0.1:${apiPort}` } }],
    users: [{ name: 'sim', user: { token: 'token' } }],
  }),
);
const metricsPort = await freePort();
const main = resolve(import.meta.dirname, '../../../operator/main.ts');
const flags = ['--default-server-image=polyad:1', `--port=${metricsPort}`];
const operator = spawn(process.execPath, [...process.execArgv, main, ...flags], {
  env: {
    ...process.env,
    KUBECONFIG: kubeconfig,
    NODE_OPTIONS: process.env['OPERATOR_NODE_OPTIONS'] ?? chartOptions,
  },
  stdio: ['ignore', 'ignore', 'inherit'],
});

/** Of now, or the most so far. */
function residentMiB(which: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${operator.pid}/status`, 'utf8');
  return Math.round(Number(new RegExp(`${which}:\\s+(\\d+)`).exec(status)?.[1]) / 1024);
}

function processorMs(): number {
  const fields = readFileSync(`/proc/${operator.pid}/stat`, 'utf8').split(' ');
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

/** Costs the operator a page of ten thousand lines with a thousand Clusters: read where nothing is measured. */
async function metrics(): Promise<string> {
  return (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
}

function looks(text: string): number {
  const lines = text.matchAll(/^controller_runtime_reconcile_total\{\S+ (\d+)/gm);
  return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
}

function megabytes(text: string, metric: string): number {
  return Math.round(Number(new RegExp(`^${metric} (\\S+)`, 'm').exec(text)?.[1]) / 1024 / 1024);
}

/** Each member was asked, and each Cluster is told of. */
async function seen(): Promise<void> {
  while ((await count()).asked < clusters * replicas) await sleep(100);
  const told = async () =>
    (await metrics()).split('\n').filter((line) => line.startsWith('polyad_cluster_info{')).length;
  while ((await told()) < clusters) await sleep(500);
}

const turnsMax = 120;
/** What follows from the start itself is over: half a minute without a write. */
async function rest(): Promise<void> {
  for (let turn = 0; turn < turnsMax; turn++) {
    const { writes } = await count();
    await sleep(30_000);
    if ((await count()).writes === writes) return;
  }
  throw new Error('no rest');
}

const startedAt = systemRuntime.clock.monotonicMs();
const atStart = await count();
if (isThere) await seen();
else await ask('make');
while ((await count()).ready < clusters) await sleep(100);
const seenMs = Math.round(systemRuntime.clock.monotonicMs() - startedAt);
const atSeen = { operator: processorMs(), world: await count() };
const peakMiB = residentMiB('VmHWM');
await rest();
const looksBefore = looks(await metrics());
const before = { ownMs: processorMs(), ...(await count()) };
await sleep(seconds * 1000);
const after = { ownMs: processorMs(), ...(await count()) };
const perSecond = (path: string) =>
  ((after.questions[path] ?? 0) - (before.questions[path] ?? 0)) / seconds;
const text = await metrics();
const result = {
  clusters,
  replicas,
  words,
  seenMs,
  seenProcessorMs: atSeen.operator,
  worldProcessorMs: atSeen.world.processorMs - atStart.processorMs,
  questionsUntilSeen: atSeen.world.questions,
  writesUntilRest: before.writes,
  peakMiB,
  residentMiB: residentMiB('VmRSS'),
  residentMostMiB: residentMiB('VmHWM'),
  heapUsedMiB: megabytes(text, 'nodejs_heap_size_used_bytes'),
  heapMiB: megabytes(text, 'nodejs_heap_size_total_bytes'),
  externalMiB: megabytes(text, 'nodejs_external_memory_bytes'),
  processorPercentAtRest: (after.ownMs - before.ownMs) / (seconds * 10),
  looksUntilRest: looksBefore,
  looksPerSecond: (looks(text) - looksBefore) / seconds,
  questionsPerSecond: Object.fromEntries(
    Object.keys(after.questions).map((path) => [path, Math.round(perSecond(path))]),
  ),
  writesPerMinuteAtRest: ((after.writes - before.writes) * 60) / seconds,
  reactionMs: await ask('change'),
};
process.stdout.write(`${JSON.stringify(result)}\n`);
operator.kill('SIGTERM');
world.disconnect();
rmSync(directory, { recursive: true });
