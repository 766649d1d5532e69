import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { budgetMs } from '../config/timeouts.ts';
import type { Scenario, ScenarioContext } from '../scenario.ts';
import { signalServer } from '../steps/containers.ts';
import {
  backToThree,
  clusterIdOf,
  GroupWatch,
  groupSeenBy,
  handLeadershipTo,
  leaderOf,
  mustBeConsistent,
  podsOf,
  uidsOf,
} from '../steps/group.ts';
import { mustHaveServed } from '../steps/load.ts';
import { conditionOf, isReady, type Namespace, valueAt } from '../steps/objects.ts';
import { dialRaftPort } from '../steps/raft-port.ts';

/*
 * Clusters of three members when something is taken from them: the pod that leads, all pods, a volume, the certificate that they
 * show each other. Clients write and read all the time.
 */

const withoutGrace = ['--grace-period=0', '--force'];

/** Cuts a member off from the others, in the packet filter of its node. @returns the way back */
async function cutOff(
  { namespace, node }: ScenarioContext,
  pod: string,
  others: readonly string[],
): Promise<() => Promise<void>> {
  const addressOf = async (name: string) =>
    String(valueAt(await namespace.require('pod', name), 'status.podIP'));
  const host = String(valueAt(await namespace.require('pod', pod), 'spec.nodeName'));
  const own = await addressOf(pod);
  const pairs = (await Promise.all(others.map(addressOf))).flatMap((other) => [
    ['-s', own, '-d', other],
    ['-s', other, '-d', own],
  ]);
  const filter = async (action: '-I' | '-D') => {
    for (const pair of pairs)
      await node(host, 'exec', 'iptables', action, 'FORWARD', ...pair, '-j', 'DROP');
  };
  await filter('-I');
  return () => filter('-D');
}

/** The serial number that every member shows the others. */
async function serialOf(namespace: Namespace, cluster: string): Promise<string | undefined> {
  const [from = ''] = podsOf(cluster);
  const shown = new Set<string>();
  for (const to of podsOf(cluster)) {
    const { serial, refused } = await dialRaftPort(namespace, {
      ...{ cluster, from, to },
      isMember: true,
    });
    assert.equal(refused, '', `${to} refuses ${from}`);
    shown.add(serial);
  }
  return shown.size === 1 ? [...shown][0] : undefined;
}

/** Takes the authority of a Cluster away, and waits until another one alone is trusted. */
async function changeAuthority(namespace: Namespace, cluster: string): Promise<void> {
  await namespace.kubectl(['delete', 'secret', `${cluster}-ca`]);
  const trusts = (count: number) =>
    namespace.waitFor('secret', `${cluster}-tls`, `trusts ${count}`, 'authorityStep', (secret) => {
      const data = valueAt(secret, 'data') as Readonly<Record<string, string>>;
      const pem = Buffer.from(data['ca.crt'] ?? '', 'base64').toString();
      return (pem.match(/BEGIN CERTIFICATE/g) ?? []).length === count;
    });
  await trusts(2);
  await trusts(1);
}

export const groupFaultScenarios: readonly Scenario[] = [
  {
    id: 'F1b',
    title: 'SIGKILL of the leader, then its successor deleted without grace: gaps stay in budget',
    level: 1,
    needs: ['container kill'],
    async run(context) {
      const { namespace, cluster, load, expectRestarts } = context;
      expectRestarts();
      await cluster('lead', { replicas: 3 });
      const clients = await load('lead');
      await clients.untilAcknowledged(40);
      const first = await leaderOf(namespace, 'lead');
      await signalServer(context, first.pod, 'SIGKILL');
      await clients.untilAcknowledged(40);
      await backToThree(namespace, 'lead');
      const second = await leaderOf(namespace, 'lead');
      assert.ok(second.term > first.term, `term ${first.term} became ${second.term}`);
      await namespace.kubectl(['delete', 'pod', second.pod, ...withoutGrace]);
      await clients.untilAcknowledged(40);
      await backToThree(namespace, 'lead');
      const seen = await clients.stop();
      mustHaveServed(context, seen);
      assert.ok(seen.longestGapSeconds <= budgetMs('leaderKilledGap') / 1000, 'gap');
      await mustBeConsistent(namespace, 'lead', 'load');
    },
  },
  {
    id: 'F3b',
    title: 'all three pods deleted at once: the same group again, nothing lost',
    level: 1,
    async run(context) {
      const { namespace, cluster, load } = context;
      await cluster('all', { replicas: 3 });
      const clients = await load('all');
      const id = await clusterIdOf(namespace, 'all');
      await namespace.kubectl(['delete', 'pod', ...podsOf('all'), ...withoutGrace]);
      await clients.untilAcknowledged(40);
      await backToThree(namespace, 'all');
      mustHaveServed(context, await clients.stop());
      assert.equal(await clusterIdOf(namespace, 'all'), id);
      await mustBeConsistent(namespace, 'all', 'load');
    },
  },
  {
    id: 'R7',
    title: 'a node drained during a roll: the budget arbitrates, never two members down',
    level: 1,
    isSerial: true,
    needs: ['node chaos', 'several nodes'],
    async run(context) {
      const { namespace, api, cluster, load } = context;
      await cluster('drain', { replicas: 3 });
      const clients = await load('drain');
      const { pod: leader } = await leaderOf(namespace, 'drain');
      const follower = podsOf('drain').findLast((pod) => pod !== leader) ?? '';
      const host = String(valueAt(await namespace.require('pod', follower), 'spec.nodeName'));
      const watch = new GroupWatch(api, namespace.name, 'drain');
      await pause(500);
      const settings = { 'service.server.wsMaxConnections': '777' };
      await namespace.patch('pyd', 'drain', { spec: { settings } });
      try {
        const whose = ['--ignore-daemonsets', '--delete-emptydir-data', '--timeout=240s'];
        const which = '--pod-selector=polyad.io/cluster=drain';
        await namespace.kubectl(['drain', host, ...whose, which]);
        await clients.untilAcknowledged(40);
      } finally {
        await namespace.kubectl(['uncordon', host]);
      }
      await namespace.waitFor('pyd', 'drain', 'Ready', 'rolled', isReady);
      context.report(`ended: ${watch.end().join(' ')}`);
      assert.deepEqual(watch.doubled, [], 'ended while another one was not ready');
      mustHaveServed(context, await clients.stop());
      await mustBeConsistent(namespace, 'drain', 'load');
    },
  },
  {
    id: 'F5b',
    title: 'the node of the leader stopped: another one leads, nothing is given up',
    level: 2,
    isSerial: true,
    needs: ['node chaos', 'several nodes'],
    async run(context) {
      const { namespace, cluster, load, node, expectRestarts } = context;
      expectRestarts();
      await cluster('isle', { replicas: 3 });
      const clients = await load('isle');
      const hostOf = async (pod: string) =>
        String(valueAt(await namespace.require('pod', pod), 'spec.nodeName'));
      const other = await hostOf('clients');
      const hosts = await Promise.all(podsOf('isle').map(hostOf));
      const at = hosts.findIndex((host) => host !== other);
      await handLeadershipTo(namespace, 'isle', podsOf('isle')[at] ?? '');
      const { uid } = (await namespace.require('pyd', 'isle')).metadata;
      await node(hosts[at] ?? '', 'stop');
      try {
        const degraded = await namespace.waitFor(
          'pyd',
          'isle',
          'Available, not Ready',
          'nodeLost',
          (object) =>
            conditionOf(object, 'Ready') !== 'True' && conditionOf(object, 'Available') === 'True',
        );
        assert.equal(degraded?.metadata.uid, uid);
        await clients.untilAcknowledged(40);
        const claims = await namespace.list('pvc');
        assert.deepEqual(
          claims.map(({ metadata }) => metadata.deletionTimestamp),
          [undefined, undefined, undefined],
        );
      } finally {
        await node(hosts[at] ?? '', 'start');
      }
      await backToThree(namespace, 'isle');
      const seen = await clients.stop();
      mustHaveServed(context, seen);
      assert.ok(seen.longestGapSeconds <= budgetMs('nodeStoppedGap') / 1000, 'gap');
      await mustBeConsistent(namespace, 'isle', 'load');
    },
  },
  {
    id: 'F10',
    title:
      'the leader cut off from the others: one of them leads, it stops serving, and comes back',
    level: 2,
    needs: ['node chaos', 'several nodes'],
    async run(context) {
      const { namespace, cluster, load, report } = context;
      await cluster('cut', { replicas: 3 });
      const clients = await load('cut');
      const old = await leaderOf(namespace, 'cut');
      const others = podsOf('cut').filter((pod) => pod !== old.pod);
      const start = performance.now();
      const mend = await cutOff(context, old.pod, others);
      try {
        await namespace.waitFor(
          'pod',
          old.pod,
          'not ready',
          'electionSeen',
          (object) => conditionOf(object, 'Ready') !== 'True',
        );
        report(`not ready after ${((performance.now() - start) / 1000).toFixed(0)} s`);
        const said = await Promise.all(others.map((pod) => groupSeenBy(namespace, pod)));
        assert.equal(said.filter((answer) => answer?.isLeader).length, 1, JSON.stringify(said));
        assert.ok(said.every((answer) => (answer?.currentTerm ?? 0) > old.term));
        assert.notEqual((await groupSeenBy(namespace, old.pod))?.isLeader, true);
        await clients.untilAcknowledged(40);
        assert.equal(conditionOf(await namespace.require('pyd', 'cut'), 'Available'), 'True');
      } finally {
        await mend();
      }
      await backToThree(namespace, 'cut');
      await clients.untilAcknowledged(20);
      mustHaveServed(context, await clients.stop());
      await mustBeConsistent(namespace, 'cut', 'load');
    },
  },
  {
    id: 'F7',
    title: 'the claim of ordinal 0 lost: the others go on, it joins anew, no second group',
    level: 1,
    async run(context) {
      const { namespace, cluster, load, report, expectLostVolumes } = context;
      expectLostVolumes();
      await cluster('hole', { replicas: 3 });
      const clients = await load('hole');
      const id = await clusterIdOf(namespace, 'hole');
      const claim = await namespace.require('pvc', 'data-hole-0');
      await namespace.kubectl(['delete', 'pvc', 'data-hole-0', '--wait=false']);
      const start = performance.now();
      await namespace.kubectl(['delete', 'pod', 'hole-0']);
      await backToThree(namespace, 'hole');
      report(`back after ${((performance.now() - start) / 1000).toFixed(0)} s`);
      assert.notEqual(
        (await namespace.require('pvc', 'data-hole-0')).metadata.uid,
        claim.metadata.uid,
      );
      await clients.untilAcknowledged(20);
      mustHaveServed(context, await clients.stop());
      for (const pod of podsOf('hole'))
        assert.equal((await groupSeenBy(namespace, pod))?.clusterId, id, pod);
      await mustBeConsistent(namespace, 'hole', 'load');
    },
  },
  {
    id: 'T2b',
    title:
      'TLS between members: strangers refused, another certificate taken over, nobody restarted',
    level: 1,
    async run(context) {
      const { namespace, cluster, load, report } = context;
      await cluster('seal', { replicas: 3, tls: { raft: { enabled: true } } });
      const clients = await load('seal');
      const first = await serialOf(namespace, 'seal');
      assert.notEqual(first, undefined);
      const stranger = { cluster: 'seal', from: 'seal-0', to: 'seal-1', isMember: false };
      assert.notEqual((await dialRaftPort(namespace, stranger)).refused, '');
      const uids = await uidsOf(namespace, 'seal');
      await namespace.patch('pyd', 'seal', { spec: { tls: { extraDnsNames: ['db.example'] } } });
      const start = performance.now();
      const deadline = start + budgetMs('certificateServed');
      let now = first;
      while ((now === undefined || now === first) && performance.now() < deadline) {
        await pause(2_000);
        now = await serialOf(namespace, 'seal');
      }
      assert.ok(now !== undefined && now !== first, 'the old certificate is still shown');
      report(`another one shown after ${((performance.now() - start) / 1000).toFixed(0)} s`);
      assert.deepEqual(await uidsOf(namespace, 'seal'), uids);
      // New connections in both directions.
      const { pod } = await leaderOf(namespace, 'seal');
      await namespace.kubectl(['delete', 'pod', pod]);
      await backToThree(namespace, 'seal');
      await clients.untilAcknowledged(20);
      mustHaveServed(context, await clients.stop());
      await mustBeConsistent(namespace, 'seal', 'load');
    },
  },
  {
    id: 'T3',
    title: 'another authority in three steps under load: nobody restarted, nobody refused',
    level: 2,
    async run(context) {
      const { namespace, cluster, load, report } = context;
      await cluster('root', { replicas: 3, tls: { raft: { enabled: true } } });
      const clients = await load('root');
      const [first, uids] = [await serialOf(namespace, 'root'), await uidsOf(namespace, 'root')];
      const start = performance.now();
      await changeAuthority(namespace, 'root');
      const seconds = (performance.now() - start) / 1000;
      report(`only the new authority trusted after ${seconds.toFixed(0)} s`);
      assert.notEqual(await serialOf(namespace, 'root'), first);
      assert.deepEqual(await uidsOf(namespace, 'root'), uids);
      const { pod } = await leaderOf(namespace, 'root');
      await namespace.kubectl(['delete', 'pod', pod]);
      await backToThree(namespace, 'root');
      await clients.untilAcknowledged(20);
      mustHaveServed(context, await clients.stop());
      await mustBeConsistent(namespace, 'root', 'load');
    },
  },
  {
    id: 'T3b',
    title:
      'another authority of members that serve HTTPS: the operator, which asks them over TLS, loses sight of none',
    level: 2,
    async run(context) {
      const { namespace, api, cluster, load, report } = context;
      await cluster('eye', { replicas: 3, tls: { http: { enabled: true } } });
      const clients = await load('eye');
      await clients.untilAcknowledged(40);
      // A group that has just been formed may choose another leader under its first load.
      const watch = new GroupWatch(api, namespace.name, 'eye');
      const uids = await uidsOf(namespace, 'eye');
      const start = performance.now();
      await changeAuthority(namespace, 'eye');
      await pause(10_000);
      report(`over after ${((performance.now() - start) / 1000).toFixed(0)} s`);
      watch.end();
      // A member that the operator cannot ask is no voter that it counts.
      assert.deepEqual(watch.voters, [3]);
      assert.deepEqual(watch.unready, []);
      assert.deepEqual(await uidsOf(namespace, 'eye'), uids);
      mustHaveServed(context, await clients.stop());
    },
  },
  {
    id: 'L7d',
    title: 'three members deleted with Delete: no claim, no Secret and no pod is left',
    level: 1,
    async run({ namespace, cluster, expectLostVolumes, report }) {
      expectLostVolumes();
      await cluster('dust', { replicas: 3, deletionPolicy: 'Delete' });
      const start = performance.now();
      await namespace.kubectl(['delete', 'pyd', 'dust', '--wait=false']);
      await namespace.waitGone('pyd', 'dust', 'deletion');
      for (const pod of podsOf('dust')) await namespace.waitGone('pvc', `data-${pod}`, 'deletion');
      await namespace.waitGone('statefulset', 'dust', 'deletion');
      report(`${((performance.now() - start) / 1000).toFixed(0)} s`);
      const kinds = 'statefulsets,services,configmaps,secrets,persistentvolumeclaims,pods';
      const left = (
        await namespace.list(
          `${kinds},poddisruptionbudgets`,
          ...['-l', 'app.kubernetes.io/instance=dust'],
        )
      ).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      assert.deepEqual(
        left.map(({ kind, metadata }) => `${String(kind)}/${metadata.name}`),
        [],
      );
    },
  },
];
