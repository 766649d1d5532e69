import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { systemRuntime } from '../../../operator/kubernetes/system-runtime.ts';
import { serveWorld } from './http-front.ts';
import { SimulatedWorld } from './simulated-world.ts';

/*
 * Run by hand: node test/operator/sim/measure-memory.ts [clusters] [seconds] [members of each]. Resident memory of an operator process that looks
 * after ready Clusters, its processor time at rest, and its reaction to a changed spec.
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
    contexts: [{ name: 'sim', context: { cluster: 'sim', user: 'sim', namespace: 'shop' } }],
    clusters: [{ name: 'sim', cluster: { server: `http://127.0.0.1:${front.apiPort}` } }],
    users: [{ name: 'sim', user: { token: 'token' } }],
  }),
);
const operator = spawn(
  process.execPath,
  [
    ...process.execArgv,
    resolve(import.meta.dirname, '../../../operator/main.ts'),
    '--default-server-image=polyad:1',
    '--port=0',
  ],
  { env: { ...process.env, KUBECONFIG: kubeconfig }, stdio: ['ignore', 'ignore', 'inherit'] },
);

function residentMb(): number {
  const status = readFileSync(`/proc/${operator.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

function processorMs(): number {
  const fields = readFileSync(`/proc/${operator.pid}/stat`, 'utf8').split(' ');
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

async function pass(ms: number): Promise<void> {
  for (let elapsed = 0; elapsed < ms; elapsed += 100) {
    await systemRuntime.timers.sleep(100);
    world.runtime.skip(100);
    world.controllers.step();
  }
}

const readyCount = () =>
  world.api
    .all('Cluster')
    .filter(({ metadata }) => world.condition('Ready', metadata.name).startsWith('True')).length;

for (let at = 0; at < clusters; at++)
  world.create(`c${at}`, {
    replicas,
    ports: { http: front.memberPort },
    tls: { raft: { enabled: true } },
  });
const startedAt = systemRuntime.clock.now();
while (readyCount() < clusters) await pass(100);
const readyMs = systemRuntime.clock.now() - startedAt;
await pass(3000);
const requests = world.api.requests.length;
const before = processorMs();
await pass(seconds * 1000);
const atRest = {
  clusters,
  replicas,
  readyMs,
  residentMb: Math.round(residentMb()),
  processorPercentAtRest: (processorMs() - before) / (seconds * 10),
  // The lease is renewed every two seconds, whatever happens.
  writesAtRest: world.api.requests
    .slice(requests)
    .filter((request) => !/^(GET|WATCH)|leases/.test(request)).length,
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
