import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  ask,
  chart,
  deleteNamespaces,
  helms,
  imageValues,
  makeNamespace,
  whySkip,
} from './tools.ts';
import { clearAbandonedRuns } from '../abandoned-runs.ts';
import { mayBringDefinitions } from '../steps/definitions.ts';
import { must, run } from '../steps/programs.ts';

/*
 * The chart's other two modes on a real cluster: an operator for one namespace, and Clusters from the same values (scenario I1).
 * The definition is installed when the cluster has none, and kept.
 */

const skip = (await whySkip()) || (await otherOperator());
const wait = ['--wait', '--timeout', '180s'];
const prefix = 'pyd-e2e-mode';

/** Two operators must not care for the same Clusters. */
async function otherOperator(): Promise<string | false> {
  await clearAbandonedRuns();
  const { output } = await run('kubectl', [
    ...['get', 'deployments', '-A', '-l', 'app.kubernetes.io/name=polyad-operator'],
    ...['-o=jsonpath={range .items[*]}{.spec.template.spec.containers[0].args}{"\\n"}{end}'],
  ]);
  const wide = output
    .split('\n')
    .find((line) => line !== '' && !line.includes('--watch-namespaces'));
  return wide === undefined ? false : 'an operator for the whole cluster is installed';
}

const api = 'http://127.0.0.1:2480/api/v1';

/** Through `pod`. @returns the body of the answer */
async function sql(namespace: string, pod: string, command: string): Promise<string> {
  const request = { url: `${api}/command/school`, body: { language: 'sql', command } };
  const { status, body } = await ask(namespace, pod, request);
  assert.equal(status, 200, body);
  return body;
}

async function writeNote(namespace: string): Promise<void> {
  const body = { command: 'create database school' };
  await ask(namespace, 'orders-0', { url: `${api}/server`, body });
  await sql(namespace, 'orders-0', 'CREATE DOCUMENT TYPE Note');
  await sql(namespace, 'orders-0', 'INSERT INTO Note SET text = 1');
}

for (const helm of helms) {
  describe(`operator and Cluster, with ${helm}`, { skip }, () => {
    const home = `${prefix}-${helm}`;
    const shop = `${prefix}-${helm}-shop`;
    const operator = async (): Promise<readonly string[]> => {
      const isOurs = await mayBringDefinitions(home);
      return [
        ...['operator', chart, '-n', home, ...imageValues(), ...wait, '--set', 'mode=operator'],
        ...['--set', `operator.watchNamespaces={${shop}},operator.crds.install=${isOurs}`],
      ];
    };
    const cluster = [
      'orders',
      chart,
      '-n',
      shop,
      ...imageValues(),
      ...wait,
      '--set',
      'mode=cluster',
    ];
    const look = (path: string) =>
      must('kubectl', ['-n', shop, 'get', 'clusters.polyad.io', 'orders', `-o=jsonpath={${path}}`]);
    const podOf = () =>
      must('kubectl', ['-n', shop, 'get', 'pod', 'orders-0', '-o=jsonpath={.metadata.uid}']);
    const ready = () =>
      must('kubectl', [
        ...['-n', shop, 'wait', '--for=condition=Ready', 'clusters.polyad.io/orders'],
        '--timeout=120s',
      ]);

    before(async () => {
      await makeNamespace(home);
      await makeNamespace(shop);
    });
    after(() => deleteNamespaces(home, shop));

    it('a Cluster becomes Ready', async () => {
      await must(helm, ['install', ...(await operator())]);
      await must(helm, ['install', ...cluster]);
      // Helm 3 does not know custom objects; Helm 4 has waited.
      if (helm === 'helm4') assert.equal(await look('.status.phase'), 'Running');
      await ready();
    });

    it('an operator that is upgraded, or gone for a while, restarts no member', async () => {
      const before = await podOf();
      await must(helm, ['upgrade', ...(await operator()), '--set', 'operator.logLevel=debug']);
      await must(helm, ['uninstall', 'operator', '-n', home, '--wait']);
      assert.equal(await podOf(), before);
      assert.equal(await look('.metadata.name'), 'orders');
      await must(helm, ['install', ...(await operator())]);
      await ready();
      assert.equal(await podOf(), before);
    });

    it('a Cluster of one becomes three by an upgrade, its data on each', async () => {
      await writeNote(shop);
      await must(helm, ['upgrade', ...cluster, '--set', 'replicaCount=3']);
      await ready();
      assert.equal(await look('.status.voters'), '3');
      for (const pod of ['orders-0', 'orders-1', 'orders-2'])
        assert.match(await sql(shop, pod, 'SELECT text FROM Note'), /"text":1\b/, pod);
    });

    it('a Cluster that goes leaves its claim and its password', async () => {
      await must(helm, ['uninstall', 'orders', '-n', shop]);
      await must('kubectl', [
        ...['-n', shop, 'wait', '--for=delete', 'clusters.polyad.io/orders', '--timeout=60s'],
      ]);
      const left = await must('kubectl', ['-n', shop, 'get', 'pvc,secret', '-o=name']);
      const names = left.split('\n');
      assert.equal(names.includes('persistentvolumeclaim/data-orders-0'), true, left);
      assert.equal(names.includes('secret/orders-root'), true, left);
      await must(helm, ['uninstall', 'operator', '-n', home]);
      await must('kubectl', ['get', 'crd', 'clusters.polyad.io']);
    });
  });
}
