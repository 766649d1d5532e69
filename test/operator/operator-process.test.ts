import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { startFaultProxy } from '../../e2e/steps/fault-proxy.ts';
import { systemRuntime } from '../../operator/kubernetes/system-runtime.ts';
import { serveWorld } from './sim/http-front.ts';
import { SimulatedWorld } from './sim/simulated-world.ts';

/*
 * The operator as a process of its own, started as in its image: flags, kubeconfig, lease, health and metrics, real sockets to
 * the API server and to the members, and an orderly end.
 */

const main = resolve(import.meta.dirname, '../../operator/main.ts');

interface Started {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly exited: Promise<number | null>;
}

function start(args: readonly string[], env: Record<string, string>): Started {
  let printed = '';
  const child = spawn(process.execPath, [main, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => {
      printed += String(chunk);
    });
  const exited = new Promise<number | null>((done) => child.once('exit', (code) => done(code)));
  return { child, output: () => printed, exited };
}

/** Lets the other programs of the cluster go on until something is so; fails after a bounded number of turns. */
async function until(
  world: SimulatedWorld,
  isSo: () => boolean,
  what: () => string,
): Promise<void> {
  for (let turn = 0; turn < 1200; turn++) {
    if (isSo()) return;
    world.controllers.step();
    world.runtime.skip(25);
    await systemRuntime.timers.sleep(25);
  }
  assert.fail(what());
}

/** An operator process that knows the API server by a kubeconfig of its own. */
function startOperator(apiPort: number, directory: string): Started {
  const kubeconfig = join(directory, 'config');
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'sim',
      contexts: [{ name: 'sim', context: { cluster: 'sim', user: 'sim', namespace: 'shop' } }],
      clusters: [{ name: 'sim', cluster: { server: `http://127.0.0.1:${apiPort}` } }],
      users: [{ name: 'sim', user: { token: 'a-very-secret-token' } }],
    }),
  );
  const flags = ['--default-server-image=polyad:26.10.1', '--port=0', '--host=127.0.0.1'];
  return start(['operator', ...flags], { KUBECONFIG: kubeconfig });
}

test('the operator process makes a Cluster ready, holds the lease, and gives it back at the end', async () => {
  const world = new SimulatedWorld();
  const front = await serveWorld(world);
  const directory = mkdtempSync(join(tmpdir(), 'polyad-operator-'));
  const operator = startOperator(front.apiPort, directory);
  try {
    world.create('orders', { ports: { http: front.memberPort } });
    const isReady = () => world.condition('Ready') === 'True AllMembersReady';
    await until(world, isReady, operator.output);
    const lease = world.api.all('Lease')[0];
    assert.match(String(lease?.spec?.['holderIdentity']), /.+/);
    assert.equal(world.cluster().status?.version, '26.10.1');
    operator.child.kill('SIGTERM');
    assert.equal(await operator.exited, 0, operator.output());
    assert.equal(world.api.all('Lease')[0]?.spec?.['holderIdentity'], '');
    const password = Buffer.from(
      world.api.find('Secret', 'orders-root')?.data?.['rootPassword'] ?? '',
      'base64',
    ).toString('utf8');
    for (const secret of [password, 'a-very-secret-token'])
      assert.equal(operator.output().includes(secret), false);
  } finally {
    operator.child.kill('SIGKILL');
    front.close();
    rmSync(directory, { recursive: true });
  }
});

test('the operator process survives cut connections and expired watches, and catches up', async () => {
  const world = new SimulatedWorld();
  const front = await serveWorld(world);
  const directory = mkdtempSync(join(tmpdir(), 'polyad-operator-'));
  const proxy = await startFaultProxy({ upstream: `http://127.0.0.1:${front.apiPort}`, port: 0 });
  const operator = startOperator(proxy.port, directory);
  const limitOf = () => world.api.find('ConfigMap', 'orders-config')?.data?.['service.json'] ?? '';
  try {
    world.create('orders', { ports: { http: front.memberPort } });
    const isReady = () => world.condition('Ready') === 'True AllMembersReady';
    await until(world, isReady, operator.output);
    for (const [at, fault] of (['cut', '410', 'none'] as const).entries()) {
      proxy.set(fault);
      const settings = { 'service.server.httpQueryDefaultLimit': String(100 + at) };
      world.api.change('Cluster', 'orders', { spec: { settings } });
      await systemRuntime.timers.sleep(100);
      proxy.set('none');
      await until(world, () => limitOf().includes(`"${100 + at}"`), operator.output);
    }
    assert.equal(operator.child.exitCode, null, operator.output());
    assert.equal(world.api.all('Pod').length, 1);
  } finally {
    operator.child.kill('SIGKILL');
    proxy.close();
    front.close();
    rmSync(directory, { recursive: true });
  }
});

test('a wrong or missing flag ends the process with a sentence', async () => {
  const unknown = start(['--colour=red', '--default-server-image=a'], {});
  assert.equal(await unknown.exited, 1);
  assert.match(unknown.output(), /unknown flag '--colour=red'; known: --default-server-image/);
  const missing = start([], {});
  assert.equal(await missing.exited, 1);
  assert.match(missing.output(), /--default-server-image is missing/);
});
