import assert from 'node:assert/strict';
import { chart, imageValues, ownOperatorLabel } from '../cluster-under-test.ts';
import { budgetMs } from '../config/timeouts.ts';
import type { Scenario, ScenarioContext } from '../scenario.ts';
import { e2eSettings } from '../settings.ts';
import { leaderOf, podsOf, uidsOf } from '../steps/group.ts';
import { serverCommand, sql } from '../steps/member.ts';
import { conditionOf, type KubernetesObject, valueAt } from '../steps/objects.ts';
import { isOnPath, must, run } from '../steps/programs.ts';

/*
 * What people and tools that wait are told: `kubectl wait` and `helm --wait` return when a Cluster is as asked for, not before,
 * and neither waits for what has failed. And how long all of it takes from nothing.
 */

const secondsSince = (start: number): string => ((performance.now() - start) / 1000).toFixed(1);
const cluster = 'clusters.polyad.io';

/** Waits as a person does, at once after a change. @returns whether it came about */
async function kubectlWait(
  { namespace }: Pick<ScenarioContext, 'namespace'>,
  name: string,
  { condition = 'Ready', seconds = budgetMs('rolled') / 1000 } = {},
): Promise<boolean> {
  const words = ['wait', `--for=condition=${condition}`, `${cluster}/${name}`];
  return (await namespace.tryKubectl([...words, `--timeout=${seconds}s`])).isGood;
}

/** Kubernetes' own reading of an object (kstatus), as Flux, Argo CD and Helm 4 do it. */
function kstatus(object: KubernetesObject): 'Current' | 'InProgress' | 'Failed' {
  const observed = Number(valueAt(object, 'status.observedGeneration') ?? 0);
  if (observed !== object.metadata.generation) return 'InProgress';
  if (conditionOf(object, 'Stalled') === 'True') return 'Failed';
  if (conditionOf(object, 'Reconciling') === 'True') return 'InProgress';
  return conditionOf(object, 'Ready') === 'True' ? 'Current' : 'InProgress';
}

export const waitScenarios: readonly Scenario[] = [
  {
    id: 'C5b',
    title:
      'kubectl wait and helm --wait while three members are created, scaled, rolled and fail: true each time',
    level: 1,
    async run(context) {
      const { namespace, image, report, expectRestarts } = context;
      expectRestarts();
      const spec = (change: object) => namespace.patch('pyd', 'truth', { spec: change });
      const helm = isOnPath('helm4') ? 'helm4' : e2eSettings.helm;
      const release = ['truth', chart, '-n', namespace.name, '--wait', '--timeout', '180s'];
      const values = `${imageValues(image)},mode=cluster,replicaCount=3`;
      const start = performance.now();
      await must(helm, ['install', ...release, '--set', values]);
      assert.ok(await kubectlWait(context, 'truth'));
      report(`created in ${secondsSince(start)} s`);
      const read = () => namespace.require('pyd', 'truth');
      assert.equal(valueAt(await read(), 'status.voters'), 3);
      assert.equal(kstatus(await read()), 'Current');
      const three = await uidsOf(namespace, 'truth');

      await namespace.kubectl(['scale', 'pyd', 'truth', '--replicas=4']);
      assert.ok(await kubectlWait(context, 'truth'));
      assert.equal(valueAt(await read(), 'status.voters'), 4);
      await namespace.kubectl(['scale', 'pyd', 'truth', '--replicas=3']);
      assert.ok(await kubectlWait(context, 'truth'));
      assert.equal(valueAt(await read(), 'status.voters'), 3);
      assert.deepEqual(await uidsOf(namespace, 'truth'), three);

      await spec({ settings: { 'service.server.wsMaxConnections': '777' } });
      assert.ok(await kubectlWait(context, 'truth'));
      const rolled = await uidsOf(namespace, 'truth');
      for (const pod of podsOf('truth')) assert.notEqual(rolled[pod], three[pod], pod);
      assert.equal(kstatus(await read()), 'Current');

      const failed = performance.now();
      await spec({ image: 'polyad:no-such-tag', update: { progressDeadlineSeconds: 30 } });
      assert.ok(await kubectlWait(context, 'truth', { condition: 'Stalled' }));
      assert.equal(kstatus(await read()), 'Failed');
      assert.equal(await kubectlWait(context, 'truth', { seconds: 5 }), false);
      if (helm === 'helm4') {
        const words = ['upgrade', ...release, '--set', `${values},image.tag=no-such-tag`];
        assert.equal((await run(helm, words)).isGood, false, 'helm waited for what has failed');
        report(`helm 4 gave up ${secondsSince(failed)} s after the change`);
      }
      await spec({ image, update: null });
      assert.ok(await kubectlWait(context, 'truth'));
      assert.equal(kstatus(await read()), 'Current');
    },
  },
  {
    id: 'I1b',
    title:
      'from nothing: the operator installed, a Cluster of three lines, three voters Ready, the first write through the Service',
    level: 1,
    isSerial: true,
    hasOwnOperator: true,
    async run({ namespace, image, report, anotherNamespace }) {
      const home = await anotherNamespace('home');
      const start = performance.now();
      await must(e2eSettings.helm, [
        ...['install', 'first', chart, '-n', home.name, '--set', 'mode=operator'],
        ...['--set', `${imageValues(image)},operator.watchNamespaces={${namespace.name}}`],
        ...['--set', 'operator.crds.install=false'],
      ]);
      await namespace.apply({
        apiVersion: 'polyad.io/v1alpha1',
        kind: 'Cluster',
        metadata: { name: 'quick', labels: ownOperatorLabel },
      });
      assert.ok(await kubectlWait({ namespace }, 'quick'));
      const ready = secondsSince(start);
      assert.equal(valueAt(await namespace.require('pyd', 'quick'), 'status.voters'), 3);
      await serverCommand(namespace, 'quick-0', 'create database first');
      const host = 'quick-http';
      await sql(namespace, 'quick-0', 'first', 'CREATE DOCUMENT TYPE T', { host });
      await sql(namespace, 'quick-0', 'first', 'INSERT INTO T SET n = 1', { host });
      report(`Ready after ${ready} s, first write after ${secondsSince(start)} s`);
      const took = performance.now() - start;
      await leaderOf(namespace, 'quick');
      await namespace.kubectl(['delete', 'pyd', 'quick', '--wait=true', '--timeout=60s']);
      await run(e2eSettings.helm, ['uninstall', 'first', '-n', home.name]);
      assert.ok(took <= budgetMs('installToFirstWrite'), `${took} ms`);
    },
  },
];
