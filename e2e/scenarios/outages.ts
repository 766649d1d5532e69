import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { budgetMs } from '../config/timeouts.ts';
import type { Scenario, ScenarioContext } from '../scenario.ts';
import { signalServer } from '../steps/containers.ts';
import {
  backToThree,
  handLeadershipTo,
  leaderOf,
  mustBeConsistent,
  podsOf,
  uidsOf,
} from '../steps/group.ts';
import { type Load, mustHaveServed } from '../steps/load.ts';
import { conditionOf, isReady, type Namespace, reasonOf, valueAt } from '../steps/objects.ts';
import { reactionMs } from '../steps/reaction.ts';

/*
 * What is away for a while: the operator, two of three nodes, a member that hangs, the leader again and again. What clients see
 * of it, and what the operator does and does not do.
 */

const withoutGrace = ['--grace-period=0', '--force'];
const secondsSince = (start: number): string => ((performance.now() - start) / 1000).toFixed(1);
const hostOf = async (namespace: Namespace, pod: string): Promise<string> =>
  String(valueAt(await namespace.require('pod', pod), 'spec.nodeName'));

/** What the operator writes, but for labels of pods and the status. */
async function writtenObjects(namespace: Namespace): Promise<Readonly<Record<string, string>>> {
  const kinds = 'services,configmaps,secrets,serviceaccounts,persistentvolumeclaims';
  const objects = await namespace.list(kinds);
  return Object.fromEntries(
    objects.map(({ kind, metadata }) => [
      `${String(kind)}/${metadata.name}`,
      metadata.resourceVersion,
    ]),
  );
}

/** Who the Service for writers leads to; undefined when it leads to nobody. */
async function writersGoTo(namespace: Namespace, cluster: string): Promise<string | undefined> {
  const select = `kubernetes.io/service-name=${cluster}-rw`;
  for (const slice of await namespace.list('endpointslices', '-l', select))
    for (const one of (slice['endpoints'] ?? []) as { targetRef?: { name: string } }[])
      if (one.targetRef !== undefined) return one.targetRef.name;
  return undefined;
}

/** Seconds until the Service for writers leads to whoever leads now, counted from when that one is known. */
async function untilWritersFollow(namespace: Namespace, cluster: string): Promise<number> {
  const { pod } = await leaderOf(namespace, cluster);
  const start = performance.now();
  while ((await writersGoTo(namespace, cluster)) !== pod) {
    if (performance.now() - start > 60_000)
      throw new Error(`${cluster}-rw does not lead to ${pod}`);
    await pause(100);
  }
  return (performance.now() - start) / 1000;
}

function summary(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1);
  return `median ${at(0.5)} s, worst ${at(1)} s of ${values.length}`;
}

/** The node of the operator that acts. */
async function hostOfOperator(operatorNamespace: Namespace): Promise<string> {
  const [lease] = await operatorNamespace.list('leases');
  const [pod = ''] = String(valueAt(lease, 'spec.holderIdentity')).split('_');
  return hostOf(operatorNamespace, pod);
}

const rounds = { pods: 20, nodes: 20 } as const;

/** What clients and writers saw of each round. */
interface Toll {
  readonly gaps: number[];
  readonly follows: number[];
  /** Rounds that took the operator that acts away too: another one has its lease 15 s later. */
  readonly followsWithoutOperator: number[];
}

/** Takes the leader away, and sees how long nothing is acknowledged and who the Service for writers leads to. */
async function suffer(
  { namespace }: Pick<ScenarioContext, 'namespace'>,
  { cluster, clients, toll }: { readonly cluster: string; clients: Load; toll: Toll },
  takeAway: () => Promise<unknown>,
  isOperatorAway = false,
): Promise<void> {
  await clients.untilAcknowledged(20);
  const before = await clients.count();
  await takeAway();
  const follows = isOperatorAway ? toll.followsWithoutOperator : toll.follows;
  follows.push(await untilWritersFollow(namespace, cluster));
  await clients.untilAcknowledged(40);
  toll.gaps.push(await clients.gapSince(before));
}

function tell({ report }: Pick<ScenarioContext, 'report'>, toll: Toll): void {
  const { gaps, follows, followsWithoutOperator } = toll;
  report(`gap ${summary(gaps)}: ${gaps.map((gap) => gap.toFixed(1)).join(' ')}`);
  report(`rw follows ${summary(follows)}`);
  if (followsWithoutOperator.length > 0)
    report(`rw follows, the operator's node gone too, ${summary(followsWithoutOperator)}`);
}

export const outageScenarios: readonly Scenario[] = [
  {
    id: 'F4b',
    title:
      'the operator at zero while the leader dies and another pod is lost: served all the time, on return labels only',
    level: 1,
    isSerial: true,
    async run(context) {
      const { namespace, operatorNamespace, cluster, load } = context;
      await cluster('own', { replicas: 3 });
      const clients = await load('own');
      const scale = (replicas: number) =>
        operatorNamespace.kubectl([
          'scale',
          'deployment/polyad-operator',
          `--replicas=${replicas}`,
        ]);
      await scale(0);
      const before = await writtenObjects(namespace);
      let pods: Readonly<Record<string, string>> = {};
      try {
        const { pod: leader } = await leaderOf(namespace, 'own');
        await namespace.kubectl(['delete', 'pod', leader, ...withoutGrace]);
        await clients.untilAcknowledged(40);
        const isUp = (pod: Parameters<typeof conditionOf>[0]) =>
          conditionOf(pod, 'Ready') === 'True';
        await namespace.waitFor('pod', leader, 'ready', 'memberBack', isUp);
        const other = podsOf('own').find((pod) => pod !== leader) ?? '';
        await namespace.kubectl(['delete', 'pod', other]);
        await clients.untilAcknowledged(40);
        await namespace.waitFor('pod', other, 'ready', 'memberBack', isUp);
        pods = await uidsOf(namespace, 'own');
      } finally {
        await scale(2);
        await operatorNamespace.kubectl(['rollout', 'status', 'deployment/polyad-operator']);
      }
      await backToThree(namespace, 'own');
      await pause(3_000);
      assert.deepEqual(await uidsOf(namespace, 'own'), pods);
      assert.deepEqual(await writtenObjects(namespace), before);
      mustHaveServed(context, await clients.stop());
      await mustBeConsistent(namespace, 'own', 'load');
    },
  },
  {
    id: 'F12',
    title:
      'a member that hangs: another one leads, writes go on, other Clusters are looked at as fast as before, and it comes back',
    level: 1,
    needs: ['container kill'],
    isSerial: true,
    async run(context) {
      const { namespace, cluster, load, report, expectRestarts } = context;
      // One that hangs for a minute is restarted by its liveness probe; this one hangs for half of it.
      expectRestarts();
      await Promise.all([cluster('hung', { replicas: 3 }), cluster('other')]);
      const clients = await load('hung');
      const measure = async (from: number): Promise<number> => {
        const times: number[] = [];
        for (let at = 0; at < 8; at += 1)
          times.push(await reactionMs(context, 'other', String(from + at)));
        return times.sort((a, b) => a - b)[4] ?? 0;
      };
      const before = await measure(4000);
      const { pod, term } = await leaderOf(namespace, 'hung');
      const start = performance.now();
      await signalServer(context, pod, 'SIGSTOP');
      try {
        await clients.untilAcknowledged(40);
        report(`writes again after ${secondsSince(start)} s`);
        const during = await measure(5000);
        report(
          `another Cluster is looked at after ${before.toFixed(0)} and ${during.toFixed(0)} ms`,
        );
        assert.ok(during - before <= 100, `${before} ms became ${during} ms`);
        await pause(Math.max(0, 20_000 - (performance.now() - start)));
      } finally {
        await signalServer(context, pod, 'SIGCONT');
      }
      await backToThree(namespace, 'hung');
      assert.ok((await leaderOf(namespace, 'hung')).term > term);
      mustHaveServed(context, await clients.stop());
      await mustBeConsistent(namespace, 'hung', 'load');
    },
  },
  {
    id: 'F5c',
    title:
      'two of three nodes stopped: no quorum, said with the cause, nothing given up; both back: recovers by itself',
    level: 2,
    isSerial: true,
    needs: ['node chaos', 'several nodes'],
    async run(context) {
      const { namespace, operatorNamespace, cluster, load, node, report, expectRestarts } = context;
      expectRestarts();
      await cluster('pair', { replicas: 3 });
      // The clients and the operator that acts stay.
      const clients = await load('pair');
      const operators = await operatorNamespace.list('pods');
      const kept = await hostOf(operatorNamespace, operators[0]?.metadata.name ?? '');
      const hosts = new Set(await Promise.all(podsOf('pair').map((pod) => hostOf(namespace, pod))));
      assert.equal(hosts.size, 3);
      const stopped = [...hosts].filter((host) => host !== kept).slice(0, 2);
      const claims = async (): Promise<readonly string[]> =>
        (await namespace.list('pvc')).map(({ metadata }) => metadata.uid).sort();
      const before = await claims();
      const start = performance.now();
      await Promise.all(stopped.map((host) => node(host, 'kill')));
      try {
        const lost = await namespace.waitFor(
          'pyd',
          'pair',
          'without a quorum',
          'noQuorum',
          (object) =>
            conditionOf(object, 'Available') === 'False' &&
            reasonOf(object, 'Available').startsWith('NoQuorum'),
        );
        report(`said after ${secondsSince(start)} s: ${reasonOf(lost, 'Available')}`);
        assert.match(reasonOf(lost, 'Available'), /pair-\d/);
        await pause(30_000);
        assert.deepEqual(await claims(), before);
        assert.equal(Object.keys(await uidsOf(namespace, 'pair')).length, 3);
      } finally {
        for (const host of stopped) await node(host, 'start');
      }
      const back = performance.now();
      await operatorNamespace.kubectl(['rollout', 'status', 'deployment/polyad-operator']);
      await backToThree(namespace, 'pair');
      report(`Ready ${secondsSince(back)} s after the nodes`);
      assert.deepEqual(await claims(), before);
      const isRunning =
        valueAt(await namespace.get('pod', 'clients'), 'status.phase') === 'Running';
      if (isRunning) mustHaveServed(context, await clients.stop());
      await mustBeConsistent(namespace, 'pair', 'load');
    },
  },
  {
    id: 'F2c',
    title: `the leader's pod killed ${rounds.pods} times: what clients see of it, and when the Service for writers follows`,
    level: 3,
    isSerial: true,
    async run(context) {
      const { namespace, cluster, load } = context;
      await cluster('toll', { replicas: 3 });
      const clients = await load('toll');
      const toll: Toll = { gaps: [], follows: [], followsWithoutOperator: [] };
      for (let round = 0; round < rounds.pods; round += 1) {
        const { pod } = await leaderOf(namespace, 'toll');
        await suffer(context, { cluster: 'toll', clients, toll }, () =>
          namespace.kubectl(['delete', 'pod', pod, ...withoutGrace]),
        );
        await backToThree(namespace, 'toll');
      }
      tell(context, toll);
      mustHaveServed(context, await clients.stop());
      assert.ok(Math.max(...toll.gaps) <= budgetMs('leaderKilledGap') / 1000, 'worst gap');
      await mustBeConsistent(namespace, 'toll', 'load');
    },
  },
  {
    id: 'F5d',
    title: `the leader's node stopped ${rounds.nodes} times: what clients see of it`,
    level: 3,
    isSerial: true,
    needs: ['node chaos', 'several nodes'],
    async run(context) {
      const { namespace, operatorNamespace, cluster, load, node, expectRestarts } = context;
      expectRestarts();
      await cluster('gone', { replicas: 3 });
      const clients = await load('gone');
      const toll: Toll = { gaps: [], follows: [], followsWithoutOperator: [] };
      const safe = await hostOf(namespace, 'clients');
      while (toll.gaps.length < rounds.nodes) {
        const { pod } = await leaderOf(namespace, 'gone');
        const host = await hostOf(namespace, pod);
        if (host === safe) {
          // The clients stay; one of the others is to lead.
          await handLeadershipTo(
            namespace,
            'gone',
            podsOf('gone').find((one) => one !== pod) ?? '',
          );
          continue;
        }
        try {
          const takeAway = () => node(host, 'kill');
          const isOperatorAway = (await hostOfOperator(operatorNamespace)) === host;
          await suffer(context, { cluster: 'gone', clients, toll }, takeAway, isOperatorAway);
        } finally {
          await node(host, 'start');
        }
        await backToThree(namespace, 'gone');
      }
      tell(context, toll);
      mustHaveServed(context, await clients.stop());
      assert.ok(Math.max(...toll.gaps) <= budgetMs('nodeStoppedGap') / 1000, 'worst gap');
      await namespace.waitFor('pyd', 'gone', 'Ready', 'memberBack', isReady);
      await mustBeConsistent(namespace, 'gone', 'load');
    },
  },
];
