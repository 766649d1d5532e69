import assert from 'node:assert/strict';
import { budgetMs } from '../config/timeouts.ts';
import type { Scenario } from '../scenario.ts';
import { isReady, valueAt } from '../steps/objects.ts';
import { operatorNumbers, residentMegabytes, writesOf } from '../steps/operator-metrics.ts';
import { mustStayQuiet } from '../steps/quiescence.ts';
import { reactionMs } from '../steps/reaction.ts';

const clusterCount = 20;
const residentMegabytesMax = 160;
const reactionSamples = 10;

export const operatorScenarios: readonly Scenario[] = [
  {
    id: 'T8',
    title:
      'policy, services and account switched on and off: objects come and go, nothing restarts but once',
    level: 1,
    async run({ namespace, cluster, report }) {
      const kinds = ['podMonitor', 'serviceMonitor', 'prometheusRule'] as const;
      const monitors = kinds.map((kind) => `${kind.toLowerCase()}s.monitoring.coreos.com`);
      const probe = await namespace.tryKubectl(['get', monitors.join(',')]);
      const made = probe.isGood ? monitors : [];
      if (!probe.isGood) report('no kinds of monitors here');
      await cluster('door', {
        networkPolicy: { enabled: true },
        monitoring: Object.fromEntries(kinds.map((kind) => [kind, { enabled: true }])),
      });
      for (const kind of made) await namespace.require(kind, 'door');
      const policy = await namespace.require('networkpolicy', 'door-http');
      assert.match(JSON.stringify(policy['spec']), /polyad-operator/);
      await namespace.require('networkpolicy', 'door-raft');
      const { uid } = (await namespace.require('pod', 'door-0')).metadata;
      await namespace.patch('pyd', 'door', {
        spec: {
          networkPolicy: { enabled: false },
          services: { readOnly: { enabled: false } },
          monitoring: null,
        },
      });
      for (const [kind, name] of [
        ['networkpolicy', 'door-http'],
        ['networkpolicy', 'door-raft'],
        ['service', 'door-ro'],
        ...made.map((kind) => [kind, 'door'] as const),
      ] as const)
        await namespace.waitGone(kind, name, 'driftCorrected');
      await namespace.waitFor('pyd', 'door', 'Ready', 'memberBack', isReady);
      assert.equal((await namespace.require('pod', 'door-0')).metadata.uid, uid);
      await namespace.patch('pyd', 'door', { spec: { serviceAccount: { name: 'porter' } } });
      await namespace.waitFor('pyd', 'door', 'Ready', 'memberBack', isReady);
      await namespace.waitGone('serviceaccount', 'door', 'memberBack');
      const pod = await namespace.require('pod', 'door-0');
      assert.equal(valueAt(pod, 'spec.serviceAccountName'), 'porter');
    },
  },
  {
    id: 'P1',
    title: `${clusterCount} Clusters: memory of the operator, time to react, nothing written at rest`,
    level: 1,
    isSerial: true,
    async run(context) {
      const { namespace, api, operatorNamespace, report } = context;
      const names = Array.from({ length: clusterCount }, (_, at) => `many-${at}x`);
      const start = performance.now();
      await namespace.apply(
        ...names.map((name) => ({
          apiVersion: 'polyad.io/v1alpha1',
          kind: 'Cluster',
          metadata: { name },
          spec: { replicas: 1, storage: { size: '1Gi' } },
        })),
      );
      for (const name of names)
        await namespace.waitFor('pyd', name, 'Ready', 'manyClustersReady', isReady);
      report(`all Ready after ${((performance.now() - start) / 1000).toFixed(0)} s`);
      const times: number[] = [];
      for (let sample = 0; sample < reactionSamples; sample += 1)
        times.push(await reactionMs(context, names[sample] ?? '', String(3000 + sample)));
      const slowest = Math.max(...times);
      const total = times.reduce((sum, ms) => sum + ms, 0);
      report(`reacts after ${(total / times.length).toFixed(0)} ms, at most ${slowest.toFixed(0)}`);
      for (const name of names)
        await namespace.waitFor('pyd', name, 'Ready', 'memberBack', isReady);
      const before = writesOf(await operatorNumbers(api, operatorNamespace));
      await mustStayQuiet(namespace, 60);
      const numbers = await operatorNumbers(api, operatorNamespace);
      const resident = residentMegabytes(numbers).map((megabytes) => Math.round(megabytes));
      report(`operator ${resident.join(' and ')} MB`);
      assert.equal(writesOf(numbers) - before, 0, 'the operator wrote at rest');
      assert.ok(slowest < budgetMs('reaction'), `reacted after ${slowest} ms`);
      assert.ok(Number(resident[0]) <= residentMegabytesMax, `${resident[0]} MB`);
    },
  },
];
