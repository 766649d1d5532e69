import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { budgetMs } from '../config/timeouts.ts';
import type { Scenario } from '../scenario.ts';
import { groupSeenBy, leaderOf, mustBeConsistent, uidsOf } from '../steps/group.ts';
import { mustHaveServed } from '../steps/load.ts';
import { conditionOf, isReady, type Namespace, valueAt } from '../steps/objects.ts';
import { dialRaftPort } from '../steps/raft-port.ts';

/*
 * Clusters of three members when something is taken from them: the pod that leads, all pods, a volume, the certificate that they
 * show each other. Clients write and read all the time.
 */

const podsOf = (cluster: string): readonly string[] => [0, 1, 2].map((n) => `${cluster}-${n}`);
const withoutGrace = ['--grace-period=0', '--force'];

/** The group is what it was founded as. */
async function clusterIdOf(namespace: Namespace, cluster: string): Promise<string> {
  const { pod } = await leaderOf(namespace, cluster);
  const id = (await groupSeenBy(namespace, pod))?.clusterId ?? '';
  assert.notEqual(id, '');
  return id;
}

async function backToThree(namespace: Namespace, cluster: string): Promise<void> {
  for (const pod of podsOf(cluster))
    await namespace.waitFor(
      'pod',
      pod,
      'ready',
      'nodeBack',
      (object) => conditionOf(object, 'Ready') === 'True',
    );
  await namespace.waitFor('pyd', cluster, 'Ready', 'memberBack', isReady);
  assert.equal(valueAt(await namespace.require('pyd', cluster), 'status.voters'), 3);
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

export const groupFaultScenarios: readonly Scenario[] = [
  {
    id: 'F2b',
    title: 'the pod that leads deleted without grace: another one leads, the gap stays in budget',
    level: 1,
    async run(context) {
      const { namespace, cluster, load } = context;
      await cluster('lead', { replicas: 3 });
      const clients = await load('lead');
      await clients.untilAcknowledged(40);
      const { pod, term } = await leaderOf(namespace, 'lead');
      await namespace.kubectl(['delete', 'pod', pod, ...withoutGrace]);
      await clients.untilAcknowledged(40);
      await backToThree(namespace, 'lead');
      const seen = await clients.stop();
      mustHaveServed(context, seen);
      assert.ok(seen.longestGapSeconds <= budgetMs('leaderKilledGap') / 1000, 'gap');
      assert.ok((await leaderOf(namespace, 'lead')).term > term);
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
    id: 'F7',
    title: 'the claim of ordinal 0 lost: the others go on, no second group, back once approved',
    level: 1,
    async run(context) {
      const { namespace, cluster, load, expectRestarts, expectLostVolumes } = context;
      expectRestarts();
      expectLostVolumes();
      await cluster('hole', { replicas: 3 });
      const clients = await load('hole');
      const id = await clusterIdOf(namespace, 'hole');
      await namespace.kubectl(['delete', 'pvc', 'data-hole-0', '--wait=false']);
      await namespace.kubectl(['delete', 'pod', 'hole-0']);
      const blocked = await namespace.waitFor('pyd', 'hole', 'blocked', 'deliveredFile', (object) =>
        Boolean(valueAt(object, 'status.recovery.incidentToken')),
      );
      assert.equal(conditionOf(blocked, 'Available'), 'True');
      await clients.untilAcknowledged(40);
      assert.equal(await groupSeenBy(namespace, 'hole-0'), undefined);
      const token = String(valueAt(blocked, 'status.recovery.incidentToken'));
      await namespace.kubectl(['annotate', 'pyd', 'hole', `polyad.io/adopt=${token}`]);
      await backToThree(namespace, 'hole');
      await clients.untilAcknowledged(20);
      mustHaveServed(context, await clients.stop());
      assert.equal(await clusterIdOf(namespace, 'hole'), id);
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
