import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { chart, imageValues } from '../cluster-under-test.ts';
import type { Scenario } from '../scenario.ts';
import { e2eSettings } from '../settings.ts';
import type { Fault } from '../steps/fault-proxy.ts';
import { isReady, type Namespace, valueAt } from '../steps/objects.ts';
import { must, run } from '../steps/programs.ts';
import { mustStayQuiet } from '../steps/quiescence.ts';

const release = 'faults';
const account = '/var/run/secrets/kubernetes.io/serviceaccount';

/** An operator that reaches the API server through a proxy in its own pod, which does what it is told in a file. */
async function installBehindProxy(home: Namespace, watched: string, image: string): Promise<void> {
  const program = readFileSync(new URL('../steps/fault-proxy.ts', import.meta.url), 'utf8');
  const kubeconfig = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'proxy',
    contexts: [{ name: 'proxy', context: { cluster: 'proxy', user: 'proxy' } }],
    clusters: [{ name: 'proxy', cluster: { server: 'http://127.0.0.1:8001' } }],
    users: [{ name: 'proxy', user: {} }],
  });
  await home.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'proxy' },
    data: { 'fault-proxy.ts': program, kubeconfig },
  });
  await must(e2eSettings.helm, [
    ...['install', release, chart, '-n', home.name, '--set', 'mode=operator'],
    ...['--set', `${imageValues(image)},operator.replicas=1,operator.crds.install=false`],
    ...['--set', `operator.watchNamespaces={${watched}},operator.logLevel=debug`],
  ]);
  const volumeMounts = [{ name: 'proxy', mountPath: '/proxy', readOnly: true }];
  const proxy = {
    name: 'proxy',
    image,
    imagePullPolicy: 'IfNotPresent',
    command: ['node', '--no-warnings', '/proxy/fault-proxy.ts'],
    env: [
      { name: 'UPSTREAM', value: 'https://kubernetes.default.svc' },
      { name: 'TOKEN_FILE', value: `${account}/token` },
      { name: 'CA_FILE', value: `${account}/ca.crt` },
    ],
    volumeMounts,
    securityContext: {
      runAsUser: 1000,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
    },
  };
  const operator = {
    name: 'operator',
    env: [{ name: 'KUBECONFIG', value: '/proxy/kubeconfig' }],
    volumeMounts,
  };
  const volumes = [{ name: 'proxy', configMap: { name: 'proxy' } }];
  const template = { spec: { containers: [operator, proxy], volumes } };
  const patch = { spec: { strategy: { type: 'Recreate', rollingUpdate: null }, template } };
  await home.kubectl(['patch', 'deployment', release, '-p', JSON.stringify(patch)]);
  await home.kubectl(['rollout', 'status', `deployment/${release}`, '--timeout=120s']);
}

const totalOutageMs = 6_000;
const partialOutageMs = 15_000;

export const apiFaultScenarios: readonly Scenario[] = [
  {
    id: 'F13',
    title:
      'the API server answers 429, 500, 503, 410, slowly, or not at all: nothing twice, catches up',
    level: 1,
    hasOwnOperator: true,
    async run({ namespace, image, cluster, load, report, anotherNamespace }) {
      const home = await anotherNamespace('home');
      await installBehindProxy(home, namespace.name, image);
      await cluster('storm');
      const clients = await load('storm');
      const { uid } = (await namespace.require('pod', 'storm-0')).metadata;
      const exec = ['exec', `deployment/${release}`, '-c', 'proxy', '--'];
      const set = (fault: Fault) =>
        home.kubectl([...exec, 'sh', '-c', `printf ${fault} > /tmp/fault`]);
      let limit = 1000;
      let slowest = 0;
      for (const fault of ['429', '500', '503', '410', 'cut', 'slow', 'mixed'] as const) {
        limit += 1;
        await set(fault);
        const settings = { 'service.server.httpQueryDefaultLimit': String(limit) };
        await namespace.patch('pyd', 'storm', { spec: { settings } });
        await namespace.kubectl(['delete', 'service', 'storm-ro']);
        // Less than the lease lasts: past it an operator ends by itself, which is another scenario.
        await pause(fault === 'slow' || fault === 'mixed' ? partialOutageMs : totalOutageMs);
        await set('none');
        const start = performance.now();
        await namespace.waitFor('pyd', 'storm', 'Ready', 'afterFault', isReady);
        const isThere = (object: unknown): boolean => object !== undefined;
        await namespace.waitFor('service', 'storm-ro', 'there again', 'afterFault', isThere);
        slowest = Math.max(slowest, (performance.now() - start) / 1000);
      }
      report(`caught up at most ${slowest.toFixed(1)} s after the fault`);
      assert.equal((await namespace.require('pod', 'storm-0')).metadata.uid, uid);
      await set('mixed');
      const annotation = { 'polyad.io/restart': 'once' };
      await namespace.patch('pyd', 'storm', { metadata: { annotations: annotation } });
      await namespace.waitFor(
        'pod',
        'storm-0',
        'another one',
        'afterFault',
        (pod) => pod !== undefined && pod.metadata.uid !== uid,
      );
      await set('none');
      await namespace.waitFor('pyd', 'storm', 'Ready', 'afterFault', isReady);
      await mustHaveActedOnce(namespace, home);
      await mustStayQuiet(namespace, 15, ['clients']);
      const { longestGapSeconds, acknowledged, failed } = await clients.stop();
      report(`gap ${longestGapSeconds.toFixed(1)} s, ${acknowledged} writes, ${failed} refused`);
      await run(e2eSettings.helm, ['uninstall', release, '-n', home.name]);
    },
  },
];

/** One restart on purpose, one of each object, and an operator that never ended. */
async function mustHaveActedOnce(namespace: Namespace, home: Namespace): Promise<void> {
  const restarts = (await namespace.list('events')).filter(
    (event) => event['reason'] === 'MemberRestarted',
  );
  assert.ok(restarts.length <= 1, `${restarts.length} restarts`);
  const objects = await namespace.list('statefulsets,persistentvolumeclaims');
  assert.equal(objects.length, 2);
  for (const pod of await home.list('pods')) {
    const statuses = (valueAt(pod, 'status.containerStatuses') ?? []) as { restartCount: number }[];
    assert.deepEqual(
      statuses.map(({ restartCount }) => restartCount),
      statuses.map(() => 0),
      'the operator ended',
    );
  }
}
