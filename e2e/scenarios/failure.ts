import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { budgetMs } from '../config/timeouts.ts';
import type { Scenario } from '../scenario.ts';
import { serverContainerOf, signalContainer, signalServer } from '../steps/containers.ts';
import { serverCommand, sql } from '../steps/member.ts';
import { conditionOf, isReady, type Namespace, reasonOf, valueAt } from '../steps/objects.ts';

async function backTo(namespace: Namespace, name: string): Promise<void> {
  await namespace.waitFor(
    'pod',
    `${name}-0`,
    'ready',
    'nodeBack',
    (pod) => conditionOf(pod, 'Ready') === 'True',
  );
  await namespace.waitFor('pyd', name, 'Ready', 'memberBack', isReady);
}

export const failureScenarios: readonly Scenario[] = [
  {
    id: 'F1',
    title: 'SIGKILL of the server process: back with everything acknowledged',
    level: 0,
    needs: ['container kill'],
    async run({ namespace, cluster, load, node, report, expectRestarts }) {
      expectRestarts();
      await cluster('kill');
      const clients = await load('kill');
      const pod = await namespace.require('pod', 'kill-0');
      await signalServer({ namespace, node }, 'kill-0', 'SIGKILL');
      await clients.untilAcknowledged(40);
      const { longestGapSeconds, acknowledged } = await clients.stop();
      report(`gap ${longestGapSeconds.toFixed(1)} s, ${acknowledged} writes`);
      await backTo(namespace, 'kill');
      assert.equal((await namespace.require('pod', 'kill-0')).metadata.uid, pod.metadata.uid);
    },
  },
  {
    id: 'F2',
    title: 'the pod deleted without grace',
    level: 0,
    async run({ namespace, cluster, load, report }) {
      await cluster('gone');
      const clients = await load('gone');
      await namespace.kubectl(['delete', 'pod', 'gone-0', '--grace-period=0', '--force']);
      await clients.untilAcknowledged(40);
      const { longestGapSeconds, acknowledged } = await clients.stop();
      report(`gap ${longestGapSeconds.toFixed(1)} s, ${acknowledged} writes`);
      await backTo(namespace, 'gone');
    },
  },
  {
    id: 'F2b',
    title:
      'the pod deleted without grace while its server takes long to end: the next one waits for it, and is not restarted',
    level: 1,
    needs: ['container kill'],
    async run(context) {
      const { namespace, cluster, load, report } = context;
      await cluster('late');
      const clients = await load('late');
      await clients.untilAcknowledged(20);
      const before = await serverContainerOf(namespace, 'late-0');
      const { uid } = (await namespace.require('pod', 'late-0')).metadata;
      await signalContainer(context, before, 'SIGSTOP');
      try {
        await namespace.kubectl(['delete', 'pod', 'late-0', '--grace-period=0', '--force']);
        await namespace.waitFor(
          'pod',
          'late-0',
          'started anew',
          'memberBack',
          (pod) => pod?.metadata.uid !== uid && valueAt(pod, 'status.phase') === 'Running',
        );
        const deadline = performance.now() + budgetMs('memberBack');
        let said = '';
        while (!said.includes('uses this directory already')) {
          if (performance.now() > deadline) throw new Error(`nothing was waited for: ${said}`);
          await pause(300);
          said = (await namespace.tryKubectl(['logs', 'late-0', '-c', 'server'])).output;
        }
        report(said.split('\n').find((line) => line.includes('already')) ?? '');
        await pause(3_000);
      } finally {
        // Its node may have ended it by now.
        await signalContainer(context, before, 'SIGCONT').catch(() => {});
      }
      await backTo(namespace, 'late');
      await clients.untilAcknowledged(20);
      const { longestGapSeconds, failed } = await clients.stop();
      assert.equal(failed, 0);
      report(`gap ${longestGapSeconds.toFixed(1)} s`);
    },
  },
  {
    id: 'F3',
    title: 'pod and operator deleted at once: converges, nothing lost, nothing twice',
    level: 1,
    isSerial: true,
    async run({ namespace, operatorNamespace, cluster, load, report }) {
      await cluster('both');
      const clients = await load('both');
      await Promise.all([
        namespace.kubectl(['delete', 'pod', 'both-0']),
        operatorNamespace.kubectl([
          ...['delete', 'pod', '-l', 'app.kubernetes.io/name=polyad-operator'],
          '--grace-period=0',
          '--force',
        ]),
      ]);
      await clients.untilAcknowledged(40);
      const { longestGapSeconds } = await clients.stop();
      report(`gap ${longestGapSeconds.toFixed(1)} s`);
      await backTo(namespace, 'both');
      const sets = await namespace.list('statefulsets,persistentvolumeclaims');
      assert.equal(sets.length, 2);
    },
  },
  {
    id: 'F4',
    title: 'the operator away for a while, and a pod lost meanwhile: the database does not need it',
    level: 1,
    isSerial: true,
    async run({ namespace, operatorNamespace, cluster, load, report }) {
      await cluster('alone');
      const clients = await load('alone');
      const scale = (replicas: number) =>
        operatorNamespace.kubectl([
          'scale',
          'deployment',
          'polyad-operator',
          `--replicas=${replicas}`,
        ]);
      await scale(0);
      try {
        await namespace.kubectl(['delete', 'pod', 'alone-0']);
        await clients.untilAcknowledged(40);
        await pause(60_000);
      } finally {
        await scale(2);
      }
      const uid = (await namespace.require('pod', 'alone-0')).metadata.uid;
      const { longestGapSeconds } = await clients.stop();
      report(`gap ${longestGapSeconds.toFixed(1)} s`);
      await backTo(namespace, 'alone');
      assert.equal((await namespace.require('pod', 'alone-0')).metadata.uid, uid);
    },
  },
  {
    id: 'F5',
    title: 'the node stopped and started: nothing destructive, everything there afterwards',
    level: 1,
    isSerial: true,
    needs: ['node chaos', 'several nodes'],
    async run({ namespace, operatorNamespace, cluster, load, node, report, expectRestarts }) {
      expectRestarts();
      await cluster('island');
      const clients = await load('island');
      const pod = await namespace.require('pod', 'island-0');
      const host = String(valueAt(pod, 'spec.nodeName'));
      await node(host, 'stop');
      try {
        await namespace.waitFor(
          'pyd',
          'island',
          'not Ready',
          'nodeLost',
          (object) => conditionOf(object, 'Ready') !== 'True',
        );
        const claim = await namespace.require('pvc', 'data-island-0');
        assert.equal(claim.metadata.deletionTimestamp, undefined);
      } finally {
        await node(host, 'start');
      }
      await operatorNamespace.waitFor(
        'deployment',
        'polyad-operator',
        'available',
        'nodeBack',
        (object) => conditionOf(object, 'Available') === 'True',
      );
      await backTo(namespace, 'island');
      await clients.untilAcknowledged(20);
      const { longestGapSeconds, acknowledged } = await clients.stop();
      report(`gap ${longestGapSeconds.toFixed(0)} s, ${acknowledged} writes`);
    },
  },
  {
    id: 'F6',
    title: 'the volume lost: an empty disk does not start in its place until a person says so',
    level: 1,
    async run({ namespace, cluster, expectRestarts, expectLostVolumes }) {
      expectRestarts();
      expectLostVolumes();
      await cluster('lost');
      await serverCommand(namespace, 'lost-0', 'create database precious');
      await namespace.kubectl(['delete', 'pvc', 'data-lost-0', '--wait=false']);
      await namespace.kubectl(['delete', 'pod', 'lost-0']);
      const blocked = await namespace.waitFor('pyd', 'lost', 'blocked', 'deliveredFile', (object) =>
        Boolean(valueAt(object, 'status.recovery.incidentToken')),
      );
      assert.notEqual(conditionOf(blocked, 'Ready'), 'True');
      assert.match(
        ['Stalled', 'VolumesHealthy', 'RecoveryRequired', 'Ready']
          .map((type) => reasonOf(blocked, type))
          .join('\n'),
        /volume|adopt/i,
      );
      const token = String(valueAt(blocked, 'status.recovery.incidentToken'));
      await namespace.kubectl(['annotate', 'pyd', 'lost', `polyad.io/adopt=${token}`]);
      await namespace.waitFor('pyd', 'lost', 'Ready', 'deliveredFile', isReady);
      await serverCommand(namespace, 'lost-0', 'create database again');
      await sql(namespace, 'lost-0', 'again', 'SELECT 1 AS n');
    },
  },
];
