import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { chart, imageValues, ownOperatorLabel } from '../cluster-under-test.ts';
import type { Scenario } from '../scenario.ts';
import { e2eSettings } from '../settings.ts';
import { signalServer } from '../steps/containers.ts';
import { serverCommand } from '../steps/member.ts';
import { conditionOf, isReady, type Namespace, valueAt } from '../steps/objects.ts';
import { must, run } from '../steps/programs.ts';

/*
 * Operators beside each other: two that share one work by their lease, of which one is stopped and goes on later, and two that have
 * Clusters of their own.
 */

const half = 'polyad.io/e2e-half';

async function install(
  home: Namespace,
  release: string,
  given: { readonly image: string; readonly watched: readonly string[]; readonly values: string },
): Promise<void> {
  const { image, watched, values } = given;
  await must(e2eSettings.helm, [
    ...['install', release, chart, '-n', home.name, '--set', 'mode=operator'],
    ...['--set', `${imageValues(image)},operator.crds.install=false`],
    ...['--set', `operator.watchNamespaces={${watched.join(',')}}`, '--set', values],
    ...['--wait', '--timeout', '180s'],
  ]);
}

async function uninstall(home: Namespace, release: string): Promise<void> {
  await run(e2eSettings.helm, ['uninstall', release, '-n', home.name]);
}

/** Which pod acts, and how often that changed. */
async function holderOf(
  home: Namespace,
): Promise<{ readonly pod: string; readonly turns: number }> {
  const [lease] = await home.list('leases');
  const [pod = ''] = String(valueAt(lease, 'spec.holderIdentity')).split('_');
  return { pod, turns: Number(valueAt(lease, 'spec.leaseTransitions') ?? 0) };
}

/** What an operator writes for a Cluster, by its versions. */
async function writtenFor(
  namespace: Namespace,
  cluster: string,
): Promise<Readonly<Record<string, string>>> {
  const kinds = 'services,configmaps,secrets,serviceaccounts,statefulsets,poddisruptionbudgets';
  const objects = await namespace.list(kinds, '-l', `polyad.io/cluster=${cluster}`);
  return Object.fromEntries(
    objects.map(({ kind, metadata }) => [
      `${String(kind)}/${metadata.name}`,
      metadata.resourceVersion,
    ]),
  );
}

const limit = (value: number) => ({
  spec: { settings: { 'service.server.httpQueryDefaultLimit': String(value) } },
});

export const twoOperatorScenarios: readonly Scenario[] = [
  {
    id: 'F14',
    title:
      'the operator that acts is stopped past its lease and goes on while another one acts: it ends, and does nothing',
    level: 2,
    hasOwnOperator: true,
    needs: ['container kill'],
    async run({ namespace, image, node, cluster, report, anotherNamespace }) {
      const home = await anotherNamespace('home');
      const given = { image, watched: [namespace.name], values: 'operator.replicas=2' };
      await install(home, 'pair', given);
      await cluster('calm');
      const { uid } = (await namespace.require('pod', 'calm-0')).metadata;
      const first = await holderOf(home);
      const restarts = async (): Promise<number> => {
        const pod = await home.require('pod', first.pod);
        const statuses = valueAt(pod, 'status.containerStatuses') as { restartCount: number }[];
        return statuses[0]?.restartCount ?? 0;
      };
      assert.equal(await restarts(), 0);
      const start = performance.now();
      await signalServer({ namespace: home, node }, first.pod, 'SIGSTOP');
      // There is work for whoever acts.
      const annotations = { 'polyad.io/restart': 'once' };
      await namespace.patch('pyd', 'calm', { metadata: { annotations } });
      await namespace.waitFor(
        'pod',
        'calm-0',
        'another one and ready',
        'afterFault',
        (pod) => pod?.metadata.uid !== uid && conditionOf(pod, 'Ready') === 'True',
      );
      const second = await holderOf(home);
      report(
        `another one had restarted the member after ${((performance.now() - start) / 1000).toFixed(0)} s`,
      );
      assert.notEqual(second.pod, first.pod);
      assert.equal(second.turns, first.turns + 1);
      await namespace.waitFor('pyd', 'calm', 'Ready', 'memberRestart', isReady);
      const [member, written] = [
        (await namespace.require('pod', 'calm-0')).metadata.uid,
        await writtenFor(namespace, 'calm'),
      ];
      assert.equal(await restarts(), 0, 'the one that was stopped was restarted meanwhile');
      await signalServer({ namespace: home, node }, first.pod, 'SIGCONT');
      await home.waitFor('pod', first.pod, 'started anew', 'operatorEnded', (pod) => {
        const statuses = valueAt(pod, 'status.containerStatuses') as { restartCount: number }[];
        return (statuses?.[0]?.restartCount ?? 0) > 0;
      });
      const words = await home.kubectl(['logs', first.pod, '--previous', '--tail=20']);
      assert.match(words, /"outcome":"lost"/);
      await pause(5_000);
      assert.deepEqual(await holderOf(home), second);
      assert.equal((await namespace.require('pod', 'calm-0')).metadata.uid, member);
      assert.deepEqual(await writtenFor(namespace, 'calm'), written);
      const events = (await namespace.list('events')).filter(
        (event) => event['reason'] === 'MemberRestarted',
      );
      assert.equal(events.length, 1);
      assert.ok(Number(events[0]?.['count'] ?? 1) <= 1, 'told twice');
      await uninstall(home, 'pair');
    },
  },
  {
    id: 'I8',
    title:
      'two operators with selectors of their own in the same two namespaces, Clusters of one name in both: each cares for its own',
    level: 2,
    hasOwnOperator: true,
    async run({ namespace, image, anotherNamespace }) {
      const [one, two] = [await anotherNamespace('one'), await anotherNamespace('two')];
      const other = await anotherNamespace('b');
      const watched = [namespace.name, other.name];
      for (const [home, name] of [
        [one, 'one'],
        [two, 'two'],
      ] as const)
        await install(home, name, {
          ...{ image, watched },
          values: `operator.replicas=1,operator.clusterSelector=${half}=${name}`,
        });
      const clusters = [
        [namespace, 'same', 'one'],
        [namespace, 'beside', 'two'],
        [other, 'same', 'two'],
      ] as const;
      for (const [where, name, whose] of clusters)
        await where.apply({
          apiVersion: 'polyad.io/v1alpha1',
          kind: 'Cluster',
          metadata: { name, labels: { ...ownOperatorLabel, [half]: whose } },
          spec: { replicas: 1, deletionPolicy: where === other ? 'Delete' : 'Retain' },
        });
      for (const [where, name] of clusters)
        await where.waitFor('pyd', name, 'Ready', 'clusterReady', isReady);
      const passwords = await Promise.all(
        clusters.map(async ([where, name]) =>
          valueAt(await where.require('secret', `${name}-root`), 'data.rootPassword'),
        ),
      );
      assert.equal(new Set(passwords).size, clusters.length);
      await serverCommand(namespace, 'same-0', 'create database here');
      assert.doesNotMatch(await serverCommand(other, 'same-0', 'list databases'), /here/);

      // One of them is away: what it cares for waits, and nobody else takes it.
      await two.kubectl(['scale', 'deployment', '--all', '--replicas=0']);
      await two.waitFor(
        'deployment',
        (await two.list('deployments'))[0]?.metadata.name ?? '',
        'at zero',
        'operatorEnded',
        (object) => valueAt(object, 'status.replicas') === undefined,
      );
      const before = await Promise.all(clusters.map(([where, name]) => writtenFor(where, name)));
      for (const [where, name] of clusters) await where.patch('pyd', name, limit(1234));
      await namespace.waitFor('pyd', 'same', 'Ready', 'hotSetting', isReady);
      await pause(8_000);
      for (const [at, [where, name, whose]] of clusters.entries()) {
        const now = await writtenFor(where, name);
        if (whose === 'one') assert.notDeepEqual(now, before[at]);
        else assert.deepEqual(now, before[at], `${name} of the other operator was touched`);
      }
      await two.kubectl(['scale', 'deployment', '--all', '--replicas=1']);
      for (const [where, name] of clusters)
        await where.waitFor('pyd', name, 'Ready', 'afterFault', isReady);

      // One of the two of one name goes with all that it has.
      const kept = await writtenFor(namespace, 'same');
      const { uid } = (await namespace.require('pvc', 'data-same-0')).metadata;
      await other.kubectl(['delete', 'pyd', 'same', '--wait=false']);
      await other.waitGone('pyd', 'same', 'deletion');
      await other.waitGone('pvc', 'data-same-0', 'deletion');
      assert.equal((await namespace.require('pvc', 'data-same-0')).metadata.uid, uid);
      assert.deepEqual(await writtenFor(namespace, 'same'), kept);
      assert.match(await serverCommand(namespace, 'same-0', 'list databases'), /here/);
      await namespace.kubectl(['delete', 'pyd', 'same', 'beside', '--wait=true', '--timeout=60s']);
      await uninstall(one, 'one');
      await uninstall(two, 'two');
    },
  },
];
